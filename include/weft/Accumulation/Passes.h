// SPDX-License-Identifier: Apache-2.0

// The passes of gradient accumulation: a mesh axis whose parts each rank
// computes one after the other.

#ifndef WEFT_ACCUMULATION_PASSES_H
#define WEFT_ACCUMULATION_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::weft {

#define GEN_PASS_DECL
#include "weft/Accumulation/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "weft/Accumulation/Passes.h.inc"

} // namespace mlir::weft

#endif // WEFT_ACCUMULATION_PASSES_H
