// SPDX-License-Identifier: Apache-2.0

// The figures of a schedule as people read them.

#ifndef WEFT_SCHEDULE_FIGURES_H
#define WEFT_SCHEDULE_FIGURES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::weft {

/// Prints what weft-schedule noted on `func`, with at most `maxExposed` of the
/// collectives that are waited for. Prints nothing if it was not scheduled.
void printSchedule(func::FuncOp func, int maxExposed, raw_ostream &os);

} // namespace mlir::weft

#endif // WEFT_SCHEDULE_FIGURES_H
