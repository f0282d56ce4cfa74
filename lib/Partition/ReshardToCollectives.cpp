// SPDX-License-Identifier: Apache-2.0

// From a reshard to collectives and local steps: one op per step of the
// reshard planner's plan.

#include "Partition.h"

#include "weft/Rules/OpSharding.h"
#include "weft/Rules/ShardingConversion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Emits the steps of one plan.
class StepEmitter {
public:
  StepEmitter(RankBuilder &local, Location loc)
      : local(local), builder(local.builder), loc(loc) {}

  Value emit(const ReshardStep &step, Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    RankedTensorType result = type.clone(step.localShape);
    switch (step.kind) {
    case ReshardStepKind::Slice:
      return emitSlice(step, value, result);
    case ReshardStepKind::Pad:
      return emitPad(step, value, result);
    case ReshardStepKind::Unpad:
      return emitUnpad(value, result);
    default:
      Operation *op = emitCollective(step, value, result);
      setOrder(op, step);
      return op->getResult(0);
    }
  }

private:
  /// Contributions of the members join in a tree.
  void setOrder(Operation *op, const ReshardStep &step) {
    bool isSum =
        step.reduction == Reduction::Sum || step.reduction == Reduction::Prod;
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    if (local.planner.keepsOrderOf(getElements(type)) && isSum &&
        cast<CollectiveOpInterface>(op).getReduction())
      op->setAttr(WeftDialect::kOrderAttr,
                  OrderAttr::get(op->getContext(), numShards(step.axes),
                                 /*lanes=*/1, /*rounded=*/false));
  }

  Operation *emitCollective(const ReshardStep &step, Value value,
                            RankedTensorType result) {
    AxesAttr axes = toAttr(builder.getContext(), step.axes, local.getMesh());
    TypeRange types(result);
    ReduceKind reduction = toReduceKind(step.reduction);
    StringRef mesh = local.meshName.getValue();
    FlatSymbolRefAttr noChannel;
    switch (step.kind) {
    case ReshardStepKind::AllGather:
      return AllGatherOp::create(builder, loc, types, value, mesh, axes,
                                 ArrayRef<int64_t>{step.dim}, noChannel);
    case ReshardStepKind::ReduceScatter:
      return ReduceScatterOp::create(builder, loc, types, reduction, value,
                                     mesh, axes, ArrayRef<int64_t>{step.dim},
                                     noChannel);
    case ReshardStepKind::AllReduce:
      return AllReduceOp::create(builder, loc, types, reduction, value, mesh,
                                 axes, noChannel);
    case ReshardStepKind::AllToAll:
      return AllToAllOp::create(builder, loc, types, value, mesh, axes,
                                ArrayRef<int64_t>{step.splitDim},
                                ArrayRef<int64_t>{step.dim}, noChannel);
    default:
      return PermuteOp::create(builder, loc, types, value, mesh, axes,
                               step.sources, noChannel);
    }
  }

  Value emitSlice(const ReshardStep &step, Value value,
                  RankedTensorType result) {
    int64_t size = result.getDimSize(step.dim);
    SmallVector<OpFoldResult> offsets(result.getRank(),
                                      builder.getIndexAttr(0));
    offsets[step.dim] =
        local.chunkOffset(loc, {step.axes, size * numShards(step.axes)});
    return emitExtract(value, result, offsets);
  }

  Value emitUnpad(Value value, RankedTensorType result) {
    SmallVector<OpFoldResult> offsets(result.getRank(),
                                      builder.getIndexAttr(0));
    return emitExtract(value, result, offsets);
  }

  Value emitExtract(Value value, RankedTensorType result,
                    ArrayRef<OpFoldResult> offsets) {
    SmallVector<OpFoldResult> strides(result.getRank(),
                                      builder.getIndexAttr(1));
    SmallVector<OpFoldResult> sizes =
        getAsIndexOpFoldResult(builder.getContext(), result.getShape());
    return tensor::ExtractSliceOp::create(builder, loc, result, value, offsets,
                                          sizes, strides);
  }

  Value emitPad(const ReshardStep &step, Value value, RankedTensorType result) {
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<OpFoldResult> low(result.getRank(), builder.getIndexAttr(0));
    SmallVector<OpFoldResult> high = low;
    high[step.dim] = builder.getIndexAttr(result.getDimSize(step.dim) -
                                          type.getDimSize(step.dim));
    Value zero = arith::ConstantOp::create(
        builder, loc, builder.getZeroAttr(type.getElementType()));
    return tensor::PadOp::create(builder, loc, result, value, low, high, zero);
  }

  RankBuilder &local;
  OpBuilder &builder;
  Location loc;
};

/// Makes a tensor of one element again in another shape; null if `value` is no
/// such tensor.
Value rebuildUniform(OpBuilder &builder, Value value, RankedTensorType type) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return {};
  Location loc = op->getLoc();
  SplatElementsAttr splat;
  if (matchPattern(value, m_Constant(&splat)))
    return arith::ConstantOp::create(builder, loc, splat.resizeSplat(type));
  if (auto splatOp = dyn_cast<tensor::SplatOp>(op))
    return tensor::SplatOp::create(builder, loc, splatOp.getInput(), type);
  if (isa<tensor::EmptyOp>(op))
    return tensor::EmptyOp::create(builder, loc, type.getShape(),
                                   type.getElementType());
  if (auto fill = dyn_cast<linalg::FillOp>(op)) {
    Value init = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                         type.getElementType());
    return linalg::FillOp::create(builder, loc, fill.value(), init).result();
  }
  return {};
}

} // namespace

Value mlir::weft::emitReshard(RankBuilder &local, Location loc, Value value,
                              const Sharding &from, const Sharding &to,
                              RankedTensorType global) {
  if (!from.isPartial() && !from.isSameLayout(to)) {
    RankedTensorType type = global.clone(to.localShape(global.getShape()));
    if (Value uniform = rebuildUniform(local.builder, value, type))
      return uniform;
  }
  StepEmitter emitter(local, loc);
  for (const ReshardStep &step :
       local.planner.plan(from, to, global.getShape(), getElements(global)))
    value = emitter.emit(step, value);
  return value;
}

LogicalResult mlir::weft::partitionReshard(RankBuilder &local, ReshardOp op) {
  const Mesh &mesh = local.getMesh();
  Sharding from = toSharding(op.getFrom(), mesh);
  Sharding to = toSharding(op.getTo(), mesh);
  Sharding actual = local.getSharding(op.getInput());
  if (!from.isSameLayout(actual))
    return op.emitOpError("reads a value that is sharded as ")
           << actual.str(mesh) << ", not as " << from.str(mesh);
  Type element = op.getType().getElementType();
  if (!element.isIntOrIndexOrFloat())
    return op.emitOpError("cannot move elements of type ") << element;
  if (std::string why =
          local.planner.canReshard(from, to, getElements(op.getType()));
      !why.empty())
    return op.emitOpError(why);
  local.setSharding(op.getResult(), to);
  local.setLocal(op.getResult(),
                 emitReshard(local, op.getLoc(), local.getLocal(op.getInput()),
                             from, to, op.getType()));
  return success();
}
