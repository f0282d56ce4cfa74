// SPDX-License-Identifier: Apache-2.0

// Cuts a long straight function into parts that call each other's successors:
// register allocation takes more than linear time in the length of a block.

#ifndef WEFT_LIB_CODEGEN_PROGRAM_SPLITENTRY_H
#define WEFT_LIB_CODEGEN_PROGRAM_SPLITENTRY_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::weft {

/// Moves the ops of `entry`'s one block into functions of about `partSize` ops
/// each, which `entry` calls in order. Values that cross a cut pass through
/// memory; the arguments of `entry` are handed on. Does nothing to a function
/// of less than two parts.
void splitEntry(LLVM::LLVMFuncOp entry, int64_t partSize);

} // namespace mlir::weft

#endif // WEFT_LIB_CODEGEN_PROGRAM_SPLITENTRY_H
