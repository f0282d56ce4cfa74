// SPDX-License-Identifier: Apache-2.0

// The passes from what a user wrote to the one form that is partitioned.

#ifndef WEFT_CANONICALIZE_PASSES_H
#define WEFT_CANONICALIZE_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::weft {

#define GEN_PASS_DECL
#include "weft/Canonicalize/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "weft/Canonicalize/Passes.h.inc"

/// What weft-check-values does: afterwards ops alone say which values there
/// are. Reports what has none.
LogicalResult checkValues(ModuleOp module);

/// Fails for ops whose results are any value, as `ub.poison`.
LogicalResult checkDefined(Operation *op);

} // namespace mlir::weft

#endif // WEFT_CANONICALIZE_PASSES_H
