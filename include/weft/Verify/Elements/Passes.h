// SPDX-License-Identifier: Apache-2.0

// The proofs that compare two programs element by element: canonicalization and
// scheduling.

#ifndef WEFT_VERIFY_ELEMENTS_PASSES_H
#define WEFT_VERIFY_ELEMENTS_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::weft {

#define GEN_PASS_DECL
#include "weft/Verify/Elements/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "weft/Verify/Elements/Passes.h.inc"

/// Name of the module inside a scheduled one that it was made from.
inline constexpr llvm::StringLiteral kLocalModule = "local";

/// Proves that a scheduled module computes what the local one does that it was
/// made from, or emits an error at the first op that differs.
LogicalResult verifyScheduling(ModuleOp local, ModuleOp scheduled);

} // namespace mlir::weft

#endif // WEFT_VERIFY_ELEMENTS_PASSES_H
