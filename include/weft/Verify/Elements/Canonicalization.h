// SPDX-License-Identifier: Apache-2.0

// Whether the canonical form of a global module computes what its user wrote.

#ifndef WEFT_VERIFY_ELEMENTS_CANONICALIZATION_H
#define WEFT_VERIFY_ELEMENTS_CANONICALIZATION_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::weft {

/// Proves that the results of `canonical` are those of `source`, the module
/// that it was made from, or emits the first op that differs from what `what`
/// makes. Both are as weft-check-values leaves them; neither is changed.
LogicalResult
verifyCanonicalization(ModuleOp source, ModuleOp canonical,
                       llvm::StringRef what = "the user's module");

/// Fails if an op says in which order it sums, and sums nothing.
LogicalResult checkOrders(ModuleOp module);

} // namespace mlir::weft

#endif // WEFT_VERIFY_ELEMENTS_CANONICALIZATION_H
