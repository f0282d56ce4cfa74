// SPDX-License-Identifier: Apache-2.0

// The pipeline from kernels to code for CPUs.

#ifndef WEFT_TARGET_HOST_PIPELINES_H
#define WEFT_TARGET_HOST_PIPELINES_H

#include "mlir/Pass/PassManager.h"

namespace mlir::weft {

/// `planned` to `target`: kernels, the step's entry and the program table in
/// the LLVM dialect. `expandBF16` makes the code that rounds to bf16, for CPUs
/// without such an instruction, and where all CPUs are to give the same bits.
void buildLowerHostPipeline(OpPassManager &pm, bool expandBF16 = false);

/// Registers it under the name `weft-lower-host`.
void registerHostPipelines();

} // namespace mlir::weft

#endif // WEFT_TARGET_HOST_PIPELINES_H
