// SPDX-License-Identifier: Apache-2.0

// Verifiers of weft's ops. They are local: but for a future and its wait,
// nothing follows use-def chains.

#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::weft;

#define GET_OP_CLASSES
#include "weft/Dialect/Weft/IR/WeftOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Sharding ops
//===----------------------------------------------------------------------===//

LogicalResult ShardOp::verifySymbolUses(SymbolTableCollection &) {
  if (!getSharding().getPartial().empty()) // shard_c1
    return emitOpError("a user's sharding cannot be partial");
  // shard_c2
  return verifySharding(*this, getSharding(), getType(), "sharding");
}

LogicalResult ReshardOp::verifySymbolUses(SymbolTableCollection &) {
  // reshard_c2
  if (failed(verifySharding(*this, getFrom(), getType(), "from")))
    return failure();
  return verifySharding(*this, getTo(), getType(), "to");
}

LogicalResult ReshardOp::verify() {
  // reshard_c1
  for (AxisRefAttr axis : getTo().getPartial())
    if (!llvm::is_contained(getFrom().getPartial(), axis))
      return emitOpError("makes axis '")
             << axis.getName() << "' partial, which it is not before";
  if (!getTo().getPartial().empty() &&
      getTo().getPartialKind() != getFrom().getPartialKind())
    return emitOpError("changes the partial kind from ")
           << stringifyReduceKind(getFrom().getPartialKind()) << " to "
           << stringifyReduceKind(getTo().getPartialKind());
  return success();
}

namespace {

/// Checks the axes of an op that stands on a mesh (axis_index_c1, c1 of each
/// collective) and returns the group's size.
FailureOr<int64_t> verifyGroup(Operation *op, FlatSymbolRefAttr meshName,
                               AxesAttr axes) {
  // An axis list is a sharding of one dimension.
  MLIRContext *ctx = op->getContext();
  auto dim = DimShardingAttr::get(ctx, axes.getAxes(), false);
  auto sharding =
      ShardingAttr::get(ctx, meshName, {dim}, {}, ReduceKind::Sum, {});
  auto vector = RankedTensorType::get({1}, IndexType::get(ctx));
  if (failed(verifySharding(op, sharding, vector, "axes")))
    return failure();
  return getNumShards(lookupMesh(op, meshName), axes.getAxes());
}

} // namespace

