// SPDX-License-Identifier: Apache-2.0

// The values of the local function, and the code that ops of all kinds need on
// a rank: offsets of its part, and what keeps padding out.

#include "Partition.h"

#include "weft/Rules/ShardingConversion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::weft;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static int64_t getRank(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getRank() : 0;
}

Sharding RankBuilder::getSharding(Value global) const {
  auto found = shardings.find(global);
  return found != shardings.end() ? found->second
                                  : Sharding::replicated(getRank(global));
}

DimCut RankBuilder::getCut(Value global, int64_t dim) const {
  return {getSharding(global).dims[dim],
          cast<RankedTensorType>(global.getType()).getDimSize(dim)};
}

Type RankBuilder::getLocalType(Value global) const {
  auto type = dyn_cast<RankedTensorType>(global.getType());
  if (!type || isReplicated(global))
    return global.getType();
  return type.clone(getSharding(global).localShape(type.getShape()));
}

void RankBuilder::setSharding(Value global, Sharding sharding) {
  shardings[global] = std::move(sharding);
}

Operation *RankBuilder::cloneLocal(Operation *op) {
  Operation *clone = builder.clone(*op, mapping);
  clone->walk(
      [](Operation *inner) { inner->removeAttr(WeftDialect::kShardingsAttr); });
  for (auto [global, local] : llvm::zip(op->getResults(), clone->getResults()))
    local.setType(getLocalType(global));
  return clone;
}

Value RankBuilder::axisIndex(Location loc, ArrayRef<AxisRef> axes) {
  return AxisIndexOp::create(builder, loc, builder.getIndexType(), meshName,
                             toAttr(builder.getContext(), axes, getMesh()));
}

Value RankBuilder::chunkOffset(Location loc, const DimCut &cut) {
  Value index = axisIndex(loc, cut.axes);
  Value chunk = arith::ConstantIndexOp::create(builder, loc, cut.chunk());
  return arith::MulIOp::create(builder, loc, index, chunk);
}

Value RankBuilder::validCount(Location loc, const DimCut &cut) {
  Value offset = chunkOffset(loc, cut);
  Value size = arith::ConstantIndexOp::create(builder, loc, cut.size);
  return arith::SubIOp::create(builder, loc, size, offset);
}

Value RankBuilder::cutPart(Location loc, Value whole, Value global) {
  auto type = cast<RankedTensorType>(global.getType());
  return emitReshard(*this, loc, whole, Sharding::replicated(type.getRank()),
                     getSharding(global), type);
}

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

Value RankBuilder::maskPadding(Location loc, Value value, ArrayRef<DimCut> cuts,
                               TypedAttr replacement) {
  if (llvm::none_of(cuts, [](const DimCut &cut) { return cut.isUneven(); }))
    return value;
  auto type = cast<RankedTensorType>(value.getType());
  Value init = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                       type.getElementType());
  SmallVector<Value> counts;
  for (const DimCut &cut : cuts)
    counts.push_back(cut.isUneven() ? validCount(loc, cut) : Value());
  auto buildBody = [&](OpBuilder &body, Location loc, ValueRange args) {
    Value result = args[0];
    Value other = arith::ConstantOp::create(body, loc, replacement);
    for (auto [dim, count] : llvm::enumerate(counts)) {
      if (!count)
        continue;
      Value index = linalg::IndexOp::create(body, loc, dim);
      Value valid = arith::CmpIOp::create(body, loc, arith::CmpIPredicate::slt,
                                          index, count);
      result = arith::SelectOp::create(body, loc, valid, result, other);
    }
    linalg::YieldOp::create(body, loc, result);
  };
  AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> parallel(type.getRank(),
                                            utils::IteratorType::parallel);
  return linalg::GenericOp::create(builder, loc, type, value, init,
                                   ArrayRef<AffineMap>{identity, identity},
                                   parallel, buildBody)
      .getResult(0);
}

Value RankBuilder::dropIndicesFrom(Location loc, Value indices, int64_t size) {
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
