// SPDX-License-Identifier: Apache-2.0

// What a schedule was estimated to take and to need, replaced by what its plan
// does: planning adds kernels, and shares memory.

#ifndef WEFT_LIB_COMPILE_PLANNEDFIGURES_H
#define WEFT_LIB_COMPILE_PLANNEDFIGURES_H

#include "weft/Cost/Machine.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir::weft {

/// Sets times and bytes in the attribute `weft.schedule` of a planned module's
/// functions to those of the planned program, as the simulator has them. Gives
/// nanoseconds of all functions, also of those without the attribute.
int64_t notePlannedFigures(ModuleOp planned, const Machine &machine);

/// The sum of a figure of `weft.schedule` over all functions.
int64_t getScheduleFigure(ModuleOp module, llvm::StringRef name);

} // namespace mlir::weft

#endif // WEFT_LIB_COMPILE_PLANNEDFIGURES_H
