// SPDX-License-Identifier: Apache-2.0

// The passes from ops to kernels, for all targets.

#ifndef WEFT_CODEGEN_FUSION_PASSES_H
#define WEFT_CODEGEN_FUSION_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::weft {

#define GEN_PASS_DECL
#include "weft/Codegen/Fusion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "weft/Codegen/Fusion/Passes.h.inc"

} // namespace mlir::weft

#endif // WEFT_CODEGEN_FUSION_PASSES_H
