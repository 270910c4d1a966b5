#!/usr/bin/env bash
# Fails if a header does not compile alone, as C17. Those that need CUDA's are left out
# where it is not.
set -euo pipefail
cd "$(dirname "$0")/.."

flags=$(pkg-config --cflags gsl jansson)
cuda=/usr/local/cuda/include
status=0
while IFS= read -r header; do
  # argp.h is glibc's, hence not in strict C17.
  [[ $header == cli/* ]] && dialect=gnu17 || dialect=c17
  if grep -q '<cuda' "$header"; then
    [[ -d $cuda ]] || continue
    flags+=" -isystem $cuda"
  fi
  # shellcheck disable=SC2086
  gcc -std=$dialect -Wall -Wextra -Wpedantic -Werror -I. $flags -fsyntax-only \
    -include "$header" -x c /dev/null || {
    echo "error: $header does not compile alone" >&2
    status=1
  }
done < <(git ls-files '*.h')
exit $status
