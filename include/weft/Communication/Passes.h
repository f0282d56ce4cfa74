// SPDX-License-Identifier: Apache-2.0

// The passes over collectives of the local and scheduled phases.

#ifndef WEFT_COMMUNICATION_PASSES_H
#define WEFT_COMMUNICATION_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::weft {

#define GEN_PASS_DECL
#include "weft/Communication/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "weft/Communication/Passes.h.inc"

} // namespace mlir::weft

#endif // WEFT_COMMUNICATION_PASSES_H
