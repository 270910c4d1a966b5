#!/usr/bin/env bash
# Fails if a folder includes one that it may not know or has too many files, if folders or files
# include each other in a circle, if a file includes another folder's _internal.h, or if a function
# or macro of a header lacks its prefix. The table is the architecture.
set -euo pipefail
cd "$(dirname "$0")/.."

core="base sim/graph sim/machine sim/runtime sim/cost sim/problem"
shared="base sim search"
# The longest folder that is listed here decides. It may include folders and single headers.
declare -A may_include=(
  [include/emplace]="nothing" # but <emplace/...>, which all may include
  [base]="base"
  [base/blas]="base"
  [base/lp]="base/lp"
  [sim/graph]="base sim/graph"
  [sim/machine]="base sim/machine"
  [sim/runtime]="base sim/machine sim/runtime"
  [sim/cost]="base sim/graph sim/machine sim/runtime sim/cost"
  [sim/problem]="$core"
  [sim/rules]="$core sim/rules"
  [sim/engine]="$core sim/rules sim/engine"
  [sim/engine/run]="$core sim/rules sim/engine sim/engine/run"
  [sim/team]="$core sim/rules sim/engine sim/team"
  [sim/explain]="$core sim/rules sim/engine sim/explain"
  [sim/surrogate]="$core sim/rules sim/engine sim/surrogate"
  [sim/bounds]="$core sim/bounds"
  [sim/bounds/paths]="$core sim/bounds/paths"
  [sim/exact]="$core sim/engine sim/bounds sim/exact"
  [graphs]="base sim/graph graphs"
  [graphs/tensorflow]="base sim/graph graphs/tensorflow"
  [graphs/workloads]="base sim/graph graphs/tensorflow graphs/transformer graphs/workloads"
  [graphs/import]="base sim/graph graphs/import"
  [graphs/export]="$core graphs/import/proto graphs/export"
  [graphs/transformer]="base sim/graph graphs/transformer"
  [graphs/import/models]="base sim/graph graphs/transformer graphs/import/notes graphs/import/models"
  [graphs/import/proto]="base graphs/import/proto"
  [graphs/import/traces]="base sim/graph graphs/import/proto graphs/import/notes graphs/import/traces"
  [graphs/import/notes]="base sim/graph graphs/import/proto graphs/import/notes"
  [graphs/import/onnx]="base sim/graph graphs/tensorflow graphs/import/proto graphs/import/notes graphs/import/onnx"
  [graphs/import/instances]="base sim/graph graphs/import/proto graphs/import/notes graphs/import/instances"
  [parallel]="base sim/graph sim/machine sim/runtime sim/cost graphs/transformer graphs/import/models/families.h graphs/import/models/quantised.h graphs/import/notes graphs/workloads parallel"
  [library]="base sim search run/methods.h"
  [docs/examples]="nothing" # but <emplace/...>
  [python]="python" # and <emplace/...>
  [replay]="base sim/machine/tracks.h replay/plan replay/cpu replay/cuda replay"
  [replay/plan]="base replay/plan"
  [replay/cpu]="base replay/plan replay/cpu"
  [replay/planner]="$core replay"
  [search]="$shared"
  [search/partition]="$core search/partition"
  [search/groups]="$core search/partition search/groups"
  [search/acyclic]="$core search/partition search/groups search/acyclic"
  [policy]="$shared policy"
  [policy/nn]="base policy/nn"
  [baselines]="$shared baselines"
  [run/store]="base sim/machine sim/problem/decision.h search run/store"
  [run/ranks]="base run/ranks"
  [run/sheet]="base run/sheet"
  [run/outside]="base sim search run/outside"
  [run]="$shared graphs policy baselines run"
  [bench]="$shared graphs parallel replay policy baselines run bench"
  [bench/speed]="$shared graphs policy run bench tests/support/plain" # a program for developers
  [cli]="$shared graphs parallel replay policy baselines run bench cli"
)
# Headers of libraries that just one folder may see.
declare -A only_in=(
  [hdf5.h]="run/store" [metis.h]="search/partition" [scotch.h]="search/partition"
  [glpk.h]="baselines/schedulers sim/bounds base/lp" [cblas.h]="base/blas"
  [cyaml/cyaml.h]="sim/machine" [zlib.h]="base/text graphs/import run/store cli"
  [gsl/gsl_multifit_nlinear.h]="bench/calibrate" [mpi.h]="run/ranks"
  [cuda_runtime_api.h]="replay/cuda" [cublas_v2.h]="replay/cuda" [cudnn.h]="replay/cuda"
)
status=0
fail() {
  echo "error: $*" >&2
  status=1
}

