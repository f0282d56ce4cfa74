// SPDX-License-Identifier: Apache-2.0

// The pipelines from `local` to `planned`, of which passes before them ask what
// comes of a choice.

#ifndef WEFT_PIPELINES_PLANPIPELINES_H
#define WEFT_PIPELINES_PLANPIPELINES_H

#include "mlir/Pass/PassManager.h"

namespace mlir::weft {

/// Stays in `local`: channels, fused kernels, and names of what takes time.
void buildFusePipeline(OpPassManager &pm, bool mergeChannels = false);

/// The two parts of it: up to channels, and from ops to kernels.
void buildUnfusedPipeline(OpPassManager &pm, bool mergeChannels = false);
void buildKernelPipeline(OpPassManager &pm);

/// `local` to `scheduled`: all of that, then the order, with weft-schedule's
/// own choices where none are given.
void buildSchedulePipeline(OpPassManager &pm);

/// `scheduled` to `planned`: gives every value its place in memory.
void buildPlanPipeline(OpPassManager &pm);

} // namespace mlir::weft

#endif // WEFT_PIPELINES_PLANPIPELINES_H
