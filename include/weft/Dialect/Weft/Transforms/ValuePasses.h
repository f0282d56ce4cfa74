// SPDX-License-Identifier: Apache-2.0

// Declarations and registration of the passes in ValuePasses.td.

#ifndef WEFT_DIALECT_WEFT_TRANSFORMS_VALUEPASSES_H
#define WEFT_DIALECT_WEFT_TRANSFORMS_VALUEPASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::weft {

/// What weft-check-values does: afterwards ops alone say which values there
/// are. Reports what has none.
LogicalResult checkValues(ModuleOp module);

#define GEN_PASS_DECL
#include "weft/Dialect/Weft/Transforms/ValuePasses.h.inc"

#define GEN_PASS_REGISTRATION
#include "weft/Dialect/Weft/Transforms/ValuePasses.h.inc"

} // namespace mlir::weft

#endif // WEFT_DIALECT_WEFT_TRANSFORMS_VALUEPASSES_H
