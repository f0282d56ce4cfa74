#!/usr/bin/env bash
# Configures (once) and builds weft in Release into build/. A warning is an error
# here, as it is not for who builds weft with CMake alone (WEFT_WERROR). Where the
# output is not a terminal, a line every 5 % or 30 seconds says how far the build is.
# With WEFT_UNITY_BUILD=ON in the environment it is configured to compile in batches.
#   build.sh [NINJA TARGETS...]
set -euo pipefail
cd "$(dirname "$0")/.."
# -Werror changes no object file: the cache is the same with and without it.
export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1 CCACHE_IGNOREOPTIONS=-Werror
# What ccache asks for where headers are precompiled.
export CCACHE_SLOPPINESS=pch_defines,time_macros
if [ ! -f build/build.ninja ]; then
  launcher=()
  if command -v ccache >/dev/null; then
    launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  fi
  echo "configuring"
  cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DWEFT_WERROR=ON \
    -DWEFT_UNITY_BUILD="${WEFT_UNITY_BUILD:-OFF}" "${launcher[@]}" >build-configure.log 2>&1 ||
    { cat build-configure.log >&2; rm -f build-configure.log; exit 1; }
  mv build-configure.log build/configure.log
fi

say() { printf 'built %d of %d (%d %%)\n' "$done_steps" "$all_steps" $((100 * done_steps / all_steps)); said_at=$SECONDS; }

# Reads ninja's output: counts its steps, and passes on all else, such as errors.
show_progress() {
  local line part="" code share next_share=5
  done_steps=0 all_steps=0 said_at=$SECONDS
  while true; do
    code=0
    IFS= read -r -t 30 line || code=$?
    line=$part$line part=""
    if [ $code -gt 128 ]; then # 30 seconds without a step
      part=$line
      [ $all_steps = 0 ] || say
    elif [ $code != 0 ]; then
      [ -z "$line" ] || printf '%s\n' "$line"
      break
    elif [[ $line =~ ^'@'([0-9]+)/([0-9]+)'@' ]]; then
      done_steps=${BASH_REMATCH[1]} all_steps=${BASH_REMATCH[2]}
      share=$((100 * done_steps / all_steps))
      if [ $share -ge $next_share ] || [ $((SECONDS - said_at)) -ge 30 ]; then
        say
        next_share=$((share - share % 5 + 5))
      fi
    elif [[ $line != "ninja: Entering directory"* && $line != "ninja: no work to do." ]]; then
      printf '%s\n' "$line"
    fi
  done
}

if [ -t 1 ]; then
  ninja -C build "$@"
else
  NINJA_STATUS='@%f/%t@ ' ninja -C build "$@" 2>&1 | show_progress
fi
