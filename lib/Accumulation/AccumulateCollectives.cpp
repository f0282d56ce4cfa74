// SPDX-License-Identifier: Apache-2.0

// Collectives over a serial axis on one rank: members that differ along that
// axis alone are values of the same rank, so reductions become joins, and
// movement becomes slices and concatenations. What is left to do between ranks
// is done once for all members where it can be.
//
// A dimension that is cut over the axes has four digits: major axes, members,
// minor axes, and the part. Each of the first three is moved by itself. Where
// that is not one piece of the dimension, because minor axes come after it,
// the dimension is seen as four.

#include "Accumulate.h"

#include "weft/Dialect/Weft/IR/MeshErrors.h"
#include "weft/Rules/ReductionOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::weft;

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

SmallVector<AxisRefAttr>
SerialAxis::dropFrom(ArrayRef<AxisRefAttr> axes) const {
  return llvm::filter_to_vector(
      axes, [&](AxisRefAttr axis) { return axis.getName() != name; });
}

SmallVector<AxisRefAttr> AxesSplit::getRest() const {
  SmallVector<AxisRefAttr> rest(major);
  llvm::append_range(rest, minor);
  return rest;
}

std::optional<AxesSplit> weft::splitAxes(ArrayRef<AxisRefAttr> axes,
                                         const SerialAxis &serial) {
  AxesSplit split;
  bool found = false;
  for (AxisRefAttr axis : axes) {
    if (axis.getName() != serial.name) {
      (found ? split.minor : split.major).push_back(axis);
      continue;
    }
    if (found)
      return std::nullopt;
    found = true;
    split.size = axis.isWholeAxis() ? serial.size : axis.getSize();
    split.stride = serial.size / (axis.getPreSize() * split.size);
  }
  if (!found)
    return std::nullopt;
  split.numMajor = getNumShards(serial.mesh, split.major);
  split.numMinor = getNumShards(serial.mesh, split.minor);
  return split;
}

namespace {

OrderAttr getOrderOf(Operation *op) {
  return op->getAttrOfType<OrderAttr>(WeftDialect::kOrderAttr);
}

/// Says whether bits may depend on the sizes of the serial axis and of the axes
/// before it: then their tree may be another.
bool isFree(Operation *op, const AxesSplit &axes, StringRef serial) {
  InvarianceAttr invariance = getInvariance(op);
  return invariance && !invariance.hasAxis(serial) &&
         llvm::none_of(axes.major, [&](AxisRefAttr axis) {
           return invariance.hasAxis(axis.getName());
         });
}

/// Says whether the tree over all members is one of trees over those along the
/// serial axis, which are of trees over those along the minor axes.
bool isNested(const AxesSplit &axes) {
  auto fits = [](int64_t inner, int64_t outer) {
    return outer == 1 || llvm::isPowerOf2_64(inner);
  };
  return fits(axes.numMinor, axes.size * axes.numMajor) &&
         fits(axes.size, axes.numMajor);
}

} // namespace

LogicalResult weft::checkSerialAxes(Operation *op, const SerialAxis &serial) {
  auto index = dyn_cast<AxisIndexOp>(op);
  AxesAttr list =
      index ? index.getAxes() : cast<CollectiveOpInterface>(op).getAxesAttr();
  std::optional<AxesSplit> axes = splitAxes(list.getAxes(), serial);
  if (!axes)
    return op->emitOpError("is over ")
           << list << ", in which '" << serial.name
           << "' stands in two places: the axis cannot be serial";
  OrderAttr order = getOrderOf(op);
  if (order && !isNested(*axes) && !isFree(op, *axes, serial.name))
    return op->emitOpError("joins ")
           << axes->numMajor * axes->size * axes->numMinor << " leaves over "
           << list << ", a tree that does not nest at '" << serial.name
           << "' of size " << axes->size << ": the axis cannot be serial";
  if (auto permute = dyn_cast<PermuteOp>(op))
    return checkSerialPermute(permute, *axes, serial);
  return success();
}

