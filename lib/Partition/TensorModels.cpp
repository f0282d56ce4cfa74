// SPDX-License-Identifier: Apache-2.0

// Ops of the tensor dialect and constants on one rank: the dimensions that
// they change are whole, the others have local sizes.

#include "Models.h"

#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Rules/ReductionOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// The sizes of a slice, with local sizes where the sliced tensor is sharded:
/// there the slice is the whole dimension.
SmallVector<OpFoldResult> getLocalSizes(LocalBuilder &local,
                                        OffsetSizeAndStrideOpInterface op,
                                        Value sliced) {
  SmallVector<OpFoldResult> sizes = op.getMixedSizes();
  for (unsigned dim = 0; dim < sizes.size(); ++dim)
    if (DimCut cut = local.getCut(sliced, dim); cut.isSharded())
      sizes[dim] = local.builder.getIndexAttr(cut.chunk());
  return sizes;
}

/// Offsets and strides are scalars: they only have to be looked up.
SmallVector<OpFoldResult> getLocalScalars(LocalBuilder &local,
                                          ArrayRef<OpFoldResult> values) {
  return llvm::map_to_vector(values, [&](OpFoldResult value) -> OpFoldResult {
    if (auto dynamic = dyn_cast<Value>(value))
      return local.getLocal(dynamic);
    return value;
  });
}

LogicalResult partitionOp(LocalBuilder &local, tensor::ExtractSliceOp op) {
  Value result = tensor::ExtractSliceOp::create(
      local.builder, op.getLoc(),
      cast<RankedTensorType>(local.getLocalType(op.getResult())),
      local.getLocal(op.getSource()),
      getLocalScalars(local, op.getMixedOffsets()),
      getLocalSizes(local, op, op.getSource()),
      getLocalScalars(local, op.getMixedStrides()));
  local.setLocal(op.getResult(), result);
  return success();
}

LogicalResult partitionOp(LocalBuilder &local, tensor::InsertSliceOp op) {
  Value result = tensor::InsertSliceOp::create(
      local.builder, op.getLoc(), local.getLocal(op.getSource()),
      local.getLocal(op.getDest()),
      getLocalScalars(local, op.getMixedOffsets()),
      getLocalSizes(local, op, op.getDest()),
      getLocalScalars(local, op.getMixedStrides()));
  local.setLocal(op.getResult(), result);
  return success();
}

/// Which of the new dimensions is cut does not show in local types, nor how
/// often elements that are made of nothing but indices stand in one that is
/// made of several: proofs are told, and two that differ in this are not taken
/// for one.
template <typename Op>
LogicalResult partitionReshape(LocalBuilder &local, Op op) {
  auto result =
      Op::create(local.builder, op.getLoc(),
                 cast<RankedTensorType>(local.getLocalType(op.getResult())),
                 local.getLocal(op.getSrc()), op.getReassociationIndices());
  if (result.getType() != op.getType())
    result->setAttr(WeftDialect::kGlobalTypeAttr, TypeAttr::get(op.getType()));
  local.setLocal(op.getResult(), result);
  return success();
}

LogicalResult partitionOp(LocalBuilder &local, tensor::CollapseShapeOp op) {
  return partitionReshape(local, op);
}

LogicalResult partitionOp(LocalBuilder &local, tensor::ExpandShapeOp op) {
  return partitionReshape(local, op);
}

LogicalResult partitionOp(LocalBuilder &local, tensor::PadOp op) {
  for (BlockArgument arg : op.getRegion().getArguments())
    if (!arg.use_empty() &&
        local.getCut(op.getResult(), arg.getArgNumber()).isSharded())
      return op.emitOpError("pads by index along dim ")
             << arg.getArgNumber() << ", which is sharded";
  local.cloneLocal(op);
  return success();
}

/// Splats shrink; of other constants each rank cuts its part.
LogicalResult partitionOp(LocalBuilder &local, arith::ConstantOp op) {
  auto localType = cast<RankedTensorType>(local.getLocalType(op.getResult()));
  Value result;
  if (auto splat = dyn_cast<SplatElementsAttr>(op.getValue())) {
    result = arith::ConstantOp::create(local.builder, op.getLoc(),
                                       splat.resizeSplat(localType));
  } else {
    Value whole =
        arith::ConstantOp::create(local.builder, op.getLoc(), op.getValue());
    result = local.cutPart(op.getLoc(), whole, op.getResult());
  }
  local.setLocal(op.getResult(), result);
  return success();
}

template <typename Op>
struct TensorModel : PartitionOpInterface::ExternalModel<TensorModel<Op>, Op> {
  LogicalResult partition(Operation *op, LocalBuilder &local) const {
    return partitionOp(local, cast<Op>(op));
  }
};

template <typename... Ops> void attachToTensorOps(MLIRContext *context) {
  (Ops::template attachInterface<TensorModel<Ops>>(*context), ...);
}

} // namespace

void mlir::weft::registerTensorPartitionModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    attachToTensorOps<tensor::CollapseShapeOp, tensor::ExpandShapeOp,
                      tensor::ExtractSliceOp, tensor::InsertSliceOp,
                      tensor::PadOp>(context);
  });
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    attachToTensorOps<arith::ConstantOp>(context);
  });
}