LogicalResult AxisIndexOp::verifySymbolUses(SymbolTableCollection &) {
  return verifyGroup(*this, getMeshAttr(), getAxes());
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

namespace {

/// Checks c3 of the collectives with dims: one per operand, in range.
LogicalResult verifyDims(Operation *op, OperandRange inputs,
                         ArrayRef<int64_t> dims, StringRef what) {
  if (dims.size() != inputs.size())
    return op->emitOpError("has ") << dims.size() << " " << what << " dims for "
                                   << inputs.size() << " operands";
  for (auto [dim, input] : llvm::zip(dims, inputs)) {
    int64_t rank = cast<RankedTensorType>(input.getType()).getRank();
    if (dim < 0 || dim >= rank)
      return op->emitOpError(what)
             << " dim " << dim << " is out of range for " << input.getType();
  }
  return success();
}

/// Checks c2 of each collective, and each result's type (the last constraint)
/// against the operand's shape changed by `reshape`, which fails if a size does
/// not divide.
LogicalResult verifyResults(
    Operation *op,
    function_ref<LogicalResult(unsigned, SmallVectorImpl<int64_t> &)> reshape) {
  if (op->getNumOperands() == 0)
    return op->emitOpError("needs at least one operand");
  if (op->getNumResults() != op->getNumOperands())
    return op->emitOpError("has ") << op->getNumResults() << " results for "
                                   << op->getNumOperands() << " operands";
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    auto type = cast<RankedTensorType>(op->getOperand(i).getType());
    if (!type.hasStaticShape())
      return op->emitOpError("operand #") << i << " has a dynamic shape";
    SmallVector<int64_t> shape(type.getShape());
    if (failed(reshape(i, shape)))
      return failure();
    Type expected = type.clone(shape);
    if (getTensorType(op->getResult(i).getType()) != expected)
      return op->emitOpError("result #")
             << i << " has type " << op->getResult(i).getType() << ", expected "
             << expected;
  }
  return success();
}

/// Checks collective_c1.
LogicalResult verifyChannel(Operation *op, FlatSymbolRefAttr mesh,
                            AxesAttr axes, FlatSymbolRefAttr symbol) {
  if (!symbol)
    return success();
  ChannelOp channel = lookupChannel(op, symbol);
  if (!channel)
    return op->emitOpError("runs on ") << symbol << ", which is no channel";
  if (channel.getMeshAttr() != mesh)
    return op->emitOpError("is on mesh ")
           << mesh << ", but its channel " << symbol << " is on "
           << channel.getMeshAttr();
  if (channel.getAxesAttr() != axes)
    return op->emitOpError("is over ") << axes << ", but its channel " << symbol
                                       << " is over " << channel.getAxesAttr();
  return success();
}

/// Checks collective_c4 of one result.
LogicalResult verifyFuture(OpResult future) {
  Operation *op = future.getOwner();
  unsigned number = future.getResultNumber();
  if (future.use_empty())
    return op->emitOpError("future #") << number << " is never waited for";
  if (!future.hasOneUse())
    return op->emitOpError("future #")
           << number << " is used "
           << std::distance(future.use_begin(), future.use_end())
           << " times, expected once";
  Operation *user = *future.user_begin();
  if (!isa<WaitOp>(user))
    return op->emitOpError("future #")
           << number << " is used by '" << user->getName()
           << "', expected 'weft.wait'";
  return success();
}

/// Checks collective_c2 to collective_c4.
LogicalResult verifyFutures(Operation *op, FlatSymbolRefAttr channel) {
  unsigned count =
      llvm::count_if(op->getResultTypes(), llvm::IsaPred<FutureType>);
  if (count == 0)
    return success();
  if (count != op->getNumResults())
    return op->emitOpError("has ")
           << count << " futures among " << op->getNumResults()
           << " results, expected all or none";
  if (!channel)
    return op->emitOpError("is started, but has no channel");
  for (OpResult result : op->getResults())
    if (failed(verifyFuture(result)))
      return failure();
  return success();
}

/// Checks what all collectives have in common but for their results' shapes;
/// returns the group's size.
template <typename CollectiveOp>
FailureOr<int64_t> verifyCollective(CollectiveOp op) {
  FailureOr<int64_t> group =
      verifyGroup(op, op.getMeshAttr(), op.getAxesAttr());
  if (failed(group) ||
      failed(verifyChannel(op, op.getMeshAttr(), op.getAxesAttr(),
                           op.getChannelAttr())) ||
      failed(verifyFutures(op, op.getChannelAttr())))
    return failure();
  return group;
}

LogicalResult divideExactly(Operation *op, int64_t &size, int64_t dim,
                            int64_t group) {
  if (size % group != 0)
    return op->emitOpError("dim ")
           << dim << " of size " << size << " does not divide by the group's "
           << group << " ranks";
  size /= group;
  return success();
}

} // namespace

LogicalResult AllGatherOp::verifySymbolUses(SymbolTableCollection &) {
  FailureOr<int64_t> group = verifyCollective(*this);
  if (failed(group) ||
      failed(verifyDims(*this, getInputs(), getDims(), "gather")))
    return failure();
  return verifyResults(*this, [&](unsigned i, SmallVectorImpl<int64_t> &shape) {
    shape[getDims()[i]] *= *group; // all_gather_c4
    return success();
  });
}

LogicalResult ReduceScatterOp::verifySymbolUses(SymbolTableCollection &) {
  FailureOr<int64_t> group = verifyCollective(*this);
  if (failed(group) ||
      failed(verifyDims(*this, getInputs(), getDims(), "scatter")))
    return failure();
  return verifyResults(*this, [&](unsigned i, SmallVectorImpl<int64_t> &shape) {
    int64_t dim = getDims()[i];
    // reduce_scatter_c4
    return divideExactly(*this, shape[dim], dim, *group);
  });
}

LogicalResult AllReduceOp::verifySymbolUses(SymbolTableCollection &) {
  if (failed(verifyCollective(*this)))
    return failure();
  return verifyResults(
      *this, [](unsigned, SmallVectorImpl<int64_t> &) { return success(); });
}

