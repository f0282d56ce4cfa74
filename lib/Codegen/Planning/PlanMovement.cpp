// SPDX-License-Identifier: Apache-2.0

// Slices and reshapes are views where strides allow it. What is put together
// (insertions, concatenations) is copied unless it was computed in place; a
// marker says that it is whole from there on.

#include "Planner.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// The next dim at or before `i` whose size is not 1; -1 if there is none.
int skipUnitDims(ArrayRef<int64_t> shape, int i) {
  while (i >= 0 && shape[i] == 1)
    --i;
  return i;
}

/// Strides of `to`, the same elements as `from` with `strides` in another
/// shape; nullopt if they do not lie so that strides exist.
std::optional<SmallVector<int64_t>>
getReshapedStrides(ArrayRef<int64_t> from, ArrayRef<int64_t> strides,
                   ArrayRef<int64_t> to) {
  SmallVector<int64_t> result(to.size(), 1);
  int i = skipUnitDims(from, from.size() - 1);
  int j = skipUnitDims(to, to.size() - 1);
  while (i >= 0 && j >= 0) {
    // Dims of `from` that lie one after another fill whole dims of `to`.
    int64_t stride = strides[i], have = from[i], want = 1;
    while (want < have) {
      if (j < 0)
        return std::nullopt;
      result[j] = stride * want;
      want *= to[j];
      j = skipUnitDims(to, j - 1);
      while (want > have) {
        int outer = skipUnitDims(from, i - 1);
        if (outer < 0 || strides[outer] != stride * have)
          return std::nullopt;
        have *= from[outer];
        i = outer;
      }
    }
    if (want != have)
      return std::nullopt;
    i = skipUnitDims(from, i - 1);
  }
  if (i >= 0 || j >= 0)
    return std::nullopt;
  // Those of unit dims are never used. As in a dense tensor, so that places
  // that are the same compare equal.
  for (int dim = static_cast<int>(to.size()) - 2; dim >= 0; --dim)
    if (to[dim] == 1)
      result[dim] = result[dim + 1] * to[dim + 1];
  return result;
}

} // namespace

/// The place of the slice of `place` that `op` takes or sets.
FailureOr<Place> Planner::getSlice(Place place,
                                   OffsetSizeAndStrideOpInterface op,
                                   const llvm::SmallBitVector &dropped) {
  Location loc = op.getLoc();
  SmallVector<int64_t> strides = std::move(place.strides);
  place.strides.clear();
  for (auto [dim, offset] : llvm::enumerate(op.getMixedOffsets())) {
    if (op.isDynamicStride(dim))
      return op.emitOpError("has a stride that is not constant in dim ") << dim;
    if (!dropped.test(dim))
      place.strides.push_back(strides[dim] * op.getStaticStride(dim));
    if (std::optional<int64_t> constant = getConstantIntValue(offset)) {
      place.offset += *constant * strides[dim];
      continue;
    }
    Value term = arith::MulIOp::create(
        builder, loc, scalars.lookup(cast<Value>(offset)),
        arith::ConstantIndexOp::create(builder, loc, strides[dim]));
    if (place.dynamicOffset)
      term = arith::AddIOp::create(builder, loc, place.dynamicOffset, term);
    place.dynamicOffset = term;
  }
  return place;
}

LogicalResult Planner::visitExtractSlice(tensor::ExtractSliceOp op) {
  FailureOr<Place> place =
      getSlice(places.get(op.getSource()), op, op.getDroppedDims());
  if (failed(place))
    return failure();
  places.set(op.getResult(), *place);
  return success();
}

