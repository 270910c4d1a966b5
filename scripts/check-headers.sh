#!/usr/bin/env bash
# Fails if a header does not compile alone, as C17. Those that need CUDA's or Python's are left out
# where it is not.
set -euo pipefail
cd "$(dirname "$0")/.."

flags=$(pkg-config --cflags gsl jansson)
cuda=/usr/local/cuda/include
python=$(pkg-config --cflags python3 2>/dev/null || :)
export flags cuda python

# compile HEADER: alone.
compile() {
  local dialect=c17 extra=
  [[ $1 != cli/* ]] || dialect=gnu17 # argp.h is glibc's, hence not in strict C17
  if grep -q '<cuda' "$1"; then
    [[ -d $cuda ]] || return 0
    extra="-isystem $cuda"
  fi
  if grep -q '<Python.h>' "$1"; then
    [[ -n $python ]] || return 0
    extra=$python
  fi
  # shellcheck disable=SC2086
  gcc -std=$dialect -Wall -Wextra -Wpedantic -Werror -I. -Iinclude $flags $extra -fsyntax-only \
    -include "$1" -x c /dev/null || {
    echo "error: $1 does not compile alone" >&2
    return 1
  }
}
export -f compile

git ls-files '*.h' | xargs -P "$(nproc)" -I{} bash -c 'compile {}'
