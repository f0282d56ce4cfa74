// SPDX-License-Identifier: Apache-2.0

// Contractions and lookups on one rank: what lies in the padding must not
// enter a sum, and no index may find a row there.

#include "Partition.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::weft;

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

namespace {

/// Returns the local `operand` with zeros behind the end of the dimensions
/// that `op` sums.
Value maskSummed(LocalBuilder &local, MatmulOp op, Value operand,
                 AffineMap map) {
  SmallVector<DimCut> cuts(map.getNumResults());
  for (unsigned dim = 0; dim < map.getNumResults(); ++dim)
    if (!op.getResultMap().isFunctionOfDim(map.getDimPosition(dim)))
      cuts[dim] = local.getCut(operand, dim);
  Type element = cast<RankedTensorType>(operand.getType()).getElementType();
  return maskPadding(local, op.getLoc(), local.getLocal(operand), cuts,
                     local.builder.getZeroAttr(element));
}

} // namespace

LogicalResult mlir::weft::partitionMatmul(LocalBuilder &local, MatmulOp op) {
  Value lhs = maskSummed(local, op, op.getLhs(), op.getLhsMap());
  Value rhs = maskSummed(local, op, op.getRhs(), op.getRhsMap());
  Operation *clone = local.cloneLocal(op);
  clone->setOperands({lhs, rhs});
  return success();
}

//===----------------------------------------------------------------------===//
// Lookups
//===----------------------------------------------------------------------===//

namespace {

/// Replaces indices of `size` and above by -1, which is in no table.
Value dropFrom(OpBuilder &builder, Location loc, Value indices, int64_t size) {
  auto type = cast<RankedTensorType>(indices.getType());
  Type element = type.getElementType();
  if (!llvm::isIntN(element.getIntOrFloatBitWidth(), size))
    return indices; // no index can be so large
  Value init = tensor::EmptyOp::create(builder, loc, type.getShape(), element);
  auto buildBody = [&](OpBuilder &body, Location loc, ValueRange args) {
    Value end = arith::ConstantOp::create(body, loc,
                                          body.getIntegerAttr(element, size));
    Value none =
        arith::ConstantOp::create(body, loc, body.getIntegerAttr(element, -1));
    Value valid = arith::CmpIOp::create(body, loc, arith::CmpIPredicate::slt,
                                        args[0], end);
    Value index = arith::SelectOp::create(body, loc, valid, args[0], none);
    linalg::YieldOp::create(body, loc, index);
  };
  AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> parallel(type.getRank(),
                                            utils::IteratorType::parallel);
  return linalg::GenericOp::create(builder, loc, type, indices, init,
                                   ArrayRef<AffineMap>{identity, identity},
                                   parallel, buildBody)
      .getResult(0);
}

/// Fails if a lookup has a base already: then it is local.
LogicalResult checkNoBase(Operation *op, Value base) {
  if (base)
    return op->emitOpError("has a base, but its table is the global one");
  return success();
}

} // namespace

LogicalResult mlir::weft::partitionTake(LocalBuilder &local, TakeOp op) {
  if (failed(checkNoBase(op, op.getBase())))
    return failure();
  DimCut rows = local.getCut(op.getTable(), op.getAxis());
  Value indices = local.getLocal(op.getIndices());
  if (rows.isUneven())
    indices = dropFrom(local.builder, op.getLoc(), indices, rows.size);
  Value base;
  if (rows.isSharded())
    base = local.chunkOffset(op.getLoc(), rows);
  Value result = TakeOp::create(
      local.builder, op.getLoc(), local.getLocalType(op.getResult()),
      local.getLocal(op.getTable()), indices, base, op.getAxis(),
      op.getTableMap(), op.getIndexMap());
  local.setLocal(op.getResult(), result);
  return success();
}

LogicalResult mlir::weft::partitionScatterAdd(LocalBuilder &local,
                                              ScatterAddOp op) {
  if (failed(checkNoBase(op, op.getBase())))
    return failure();
  // Updates behind the end of a summed dimension must not arrive anywhere.
  SmallVector<DimCut> cuts(op.getIndexMap().getNumResults());
  for (unsigned dim = 0; dim < cuts.size(); ++dim)
    if (!op.getTableMap().isFunctionOfDim(op.getIndexMap().getDimPosition(dim)))
      cuts[dim] = local.getCut(op.getIndices(), dim);
  Type element =
      cast<RankedTensorType>(op.getIndices().getType()).getElementType();
  Value indices =
      maskPadding(local, op.getLoc(), local.getLocal(op.getIndices()), cuts,
                  local.builder.getIntegerAttr(element, -1));
  Value base;
  DimCut rows = local.getCut(op.getInit(), op.getAxis());
  if (rows.isSharded())
    base = local.chunkOffset(op.getLoc(), rows);
  Value result = ScatterAddOp::create(
      local.builder, op.getLoc(), local.getLocalType(op.getResult()),
      local.getLocal(op.getInit()), indices, local.getLocal(op.getUpdates()),
      base, op.getAxis(), op.getTableMap(), op.getIndexMap());
  local.setLocal(op.getResult(), result);
  return success();
}
