#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes a library of a program's kernels of the cuda target, for what stands in
# for the driver:
#   emulate-kernels.sh PROGRAM.mlir KERNELS.so [OPTION...]
# Each kernel is a weft_rt_kernel of its name: called for any range, it runs the
# whole grid of its launches on the addresses and scalars that it is given.
set -e
program=$1 output=$2
shift 2
"$(dirname "$0")/compile-emulated.sh" "$program" "$output" "$@"
sed 's/llvm.func hidden @weft_k/llvm.func @weft_k/' "$output.llvm.mlir" > "$output.exported.mlir"
weft-compile "$output.exported.mlir" -o "$output.o"
"$(dirname "$0")/link-emulator.sh" -shared "$output.o" -lm -o "$output"
