# Sourced by scripts/emplace and scripts/test: the one list of packages, and quiet builds.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Debian 12 names. What the program needs, and what its tests need besides.
build_packages=(gcc libc6-dev cmake ninja-build pkg-config libgsl-dev libhdf5-dev
  libscotch-dev libmetis-dev libopenblas-dev libglpk-dev libcyaml-dev libyaml-dev libjansson-dev zlib1g-dev)
test_packages=(git g++ libcriterion-dev python3 python3-dev python3-numpy python3-pip python3-venv)
format_packages=(clang-format)
# What draws the figures of studies, and PDF files of emplace report.
report_packages=(gnuplot-nox)
mpi_packages=(libopenmpi-dev openmpi-bin) # libscotch-dev needs both anyway
clang_packages=(clang libomp-dev)
witness_packages=(graphviz hdf5-tools) # other programs that the tier peers starts
peer_packages=("${witness_packages[@]}" libsimgrid-dev python3-torch)

exec 3>&2 # what people see, also while standard error goes to a log

say() { printf 'emplace: %s\n' "$*" >&3; }

# A line that the next one replaces; nothing where nobody watches.
show() { if [[ -t 3 ]]; then printf '\r\033[Kemplace: %s' "$*" >&3; fi; }
clear_line() { if [[ -t 3 ]]; then printf '\r\033[K' >&3; fi; }

# run_logged LOG COMMAND...: the output goes to the log, and to the screen when it fails.
run_logged() {
  local log=$1 code=0
  shift
  "$@" >"$log" 2>&1 || code=$?
  if ((code != 0)); then
    clear_line
    tail -n 60 "$log" >&3
    say "this failed: $* (all of its output is in $log)"
  fi
  return "$code"
}

# install_packages NAME...: installs those that are missing; instant when none is.
install_packages() {
  local missing=() name installed sudo=()
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    # Another system: let CMake find the libraries, or say what it lacks.
    command -v cmake >/dev/null && command -v ninja >/dev/null && return 0
    say "this is no Debian; please install the counterparts of: $*"
    return 1
  fi
  installed=$(dpkg-query -W -f='${Package}:${db:Status-Status}\n' "$@" 2>/dev/null || :)
  for name in "$@"; do
    [[ $'\n'$installed$'\n' == *$'\n'"$name:installed"$'\n'* ]] || missing+=("$name")
  done
  ((${#missing[@]} == 0)) && return 0
  if ((EUID != 0)); then
    command -v sudo >/dev/null || {
      say "please install as root: apt-get install ${missing[*]}"
      return 1
    }
    sudo=(sudo)
  fi
  say "installing ${missing[*]}"
  mkdir -p "$root/build"
  run_logged "$root/build/apt.log" "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
    bash -c 'apt-get update -q && apt-get install -y -q --no-install-recommends "$@"' \
    bash "${missing[@]}"
}

# ninja_build PRESET [TARGET]: prints what ninja does, and shows how far it is; where nobody watches, by
# a line every 20 seconds. Looking for new files and for the commit is no work to speak of.
ninja_build() {
  local line next=0 preset=$1 what=(--preset "$1") first=
  [[ -f $root/build/$preset/.ninja_log ]] || first="; the first time takes minutes"
  (($# == 1)) || what=("build/$1" --target "$2")
  cmake --build "${what[@]}" 2>&1 | while IFS= read -r line; do
    printf '%s\n' "$line"
    [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] || continue
    [[ $line != *"Re-checking globbed"* && $line != *"Looking at the commit"* ]] || continue
    show "building ($preset) ${BASH_REMATCH[1]}/${BASH_REMATCH[2]}"
    [[ ! -t 3 ]] && ((SECONDS >= next)) || continue
    say "building ($preset)${first:- ${BASH_REMATCH[1]}/${BASH_REMATCH[2]}}"
    first= next=$((SECONDS + 20))
  done
}

# is_built PRESET: whether all of it has been built, and since then nothing has changed: no file or
# folder of the sources, no file that is staged, and not what tree_now says. A file of the user beside the
# sources' folders does not count.
is_built() {
  local stamp=$root/build/$1.built folders=("$root"/*/CMakeLists.txt) index
  [[ -f $stamp && -f $root/build/$1/build.ninja ]] || return 1
  [[ $(<"$stamp") == $(tree_now) ]] || return 1
  index=$(git -C "$root" rev-parse --git-path index 2>/dev/null) || index=
  [[ -z $index || ! $(cd "$root" && realpath -m "$index") -nt $stamp ]] || return 1
  folders=("${folders[@]%/CMakeLists.txt}" "$root/cmake" "$root/include" "$root"/CMake*)
  [[ -z $(find "${folders[@]}" -name __pycache__ -prune -o -newer "$stamp" -print -quit) ]]
}

# tree_now: the commit, and whether the tree differs from it, which the program tells.
tree_now() {
  git -C "$root" rev-parse HEAD 2>/dev/null || echo unknown
  [[ -z $(git --no-optional-locks -C "$root" status --porcelain --untracked-files=no 2>/dev/null) ]] || echo dirty
}

# build_preset NAME [TARGET]: configures and builds the preset's targets or this one, one process at
# a time in a checkout. Configures anew if $reconfigure is set.
build_preset() {
  local preset=$1 stamp=$root/build/$1.built
  mkdir -p "$root/build"
  exec 9>"$root/build/$preset.lock"
  flock 9
  if [[ -n ${reconfigure:-} || ! -f $root/build/$preset/build.ninja ]]; then
    show "configuring ($preset)"
    (cd "$root" && run_logged "build/$preset.configure.log" cmake --preset "$preset") || return 1
  fi
  rm -f "$stamp"
  tree_now >"$stamp.new" # what changes during the build is newer
  (cd "$root" && run_logged "build/$preset.build.log" ninja_build "$@") || return 1
  if (($# == 1)); then mv "$stamp.new" "$stamp"; else rm "$stamp.new"; fi
  clear_line
  exec 9>&-
}
