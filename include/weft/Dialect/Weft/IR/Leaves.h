// SPDX-License-Identifier: Apache-2.0

// The one check of leaves against what an op sums, for verifiers of weft and
// weft_rt.

#ifndef WEFT_DIALECT_WEFT_IR_LEAVES_H
#define WEFT_DIALECT_WEFT_IR_LEAVES_H

#include "mlir/IR/Operation.h"

namespace mlir::weft {

/// Checks that the leaves of the order which `op` has, if it has one, divide
/// the `summed` elements that it sums. Emits at the op and fails if they do
/// not.
LogicalResult verifyLeaves(Operation *op, int64_t summed);

} // namespace mlir::weft

#endif // WEFT_DIALECT_WEFT_IR_LEAVES_H
