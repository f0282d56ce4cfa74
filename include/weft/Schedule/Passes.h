// SPDX-License-Identifier: Apache-2.0

// Declaration and registration of the passes that make schedules.

#ifndef WEFT_SCHEDULE_PASSES_H
#define WEFT_SCHEDULE_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>

namespace mlir::weft {

#define GEN_PASS_DECL
#include "weft/Schedule/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "weft/Schedule/Passes.h.inc"

class KnownSchedules;

/// The pass, which looks for orders that need little memory where `known`
/// has none. That must live as long as the pass.
std::unique_ptr<Pass> createSchedulePass(const SchedulePassOptions &options,
                                         KnownSchedules &known);

/// Whether a program says what is not to be kept, or where it waits.
bool hasBarriers(Operation *root);

/// Replaces each weft.optimization_barrier in an op by its inputs, but for
/// those with `offload`.
void eraseBarriers(Operation *root);

/// Replaces those with `offload` by their inputs: nothing waits in the host's
/// memory.
void eraseOffloads(Operation *root);

/// Computes once what a local module computes twice, collectives included; but
/// arguments are gathered as often as before. With `regathers` so they are over
/// several axes, too.
void mergeRepeated(ModuleOp module, bool regathers);

} // namespace mlir::weft

#endif // WEFT_SCHEDULE_PASSES_H
