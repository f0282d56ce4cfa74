// SPDX-License-Identifier: Apache-2.0

// Orders of floating-point reductions (OrderAttr) and how axes of the mesh may
// cut them.
//
// Where a module has `weft.invariance`, axes may cut a sum only so that each
// rank holds whole subtrees of its order. Let K be the flattened index of the
// op's reduction loops. Worked example: K of (8, 64) elements in 8 leaves
// of 64. Cut in 2 or 4 parts along the first loop, a rank holds 4 or 2 leaves,
// which are one subtree. Cut in 2 along the second, it holds the half of each
// leaf: not allowed. Cut in 16, first in 8 along the first loop and then in 2
// along the second, it would hold half a leaf: not allowed either.
//
// That goes for *free* axes, which the module does not list, as well: then it
// does not matter whether they cut a sum, which they may on one mesh and not on
// another. But their sizes may change orders: a sum that they want to cut in t
// parts has t trees of leaves, and one of t parts above.

#ifndef WEFT_RULES_REDUCTIONORDER_H
#define WEFT_RULES_REDUCTIONORDER_H

#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Rules/ShardingRule.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir::weft {

/// Name of the module inside an invariant one in phase `local` that holds the
/// program for size 1 of all axes that must not matter.
inline constexpr llvm::StringLiteral kOneRankModule = "one_rank";

/// Returns the `weft.invariance` of the module around `op`; null if it has
/// none.
InvarianceAttr getInvariance(Operation *op);

/// Gives the listed axes of the mesh size 1, in shardings too.
void shrinkListedAxes(ModuleOp module, InvarianceAttr invariance);

/// Says whether the result of the op depends on the order in which it reduces:
/// contractions, and sums and products of floating-point numbers.
bool needsOrder(Operation *op);

/// Says whether all that such an op reduces is a plain sum or product: the
/// accumulator is added to, or multiplied, and not used otherwise.
bool isPlainReduction(Operation *op);

/// Returns the reduction loops of a weft.matmul or linalg op, and the size of
/// each.
SmallVector<int> getReductionLoops(Operation *op);
SmallVector<int64_t> getReductionSizes(Operation *op);

/// Returns the largest of leaves, leaves / 2, leaves / 4, ... that cuts `size`
/// elements in leaves of at least `minLeaf`; 1 if none does.
int64_t chooseLeaves(int64_t leaves, int64_t size, int64_t minLeaf);

/// Says whether a leaf of `length` elements is whole runs of `run` elements, or
/// a part of one.
inline bool isWholeRuns(int64_t length, int64_t run) {
  return length % run == 0 || run % length == 0;
}

/// Returns how the op's reduction may be cut, if it needs an order and is in a
/// module with `weft.invariance`. `loops` are the factors of its reduction
/// loops.
std::optional<SumOrder> getSumOrder(Operation *op, ArrayRef<int> loops);

/// Says whether each rank's part of the op's sum is a subtree of its order.
bool keepsOrder(const ShardingRule &rule, const FactorSharding &sharding);

/// Returns the axes that cut the op's sum, as the ranks' parts are to be
/// joined: those of outer loops first, major first.
AxisList getOrderedAxes(const ShardingRule &rule,
                        const FactorSharding &sharding);

/// Returns the order of a rank's part of an op with such an order.
OrderAttr getLocalOrder(OrderAttr order, const ShardingRule &rule,
                        const FactorSharding &sharding);

} // namespace mlir::weft

#endif // WEFT_RULES_REDUCTIONORDER_H
