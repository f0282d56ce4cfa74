// SPDX-License-Identifier: Apache-2.0

// The passes from the global to the local phase.

#ifndef WEFT_PARTITION_PASSES_H
#define WEFT_PARTITION_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::weft {

#define GEN_PASS_DECL
#include "weft/Partition/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "weft/Partition/Passes.h.inc"

} // namespace mlir::weft

#endif // WEFT_PARTITION_PASSES_H
