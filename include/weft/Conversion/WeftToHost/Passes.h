// SPDX-License-Identifier: Apache-2.0

// Declarations and registration of the passes that make CPU code, and the two
// pipelines that they form.

#ifndef WEFT_CONVERSION_WEFTTOHOST_PASSES_H
#define WEFT_CONVERSION_WEFTTOHOST_PASSES_H

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::weft {

/// The section of machine code that holds the program's certificate as text, so
/// that it can be read without running anything.
inline constexpr llvm::StringLiteral kCertificateSection = ".weft.certificate";

#define GEN_PASS_DECL
#include "weft/Conversion/WeftToHost/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "weft/Conversion/WeftToHost/Passes.h.inc"

/// Stays in `local`: channels, fused kernels, and names of what takes time.
void buildFuseHostPipeline(OpPassManager &pm, bool mergeChannels = false);

/// `local` to `scheduled`: all of that, then the order, with weft-schedule's
/// own choices where none are given.
void buildScheduleHostPipeline(OpPassManager &pm);

/// `scheduled` to `planned`: gives every value its place in memory.
void buildPlanHostPipeline(OpPassManager &pm);

/// `planned` to `target`: kernels, the step's entry and the program table in
/// the LLVM dialect. `expandBF16` makes the code that rounds to bf16, for CPUs
/// without such an instruction, and where all CPUs are to give the same bits.
void buildLowerHostPipeline(OpPassManager &pm, bool expandBF16 = false);

/// Registers them under the names `weft-schedule-host`, `weft-plan-host` and
/// `weft-lower-host`.
void registerHostPipelines();

} // namespace mlir::weft

#endif // WEFT_CONVERSION_WEFTTOHOST_PASSES_H
