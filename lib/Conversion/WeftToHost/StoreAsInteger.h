// SPDX-License-Identifier: Apache-2.0

// Floats of types that no CPU computes with, as integers of their bits.

#ifndef WEFT_LIB_CONVERSION_WEFTTOHOST_STOREASINTEGER_H
#define WEFT_LIB_CONVERSION_WEFTTOHOST_STOREASINTEGER_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"

namespace mlir::weft {

/// Makes the floats for which `isStored` holds integers of their width, in a
/// function that only moves them.
void storeAsInteger(LLVM::LLVMFuncOp func,
                    llvm::function_ref<bool(Type)> isStored);

/// `type`, a scalar or vector, with other elements.
Type withElement(Type type, Type element);

/// An integer constant, or a vector of it.
Value createInteger(OpBuilder &builder, Location loc, Type type, int64_t value);

} // namespace mlir::weft

#endif // WEFT_LIB_CONVERSION_WEFTTOHOST_STOREASINTEGER_H
