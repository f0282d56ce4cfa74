// SPDX-License-Identifier: Apache-2.0

// What weft.take and weft.scatter_add say by way of interfaces. No index may
// find a row that lies in the padding of a local table.

#include "weft/Dialect/Weft/IR/Lookups.h"

#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::weft;

TypedAttr mlir::weft::getMissingElement(Type element) {
  auto type = dyn_cast<FloatType>(element);
  if (!type || !APFloat::semanticsHasSignedRepr(type.getFloatSemantics()))
    return Builder(element.getContext()).getZeroAttr(element);
  return FloatAttr::get(
      type, APFloat::getZero(type.getFloatSemantics(), /*Negative=*/true));
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

/// Puts the factors of a lookup's table: those of the map, and `axisFactor`.
static void putTable(RuleBuilder &builder, TensorFactors &table, AffineMap map,
                     ArrayRef<int> loops, int64_t axis, int axisFactor) {
  for (unsigned i = 0; i < map.getNumResults(); ++i)
    builder.put(table[i < axis ? i : i + 1], loops[map.getDimPosition(i)]);
  builder.put(table[axis], axisFactor);
}

std::optional<ShardingRule> TakeOp::getShardingRule() {
  RuleBuilder builder(*this);
  SmallVector<int> loops = builder.addAll(getTensorShape(getResult()));
  bool canSum = !getElementTypeOrSelf(getType()).isInteger(1);
  int rows =
      builder.add(getTensorShape(getTable())[getAxis()],
                  canSum ? FactorKind::Reduction : FactorKind::Replicated);
  putTable(builder, builder.rule.operands[0], getTableMap(), loops, getAxis(),
           rows);
  builder.putMap(builder.rule.operands[1], getIndexMap(), loops);
  builder.putAll(builder.rule.results[0], loops);
  return builder.rule;
}

bool TakeOp::keepsPartial(ArrayRef<PartialState> operands, Reduction kind) {
  return kind == Reduction::Sum && operands[0] == PartialState::Partial &&
         operands[1] != PartialState::Partial;
}

ComputeClass TakeOp::getComputeClass() { return ComputeClass::Lookup; }

std::optional<ShardingRule> ScatterAddOp::getShardingRule() {
  RuleBuilder builder(*this);
  SmallVector<int> loops = builder.addAll(getTensorShape(getUpdates()));
  builder.rule.inits = {0};
  SumOrder order;
  // Collectives do not add truth values.
  bool canSum = !getElementTypeOrSelf(getType()).isInteger(1);
  for (auto [dim, loop] : llvm::enumerate(loops))
    if (!getTableMap().isFunctionOfDim(dim)) {
      builder.rule.factors[loop].kind =
          canSum ? FactorKind::Reduction : FactorKind::Replicated;
      order.loops.push_back(loop);
    }
  if (isa<FloatType>(getElementTypeOrSelf(getType())))
    builder.rule.order = order;
  int rows = builder.add(getTensorShape(getInit())[getAxis()]);
  putTable(builder, builder.rule.operands[0], getTableMap(), loops, getAxis(),
           rows);
  builder.putMap(builder.rule.operands[1], getIndexMap(), loops);
  builder.putAll(builder.rule.operands[2], loops);
  builder.rule.results[0] = builder.rule.operands[0];
  return builder.rule;
}

bool ScatterAddOp::keepsPartial(ArrayRef<PartialState> operands,
                                Reduction kind) {
  return kind == Reduction::Sum && operands[0] != PartialState::Whole &&
         operands[1] != PartialState::Partial &&
         operands[2] == PartialState::Partial;
}

ComputeClass ScatterAddOp::getComputeClass() { return ComputeClass::RowUpdate; }

//===----------------------------------------------------------------------===//
// Partitioning
//===----------------------------------------------------------------------===//

/// Fails if a lookup has a base already: then it is local.
static LogicalResult checkNoBase(Operation *op, Value base) {
  if (base)
    return op->emitOpError("has a base, but its table is the global one");
  return success();
}

LogicalResult TakeOp::partition(LocalBuilder &local) {
  if (failed(checkNoBase(*this, getBase())))
    return failure();
  DimCut rows = local.getCut(getTable(), getAxis());
  Value indices = local.getLocal(getIndices());
  if (rows.isUneven())
    indices = local.dropIndicesFrom(getLoc(), indices, rows.size);
  Value base;
  if (rows.isSharded())
    base = local.chunkOffset(getLoc(), rows);
  Value result =
      TakeOp::create(local.builder, getLoc(), local.getLocalType(getResult()),
                     local.getLocal(getTable()), indices, base, getAxis(),
                     getTableMap(), getIndexMap());
  local.setLocal(getResult(), result);
  return success();
}

LogicalResult ScatterAddOp::partition(LocalBuilder &local) {
  if (failed(checkNoBase(*this, getBase())))
    return failure();
  // Updates past the end of a summed dimension must not arrive anywhere.
  SmallVector<DimCut> cuts(getIndexMap().getNumResults());
  for (unsigned dim = 0; dim < cuts.size(); ++dim)
    if (!getTableMap().isFunctionOfDim(getIndexMap().getDimPosition(dim)))
      cuts[dim] = local.getCut(getIndices(), dim);
  Type element =
      cast<RankedTensorType>(getIndices().getType()).getElementType();
  Value indices =
      local.maskPadding(getLoc(), local.getLocal(getIndices()), cuts,
                        local.builder.getIntegerAttr(element, -1));
  Value base;
  DimCut rows = local.getCut(getInit(), getAxis());
  if (rows.isSharded())
    base = local.chunkOffset(getLoc(), rows);
  Value result = ScatterAddOp::create(
      local.builder, getLoc(), local.getLocalType(getResult()),
      local.getLocal(getInit()), indices, local.getLocal(getUpdates()), base,
      getAxis(), getTableMap(), getIndexMap());
  local.setLocal(getResult(), result);
  return success();
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

/// Rows that are found are read, and written as the result.
std::optional<OpWork> TakeOp::getWork() {
  OpWork work;
  work.bytesWritten = double(getShapedBytes(getType()));
  work.bytesRead =
      work.bytesWritten + double(getShapedBytes(getIndices().getType()));
  return work;
}

/// Rows are read and written where updates go; indices and updates once.
std::optional<OpWork> ScatterAddOp::getWork() {
  OpWork work;
  work.bytesWritten = double(getShapedBytes(getUpdates().getType()));
  work.bytesRead =
      2 * work.bytesWritten + double(getShapedBytes(getIndices().getType()));
  work.operations =
      double(cast<ShapedType>(getUpdates().getType()).getNumElements());
  return work;
}

bool ScatterAddOp::isComputedInPlace() { return true; }
