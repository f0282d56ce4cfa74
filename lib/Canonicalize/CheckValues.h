// SPDX-License-Identifier: Apache-2.0

// What weft-check-values does about loops and about elements that are not
// there.

#ifndef WEFT_LIB_CANONICALIZE_CHECKVALUES_H
#define WEFT_LIB_CANONICALIZE_CHECKVALUES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"

namespace mlir::weft {

/// Reports a loop that never ends, as far as constants tell; gives each other
/// loop a number of passes whatever its bounds and step are.
LogicalResult defineLoops(ModuleOp module);

/// Puts a check of the indices around each read of an element that may not be
/// there, of a tensor that may become a constant: folds do not look at indices
/// when all elements are equal.
LogicalResult guardReads(ModuleOp module);

} // namespace mlir::weft

#endif // WEFT_LIB_CANONICALIZE_CHECKVALUES_H
