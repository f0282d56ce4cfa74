// SPDX-License-Identifier: Apache-2.0

// The gate after weft-insert-reshards: one walk over each function, each op
// checked against the shardings that the IR states for its operands and
// results. Nothing is inferred.

#include "weft/Propagation/Passes.h"
#include "weft/Rules/ReductionOrder.h"
#include "weft/Rules/ShardingConversion.h"
#include "weft/Rules/ShardingRule.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::weft {
#define GEN_PASS_DEF_VERIFYSHARDINGPASS
#include "weft/Propagation/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

bool isTensor(Value value) { return isa<RankedTensorType>(value.getType()); }

class ShardingVerifier {
public:
  ShardingVerifier(func::FuncOp func, const NamedMesh &mesh)
      : func(func), mesh(mesh) {}

  LogicalResult run();

private:
  FailureOr<Sharding> getSharding(Operation *op, Value value,
                                  const Twine &what);
  LogicalResult getShardings(Operation *op, SmallVectorImpl<Sharding> &operands,
                             SmallVectorImpl<Sharding> &results);
  LogicalResult verifyOp(Operation *op);
  LogicalResult verifyCaptures(Operation *op);
  LogicalResult verifyRule(Operation *op, const ShardingRule &rule);
  LogicalResult verifyPartial(Operation *op, const ShardingRule &rule,
                              const FactorSharding &factors,
                              ArrayRef<Sharding> operands,
                              ArrayRef<Sharding> results);
  LogicalResult verifyReplicated(Operation *op);
  LogicalResult verifyBarrier(OptimizationBarrierOp op);
  LogicalResult verifyReshard(ReshardOp op);
  LogicalResult verifyReturn(func::ReturnOp op);

  func::FuncOp func;
  const NamedMesh &mesh;
};

FailureOr<Sharding> ShardingVerifier::getSharding(Operation *op, Value value,
                                                  const Twine &what) {
  std::optional<Sharding> sharding = getStatedSharding(value, mesh.mesh);
  if (sharding)
    return *sharding;
  return op->emitOpError() << what << " of type " << value.getType()
                           << " has no sharding";
}

LogicalResult
ShardingVerifier::getShardings(Operation *op,
                               SmallVectorImpl<Sharding> &operands,
                               SmallVectorImpl<Sharding> &results) {
  auto collect = [&](ValueRange values, StringRef what,
                     SmallVectorImpl<Sharding> &shardings) -> LogicalResult {
    for (auto [i, value] : llvm::enumerate(values)) {
      shardings.emplace_back();
      if (!isTensor(value))
        continue;
      FailureOr<Sharding> sharding =
          getSharding(op, value, what + Twine(" #") + Twine(i));
      if (failed(sharding))
        return failure();
      shardings.back() = *sharding;
    }
    return success();
  };
  return success(succeeded(collect(op->getOperands(), "operand", operands)) &&
                 succeeded(collect(op->getResults(), "result", results)));
}