# rule FOLDER: what the longest listed folder around it may include.
rule() {
  local folder=$1
  while [[ -z ${may_include[$folder]:-} && $folder == */* ]]; do folder=${folder%/*}; done
  echo "${may_include[$folder]:-}"
}

while read -r folder; do
  allowed=$(rule "$folder")
  [[ -n $allowed ]] || { fail "$folder/ is not in the table of scripts/check-includes.sh"; continue; }
  if git ls-files -z "$folder/*.[ch]" "$folder/*.cu" | grep -zE "^$folder/[^/]*$" |
    xargs -0 grep -nE '^#include "' /dev/null | grep -vE "#include \"(${allowed// /|})[/\"]"; then
    fail "$folder/ may include only: $allowed"
  fi
done < <(git ls-files '*.[ch]' | grep -v '^tests/' | sed 's#/[^/]*$##' | sort -u)

# Nobody reads a folder of more files. Machines and device models are found by name instead.
if git ls-files ':!data/machines' | sed 's#/[^/]*$##' | sort | uniq -c | awk '$1 > 25 { print; bad = 1 } END { exit !bad }'; then
  fail "a folder has at most 25 files of its own"
fi

# Folders, each with one that it includes; tsort names those that stand in a circle.
if ! git ls-files '*.[ch]' '*.cu' | grep -v '^tests/' | xargs grep -E '^#include "' /dev/null |
  awk -F'[:"]' '{ sub(/\/[^\/]*$/, "", $1); sub(/\/[^\/]*$/, "", $3); print $1, $3 }' |
  sort -u | tsort >/dev/null; then
  fail "folders include each other in a circle"
fi

# Pairs of a source file and its header, each with one that it includes. NAME_internal.h belongs to the pair NAME.
if ! git ls-files '*.[ch]' '*.cu' | grep -v '^tests/' | xargs grep -E '^#include "' /dev/null |
  awk -F'[:"]' '{ sub(/(_internal)?\.(c|h|cu)$/, "", $1); sub(/(_internal)?\.h$/, "", $3); print $1, $3 }' |
  sort -u | tsort >/dev/null; then
  fail "files include each other in a circle"
fi

if git ls-files -z '*.[ch]' | grep -zv '^tests/' | xargs -0 grep -nE '^#include ".*_internal\.h"' |
  awk -F'[:"]' '{ a = $1; b = $4; sub(/[^\/]*$/, "", a); sub(/[^\/]*$/, "", b)
                  if (a != b) { print; bad = 1 } } END { exit !bad }'; then
  fail "an _internal.h belongs to its own folder"
fi

for header in "${!only_in[@]}"; do
  allowed=${only_in[$header]// /|}
  if git ls-files -z '*.c' '*.h' | xargs -0 grep -nE "^#include <$header>" |
    grep -vE "^($allowed)/|^tests/"; then
    fail "<$header> may be included only in: ${only_in[$header]}"
  fi
done
# A function stands at the beginning of a line, its name before the first parenthesis. A macro
# may lack the prefix where the header undefines it again. No other folder sees those of cli.
if git ls-files -z '*.h' | grep -zv '^tests/' | xargs -0 awk '
  function check() { for (name in macro) { print macro[name]; bad = 1 } delete macro }
  FNR == 1 { check(); cli = FILENAME ~ /^cli\// }
  { line = $0; sub(/^EMP_API /, "", line); sub(/^__attribute__\(\([a-z_]*\)\) /, "", line) }
  line ~ /^[A-Za-z]([A-Za-z0-9_ *]*[ *])?[A-Za-z0-9_]+\(/ {
    name = line; sub(/\(.*/, "", name); sub(/^.*[ *]/, "", name)
    if (name !~ /^(emp_|EMP_)/ && !(cli && name ~ /^(cli|cmd)_/)) {
      print FILENAME ":" FNR ": " name; bad = 1
    }
  }
  line ~ /^# *define / {
    name = line; sub(/^# *define */, "", name); sub(/[^A-Za-z0-9_].*/, "", name)
    if (name !~ /^EMP_/ && !(cli && name ~ /^CLI_/)) macro[name] = FILENAME ":" FNR ": " name
  }
  line ~ /^# *undef / { name = line; sub(/^# *undef */, "", name); delete macro[name] }
  END { check(); exit !bad }'; then
  fail "a function or macro of a header begins with emp_ or EMP_"
fi

# clang exports the function that chooses between the clones of a static function (base/clones.h), so
# two of one name do not link.
if git ls-files -z '*.c' '*.h' | xargs -0 awk '
  /^EMP_(CLONES|KERNEL) static / {
    name = $0; sub(/\(.*/, "", name); sub(/^.*[ *]/, "", name)
    if (name in first) { print FILENAME ":" FNR ": " name ", as in " first[name]; bad = 1 }
    first[name] = FILENAME ":" FNR
  }
  END { exit !bad }'; then
  fail "functions with EMP_CLONES or EMP_KERNEL have names of their own"
fi
exit $status
