// SPDX-License-Identifier: Apache-2.0

// Orders of reductions (weft.order) on the way to kernels: which ops need one,
// what an order asks of an op, and how it gets through rewrites.

#ifndef WEFT_CODEGEN_FUSION_ORDERS_H
#define WEFT_CODEGEN_FUSION_ORDERS_H

#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::weft {

/// How a reduction makes one of its results: `op` takes the accumulator, which
/// nothing else does, and `term`, and what it gives is yielded.
struct Combiner {
  Operation *op = nullptr;
  Value term;
  /// What may be combined any number of times: 1 for products, for sums +0, and
  /// -0 for those that start from it.
  TypedAttr identity;
};

/// Returns nothing if the body does anything else with the accumulator.
std::optional<Combiner> getCombiner(linalg::LinalgOp op, unsigned result);

/// Says whether the order in which the op reduces may be seen in its results.
bool isOrderSensitive(linalg::LinalgOp op);

/// The order of an op, if it has one and is sensitive to it; else null.
OrderAttr getOrder(linalg::LinalgOp op);

/// Says whether the op joins what one rank has summed one after the other, as
/// weft-accumulate writes it: it has an order, but no reduction loop.
bool isJoin(Operation *op);

/// Checks that each order in the function fits its op, and, if the module is to
/// be invariant, that no reduction lacks one.
LogicalResult checkOrders(func::FuncOp func);

/// Patterns make new ops out of old ones and keep the ops in their bodies. So
/// orders are kept on these while patterns run.
void moveOrdersIntoBodies(func::FuncOp func);
void moveOrdersOutOfBodies(func::FuncOp func);

/// Ops that reduce one element only become elementwise: init + (0 + element).
void makeUnitReductionsElementwise(func::FuncOp func);

} // namespace mlir::weft

#endif // WEFT_CODEGEN_FUSION_ORDERS_H
