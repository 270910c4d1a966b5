#!/usr/bin/env bash
# Fails if a folder includes one that it may not know. The table is the architecture.
set -euo pipefail
cd "$(dirname "$0")/.."

core="base sim/graph sim/machine sim/cost sim/placement"
declare -A may_include=(
  [base]="base"
  [sim]="base sim"
  [sim/graph]="base sim/graph"
  [sim/machine]="base sim/machine"
  [sim/cost]="base sim/graph sim/machine sim/cost"
  [sim/placement]="$core"
  [sim/partition]="$core sim/partition"
  [sim/acyclic]="$core sim/partition sim/acyclic"
  [sim/lp]="sim/lp"
  [sim/bounds]="$core sim/lp sim/bounds"
  [sim/engine]="$core sim/engine"
  [sim/explain]="$core sim/engine sim/explain"
  [sim/surrogate]="$core sim/engine sim/surrogate"
  [sim/workloads]="base sim/graph sim/workloads"
  [sim/import]="base sim/graph sim/import"
  [sim/store]="base sim/machine sim/store"
  [sim/replay]="$core sim/replay"
  [policy]="base sim policy"
  [policy/nn]="base policy/nn"
  [baselines]="base sim baselines"
  [bench]="base sim policy baselines bench"
  [cli]="base sim policy baselines bench cli"
)
# Headers of libraries that just one folder may see.
declare -A only_in=(
  [hdf5.h]="sim/store" [metis.h]="sim/partition" [scotch.h]="sim/partition"
  [glpk.h]="baselines sim/bounds sim/lp" [cblas.h]="policy/nn sim/replay" [cyaml/cyaml.h]="sim/machine" [zlib.h]="sim/import cli"
  [gsl/gsl_multifit_nlinear.h]="bench/calibrate" [mpi.h]="bench/distributed"
  [cuda_runtime_api.h]="sim/replay" [cublas_v2.h]="sim/replay" [cudnn.h]="sim/replay"
)

status=0
for folder in "${!may_include[@]}"; do
  [[ -d $folder ]] || continue
  allowed=${may_include[$folder]// /|}
  if grep -rnE --include='*.[ch]' --include='*.cu' '^#include "[a-z_]+/' "$folder" |
    grep -vE "#include \"($allowed)/"; then
    echo "error: $folder/ may include only: ${may_include[$folder]}" >&2
    status=1
  fi
done
for header in "${!only_in[@]}"; do
  allowed=${only_in[$header]// /|}
  if git ls-files -z '*.c' '*.h' | xargs -0 grep -nE "^#include <$header>" |
    grep -vE "^($allowed)/|^tests/"; then
    echo "error: <$header> may be included only in: ${only_in[$header]}" >&2
    status=1
  fi
done
exit $status
