// SPDX-License-Identifier: Apache-2.0

// What --offload says of a module, before anything is made of it.

#ifndef WEFT_LIB_COMPILE_PLACEONHOST_H
#define WEFT_LIB_COMPILE_PLACEONHOST_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace mlir::weft {

/// The word that leaves it to the compiler which arguments lie in the host's
/// memory.
inline constexpr llvm::StringLiteral kAutoOffload = "auto";

/// Whether a result takes an argument's place.
bool isDonated(func::FuncOp func, unsigned argument);

/// Marks donated arguments whose names match a pattern, or with the word `none`
/// takes away all marks. Fails, with a diagnostic, on a pattern that is none or
/// matches nothing. The words `marked` and `auto` mark nothing here.
LogicalResult placeOnHost(ModuleOp module, llvm::ArrayRef<std::string> words);

} // namespace mlir::weft

#endif // WEFT_LIB_COMPILE_PLACEONHOST_H
