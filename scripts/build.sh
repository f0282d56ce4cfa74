#!/usr/bin/env bash
# Configures (once) and builds weft in Release into build/.
#   build.sh [NINJA TARGETS...]
set -euo pipefail
cd "$(dirname "$0")/.."
export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1
if [ ! -f build/build.ninja ]; then
  launcher=()
  if command -v ccache >/dev/null; then
    launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  fi
  cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release "${launcher[@]}" >build-configure.log 2>&1 ||
    { cat build-configure.log >&2; rm -f build-configure.log; exit 1; }
  mv build-configure.log build/configure.log
fi
if [ -t 1 ]; then ninja -C build "$@"; else ninja -C build --quiet "$@"; fi
