// SPDX-License-Identifier: Apache-2.0

// What passes do with weft.optimization_barrier.

#ifndef WEFT_DIALECT_WEFT_IR_OPTIMIZATIONBARRIER_H
#define WEFT_DIALECT_WEFT_IR_OPTIMIZATIONBARRIER_H

#include "weft/Dialect/Weft/IR/WeftDialect.h"

namespace mlir::weft {

/// Leaves out of a barrier the values that nothing uses as it passes them on.
/// One that holds none is erased, one that holds all stays.
void dropUnused(OptimizationBarrierOp barrier);

} // namespace mlir::weft

#endif // WEFT_DIALECT_WEFT_IR_OPTIMIZATIONBARRIER_H