FailureOr<MeshOp> weft::findSerialMesh(ModuleOp module, StringRef axis) {
  auto meshes = module.getOps<MeshOp>();
  if (meshes.empty())
    return module.emitError("expected a weft.mesh with the axis '")
           << axis << "' to go through serially, found none";
  MeshOp mesh = *meshes.begin();
  if (axis.empty())
    return emitMeshError(mesh)
           << "is not told which of its axes to go through serially: expected "
              "the option axis, as in axis=mb for "
           << mesh.getMesh();
  if (!mesh.getMesh().getAxisIndex(axis))
    return emitMeshError(mesh)
           << "has no axis '" << axis
           << "' to go through serially: " << mesh.getMesh();
  return mesh;
}

//===----------------------------------------------------------------------===//
// Joins
//===----------------------------------------------------------------------===//

namespace {

/// `a` and `b` combined as collectives do.
Value combineScalars(OpBuilder &builder, Location loc, ReduceKind kind, Value a,
                     Value b) {
  bool isFloat = isa<FloatType>(a.getType());
  switch (kind) {
  case ReduceKind::Sum:
    return isFloat ? arith::AddFOp::create(builder, loc, a, b).getResult()
                   : arith::AddIOp::create(builder, loc, a, b);
  case ReduceKind::Prod:
    return isFloat ? arith::MulFOp::create(builder, loc, a, b).getResult()
                   : arith::MulIOp::create(builder, loc, a, b);
  case ReduceKind::Max:
    return isFloat ? arith::MaximumFOp::create(builder, loc, a, b).getResult()
                   : arith::MaxSIOp::create(builder, loc, a, b);
  case ReduceKind::Min:
    return isFloat ? arith::MinimumFOp::create(builder, loc, a, b).getResult()
                   : arith::MinSIOp::create(builder, loc, a, b);
  case ReduceKind::And:
    return arith::AndIOp::create(builder, loc, a, b);
  case ReduceKind::Or:
    return arith::OrIOp::create(builder, loc, a, b);
  }
  llvm_unreachable("a kind that is not listed");
}

bool hasOpenOrder(ReduceKind kind, Type element) {
  return isa<FloatType>(element) &&
         (kind == ReduceKind::Sum || kind == ReduceKind::Prod);
}

} // namespace

/// A generic op of two leaves: it is not to be taken for a sum of the program.
Value Join::combine(OpBuilder &builder, Location loc, Value a, Value b) const {
  auto type = cast<RankedTensorType>(a.getType());
  Value init = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                       type.getElementType());
  SmallVector<AffineMap> maps(3,
                              builder.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> parallel(type.getRank(),
                                            utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      builder, loc, type, ValueRange{a, b}, init, maps, parallel,
      [&](OpBuilder &body, Location loc, ValueRange args) {
        linalg::YieldOp::create(
            body, loc, combineScalars(body, loc, kind, args[0], args[1]));
      });
  if (hasOpenOrder(kind, type.getElementType()))
    generic->setAttr(WeftDialect::kOrderAttr,
                     OrderAttr::get(builder.getContext(), /*leaves=*/2,
                                    /*lanes=*/1, /*rounded=*/false));
  return generic.getResult(0);
}

void Join::add(OpBuilder &builder, Location loc, Value value) {
  pending.push_back({1, value});
  auto isDue = [&] {
    return pending.size() > 1 &&
           (!isTree || pending.back().first == pending.end()[-2].first);
  };
  while (isDue()) {
    auto [count, right] = pending.pop_back_val();
    auto &[total, left] = pending.back();
    left = combine(builder, loc, left, right);
    total += count;
  }
}

Value Join::finish(OpBuilder &builder, Location loc) {
  while (pending.size() > 1) {
    Value right = pending.pop_back_val().second;
    Value &left = pending.back().second;
    left = combine(builder, loc, left, right);
  }
  return pending.back().second;
}

//===----------------------------------------------------------------------===//
// Parts of tensors
//===----------------------------------------------------------------------===//

