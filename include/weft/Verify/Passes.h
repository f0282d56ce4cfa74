// SPDX-License-Identifier: Apache-2.0

// The proofs about a planned step: passes that change nothing and fail with a
// counterexample. docs/proofs.md says what each proves and what it assumes.

#ifndef WEFT_VERIFY_PASSES_H
#define WEFT_VERIFY_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::weft {

#define GEN_PASS_DECL
#include "weft/Verify/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "weft/Verify/Passes.h.inc"

/// Name of the module inside a scheduled one that it was made from.
inline constexpr llvm::StringLiteral kLocalModule = "local";

/// Proves that a scheduled module computes what the local one does that it was
/// made from, or emits an error at the first op that differs.
LogicalResult verifyScheduling(ModuleOp local, ModuleOp scheduled);

/// Adds all proofs about one program: the gate of the `planned` phase.
void buildVerifyPlannedPipeline(OpPassManager &pm);

/// Registers it as `weft-verify-planned`.
void registerVerifyPipelines();

} // namespace mlir::weft

#endif // WEFT_VERIFY_PASSES_H
