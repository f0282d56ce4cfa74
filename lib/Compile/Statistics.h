// SPDX-License-Identifier: Apache-2.0

// What --stats prints about a step.

#ifndef WEFT_LIB_COMPILE_STATISTICS_H
#define WEFT_LIB_COMPILE_STATISTICS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::weft {

/// Prints what a rank receives, a line per kind of collective and axes, and the
/// figures of the schedule, if there is one.
void printStatistics(ModuleOp module, raw_ostream &os);

/// Prints what memory the plan of a function needs.
void printMemory(func::FuncOp planned, raw_ostream &os);

} // namespace mlir::weft

#endif // WEFT_LIB_COMPILE_STATISTICS_H