Value weft::cutPart(OpBuilder &builder, Location loc, Value value, int64_t dim,
                    int64_t offset, int64_t size) {
  auto type = cast<RankedTensorType>(value.getType());
  if (size == type.getDimSize(dim))
    return value;
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(type.getRank(), builder.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes =
      getAsIndexOpFoldResult(builder.getContext(), type.getShape());
  offsets[dim] = builder.getIndexAttr(offset);
  sizes[dim] = builder.getIndexAttr(size);
  return tensor::ExtractSliceOp::create(builder, loc, value, offsets, sizes,
                                        strides);
}

/// Says whether `value` is the elements from `offset` on, along `dim`, of the
/// tensor that `first` is a part of.
static bool isPartAt(Value value, tensor::ExtractSliceOp first, int64_t dim,
                     int64_t offset) {
  auto slice = value.getDefiningOp<tensor::ExtractSliceOp>();
  if (!slice || slice.getSource() != first.getSource() ||
      !slice.hasUnitStride() ||
      slice.getType().getRank() != slice.getSourceType().getRank())
    return false;
  for (int64_t d = 0; d < slice.getType().getRank(); ++d) {
    std::optional<int64_t> begin =
        getConstantIntValue(slice.getMixedOffsets()[d]);
    if (begin != (d == dim ? offset : 0) ||
        (d != dim &&
         slice.getType().getDimSize(d) != slice.getSourceType().getDimSize(d)))
      return false;
  }
  return true;
}

Value weft::concatParts(OpBuilder &builder, Location loc,
                        ArrayRef<Value> values, int64_t dim) {
  if (values.size() == 1)
    return values.front();
  auto first = values.front().getDefiningOp<tensor::ExtractSliceOp>();
  int64_t offset = 0;
  bool isWhole = first && llvm::all_of(values, [&](Value value) {
                   bool fits = isPartAt(value, first, dim, offset);
                   offset +=
                       cast<RankedTensorType>(value.getType()).getDimSize(dim);
                   return fits;
                 });
  if (isWhole && offset == first.getSourceType().getDimSize(dim))
    return first.getSource();
  return tensor::ConcatOp::create(builder, loc, dim, values);
}

Value weft::makeZeros(OpBuilder &builder, Location loc, RankedTensorType type) {
  return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
}

/// Sees dimension `dim` as several, of the given sizes.
Value LocalCollective::expand(Value value, int64_t dim,
                              ArrayRef<int64_t> sizes) const {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  SmallVector<ReassociationIndices> groups;
  for (int64_t d = 0, next = 0; d < type.getRank(); ++d) {
    int64_t count = d == dim ? sizes.size() : 1;
    groups.push_back(
        llvm::to_vector<2>(llvm::seq<int64_t>(next, next + count)));
    next += count;
  }
  shape.erase(shape.begin() + dim);
  shape.insert(shape.begin() + dim, sizes.begin(), sizes.end());
  return tensor::ExpandShapeOp::create(builder, loc, type.clone(shape), value,
                                       groups);
}

/// The inverse of `expand` into the four sizes of getParts.
Value LocalCollective::collapse(Value value, int64_t dim) const {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<ReassociationIndices> groups;
  for (int64_t d = 0; d < type.getRank();) {
    int64_t count = d == dim ? 4 : 1;
    groups.push_back(llvm::to_vector<2>(llvm::seq<int64_t>(d, d + count)));
    d += count;
  }
  return tensor::CollapseShapeOp::create(builder, loc, value, groups);
}

Value LocalCollective::part(Value value, int64_t dim, int64_t index,
                            int64_t size) const {
  return cutPart(builder, loc, value, dim, index * size, size);
}

/// One part of `value` along `dim` for each member.
SmallVector<Value> LocalCollective::cutMembers(Value value, int64_t dim) const {
  int64_t size =
      cast<RankedTensorType>(value.getType()).getDimSize(dim) / axes.size;
  SmallVector<Value> parts;
  for (int64_t member = 0; member < axes.size; ++member)
    parts.push_back(part(value, dim, member, size));
  return parts;
}

Value LocalCollective::concat(ArrayRef<Value> values, int64_t dim) const {
  return concatParts(builder, loc, values, dim);
}

//===----------------------------------------------------------------------===//
// Collectives between the ranks
//===----------------------------------------------------------------------===//

OrderAttr LocalCollective::getOrder(int64_t leaves) const {
  OrderAttr order = getOrderOf(op);
  return order ? OrderAttr::get(op->getContext(), leaves, order.getLanes(),
                                order.getRounded())
               : order;
}

Value LocalCollective::reduce(Value value, ArrayRef<AxisRefAttr> over,
                              int64_t group) const {
  if (group == 1)
    return value;
  auto reduce = AllReduceOp::create(
      builder, loc, TypeRange(value.getType()),
      ReduceKindAttr::get(op->getContext(), *op.getReduction()), value,
      op.getMeshAttr(), AxesAttr::get(op->getContext(), over),
      FlatSymbolRefAttr());
  if (OrderAttr order = getOrder(group))
    reduce->setAttr(WeftDialect::kOrderAttr, order);
  return reduce.getResult(0);
}

static RankedTensorType scaleDim(Value value, int64_t dim, int64_t times,
                                 int64_t over) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = shape[dim] * times / over;
  return type.clone(shape);
}

