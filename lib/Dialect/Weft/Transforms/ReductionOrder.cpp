// SPDX-License-Identifier: Apache-2.0

// Which reductions have an order, and the arithmetic of cutting it: leaves per
// rank, contiguous parts, and the order of axes.

#include "weft/Dialect/Weft/Transforms/ReductionOrder.h"

#include "weft/Dialect/Weft/Transforms/ShardingConversion.h"

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

/// Says whether the order in which result `index` is reduced may be seen:
/// maxnum and minnum leave open which zero, or NaN, they give.
bool isInexact(linalg::LinalgOp op, unsigned index) {
  Value init = op.getDpsInits()[index];
  return isa<FloatType>(getElementTypeOrSelf(init.getType())) &&
         !isCombinedBy<arith::MaximumFOp, arith::MinimumFOp>(op, index);
}

/// Says whether result `index` adds to, or multiplies, its accumulator.
bool isPlain(linalg::LinalgOp op, unsigned index) {
  return isCombinedBy<arith::AddFOp, arith::MulFOp>(op, index);
}

} // namespace

bool mlir::weft::needsOrder(Operation *op) {
  if (isa<MatmulOp>(op))
    return true;
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return linalgOp && linalgOp.getNumReductionLoops() != 0 &&
         llvm::any_of(llvm::seq(linalgOp.getNumDpsInits()),
                      [&](unsigned i) { return isInexact(linalgOp, i); });
}

bool mlir::weft::isPlainReduction(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return !linalgOp ||
         llvm::all_of(llvm::seq(linalgOp.getNumDpsInits()), [&](unsigned i) {
           return !isInexact(linalgOp, i) || isPlain(linalgOp, i);
         });
}

SmallVector<int> mlir::weft::getReductionLoops(Operation *op) {
  SmallVector<int> loops;
  if (auto matmul = dyn_cast<MatmulOp>(op)) {
    for (unsigned dim = 0; dim < matmul.getResultMap().getNumDims(); ++dim)
      if (!matmul.getResultMap().isFunctionOfDim(dim))
        loops.push_back(dim);
    return loops;
  }
  for (auto [loop, kind] :
       llvm::enumerate(cast<linalg::LinalgOp>(op).getIteratorTypesArray()))
    if (kind == utils::IteratorType::reduction)
      loops.push_back(loop);
  return loops;
}

SmallVector<int64_t> mlir::weft::getReductionSizes(Operation *op) {
  auto matmul = dyn_cast<MatmulOp>(op);
  SmallVector<int64_t> all =
      matmul ? matmul.getLoopSizes()
             : cast<linalg::LinalgOp>(op).getStaticLoopRanges();
  return llvm::map_to_vector(getReductionLoops(op),
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
  InvarianceAttr invariance = getInvariance(op);
  if (!invariance)
    return std::nullopt;
  SumOrder order;
  order.loops.assign(loops.begin(), loops.end());
  if (auto attr = op->getAttrOfType<OrderAttr>(WeftDialect::kOrderAttr))
    order.leaves = attr.getLeaves();
  for (auto mesh : op->getParentOfType<ModuleOp>().getOps<MeshOp>())
    for (auto [axis, entry] : llvm::enumerate(mesh.getMesh().getAxes()))
      if (invariance.hasAxis(entry.getName()))
        order.axes.push_back(axis);
  return order;
}

namespace {

/// How the axes cut a sum.
struct SumCut {
  /// Per loop what is left by free axes, and the parts that listed axes make.
  SmallVector<int64_t> sizes, parts;
  AxisList freeAxes, listedAxes;

  int64_t numParts() const { return numShards(listedAxes); }
  int64_t size() const {
    int64_t product = 1;
    for (int64_t size : sizes)
      product *= size;
    return product;
  }
  /// The leaves of a sum that free axes have cut.
  int64_t leavesOf(int64_t leaves) const {
    while (leaves > 1 && size() % leaves != 0)
      leaves = leaves % 2 == 0 ? leaves / 2 : 1;
    return leaves;
  }
};

/// Adds what the axes of one loop cut; false if no rank's part would be
/// contiguous in what free axes leave of the sum.
bool addLoop(const SumOrder &order, int64_t size, ArrayRef<AxisRef> axes,
             bool &mayGoOn, SumCut &cut) {
  AxisList freeAxes, listed;
  for (const AxisRef &axis : axes) {
    bool isListed = llvm::is_contained(order.axes, axis.axis);
    if (!isListed && !listed.empty())
      return false;
    (isListed ? listed : freeAxes).push_back(axis);
  }
  int64_t shards = numShards(freeAxes), parts = numShards(listed);
  int64_t left = llvm::divideCeilSigned(size, shards);
  if (parts > 1 && (!mayGoOn || size % (shards * parts) != 0))
    return false;
  mayGoOn = mayGoOn && parts == left;
  cut.sizes.push_back(left);
  cut.parts.push_back(parts);
  llvm::append_range(cut.freeAxes, freeAxes);
  llvm::append_range(cut.listedAxes, listed);
  return true;
}

std::optional<SumCut> cutSum(const ShardingRule &rule,
                             const FactorSharding &sharding) {
  SumCut cut;
  bool mayGoOn = true;
  for (int loop : rule.order->loops)
    if (!addLoop(*rule.order, rule.factors[loop].size, sharding.axes[loop],
                 mayGoOn, cut))
      return std::nullopt;
  return cut;
}

} // namespace

bool mlir::weft::keepsOrder(const ShardingRule &rule,
                            const FactorSharding &sharding) {
  if (!rule.order)
    return true;
  std::optional<SumCut> cut = cutSum(rule, sharding);
  if (!cut)
    return false;
  int64_t parts = cut->numParts();
  if (parts == 1)
    return true;
  int64_t leaves = cut->leavesOf(rule.order->leaves);
  if (leaves % parts != 0 || !llvm::isPowerOf2_64(leaves / parts))
    return false;
  // One collective joins all parts: its tree must have that of the listed axes
  // as subtrees.
  return cut->freeAxes.empty() || llvm::isPowerOf2_64(parts);
}

AxisList mlir::weft::getOrderedAxes(const ShardingRule &rule,
                                    const FactorSharding &sharding) {
  std::optional<SumCut> cut = cutSum(rule, sharding);
  if (!cut)
    return {};
  AxisList axes = cut->freeAxes;
  llvm::append_range(axes, cut->listedAxes);
  return canonicalAxes(axes);
}

OrderAttr mlir::weft::getLocalOrder(OrderAttr order, const ShardingRule &rule,
                                    const FactorSharding &sharding) {
  std::optional<SumCut> cut = cutSum(rule, sharding);
  if (!cut)
    return order;
  int64_t leaves = cut->leavesOf(order.getLeaves());
  int64_t lanes = order.getLanes();
  if (lanes > 1 && !isWholeRuns(cut->size() / leaves, cut->sizes.back()))
    lanes = 1;
  return OrderAttr::get(order.getContext(), leaves / cut->numParts(), lanes,
                        order.getRounded());
}
