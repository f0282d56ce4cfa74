// SPDX-License-Identifier: Apache-2.0

// The passes that give each value its place in memory, for all targets.

#ifndef WEFT_CODEGEN_PLANNING_PASSES_H
#define WEFT_CODEGEN_PLANNING_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::weft {

#define GEN_PASS_DECL
#include "weft/Codegen/Planning/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "weft/Codegen/Planning/Passes.h.inc"

/// Says whether a planned module has kernels that only add what reduce-scatters
/// give: those that `weft-assign-streams` looks at.
bool hasScatteredSums(ModuleOp planned);

} // namespace mlir::weft

#endif // WEFT_CODEGEN_PLANNING_PASSES_H
