// SPDX-License-Identifier: Apache-2.0

// What weft.matmul says by way of interfaces: all follows from its maps.

#include "weft/Dialect/Weft/IR/WeftDialect.h"

using namespace mlir;
using namespace mlir::weft;

AffineMap MatmulOp::getLhsMap() {
  return cast<AffineMapAttr>(getIndexingMaps()[0]).getValue();
}
AffineMap MatmulOp::getRhsMap() {
  return cast<AffineMapAttr>(getIndexingMaps()[1]).getValue();
}
AffineMap MatmulOp::getResultMap() {
  return cast<AffineMapAttr>(getIndexingMaps()[2]).getValue();
}
AffineMap MatmulOp::getScaleMap(unsigned i) {
  return cast<AffineMapAttr>(getIndexingMaps()[3 + i]).getValue();
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

SmallVector<int64_t> MatmulOp::getLoopSizes() {
  SmallVector<int64_t> sizes(getLhsMap().getNumDims(), 1);
  auto note = [&](AffineMap map, Type type) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(type).getShape();
    for (unsigned i = 0; i < map.getNumResults(); ++i)
      sizes[map.getDimPosition(i)] = shape[i];
  };
  note(getLhsMap(), getLhs().getType());
  note(getRhsMap(), getRhs().getType());
  note(getResultMap(), getResult().getType());
  return sizes;
}

SmallVector<int> MatmulOp::getReductionLoops() {
  SmallVector<int> loops;
  for (unsigned dim = 0; dim < getResultMap().getNumDims(); ++dim)
    if (!getResultMap().isFunctionOfDim(dim))
      loops.push_back(dim);
  return loops;
}

bool MatmulOp::needsOrder() { return true; }

ComputeClass MatmulOp::getComputeClass() { return ComputeClass::Contraction; }

std::optional<ShardingRule> MatmulOp::getShardingRule() {
  RuleBuilder builder(*this);
  SmallVector<int> loops = builder.addAll(getLoopSizes());
  builder.rule.order.emplace();
  for (int loop : getReductionLoops()) {
    builder.rule.factors[loop].kind = FactorKind::Reduction;
    builder.rule.order->loops.push_back(loop);
  }
  builder.putMap(builder.rule.operands[0], getLhsMap(), loops);
  builder.putMap(builder.rule.operands[1], getRhsMap(), loops);
  builder.putMap(builder.rule.results[0], getResultMap(), loops);
  for (unsigned i = 0; i < getScales().size(); ++i)
    builder.putMap(builder.rule.operands[2 + i], getScaleMap(i), loops);
  return builder.rule;
}

bool MatmulOp::keepsPartial(ArrayRef<PartialState> operands, Reduction kind) {
  return kind == Reduction::Sum && getScales().empty() &&
         (operands[0] == PartialState::Partial) !=
             (operands[1] == PartialState::Partial);
}

//===----------------------------------------------------------------------===//
// Partitioning
//===----------------------------------------------------------------------===//

/// Whether `operand` is one finite number everywhere, also past the end, where
/// it is multiplied with zeros of `other`, which is cut in the same dimensions.
static bool meetsZeros(MatmulOp op, Value operand, AffineMap map, Value other,
                       AffineMap otherMap) {
  DenseElementsAttr number;
  if (!matchPattern(operand, m_Constant(&number)) || !number.isSplat() ||
      matchPattern(other, m_Constant()))
    return false;
  if (isa<FloatType>(number.getElementType()) &&
      !number.getSplatValue<APFloat>().isFinite())
    return false;
  return llvm::all_of(map.getResults(), [&](AffineExpr expr) {
    unsigned loop = cast<AffineDimExpr>(expr).getPosition();
    return op.getResultMap().isFunctionOfDim(loop) ||
           otherMap.isFunctionOfDim(loop);
  });
}

/// Returns the local `operand` with zeros past the end of the dimensions
/// that `op` sums: what lies in the padding must not enter a sum.
static Value maskSummed(LocalBuilder &local, MatmulOp op, Value operand,
                        AffineMap map) {
  SmallVector<DimCut> cuts(map.getNumResults());
  for (unsigned dim = 0; dim < map.getNumResults(); ++dim)
    if (!op.getResultMap().isFunctionOfDim(map.getDimPosition(dim)))
      cuts[dim] = local.getCut(operand, dim);
  Type element = cast<RankedTensorType>(operand.getType()).getElementType();
  return local.maskPadding(op.getLoc(), local.getLocal(operand), cuts,
                           local.builder.getZeroAttr(element));
}

LogicalResult MatmulOp::partition(LocalBuilder &local) {
  // What lies in the padding of scales is not known to be a number.
  if (!getScales().empty())
    return emitOpError("has scales, which weft-lower-quantization writes out "
                       "before shardings are known");
  Value a = getLhs(), b = getRhs();
  AffineMap mapA = getLhsMap(), mapB = getRhsMap();
  Value lhs = meetsZeros(*this, a, mapA, b, mapB)
                  ? local.getLocal(a)
                  : maskSummed(local, *this, a, mapA);
  Value rhs = meetsZeros(*this, b, mapB, a, mapA)
                  ? local.getLocal(b)
                  : maskSummed(local, *this, b, mapB);
  local.cloneLocal(*this)->setOperands({lhs, rhs});
  return success();
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

std::optional<OpWork> MatmulOp::getWork() {
  return getProductWork(
      *this, {getLhs().getType(), getRhs().getType(), getResult().getType()},
      {getLhsMap(), getRhsMap(), getResultMap()});
}

bool MatmulOp::isComputedInPlace() { return true; }