LogicalResult AllToAllOp::verifySymbolUses(SymbolTableCollection &) {
  FailureOr<int64_t> group = verifyCollective(*this);
  if (failed(group) ||
      failed(verifyDims(*this, getInputs(), getSplitDims(), "split")) ||
      failed(verifyDims(*this, getInputs(), getConcatDims(), "concat")))
    return failure();
  return verifyResults(*this, [&](unsigned i, SmallVectorImpl<int64_t> &shape) {
    int64_t split = getSplitDims()[i];
    if (failed(divideExactly(*this, shape[split], split, *group)))
      return failure();
    shape[getConcatDims()[i]] *= *group; // all_to_all_c4
    return success();
  });
}

LogicalResult PermuteOp::verifySymbolUses(SymbolTableCollection &) {
  FailureOr<int64_t> group = verifyCollective(*this);
  if (failed(group))
    return failure();
  // permute_c3
  if (static_cast<int64_t>(getSources().size()) != *group)
    return emitOpError("has ")
           << getSources().size() << " sources for a group of " << *group;
  SmallVector<bool> sends(*group, false);
  for (int64_t source : getSources()) {
    if (source < -1 || source >= *group)
      return emitOpError("source ")
             << source << " is not in a group of " << *group;
    if (source >= 0 && std::exchange(sends[source], true))
      return emitOpError("member ") << source << " sends twice";
  }
  return verifyResults(
      *this, [](unsigned, SmallVectorImpl<int64_t> &) { return success(); });
}

LogicalResult ChannelOp::verifySymbolUses(SymbolTableCollection &) {
  return verifyGroup(*this, getMeshAttr(), getAxes()); // channel_c1
}

LogicalResult
WaitOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                         ValueRange operands, DictionaryAttr, OpaqueProperties,
                         RegionRange,
                         SmallVectorImpl<Type> &inferredReturnTypes) {
  for (Type type : operands.getTypes()) {
    auto future = dyn_cast<FutureType>(type);
    if (!future)
      return emitOptionalError(loc, "'weft.wait' op waits for a value of type ",
                               type, ", expected a future");
    inferredReturnTypes.push_back(future.getTensor());
  }
  return success();
}

LogicalResult WaitOp::verify() {
  if (getFutures().empty()) // wait_c1
    return emitOpError("needs at least one future");
  Operation *start = getFutures()[0].getDefiningOp();
  if (!start) // wait_c1
    return emitOpError("waits for a block argument, expected what a "
                       "collective started");
  if (ValueRange(getFutures()) != ValueRange(start->getResults())) // wait_c1
    return emitOpError("takes other futures than all ")
           << start->getNumResults() << " of one '" << start->getName()
           << "' op in their order";
  if (start->getBlock() != (*this)->getBlock()) // wait_c2
    return emitOpError("is in another block than the '")
           << start->getName() << "' op that it waits for";
  return success();
}

//===----------------------------------------------------------------------===//
// Compute
//===----------------------------------------------------------------------===//

AffineMap MatmulOp::getLhsMap() {
  return cast<AffineMapAttr>(getIndexingMaps()[0]).getValue();
}
AffineMap MatmulOp::getRhsMap() {
  return cast<AffineMapAttr>(getIndexingMaps()[1]).getValue();
}
AffineMap MatmulOp::getResultMap() {
  return cast<AffineMapAttr>(getIndexingMaps()[2]).getValue();
}

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

