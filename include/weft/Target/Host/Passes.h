// SPDX-License-Identifier: Apache-2.0

// The passes from kernels to code for CPUs.

#ifndef WEFT_TARGET_HOST_PASSES_H
#define WEFT_TARGET_HOST_PASSES_H

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::weft {

#define GEN_PASS_DECL
#include "weft/Target/Host/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "weft/Target/Host/Passes.h.inc"

/// `planned` to `target`: kernels, the step's entry and the program table in
/// the LLVM dialect. `expandBF16` makes the code that rounds to bf16, for CPUs
/// without such an instruction, and where all CPUs are to give the same bits.
void buildLowerHostPipeline(OpPassManager &pm, bool expandBF16 = false);

/// Registers it under the name `weft-lower-host`.
void registerHostPipelines();

} // namespace mlir::weft

#endif // WEFT_TARGET_HOST_PASSES_H
