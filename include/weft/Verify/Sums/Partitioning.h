// SPDX-License-Identifier: Apache-2.0

// Whether the ranks together compute what the global program says: the proof
// about partitioning, over the reals, and that orders of sums are kept.

#ifndef WEFT_VERIFY_SUMS_PARTITIONING_H
#define WEFT_VERIFY_SUMS_PARTITIONING_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::weft {

/// Proves that the results of `local`, the program of a rank, are those of
/// `global`, or emits what differs or is in the way. Neither is changed.
LogicalResult verifyPartitioning(ModuleOp global, ModuleOp local);

/// Proves that sums of `local` have the orders that those of `global` have:
/// in invariant mode bit by bit, by way of the one-rank program inside; else of
/// each op that declares one. Emits what differs. Neither is changed.
LogicalResult verifyOrders(ModuleOp global, ModuleOp local);

} // namespace mlir::weft

#endif // WEFT_VERIFY_SUMS_PARTITIONING_H
