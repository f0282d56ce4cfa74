// SPDX-License-Identifier: Apache-2.0

// The passes that declare the order of each sum.

#ifndef WEFT_ORDERS_PASSES_H
#define WEFT_ORDERS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::weft {

#define GEN_PASS_DECL
#include "weft/Orders/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "weft/Orders/Passes.h.inc"

} // namespace mlir::weft

#endif // WEFT_ORDERS_PASSES_H
