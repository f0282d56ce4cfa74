// SPDX-License-Identifier: Apache-2.0

// Passes over what kernels compute, for all targets that make code.

#ifndef WEFT_CODEGEN_KERNELS_PASSES_H
#define WEFT_CODEGEN_KERNELS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::weft {

#define GEN_PASS_DECL
#include "weft/Codegen/Kernels/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "weft/Codegen/Kernels/Passes.h.inc"

} // namespace mlir::weft

#endif // WEFT_CODEGEN_KERNELS_PASSES_H