namespace {

/// Checks that `map` indexes `shape` and that sizes agree with `sizes` (-1: not
/// seen yet), which it fills: c1 and c2 of matmul, take and scatter_add.
LogicalResult verifyMap(Operation *op, AffineMap map, ArrayRef<int64_t> shape,
                        StringRef what, SmallVectorImpl<int64_t> &sizes) {
  if (map.getNumSymbols() != 0 ||
      !map.isProjectedPermutation(/*allowZeroInResults=*/false))
    return op->emitOpError(what) << " map " << AffineMapAttr::get(map)
                                 << " is not a projected permutation";
  if (map.getNumDims() != sizes.size())
    return op->emitOpError(what) << " map has " << map.getNumDims()
                                 << " dims, expected " << sizes.size();
  if (map.getNumResults() != shape.size())
    return op->emitOpError(what)
           << " map has " << map.getNumResults() << " results for "
           << shape.size() << " dimensions";
  for (unsigned i = 0; i < map.getNumResults(); ++i) {
    int64_t &size = sizes[map.getDimPosition(i)];
    if (size >= 0 && size != shape[i])
      return op->emitOpError(what)
             << " dim " << i << " is " << shape[i] << ", expected " << size
             << " (d" << map.getDimPosition(i) << ")";
    size = shape[i];
  }
  return success();
}

/// Checks what take and scatter_add have in common.
LogicalResult verifyLookup(Operation *op, RankedTensorType table,
                           RankedTensorType indices, RankedTensorType slices,
                           int64_t axis, AffineMap tableMap,
                           AffineMap indexMap) {
  if (axis < 0 || axis >= table.getRank()) // c1
    return op->emitOpError("axis ") << axis << " is out of range for " << table;
  // c3
  if (table.getElementType() != slices.getElementType())
    return op->emitOpError("element types differ: ")
           << table.getElementType() << " and " << slices.getElementType();
  if (!indices.getElementType().isSignlessInteger())
    return op->emitOpError("indices must be signless integers, got ")
           << indices.getElementType();
  SmallVector<int64_t> sizes(slices.getShape());
  SmallVector<int64_t> rest(table.getShape());
  rest.erase(rest.begin() + axis);
  if (failed(verifyMap(op, tableMap, rest, "table", sizes)) ||
      failed(verifyMap(op, indexMap, indices.getShape(), "index", sizes)))
    return failure();
  for (unsigned dim = 0; dim < sizes.size(); ++dim)
    if (!tableMap.isFunctionOfDim(dim) && !indexMap.isFunctionOfDim(dim)) // c2
      return op->emitOpError("dim ") << dim << " is in neither map";
  return success();
}

} // namespace

LogicalResult MatmulOp::verify() {
  if (getIndexingMaps().size() != 3)
    return emitOpError("has ") << getIndexingMaps().size()
                               << " indexing maps, expected 3"; // matmul_c1
  auto lhs = cast<RankedTensorType>(getLhs().getType());
  auto rhs = cast<RankedTensorType>(getRhs().getType());
  auto result = cast<RankedTensorType>(getType());
  SmallVector<int64_t> sizes(getLhsMap().getNumDims(), -1);
  if (failed(verifyMap(*this, getLhsMap(), lhs.getShape(), "lhs", sizes)) ||
      failed(verifyMap(*this, getRhsMap(), rhs.getShape(), "rhs", sizes)) ||
      failed(
          verifyMap(*this, getResultMap(), result.getShape(), "result", sizes)))
    return failure();
  for (unsigned dim = 0; dim < sizes.size(); ++dim)
    if (!getLhsMap().isFunctionOfDim(dim) && !getRhsMap().isFunctionOfDim(dim))
      return emitOpError("d") << dim << " is in no operand's map"; // matmul_c3
  // matmul_c4
  Type left = lhs.getElementType(), right = rhs.getElementType(),
       out = result.getElementType();
  if (!isa<FloatType>(left) || !isa<FloatType>(right) || !isa<FloatType>(out))
    return emitOpError("expected floating-point element types, got ")
           << left << ", " << right << " and " << out;
  if (left.isF64() != right.isF64() || left.isF64() != out.isF64())
    return emitOpError("f64 does not mix with other types: ")
           << left << ", " << right << " and " << out;
  return success();
}

LogicalResult TakeOp::verify() {
  return verifyLookup(*this, cast<RankedTensorType>(getTable().getType()),
                      cast<RankedTensorType>(getIndices().getType()),
                      cast<RankedTensorType>(getType()), getAxis(),
                      getTableMap(), getIndexMap());
}

LogicalResult ScatterAddOp::verify() {
  return verifyLookup(*this, cast<RankedTensorType>(getInit().getType()),
                      cast<RankedTensorType>(getIndices().getType()),
                      cast<RankedTensorType>(getUpdates().getType()), getAxis(),
                      getTableMap(), getIndexMap());
}
