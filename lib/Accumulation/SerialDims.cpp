// SPDX-License-Identifier: Apache-2.0

#include "SerialDims.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::weft;

/// A function that a frontend has made may have no place in the user's text.
static Location getPlace(Operation *op, func::FuncOp func) {
  auto place = op->getLoc()->findInstanceOf<FileLineColLoc>();
  return place ? Location(place) : func.getLoc();
}

Location weft::locateArgument(func::FuncOp func, unsigned index) {
  auto users = func.getArgument(index).getUsers();
  if (users.empty())
    return func.getLoc();
  auto isBefore = [](Operation *a, Operation *b) {
    return a->getBlock() == b->getBlock() && a->isBeforeInBlock(b);
  };
  return getPlace(*llvm::min_element(users, isBefore), func);
}

Location weft::locateResult(func::FuncOp func, unsigned index) {
  Operation *maker =
      func.getBody().front().getTerminator()->getOperand(index).getDefiningOp();
  return maker ? getPlace(maker, func) : func.getLoc();
}

FailureOr<SmallVector<SerialDim>>
weft::getSerialDims(func::FuncOp func, ShardingAttr sharding, TypeAttr global,
                    Type local, const SerialAxis &serial, Location loc,
                    const Twine &what) {
  auto report = [&] {
    return emitError(loc) << "'" << func->getName() << "' op " << what;
  };
  SmallVector<SerialDim> dims;
  for (auto [d, dim] : llvm::enumerate(sharding.getDims())) {
    if (!serial.isIn(dim.getAxes()))
      continue;
    std::optional<AxesSplit> axes = splitAxes(dim.getAxes(), serial);
    if (!axes || !axes->minor.empty())
      return report() << " is sharded as " << sharding << ": the serial axis '"
                      << serial.name << "' is not the last one of dim " << d;
    int64_t size = cast<RankedTensorType>(global.getValue()).getDimSize(d);
    int64_t chunk = cast<RankedTensorType>(local).getDimSize(d);
    int64_t whole = llvm::divideCeil(size, axes->numMajor);
    if (whole != chunk * axes->size && axes->numMajor != 1)
      return report() << " has " << size << " elements along dim " << d
                      << ", which " << axes->numMajor << " ranks times "
                      << axes->size << " coordinates along '" << serial.name
                      << "' do not divide";
    if (axes->size > 1 && chunk * (axes->size - 1) >= whole)
      return report() << " has " << whole << " elements along dim " << d
                      << ", in parts "
                      << "of " << chunk << ": the last of " << axes->size
                      << " coordinates along '" << serial.name << "' has none";
    dims.push_back({static_cast<int64_t>(d), *axes, chunk, whole});
  }
  return dims;
}

std::string weft::describe(StringRef kind, size_t number, StringAttr name) {
  std::string text = (kind + " #" + Twine(number)).str();
  return name ? text + " ('" + name.str() + "')" : text;
}

RankedTensorType weft::getWholeType(Type local, ArrayRef<SerialDim> dims) {
  auto type = cast<RankedTensorType>(local);
  SmallVector<int64_t> shape(type.getShape());
  for (const SerialDim &dim : dims)
    shape[dim.dim] = dim.whole;
  return type.clone(shape);
}

/// Makes `value` `size` elements long along `dim`; new ones are zero.
static Value padDim(OpBuilder &builder, Location loc, Value value, int64_t dim,
                    int64_t size) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getDimSize(dim) == size)
    return value;
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = size;
  SmallVector<OpFoldResult> low(type.getRank(), builder.getIndexAttr(0)),
      high(low);
  high[dim] = builder.getIndexAttr(size - type.getDimSize(dim));
  Value zero = arith::ConstantOp::create(
      builder, loc, builder.getZeroAttr(type.getElementType()));
  return tensor::PadOp::create(builder, loc, type.clone(shape), value, low,
                               high, zero);
}

Value weft::cutArgument(OpBuilder &builder, Value value,
                        ArrayRef<SerialDim> dims, int64_t coordinate,
                        RankedTensorType local) {
  Location loc = value.getLoc();
  for (const SerialDim &dim : dims) {
    int64_t offset = dim.axes.getDigit(coordinate) * dim.chunk;
    int64_t size = std::min(dim.chunk, dim.whole - offset);
    if (size <= 0)
      return makeZeros(builder, loc, local);
    value = cutPart(builder, loc, value, dim.dim, offset, size);
    value = padDim(builder, loc, value, dim.dim, dim.chunk);
  }
  return value;
}

Value weft::joinResult(OpBuilder &builder, Location loc,
                       SmallVector<Value> clones, ArrayRef<SerialDim> dims) {
  for (const SerialDim &dim : dims) {
    SmallVector<Value> joined(clones);
    for (int64_t c = 0, e = clones.size(); c < e; ++c) {
      int64_t first = dim.axes.getFirst(c);
      if (first != c) {
        joined[c] = joined[first];
        continue;
      }
      SmallVector<Value> parts = llvm::map_to_vector(
          dim.axes.getMembers(c), [&](int64_t other) { return clones[other]; });
      Value all = concatParts(builder, loc, parts, dim.dim);
      joined[c] = cutPart(builder, loc, all, dim.dim, 0, dim.whole);
    }
    clones = std::move(joined);
  }
  return clones.front();
}
