# What the scripts share; sourced from the repository root by sh.

say() { printf '%s\n' "$*"; }
complain() { printf '%s\n' "$*" >&2; }

# Jobs that the machine bears: one for each core, and about 1.5 GiB of memory for each compiler.
jobs() {
  cores=$(nproc 2>/dev/null || echo 1)
  memory=$(awk '/^MemAvailable:/ {print int($2 / 1572864)}' /proc/meminfo 2>/dev/null)
  [ "${memory:-1}" -ge 1 ] || memory=1
  [ "$cores" -le "${memory:-1}" ] && echo "$cores" || echo "$memory"
}

# Runs a command whose output matters only when it fails.
quietly() {
  quiet_log=$(mktemp)
  if "$@" >"$quiet_log" 2>&1; then
    rm -f "$quiet_log"
  else
    status=$?
    cat "$quiet_log" >&2
    rm -f "$quiet_log"
    complain "This failed with status $status: $*"
    return "$status"
  fi
}

# Compiles through ccache where it is: builds in other folders of the repository, such as those for CUDA and Python, then take
# the objects that they have in common with release. What these settings give does not hang on the user's own: nothing is
# preprocessed twice (the compiler names the headers itself), and paths are as seen from the repository.
use_compiler_cache() {
  command -v ccache >/dev/null 2>&1 || return 0
  export CMAKE_CXX_COMPILER_LAUNCHER="${CMAKE_CXX_COMPILER_LAUNCHER:-ccache}"
  export CCACHE_DEPEND="${CCACHE_DEPEND:-1}"
  export CCACHE_BASEDIR="${CCACHE_BASEDIR:-$PWD}"
}

# Configures and builds a preset: build_preset PRESET [TARGET…]. A second call with nothing to do says nothing.
build_preset() {
  preset=$1
  shift
  use_compiler_cache
  quietly cmake --preset "$preset" || return
  if [ $# -gt 0 ]; then
    set -- --target "$@"
  fi
  # Ninja shows its progress on a terminal; in a log only what went wrong matters.
  if [ -t 1 ]; then
    cmake --build "build/$preset" -j "$(jobs)" "$@"
  else
    quietly cmake --build "build/$preset" -j "$(jobs)" "$@"
  fi
}
