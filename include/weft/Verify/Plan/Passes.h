// SPDX-License-Identifier: Apache-2.0

// The proofs about a planned step.

#ifndef WEFT_VERIFY_PLAN_PASSES_H
#define WEFT_VERIFY_PLAN_PASSES_H

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::weft {

#define GEN_PASS_DECL
#include "weft/Verify/Plan/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "weft/Verify/Plan/Passes.h.inc"

/// Adds all proofs about one program: the gate of the `planned` phase.
void buildVerifyPlannedPipeline(OpPassManager &pm);

/// Registers it as `weft-verify-planned`.
void registerVerifyPipelines();

} // namespace mlir::weft

#endif // WEFT_VERIFY_PLAN_PASSES_H