Value LocalCollective::reduceScatter(Value value, ArrayRef<AxisRefAttr> over,
                                     int64_t group, int64_t dim) const {
  if (group == 1)
    return value;
  auto scatter = ReduceScatterOp::create(
      builder, loc, TypeRange(scaleDim(value, dim, 1, group)),
      ReduceKindAttr::get(op->getContext(), *op.getReduction()), value,
      op.getMeshAttr(), AxesAttr::get(op->getContext(), over),
      builder.getDenseI64ArrayAttr(dim), FlatSymbolRefAttr());
  if (OrderAttr order = getOrder(group))
    scatter->setAttr(WeftDialect::kOrderAttr, order);
  return scatter.getResult(0);
}

Value LocalCollective::allGather(Value value, ArrayRef<AxisRefAttr> over,
                                 int64_t group, int64_t dim) const {
  if (group == 1)
    return value;
  return AllGatherOp::create(
             builder, loc, scaleDim(value, dim, group, 1), value,
             op.getMeshAttr(), AxesAttr::get(op->getContext(), over),
             builder.getDenseI64ArrayAttr(dim), FlatSymbolRefAttr())
      .getResult(0);
}

Value LocalCollective::allToAll(Value value, ArrayRef<AxisRefAttr> over,
                                int64_t group, int64_t split,
                                int64_t concat) const {
  if (group == 1)
    return value;
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[split] /= group;
  shape[concat] *= group;
  return AllToAllOp::create(
             builder, loc, type.clone(shape), value, op.getMeshAttr(),
             AxesAttr::get(op->getContext(), over),
             builder.getDenseI64ArrayAttr(split),
             builder.getDenseI64ArrayAttr(concat), FlatSymbolRefAttr())
      .getResult(0);
}

//===----------------------------------------------------------------------===//
// Local forms
//===----------------------------------------------------------------------===//

Join LocalCollective::makeJoin() const {
  return Join(*op.getReduction(), getOrderOf(op) != nullptr);
}

/// In a tree the minor axes join first. An open order lets all members join
/// before anything is moved.
Value LocalCollective::prepare(Value member) const {
  if (!getOrderOf(op))
    return member;
  if (op.getScatteredDims().empty())
    return reduce(member, axes.minor, axes.numMinor);
  if (axes.numMinor == 1)
    return member;
  int64_t dim = op.getScatteredDims()[operand];
  auto type = cast<RankedTensorType>(member.getType());
  return reduceScatter(expand(member, dim, getParts(type.getDimSize(dim))),
                       axes.minor, axes.numMinor, dim + 2);
}

SmallVector<Value> LocalCollective::finish(Value joined) const {
  bool isOrdered = getOrderOf(op) != nullptr;
  if (!op.getScatteredDims().empty())
    return scatter(joined, op.getScatteredDims()[operand]);
  Value result =
      isOrdered ? reduce(joined, axes.major, axes.numMajor)
                : reduce(joined, axes.getRest(), axes.numMajor * axes.numMinor);
  return SmallVector<Value>(axes.size, result);
}

/// What is left of a reduce_scatter after the join: each rank keeps its part of
/// each member's, and the members' parts are cut.
SmallVector<Value> LocalCollective::scatter(Value joined, int64_t dim) const {
  if (axes.numMinor == 1)
    return cutMembers(reduceScatter(joined, axes.major, axes.numMajor, dim),
                      dim);
  if (!getOrderOf(op)) {
    auto type = cast<RankedTensorType>(joined.getType());
    joined = expand(joined, dim, getParts(type.getDimSize(dim)));
    joined = reduceScatter(joined, axes.minor, axes.numMinor, dim + 2);
  }
  joined = reduceScatter(joined, axes.major, axes.numMajor, dim);
  SmallVector<Value> results;
  for (int64_t member = 0; member < axes.size; ++member)
    results.push_back(collapse(part(joined, dim + 1, member, 1), dim));
  return results;
}

