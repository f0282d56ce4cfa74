// SPDX-License-Identifier: Apache-2.0

// The passes that give each value one sharding, and each change of sharding a
// place.

#ifndef WEFT_PROPAGATION_PASSES_H
#define WEFT_PROPAGATION_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::weft {

#define GEN_PASS_DECL
#include "weft/Propagation/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "weft/Propagation/Passes.h.inc"

} // namespace mlir::weft

#endif // WEFT_PROPAGATION_PASSES_H
