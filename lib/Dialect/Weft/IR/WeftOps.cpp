// SPDX-License-Identifier: Apache-2.0

// Verifiers of the ops of the mesh and of those that compute, and what
// weft.shard says by way of interfaces. Verifiers are local: nothing follows
// use-def chains.

#include "weft/Dialect/Weft/IR/Collectives.h"
#include "weft/Dialect/Weft/IR/Leaves.h"
#include "weft/Dialect/Weft/IR/MeshErrors.h"

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

std::optional<ShardingRule> ShardOp::getShardingRule() {
  return getIdentityRule(*this);
}

bool ShardOp::keepsPartial(ArrayRef<PartialState>, Reduction) { return true; }

bool ShardOp::movesPartial(ArrayRef<PartialState>) { return true; }

LogicalResult ShardOp::partition(LocalBuilder &local) {
  local.setLocal(getResult(), local.getLocal(getInput()));
  return success();
}

LogicalResult ReshardOp::verifySymbolUses(SymbolTableCollection &) {
  // reshard_c2
  if (failed(verifySharding(*this, getFrom(), getType(), "from")))
    return failure();
  return verifySharding(*this, getTo(), getType(), "to");
}

Location weft::getErrorLoc(MeshOp mesh) {
  Operation *parent = mesh->getParentOp();
  Location loc = mesh.getLoc();
  return isa<UnknownLoc>(loc) && parent ? parent->getLoc() : loc;
}

InFlightDiagnostic weft::emitMeshError(MeshOp mesh) {
  return emitError(getErrorLoc(mesh))
         << "'" << MeshOp::getOperationName() << "' op ";
}

LogicalResult MeshOp::verify() {
  Block *block = getOperation()->getBlock();
  if (!block)
    return success();
  for (Operation &other : *block) {
    if (&other == getOperation())
      return success();
    if (!isa<MeshOp>(other))
      continue;
    InFlightDiagnostic diag =
        emitOpError("is the second mesh of the module, expected one");
    diag.attachNote(other.getLoc()) << "the first is here";
    return diag;
  }
  return success();
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

/// axis_index_c1, and c1 of each collective.
FailureOr<int64_t> mlir::weft::verifyGroup(Operation *op,
                                           FlatSymbolRefAttr meshName,
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

LogicalResult AxisIndexOp::verifySymbolUses(SymbolTableCollection &) {
  return verifyGroup(*this, getMeshAttr(), getAxes());
}

//===----------------------------------------------------------------------===//
// Compute
//===----------------------------------------------------------------------===//

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

/// Checks the scales of a product: c5 and what of c1 and c2 is about them.
static LogicalResult verifyScales(MatmulOp op,
                                  SmallVectorImpl<int64_t> &sizes) {
  if (op.getScales().size() != 2)
    return op.emitOpError("has ")
           << op.getScales().size() << " scales, expected none or 2";
  for (auto [i, value] : llvm::enumerate(op.getScales())) {
    auto scale = cast<RankedTensorType>(value.getType());
    auto operand = cast<RankedTensorType>(op->getOperand(i).getType());
    if (!isa<Float32Type, Float8E8M0FNUType, Float8E4M3FNType>(
            scale.getElementType()) ||
        !isa<Float8E4M3FNType, Float8E5M2Type, Float4E2M1FNType>(
            operand.getElementType()))
      return op.emitOpError("has no scales of ")
             << scale.getElementType() << " for " << operand.getElementType();
    AffineMap map = op.getScaleMap(i);
    if (failed(verifyMap(op, map, scale.getShape(), "scale", sizes)))
      return failure();
    AffineMap own = i ? op.getRhsMap() : op.getLhsMap();
    for (unsigned dim = 0; dim < sizes.size(); ++dim)
      if (map.isFunctionOfDim(dim) && !own.isFunctionOfDim(dim))
        return op.emitOpError("d") << dim << " is in the map of scale #" << i
                                   << ", but not in that of its operand";
  }
  return success();
}

LogicalResult mlir::weft::verifyLeaves(Operation *op, int64_t summed) {
  auto order = op->getAttrOfType<OrderAttr>(WeftDialect::kOrderAttr);
  if (!order || summed % order.getLeaves() == 0)
    return success();
  return op->emitOpError("has an order of ")
         << order.getLeaves() << " leaves, which do not divide the " << summed
         << " elements that it sums";
}

LogicalResult MatmulOp::verify() {
  size_t numMaps = getScales().empty() ? 3 : 5;
  if (getIndexingMaps().size() != numMaps)
    return emitOpError("has ")
           << getIndexingMaps().size() << " indexing maps, expected "
           << numMaps; // matmul_c1
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
  int64_t summed = 1;
  for (auto [dim, size] : llvm::enumerate(sizes))
    summed *= getResultMap().isFunctionOfDim(dim) ? 1 : size;
  // Of sizes that are known only at run time nothing is said.
  if (!llvm::is_contained(sizes, ShapedType::kDynamic) &&
      failed(verifyLeaves(*this, summed)))
    return failure();
  return getScales().empty() ? success() : verifyScales(*this, sizes);
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
