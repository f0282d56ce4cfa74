// SPDX-License-Identifier: Apache-2.0

// Which reductions have an order, and the arithmetic of cutting it: leaves per
// rank, contiguous parts, and the order of axes.

#include "weft/Rules/ReductionOrder.h"

#include "Models.h"

#include "weft/Rules/ShardingConversion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::weft;

InvarianceAttr mlir::weft::getInvariance(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  return module ? module->getAttrOfType<InvarianceAttr>(
                      WeftDialect::kInvarianceAttr)
                : InvarianceAttr();
}

//===----------------------------------------------------------------------===//
// Which ops
//===----------------------------------------------------------------------===//

namespace {

/// The op that makes result `index` of a linalg op's body; null if the body
/// only passes a value on.
Operation *getCombiner(linalg::LinalgOp op, unsigned index) {
  return op.getBlock()->getTerminator()->getOperand(index).getDefiningOp();
}

/// Says whether the accumulator of result `index` only meets such a combiner.
template <typename... Ops>
bool isCombinedBy(linalg::LinalgOp op, unsigned index) {
  Operation *combiner = getCombiner(op, index);
  BlockArgument accumulator = op.getRegionOutputArgs()[index];
  return isa_and_present<Ops...>(combiner) && accumulator.hasOneUse() &&
         *accumulator.user_begin() == combiner;
}

/// Says whether result `index` adds to, or multiplies, its accumulator.
bool isPlain(linalg::LinalgOp op, unsigned index) {
  return isCombinedBy<arith::AddFOp, arith::MulFOp>(op, index);
}

} // namespace

bool mlir::weft::isInexact(linalg::LinalgOp op, unsigned index) {
  Value init = op.getDpsInits()[index];
  return isa<FloatType>(getElementTypeOrSelf(init.getType())) &&
         !isCombinedBy<arith::MaximumFOp, arith::MinimumFOp>(op, index);
}

bool mlir::weft::needsOrder(Operation *op) {
  auto own = dyn_cast<ShardingRuleOpInterface>(op);
  return own && own.needsOrder();
}

bool mlir::weft::isPlainReduction(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return !linalgOp ||
         llvm::all_of(llvm::seq(linalgOp.getNumDpsInits()), [&](unsigned i) {
           return !isInexact(linalgOp, i) || isPlain(linalgOp, i);
         });
}

SmallVector<int> mlir::weft::getReductionLoops(Operation *op) {
  return cast<ShardingRuleOpInterface>(op).getReductionLoops();
}

SmallVector<int64_t> mlir::weft::getReductionSizes(Operation *op) {
  auto own = cast<ShardingRuleOpInterface>(op);
  SmallVector<int64_t> all = own.getLoopSizes();
  return llvm::map_to_vector(own.getReductionLoops(),
                             [&](int loop) { return all[loop]; });
}

int64_t mlir::weft::chooseLeaves(int64_t leaves, int64_t size,
                                 int64_t minLeaf) {
  for (int64_t chosen = leaves; chosen > 1; chosen /= 2) {
    if (size % chosen == 0 && size / chosen >= minLeaf)
      return chosen;
    if (chosen % 2 != 0)
      break;
  }
  return 1;
}

//===----------------------------------------------------------------------===//
// How they may be cut
//===----------------------------------------------------------------------===//

std::optional<SumOrder> mlir::weft::getSumOrder(Operation *op,
                                                ArrayRef<int> loops) {
  if (!getInvariance(op))
    return std::nullopt;
  SumOrder order;
  order.loops.assign(loops.begin(), loops.end());
  if (auto attr = op->getAttrOfType<OrderAttr>(WeftDialect::kOrderAttr))
    order.leaves = attr.getLeaves();
  return order;
}

/// Returns in how many parts the axes cut a sum; nullopt if a rank's part is
/// not contiguous.
static std::optional<int64_t> countParts(const ShardingRule &rule,
                                         const FactorSharding &sharding) {
  int64_t parts = 1;
  bool mayGoOn = true;
  for (int loop : rule.order->loops) {
    int64_t size = rule.factors[loop].size;
    int64_t shards = numShards(sharding.axes[loop]);
    if (shards > 1 && (!mayGoOn || size % shards != 0))
      return std::nullopt;
    mayGoOn = mayGoOn && shards == size;
    parts *= shards;
  }
  return parts;
}

bool mlir::weft::keepsOrder(const ShardingRule &rule,
                            const FactorSharding &sharding) {
  if (!rule.order)
    return true;
  std::optional<int64_t> parts = countParts(rule, sharding);
  if (!parts)
    return false;
  int64_t leaves = rule.order->leaves;
  return *parts == 1 ||
         (leaves % *parts == 0 && llvm::isPowerOf2_64(leaves / *parts));
}

AxisList mlir::weft::getOrderedAxes(const ShardingRule &rule,
                                    const FactorSharding &sharding) {
  AxisList axes;
  for (int loop : rule.order->loops)
    llvm::append_range(axes, sharding.axes[loop]);
  return canonicalAxes(axes);
}

OrderAttr mlir::weft::getLocalOrder(OrderAttr order, const ShardingRule &rule,
                                    const FactorSharding &sharding) {
  int64_t parts = countParts(rule, sharding).value_or(1);
  return OrderAttr::get(order.getContext(), order.getLeaves() / parts,
                        order.getLanes(), order.getRounded());
}
