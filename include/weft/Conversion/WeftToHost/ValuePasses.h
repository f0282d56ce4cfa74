// SPDX-License-Identifier: Apache-2.0

// Declarations and registration of the passes in ValuePasses.td.

#ifndef WEFT_CONVERSION_WEFTTOHOST_VALUEPASSES_H
#define WEFT_CONVERSION_WEFTTOHOST_VALUEPASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::weft {

#define GEN_PASS_DECL
#include "weft/Conversion/WeftToHost/ValuePasses.h.inc"

#define GEN_PASS_REGISTRATION
#include "weft/Conversion/WeftToHost/ValuePasses.h.inc"

} // namespace mlir::weft

#endif // WEFT_CONVERSION_WEFTTOHOST_VALUEPASSES_H