SmallVector<Value> LocalCollective::run(ArrayRef<Value> members) const {
  if (auto permuteOp = dyn_cast<PermuteOp>(op.getOperation()))
    return permute(members, permuteOp.getSources());
  int64_t dim = op.getGatheredDims()[operand];
  return op.getScatteredDims().empty()
             ? gather(members, dim)
             : exchange(members, op.getScatteredDims()[operand], dim);
}

/// The minor axes' parts of a member lie next to each other, then come those of
/// the next member: each list is put together by itself, from the last one on.
SmallVector<Value> LocalCollective::gather(ArrayRef<Value> members,
                                           int64_t dim) const {
  SmallVector<Value> gathered = llvm::map_to_vector(members, [&](Value member) {
    return allGather(member, axes.minor, axes.numMinor, dim);
  });
  Value all = allGather(concat(gathered, dim), axes.major, axes.numMajor, dim);
  return SmallVector<Value>(axes.size, all);
}

/// Gives each member what the others have for it: part m of `size` elements
/// along `split`.
SmallVector<Value> LocalCollective::exchangeParts(ArrayRef<Value> members,
                                                  int64_t split,
                                                  int64_t concatDim,
                                                  int64_t size) const {
  SmallVector<Value> results;
  for (int64_t to = 0; to < axes.size; ++to) {
    SmallVector<Value> arriving = llvm::map_to_vector(
        members, [&](Value value) { return part(value, split, to, size); });
    results.push_back(concat(arriving, concatDim));
  }
  return results;
}

/// The same with the minor axes' parts of each.
SmallVector<Value> LocalCollective::exchangePieces(ArrayRef<Value> members,
                                                   int64_t split,
                                                   int64_t concatDim) const {
  auto type = cast<RankedTensorType>(members.front().getType());
  int64_t size = type.getDimSize(split) / axes.size;
  SmallVector<Value> results;
  for (int64_t to = 0; to < axes.size; ++to) {
    SmallVector<Value> arriving =
        llvm::map_to_vector(members, [&](Value value) {
          return allToAll(part(value, split, to, size), axes.minor,
                          axes.numMinor, split, concatDim);
        });
    results.push_back(concat(arriving, concatDim));
  }
  return results;
}

SmallVector<Value> LocalCollective::exchange(ArrayRef<Value> members,
                                             int64_t split,
                                             int64_t concatDim) const {
  auto type = cast<RankedTensorType>(members.front().getType());
  if (axes.isLocal())
    return exchangeParts(members, split, concatDim,
                         type.getDimSize(split) / axes.size);
  // All members at once: they are the last of what is put together, and what
  // arrives has a part for each of them.
  if (axes.numMinor == 1 && split != concatDim) {
    Value all = allToAll(concat(members, concatDim), axes.major, axes.numMajor,
                         split, concatDim);
    return cutMembers(all, split);
  }
  // What each member has for another one is a piece of its own.
  if (axes.numMajor == 1 && split != concatDim)
    return exchangePieces(members, split, concatDim);
  SmallVector<int64_t> parts = getParts(type.getDimSize(split));
  // Where the two dims begin after both are seen as four.
  int64_t from = split + (split > concatDim ? 3 : 0);
  int64_t to = concatDim + (concatDim > split ? 3 : 0);
  bool isOne = split == concatDim;
  // Members are put together along a dim of their own: what one rank has of
  // them need not be neighbours.
  SmallVector<Value> seen = llvm::map_to_vector(members, [&](Value member) {
    Value value = expand(member, split, parts);
    return isOne ? value
                 : expand(value, to, {1, 1, 1, type.getDimSize(concatDim)});
  });
  SmallVector<Value> results;
  for (Value result : exchangeParts(seen, from + 1, to + 1, /*size=*/1)) {
    result = allToAll(result, axes.minor, axes.numMinor, from + 2, to + 2);
    result = allToAll(result, axes.major, axes.numMajor, from, to);
    result = collapse(result, std::max(from, to));
    results.push_back(from == to ? result
                                 : collapse(result, std::min(from, to)));
  }
  return results;
}
