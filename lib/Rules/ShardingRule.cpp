// SPDX-License-Identifier: Apache-2.0

// What ops say about how they may be sharded, and what only a look beyond the
// op tells: what makes a reduction's init.
//
// A rule is built in one walk over an op's maps and types; nothing is cached.

#include "weft/Rules/ShardingRule.h"

#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Rules/ReductionOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::weft;

//===----------------------------------------------------------------------===//
// Splats and inits
//===----------------------------------------------------------------------===//

namespace {

/// Follows a linalg op whose result is one of its inputs, or a constant,
/// everywhere. Returns the input, or sets `element`.
Value getForwardedInput(linalg::LinalgOp op, TypedAttr &element) {
  if (op.getNumDpsInits() != 1 || op.getNumReductionLoops() != 0)
    return {};
  Value yielded = op.getBlock()->getTerminator()->getOperand(0);
  if (auto arg = dyn_cast<BlockArgument>(yielded);
      arg && arg.getOwner() == op.getBlock())
    return op.isDpsInput(op.getMatchingOpOperand(arg))
               ? op.getMatchingOpOperand(arg)->get()
               : Value();
  matchPattern(yielded, m_Constant(&element));
  return {};
}

/// Returns the value that has the same elements as `op`'s result, if they are
/// all one; null at the end of the way, where `element` may be set.
Value getSplatSource(Operation *op, TypedAttr &element) {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return getForwardedInput(linalgOp, element);
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp,
          tensor::ExtractSliceOp, tensor::SplatOp, ShardOp, ReshardOp>(op))
    return op->getOperand(0);
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    element = constant.getValue();
    if (auto splat = dyn_cast<SplatElementsAttr>(element))
      element = splat.getSplatValue<TypedAttr>();
    else if (isa<ElementsAttr>(element))
      element = {};
  }
  return {};
}

} // namespace

TypedAttr mlir::weft::getSplatElement(Value value) {
  TypedAttr element;
  while (value) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return {};
    value = getSplatSource(op, element);
  }
  return element;
}

namespace {

bool isScalarLike(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return !type || type.getRank() == 0;
}

/// A fill, an iota, a broadcast scalar: no input but scalars.
bool isFillLike(linalg::LinalgOp op) {
  return op.hasPureTensorSemantics() && op->getNumResults() == 1 &&
         op.getNumReductionLoops() == 0 &&
         llvm::all_of(op.getDpsInputs(), isScalarLike) &&
         llvm::all_of(*op.getBlock(), [](Operation &inner) {
           return llvm::all_of(inner.getOperandTypes(), [](Type type) {
             return !isa<ShapedType>(type);
           });
         });
}

} // namespace

bool mlir::weft::isRematerializable(Operation *op) {
  while (op) {
    if (isa<tensor::EmptyOp, tensor::SplatOp>(op))
      return true;
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      return isa<DenseElementsAttr>(constant.getValue());
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    if (!linalgOp || !isFillLike(linalgOp))
      return false;
    op = linalgOp.getDpsInits()[0].getDefiningOp();
  }
  return false;
}

bool mlir::weft::isIdempotent(Reduction kind) {
  return kind != Reduction::Sum && kind != Reduction::Prod;
}

bool mlir::weft::isSafeInit(TypedAttr element, Reduction kind) {
  auto asFloat = dyn_cast_if_present<FloatAttr>(element);
  auto asInt = dyn_cast_if_present<IntegerAttr>(element);
  switch (kind) {
  case Reduction::Sum:
    return (asFloat && asFloat.getValue().isZero()) ||
           (asInt && asInt.getValue().isZero());
  case Reduction::Prod:
    return (asFloat && asFloat.getValue().isExactlyValue(1.0)) ||
           (asInt && asInt.getValue().isOne());
  case Reduction::Max:
  case Reduction::Min:
  case Reduction::And:
  case Reduction::Or:
    return true;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// All ops
//===----------------------------------------------------------------------===//

namespace {

/// What the op says. Those that compute each element from those at its place
/// need not say anything.
std::optional<ShardingRule> askForRule(Operation *op) {
  if (auto own = dyn_cast<ShardingRuleOpInterface>(op))
    return own.getShardingRule();
  if (op->getNumResults() > 0 && op->hasTrait<OpTrait::Elementwise>())
    return getIdentityRule(op);
  return std::nullopt;
}

/// No rank may begin a reduction from what is not known to be neutral.
void replicateUnsafeReductions(Operation *op, ShardingRule &rule) {
  auto isUnsafe = [&](const Factor &factor) {
    return factor.kind == FactorKind::Reduction &&
           llvm::any_of(rule.inits, [&](unsigned init) {
             return !isSafeInit(getSplatElement(op->getOperand(init)),
                                factor.reduction);
           });
  };
  for (Factor &factor : rule.factors)
    if (isUnsafe(factor))
      factor.kind = FactorKind::Replicated;
}

} // namespace

std::optional<ShardingRule> mlir::weft::getShardingRule(Operation *op) {
  if (!hasStaticTensors(op))
    return std::nullopt;
  std::optional<ShardingRule> rule = askForRule(op);
  if (!rule)
    return std::nullopt;
  if (!rule->inits.empty())
    replicateUnsafeReductions(op, *rule);
  if (rule->order)
    rule->order = getSumOrder(op, rule->order->loops);
  return rule;
}

ComputeClass mlir::weft::getComputeClass(Operation *op) {
  auto own = dyn_cast<ShardingRuleOpInterface>(op);
  return own ? own.getComputeClass() : ComputeClass::Other;
}

Operation *mlir::weft::getLinearUser(Value value) {
  if (!value.hasOneUse())
    return nullptr;
  Operation *user = *value.user_begin();
  auto linalgOp = dyn_cast<linalg::LinalgOp>(user);
  if (user->getNumResults() != 1 || isa<ShardOp>(user) ||
      getComputeClass(user) == ComputeClass::Contraction ||
      (linalgOp && linalgOp.getNumReductionLoops() != 0))
    return nullptr;
  SmallVector<bool> isPartial =
      llvm::map_to_vector(user->getOperands(), [](Value operand) {
        Operation *op = operand.getDefiningOp();
        return isa<RankedTensorType>(operand.getType()) &&
               !(op && isRematerializable(op));
      });
  return keepsPartial(user, isPartial, Reduction::Sum) ? user : nullptr;
}

bool mlir::weft::hasReduction(const ShardingRule &rule) {
  return llvm::any_of(rule.factors, [](const Factor &factor) {
    return factor.kind == FactorKind::Reduction;
  });
}