/// Tensors that regions use from outside are whole.
LogicalResult ShardingVerifier::verifyCaptures(Operation *op) {
  WalkResult walk = op->walk([&](Operation *inner) {
    if (inner == op)
      return WalkResult::advance();
    for (Value value : inner->getOperands()) {
      if (!isTensor(value) ||
          op->isAncestor(value.getParentBlock()->getParentOp()))
        continue;
      FailureOr<Sharding> sharding =
          getSharding(op, value, "a tensor that the body uses");
      if (failed(sharding))
        return WalkResult::interrupt();
      if (!sharding->isReplicated() || sharding->isPartial()) {
        op->emitOpError("body uses a tensor that is ")
            << sharding->str(mesh.mesh) << ", expected a replicated one";
        return WalkResult::interrupt();
      }
    }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

LogicalResult ShardingVerifier::verifyReplicated(Operation *op) {
  SmallVector<Sharding, 4> operands, results;
  // Ops that mix tensors and scalars among their results cannot state any.
  if (llvm::any_of(op->getResults(), isTensor) &&
      !llvm::all_of(op->getResults(), isTensor))
    return op->emitOpError("mixes tensors and scalars among its results");
  if (failed(getShardings(op, operands, results)))
    return failure();
  llvm::append_range(operands, results);
  for (const Sharding &sharding : operands)
    if (!sharding.isReplicated() || sharding.isPartial())
      return op->emitOpError("has no sharding rule, so its tensors must be "
                             "replicated, got ")
             << sharding.str(mesh.mesh);
  return success();
}

/// Contributions: what the operands keep and what the reductions make is what
/// the results have.
LogicalResult ShardingVerifier::verifyPartial(Operation *op,
                                              const ShardingRule &rule,
                                              const FactorSharding &factors,
                                              ArrayRef<Sharding> operands,
                                              ArrayRef<Sharding> results) {
  SmallVector<bool> isPartial;
  const Sharding *kept = nullptr;
  for (auto [i, sharding] : llvm::enumerate(operands)) {
    isPartial.push_back(sharding.isPartial());
    if (!sharding.isPartial())
      continue;
    if (kept &&
        (kept->partial != sharding.partial || kept->kind != sharding.kind))
      return op->emitOpError("operand #")
             << i << " is " << sharding.str(mesh.mesh)
             << ", but another operand is " << kept->str(mesh.mesh);
    kept = &sharding;
  }
  AxisList axes = getReductionAxes(rule, factors);
  Reduction kind = getReductionKind(rule, factors);
  if (kept) {
    if (!keepsPartial(op, isPartial, kept->kind) ||
        (!axes.empty() && kind != kept->kind) ||
        anyOverlap(axes, kept->partial))
      return op->emitOpError("is not linear in its operand that is ")
             << kept->str(mesh.mesh);
    bool isOwn = axes.empty();
    llvm::append_range(axes, kept->partial);
    axes = isOwn ? kept->partial : canonicalAxisSet(axes);
    kind = kept->kind;
  }
  for (auto [i, sharding] : llvm::enumerate(results)) {
    bool isOrdered = rule.order || getInvariance(op);
    Sharding expected = sharding;
    expected.partial =
        kept ? axes : getResultSharding(rule, i, factors).partial;
    expected.kind = kind;
    bool hasAxes = isOrdered ? sharding.partial == expected.partial
                             : canonicalAxisSet(sharding.partial) ==
                                   canonicalAxisSet(expected.partial);
    if (hasAxes && (expected.partial.empty() || sharding.kind == kind))
      continue;
    return op->emitOpError("result #")
           << i << " is " << sharding.str(mesh.mesh) << ", expected "
           << expected.str(mesh.mesh);
  }
  return success();
}

LogicalResult ShardingVerifier::verifyRule(Operation *op,
                                           const ShardingRule &rule) {
  SmallVector<Sharding, 4> operands, results;
  if (failed(getShardings(op, operands, results)))
    return failure();
  std::optional<FactorSharding> factors =
      getFactorSharding(rule, operands, results);
  if (factors)
    return verifyPartial(op, rule, *factors, operands, results);
  InFlightDiagnostic diag =
      op->emitOpError("shardings do not agree with the op's rule:");
  for (auto [i, value] : llvm::enumerate(op->getOperands()))
    if (isTensor(value))
      diag << " operand #" << i << " is " << operands[i].str(mesh.mesh) << ",";
  diag << " result #0 is " << results[0].str(mesh.mesh);
  return diag;
}

LogicalResult ShardingVerifier::verifyReshard(ReshardOp op) {
  FailureOr<Sharding> input = getSharding(op, op.getInput(), "operand #0");
  FailureOr<Sharding> result = getSharding(op, op.getResult(), "result #0");
  if (failed(input) || failed(result))
    return failure();
  Sharding from = toSharding(op.getFrom(), mesh.mesh).canonical();
  Sharding to = toSharding(op.getTo(), mesh.mesh).canonical();
  if (!from.isSameLayout(*input))
    return op.emitOpError("is from ")
           << from.str(mesh.mesh) << ", but its operand is "
           << input->str(mesh.mesh);
  if (!to.isSameLayout(*result))
    return op.emitOpError("is to ")
           << to.str(mesh.mesh) << ", but its result is "
           << result->str(mesh.mesh);
  return success();
}

LogicalResult ShardingVerifier::verifyReturn(func::ReturnOp op) {
  for (auto [i, value] : llvm::enumerate(op.getOperands())) {
    if (!isTensor(value))
      continue;
    FailureOr<Sharding> actual = getSharding(op, value, "operand #" + Twine(i));
    if (failed(actual))
      return failure();
    auto declared =
        func.getResultAttrOfType<ShardingAttr>(i, WeftDialect::kShardingAttr);
    if (!declared)
      return func.emitOpError("result #") << i << " has no sharding";
    Sharding expected = toSharding(declared, mesh.mesh).canonical();
    if (!actual->isSameLayout(expected))
      return op.emitOpError("operand #")
             << i << " is " << actual->str(mesh.mesh)
             << ", but the function declares " << expected.str(mesh.mesh);
  }
  return success();
}

/// Each value passes as it is; an axis may cut several of them.
LogicalResult ShardingVerifier::verifyBarrier(OptimizationBarrierOp op) {
  SmallVector<Sharding, 4> operands, results;
  if (failed(getShardings(op, operands, results)))
    return failure();
  for (auto [i, operand, result] : llvm::enumerate(operands, results))
    if (operand.isPartial() || !operand.isSameLayout(result))
      return op.emitOpError("operand #")
             << i << " is " << operand.str(mesh.mesh) << ", but result #" << i
             << " is " << result.str(mesh.mesh) << ": expected one whole value";
  return success();
}

LogicalResult ShardingVerifier::verifyOp(Operation *op) {
  if (auto ret = dyn_cast<func::ReturnOp>(op))
    return verifyReturn(ret);
  if (auto reshard = dyn_cast<ReshardOp>(op))
    return verifyReshard(reshard);
  if (auto barrier = dyn_cast<OptimizationBarrierOp>(op))
    return verifyBarrier(barrier);
  if (isa<ShardOp>(op))
    return op->emitOpError("is left: a user's sharding has to be a reshard by "
                           "now");
  if (failed(verifyCaptures(op)))
    return failure();
  if (llvm::none_of(op->getOperands(), isTensor) &&
      llvm::none_of(op->getResults(), isTensor))
    return success();
  if (std::optional<ShardingRule> rule = getShardingRule(op))
    return verifyRule(op, *rule);
  return verifyReplicated(op);
}

LogicalResult ShardingVerifier::run() {
  for (Operation &op : func.getBody().front())
    if (failed(verifyOp(&op)))
      return failure();
  return success();
}

struct VerifyShardingPass
    : weft::impl::VerifyShardingPassBase<VerifyShardingPass> {
  using Base::Base;

  void runOnOperation() override {
    std::optional<NamedMesh> mesh = findMesh(getOperation());
    markAllAnalysesPreserved();
    if (!mesh)
      return;
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isDeclaration() &&
          (failed(checkOneBlock(func)) ||
           failed(ShardingVerifier(func, *mesh).run())))
        return signalPassFailure();
  }
};

} // namespace
