#!/usr/bin/env bash
# Fails if a header does not compile alone, as C17. Left out are those that a source file of the same
# folder includes before all else, as the build compiles them so, and those that need CUDA or Python
# where it is not.
set -euo pipefail
cd "$(dirname "$0")/.."

flags=$(pkg-config --cflags gsl jansson)
cuda=/usr/local/cuda/include
python=$(pkg-config --cflags python3 2>/dev/null || :)
export flags cuda python

# first_includes: of each source file its first line of code, if that includes a header of its folder.
first_includes() {
  git ls-files '*.c' ':!tests' ':!docs' | xargs awk '
    FNR == 1 { is_read = 0; folder = FILENAME; sub(/[^\/]*$/, "", folder) }
    is_read || !/^#/ { next }
    { is_read = 1 }
    $1 == "#include" && $2 ~ /^"/ {
      header = substr($2, 2, length($2) - 2)
      if (index(header, folder) == 1) print header
    }'
}

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

comm -23 <(git ls-files '*.h' | sort) <(first_includes | sort -u) |
  xargs -P "$(nproc)" -I{} bash -c 'compile {}'
