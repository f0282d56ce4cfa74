// SPDX-License-Identifier: Apache-2.0

// Reductions over several loops in stages, so that axes of the mesh may cut
// each loop: whatever ranks hold of one stage is a part of its order.

#ifndef WEFT_LIB_ORDERS_REDUCTIONSTAGES_H
#define WEFT_LIB_ORDERS_REDUCTIONSTAGES_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::weft {

/// Rewrites a reduction that needs an order, if that is worth it; returns the
/// ops that reduce now: `op` itself, or those that replaced it.
///
/// - The outer reduction loops are summed first, the others after that: the sum
///   of 8x256x16x128 elements over its first three dimensions is one over the
///   first two, to 16x128, and then one of those rows. What lies in between is
///   small: as many loops are summed first as have 16 elements.
/// - A sum to one f32 is taken in f64.
SmallVector<linalg::GenericOp> splitReduction(linalg::GenericOp op);

} // namespace mlir::weft

#endif // WEFT_LIB_ORDERS_REDUCTIONSTAGES_H
