// SPDX-License-Identifier: Apache-2.0

// The passes from kernels to PTX.

#ifndef WEFT_TARGET_CUDA_PASSES_H
#define WEFT_TARGET_CUDA_PASSES_H

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::weft {

#define GEN_PASS_DECL
#include "weft/Target/CUDA/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "weft/Target/CUDA/Passes.h.inc"

/// `planned` to `target`: kernels as PTX in an image, the step's entry and the
/// program table in the LLVM dialect.
void buildLowerCUDAPipeline(OpPassManager &pm);

/// Registers it under the name `weft-lower-cuda`.
void registerCUDAPipelines();

} // namespace mlir::weft

#endif // WEFT_TARGET_CUDA_PASSES_H
