#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the runtime alone with AddressSanitizer and UBSan (build/asan) and with
# ThreadSanitizer (build/tsan), and runs its tests, the fuzz driver included.
#   test-sanitizers.sh [--core|--all] [asan|tsan]...
# With --core it builds and runs only what reads files and options, and the fuzz
# driver. Without --all it leaves out what takes minutes and is tested without
# sanitizers on each change: tests with the label `slow`, and the kernels of
# products and attention by themselves.
set -euo pipefail
cd "$(dirname "$0")/.."
export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1
# Abandoning a rank that hangs leaks its session on purpose.
export LSAN_OPTIONS="suppressions=$PWD/runtime/test/leaks.txt:print_suppressions=0"

gemm_tests=OFF targets=() tests=(-LE slow)
case ${1-} in
--all)
  gemm_tests=ON tests=()
  shift
  ;;
--core)
  targets=(weft_rt_core_test weft_rt_fuzz_safetensors) tests=(-R '^weft_rt_(core_test|fuzz_safetensors)$')
  shift
  ;;
esac

run() { # NAME SANITIZERS GEMM_TESTS
  local launcher=()
  if command -v ccache >/dev/null; then
    launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  fi
  mkdir -p "build/$1"
  # With -O2 the kernels of products alone take minutes to compile.
  cmake -S runtime -B "build/$1" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_CXX_FLAGS_RELEASE=-O1 -DCMAKE_C_FLAGS_RELEASE=-O1 \
    "-DWEFT_SANITIZE=$2" "-DWEFT_GEMM_TESTS=$3" -DWEFT_UNITY_BUILD=ON "${launcher[@]}" >"build/$1/configure.log" ||
    { cat "build/$1/configure.log" >&2; exit 1; }
  ninja -C "build/$1" --quiet "${targets[@]}"
  ctest --test-dir "build/$1" -j4 --output-on-failure --no-tests=error "${tests[@]}"
}

for name in "${@:-asan tsan}"; do
  for one in $name; do
    case $one in
    asan) run asan address,undefined "$gemm_tests" ;;
    tsan) run tsan thread OFF ;;
    *) echo "unknown sanitizer $one" >&2; exit 2 ;;
    esac
  done
done
