// SPDX-License-Identifier: Apache-2.0

// weft-compile: from a training step in MLIR to a program for every rank. What
// it does is in weft/Compile/Compile.h.

#include "weft/Compile/Compile.h"

int main(int argc, char **argv) { return mlir::weft::compileMain(argc, argv); }
