// SPDX-License-Identifier: Apache-2.0

// Declarations and registration of the passes in AccumulatePasses.td.

#ifndef WEFT_DIALECT_WEFT_TRANSFORMS_ACCUMULATEPASSES_H
#define WEFT_DIALECT_WEFT_TRANSFORMS_ACCUMULATEPASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::weft {

#define GEN_PASS_DECL
#include "weft/Dialect/Weft/Transforms/AccumulatePasses.h.inc"

#define GEN_PASS_REGISTRATION
#include "weft/Dialect/Weft/Transforms/AccumulatePasses.h.inc"

} // namespace mlir::weft

#endif // WEFT_DIALECT_WEFT_TRANSFORMS_ACCUMULATEPASSES_H
