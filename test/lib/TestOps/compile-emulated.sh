#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compiles a program whose kernels are those of the cuda target, emulated:
#   compile-emulated.sh PROGRAM.mlir PROGRAM.so [OPTION...]
# Leaves the program's phases beside it. Options are weft-compile's.
set -e
program=$1 output=$2
shift 2
weft-compile "$program" --target cuda "$@" --to planned -o "$output.planned.mlir"
weft-test-opt "$output.planned.mlir" --pass-pipeline="builtin.module(weft-outline-kernels,builtin.module(math-extend-to-supported-types,weft-convert-exp,weft-convert-float8),test-emulate-device,weft-lower-host)" -o "$output.llvm.mlir"
weft-compile "$output.llvm.mlir" --linker "$(dirname "$0")/link-emulator.sh" -o "$output"
