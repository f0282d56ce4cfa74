// SPDX-License-Identifier: Apache-2.0

// weft-verify-local: the gate of phase `local`. Nothing is left to decide: no
// shardings but at a function's border, static types only, every op that weft
// adds is one that a rank can run, and each order fits the op that has it.

#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Partition/Passes.h"
#include "weft/Rules/ReductionOrder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

namespace mlir::weft {
#define GEN_PASS_DEF_VERIFYLOCALPASS
#include "weft/Partition/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

LogicalResult verifyTypes(Operation *op) {
  for (Value result : op->getResults()) {
    auto type = dyn_cast<ShapedType>(result.getType());
    if (type && !type.hasStaticShape())
      return op->emitOpError("makes a value of type ")
             << type << ", but local types are static";
  }
  return success();
}

/// The leaves of a collective are the contributions of the group's members.
LogicalResult verifyMembers(CollectiveOpInterface op, OrderAttr order) {
  int64_t members = op.getGroupSize();
  if (order.getLeaves() == members && order.getLanes() == 1)
    return success();
  return op->emitOpError("has the order ")
         << order << ", but joins what " << members << " members have";
}

LogicalResult verifyLoops(Operation *op, OrderAttr order) {
  SmallVector<int64_t> sizes = getReductionSizes(op);
  int64_t size = computeProduct(sizes), leaves = order.getLeaves();
  if (size % leaves != 0)
    return op->emitOpError("has the order ")
           << order << ", but sums " << size << " elements";
  if (order.getLanes() == 1)
    return success();
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  bool isLast = linalgOp && linalgOp.getIteratorTypesArray().back() ==
                                utils::IteratorType::reduction;
  if (isLast && isWholeRuns(size / leaves, sizes.back()))
    return success();
  return op->emitOpError("has the order ")
         << order << ", but its leaves are no runs along the last loop";
}

LogicalResult verifyOrder(Operation *op) {
  auto order = op->getAttrOfType<OrderAttr>(WeftDialect::kOrderAttr);
  if (!order)
    return success();
  bool isContraction = getComputeClass(op) == ComputeClass::Contraction;
  if (order.getRounded() && !isContraction)
    return op->emitOpError("has the order ")
           << order << ", but only weft.matmul rounds each leaf";
  if (auto collective = dyn_cast<CollectiveOpInterface>(op);
      collective && collective.getReduction())
    return verifyMembers(collective, order);
  auto own = dyn_cast<ShardingRuleOpInterface>(op);
  if (own && (isContraction || !own.getReductionLoops().empty()))
    return verifyLoops(op, order);
  // A join of contributions that one rank has made one after the other.
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
      linalgOp && linalgOp.getNumDpsInputs() == order.getLeaves())
    return success();
  return op->emitOpError("has the order ") << order << ", but reduces nothing";
}

LogicalResult verifyOp(Operation *op) {
  if (isa<ShardOp, ReshardOp>(op))
    return op->emitOpError("is not allowed in phase 'local'");
  if (op->hasAttr(WeftDialect::kShardingsAttr))
    return op->emitOpError("has '")
           << WeftDialect::kShardingsAttr
           << "', which is not allowed in phase 'local'";
  if (failed(verifyOrder(op)))
    return failure();
  return verifyTypes(op);
}

/// A sharding at the border is allowed only beside the global type.
LogicalResult verifyBorder(func::FuncOp func, unsigned index,
                           DictionaryAttr attrs, StringRef what) {
  if (!attrs || !attrs.contains(WeftDialect::kShardingAttr) ||
      attrs.contains(WeftDialect::kGlobalTypeAttr))
    return success();
  return func.emitOpError(what)
         << " #" << index << " has a sharding, but no '"
         << WeftDialect::kGlobalTypeAttr << "': its type is not local";
}

/// A result that takes the place of an argument lies as that does: the runtime
/// knows both by the axes that are written, also where those are of size 1.
LogicalResult verifyAlias(func::FuncOp func, unsigned result) {
  auto alias =
      func.getResultAttrOfType<IntegerAttr>(result, WeftDialect::kAliasAttr);
  if (!alias)
    return success();
  unsigned arg = alias.getInt();
  auto from =
      func.getArgAttrOfType<ShardingAttr>(arg, WeftDialect::kShardingAttr);
  auto to = func.getResultAttrOfType<ShardingAttr>(result,
                                                   WeftDialect::kShardingAttr);
  if (!from || !to || from.getDims() == to.getDims())
    return success();
  return func.emitOpError("result #")
         << result << " is sharded as " << to << ", but argument #" << arg
         << ", which is donated to it, as " << from;
}

LogicalResult verifyFunction(func::FuncOp func) {
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    if (failed(verifyBorder(func, i, func.getArgAttrDict(i), "argument")))
      return failure();
  for (unsigned i = 0; i < func.getNumResults(); ++i)
    if (failed(verifyBorder(func, i, func.getResultAttrDict(i), "result")) ||
        failed(verifyAlias(func, i)))
      return failure();
  for (auto [i, type] : llvm::enumerate(func.getArgumentTypes()))
    if (auto shaped = dyn_cast<ShapedType>(type);
        shaped && !shaped.hasStaticShape())
      return func.emitOpError("argument #")
             << i << " has type " << type << ", but local types are static";
  return success();
}

struct VerifyLocalPass
    : public weft::impl::VerifyLocalPassBase<VerifyLocalPass> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([](Operation *op) {
      auto func = dyn_cast<func::FuncOp>(op);
      if (failed(verifyOp(op)) || (func && failed(verifyFunction(func))))
        return WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
