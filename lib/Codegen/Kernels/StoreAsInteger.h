// SPDX-License-Identifier: Apache-2.0

// Floats of types that no CPU computes with, as integers of their bits.

#ifndef WEFT_LIB_CODEGEN_KERNELS_STOREASINTEGER_H
#define WEFT_LIB_CODEGEN_KERNELS_STOREASINTEGER_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::weft {

/// Expands casts, maxima and minima by the patterns, and makes floats for which
/// `isStored` holds, which are then only moved, integers of their width.
LogicalResult expandCasts(Operation *root, RewritePatternSet patterns,
                          llvm::function_ref<bool(Type)> isStored);

/// `type`, a scalar or vector, with other elements.
Type withElement(Type type, Type element);

/// An integer constant, or a vector of it.
Value createInteger(OpBuilder &builder, Location loc, Type type, int64_t value);

} // namespace mlir::weft

#endif // WEFT_LIB_CODEGEN_KERNELS_STOREASINTEGER_H