LogicalResult Planner::visitInsertSlice(tensor::InsertSliceOp op) {
  Value dest = op.getDest();
  Place place = placeUpdated(op.getDestMutable(), op->getResult(0));
  if (places.isUndefined(dest))
    emitAssemble(dest, place, ValueRange());
  else if (place != places.get(dest))
    emitCopy(dest, place);
  places.set(op.getResult(), place);
  FailureOr<Place> slice = getSlice(place, op, op.getDroppedDims());
  if (failed(slice))
    return failure();
  if (places.isUndefined(op.getSource()))
    emitAssemble(op.getSource(), *slice, ValueRange());
  else
    emitCopy(op.getSource(), *slice);
  rt::AssembleOp whole =
      emitAssemble(op.getResult(), place, {dest, op.getSource()});
  Part part = weft::getSlice(getWhole(op.getType()), op, op.getDroppedDims());
  setParts(whole, rt::WeftRTDialect::kIntoAttr,
           {rt::PartAttr(), getPartAttr(part, op.getSourceType())});
  return success();
}

LogicalResult Planner::visitReshape(Operation *op) {
  Value input = op->getOperand(0), result = op->getResult(0);
  ArrayRef<int64_t> from = cast<RankedTensorType>(input.getType()).getShape();
  ArrayRef<int64_t> to = cast<RankedTensorType>(result.getType()).getShape();
  Place place = places.get(input);
  auto strides = getReshapedStrides(from, place.strides, to);
  bool isPart = places.getIds().isPart(op);
  if (!strides || !isPart) {
    place = emitDenseCopy(input, isPart ? input : result, op);
    strides = rt::getDenseStrides(to);
  }
  place.strides = *strides;
  places.set(result, place);
  return success();
}

LogicalResult Planner::visitConcat(tensor::ConcatOp op) {
  if (!places.contains(op.getResult()))
    places.set(op.getResult(), placeResult(op->getResult(0), op));
  Place whole = places.get(op.getResult()), place = whole;
  Part into = getWhole(op.getResultType());
  SmallVector<rt::PartAttr> parts;
  for (Value part : op.getInputs()) {
    if (places.get(part) != place)
      emitCopy(part, place);
    auto type = cast<RankedTensorType>(part.getType());
    parts.push_back(getPartAttr(into, type));
    into.begin += type.getDimSize(op.getDim()) * into.strides[op.getDim()];
    place.offset += type.getDimSize(op.getDim()) * place.strides[op.getDim()];
  }
  rt::AssembleOp assemble = emitAssemble(op.getResult(), whole, op.getInputs());
  setParts(assemble, rt::WeftRTDialect::kIntoAttr, parts);
  return success();
}

LogicalResult Planner::visitExtract(tensor::ExtractOp op) {
  auto read = rt::ReadScalarOp::create(builder, op.getLoc(), op.getType(),
                                       emitBuffer(op.getTensor()),
                                       lookUp(op.getIndices()));
  describe(read, nullptr, op.getTensor());
  scalars.map(op.getResult(), read.getResult());
  return success();
}

/// A constant of the module, copied to where the value lies.
LogicalResult Planner::visitConstant(arith::ConstantOp op) {
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!elements)
    return op.emitOpError("has a value that is not dense");
  places.set(op.getResult(), placeResult(op->getResult(0), op));
  auto module = planned->getParentOfType<ModuleOp>();
  OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
  if (numGlobals < 0)
    numGlobals = llvm::range_size(module.getOps<memref::GlobalOp>());
  std::string name = "weft_c" + std::to_string(numGlobals++);
  auto tensor = cast<RankedTensorType>(op.getType());
  auto type = MemRefType::get(tensor.getShape(), tensor.getElementType());
  memref::GlobalOp::create(top, op.getLoc(), name, top.getStringAttr("private"),
                           type, elements,
                           /*constant=*/true, IntegerAttr());
  Value global = memref::GetGlobalOp::create(builder, op.getLoc(), type, name);
  auto copy = rt::CopyOp::create(builder, op.getLoc(), global,
                                 emitBuffer(op.getResult()));
  describe(copy, nullptr, {op.getResult(), op.getResult()});
  return success();
}
