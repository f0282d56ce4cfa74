// SPDX-License-Identifier: Apache-2.0

// Counts the work of kernels, before and after buffers are planned, and of
// upstream ops, from their types and bodies.

#include "weft/Cost/ExternalModels.h"

#include "weft/Dialect/Weft/IR/Formulas.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"
#include "weft/Interfaces/CostOpInterface.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

template <typename Model, typename Op>
using CostModelOf = CostOpInterface::ExternalModel<Model, Op>;

OpWork getCopyWork(Type type) {
  OpWork work;
  work.bytesRead = work.bytesWritten = double(getShapedBytes(type));
  return work;
}

//===----------------------------------------------------------------------===//
// Structured ops
//===----------------------------------------------------------------------===//

/// Of a multiplier or scale; what is of the tensor's scale alone is the same
/// for all elements.
int getScaleWeight(Type element, Type scale, bool isPower, bool isScale) {
  if (isa<Float8E8M0FNUType>(scale))
    return isScale ? 9 : 11;
  if (isa<Float8E4M3FNType>(scale))
    return isScale ? 4 : 11;
  if (isPower)
    return isScale ? 18 : 12;
  int multiplier = isa<Float4E2M1FNType>(element) ? 9 : 7;
  return isScale ? (multiplier == 9 ? 17 : 13) : multiplier;
}

/// Without casts of an index that are those of a place.
int getRoundWeight(RoundF4Op op) {
  int weight = op.getRandom() ? 28 : 23;
  for (Operation *user : op.getHalf().getUsers())
    if (auto place = dyn_cast<PlaceOp>(user);
        place && place->getBlock() == op->getBlock())
      return weight - (place.getType().isInteger(32) ? 2 : 1);
  return weight;
}

/// Of formulas of quantization as many as they have ops of arith.
std::optional<int> getFormulaWeight(Operation *op) {
  if (!isa_and_present<WeftDialect>(op->getDialect()))
    return std::nullopt;
  return llvm::TypeSwitch<Operation *, std::optional<int>>(op)
      .Case([](MultiplierOfOp op) {
        return getScaleWeight(op.getElement(), op.getScale(),
                              op.getPowerOfTwo(), /*isScale=*/false);
      })
      .Case([](ScaleOfOp op) {
        return getScaleWeight(op.getElement(), op.getScale().getType(),
                              op.getPowerOfTwo(), /*isScale=*/true);
      })
      .Case([](RoundF8Op op) {
        return isa<Float8E5M2Type>(op.getType()) ? 5 : 3;
      })
      .Case([](RoundF4Op op) { return getRoundWeight(op); })
      .Case([](DecodeOp op) { return op.getHalf() ? 16 : 5; })
      .Case([](MixBitsOp) { return 8; })
      .Case([](RandomBitsOp op) {
        return op.getIndex().getType().isInteger(64) ? 29 : 23;
      })
      .Case([](PlaceOp op) {
        int count = countIndices(op);
        return (op.getType().isInteger(32) ? 4 : 3) * count -
               (count > 0 ? 2 : 0);
      })
      .Default(std::nullopt);
}

/// How many additions an op on elements takes about as long as.
int getWeight(Operation *op) {
  if (std::optional<int> weight = getFormulaWeight(op))
    return *weight;
  if (isa<arith::ConstantOp, arith::BitcastOp, linalg::IndexOp,
          linalg::YieldOp>(op))
    return 0;
  if (isa<arith::DivFOp, arith::RemFOp, arith::DivSIOp, arith::DivUIOp,
          arith::RemSIOp, arith::RemUIOp, math::SqrtOp, math::RsqrtOp>(op))
    return 4;
  if (isa<math::AbsFOp, math::AbsIOp, math::FmaOp, math::CopySignOp>(op))
    return 1;
  if (isa<math::PowFOp>(op))
    return 32;
  return isa<math::MathDialect>(op->getDialect()) ? 16 : 1;
}

double getIterations(linalg::LinalgOp op) {
  double iterations = 1;
  for (int64_t size : op.getStaticLoopRanges())
    iterations *= double(std::max<int64_t>(size, 1));
  return iterations;
}

/// The body's values that are the same for all elements: of scalars, and of
/// what lookups read in one place, alone.
llvm::DenseSet<Value> findSame(linalg::LinalgOp op) {
  llvm::DenseSet<Value> same;
  for (OpOperand &operand : op->getOpOperands())
    if (op.getMatchingIndexingMap(&operand).getNumResults() == 0 &&
        !op.isDpsInit(&operand))
      same.insert(op.getMatchingBlockArgument(&operand));
  if (same.empty() && op.getBlock()->getOps<tensor::ExtractOp>().empty())
    return same;
  for (Operation &inner : op.getBlock()->without_terminator()) {
    bool isSame = llvm::all_of(inner.getOperands(), [&](Value value) {
      return value.getParentBlock() != op.getBlock() || same.contains(value);
    });
    if (isSame && inner.getNumRegions() == 0 && !isa<linalg::IndexOp>(inner))
      same.insert(inner.result_begin(), inner.result_end());
  }
  return same;
}

/// Operations of a linalg op on all its elements; what is the same for all is
/// computed before them.
double getOperations(linalg::LinalgOp op) {
  llvm::DenseSet<Value> same = findSame(op);
  int weight = 0;
  for (Operation &inner : op.getBlock()->without_terminator())
    if (inner.getNumResults() == 0 || !same.contains(inner.getResult(0)))
      weight += getWeight(&inner);
  return weight * getIterations(op);
}

/// Bytes that a kernel reads of an input: all, unless it only looks up
/// elements here and there.
double getReadBytes(BlockArgument input) {
  if (!isa<ShapedType>(input.getType()))
    return 0;
  double bytes = getShapedBytes(input.getType());
  double lookups = 0;
  for (Operation *user : input.getUsers()) {
    auto extract = dyn_cast<tensor::ExtractOp>(user);
    if (!extract)
      return bytes;
    auto around = dyn_cast<linalg::LinalgOp>(user->getParentOp());
    lookups += around ? getIterations(around) : 1;
  }
  double elements = cast<ShapedType>(input.getType()).getNumElements();
  return elements > 0 ? std::min(bytes, lookups * (bytes / elements)) : 0;
}

template <typename Op> struct LinalgModel : CostModelOf<LinalgModel<Op>, Op> {
  std::optional<OpWork> getWork(Operation *op) const {
    auto linalgOp = cast<linalg::LinalgOp>(op);
    OpWork work;
    for (OpOperand &operand : op->getOpOperands())
      if (isa<ShapedType>(operand.get().getType()))
        (linalgOp.isDpsInit(&operand) ? work.bytesWritten : work.bytesRead) +=
            double(getShapedBytes(operand.get().getType()));
    work.operations = getOperations(linalgOp);
    return work;
  }
  bool isComputedInPlace(Operation *) const { return true; }
};

template <typename... Ops> void attachTo(MLIRContext *context) {
  (Ops::template attachInterface<LinalgModel<Ops>>(*context), ...);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

struct FusedModel : CostModelOf<FusedModel, rt::FusedOp> {
  std::optional<OpWork> getWork(Operation *op) const {
    OpWork work;
    Block &body = cast<rt::FusedOp>(op).getBody().front();
    for (BlockArgument input : body.getArguments())
      work.bytesRead += getReadBytes(input);
    for (Value output : body.getTerminator()->getOperands())
      work.bytesWritten += double(getShapedBytes(output.getType()));
    for (auto inner : body.getOps<linalg::LinalgOp>())
      work.operations += getOperations(inner);
    return work;
  }
  bool isComputedInPlace(Operation *) const { return true; }
};

struct GemmModel : CostModelOf<GemmModel, rt::GemmOp> {
  std::optional<OpWork> getWork(Operation *op) const {
    auto maps = llvm::map_to_vector(
        cast<rt::GemmOp>(op).getIndexingMaps().getAsValueRange<AffineMapAttr>(),
        [](AffineMap map) { return map; });
    return getProductWork(op, SmallVector<Type>(op->getOperandTypes()), maps);
  }
};

struct AttentionModel : CostModelOf<AttentionModel, rt::AttentionOp> {
  std::optional<OpWork> getWork(Operation *op) const {
    auto attention = cast<rt::AttentionOp>(op);
    return makeAttentionShape(attention.getIndexingMaps(),
                              attention.getConfig(), attention.getValues())
        .getWork(attention.getStart());
  }
};

/// The op on buffers does what weft.scatter_add does on tensors.
struct ScatterAddModel : CostModelOf<ScatterAddModel, rt::ScatterAddOp> {
  std::optional<OpWork> getWork(Operation *op) const {
    auto scatter = cast<rt::ScatterAddOp>(op);
    OpWork work;
    work.bytesWritten = double(getShapedBytes(scatter.getUpdates().getType()));
    work.bytesRead = 2 * work.bytesWritten +
                     double(getShapedBytes(scatter.getIndices().getType()));
    work.operations = double(
        cast<ShapedType>(scatter.getUpdates().getType()).getNumElements());
    return work;
  }
};

/// Which buffers it writes is the kernel's to know: all count as read.
struct LaunchModel : CostModelOf<LaunchModel, rt::LaunchOp> {
  std::optional<OpWork> getWork(Operation *op) const {
    OpWork work;
    for (Value buffer : cast<rt::LaunchOp>(op).getBuffers())
      work.bytesRead += double(getShapedBytes(buffer.getType()));
    return work;
  }
};

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

struct CopyModel : CostModelOf<CopyModel, rt::CopyOp> {
  std::optional<OpWork> getWork(Operation *op) const {
    return getCopyWork(cast<rt::CopyOp>(op).getSource().getType());
  }
};

/// Memory of constants is the step's: their values are copied there.
struct ConstantModel : CostModelOf<ConstantModel, arith::ConstantOp> {
  std::optional<OpWork> getWork(Operation *op) const {
    auto constant = cast<arith::ConstantOp>(op);
    auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (!elements || op->getParentOfType<rt::FusedOp>())
      return std::nullopt;
    return getCopyWork(constant.getType());
  }
};

/// The op makes no elements, on no rank.
struct EmptyModel : CostModelOf<EmptyModel, tensor::EmptyOp> {
  std::optional<OpWork> getWork(Operation *) const { return std::nullopt; }
  bool isComputedInPlace(Operation *) const { return true; }
};

/// A part is computed where it belongs if this is its only use.
bool isPartInPlace(Value part) {
  auto def = part.getDefiningOp<CostOpInterface>();
  return def && part.hasOneUse() && def.isComputedInPlace();
}

struct ConcatModel : CostModelOf<ConcatModel, tensor::ConcatOp> {
  std::optional<OpWork> getWork(Operation *op) const {
    OpWork work;
    for (Value part : cast<tensor::ConcatOp>(op).getInputs())
      if (!isPartInPlace(part)) {
        work.bytesRead += double(getShapedBytes(part.getType()));
        work.bytesWritten += double(getShapedBytes(part.getType()));
      }
    if (work.getBytes() == 0)
      return std::nullopt;
    return work;
  }
};

/// What is inserted is copied, and what it is inserted into as well if somebody
/// else needs it.
struct InsertSliceModel : CostModelOf<InsertSliceModel, tensor::InsertSliceOp> {
  std::optional<OpWork> getWork(Operation *op) const {
    auto insert = cast<tensor::InsertSliceOp>(op);
    OpWork work = getCopyWork(insert.getSource().getType());
    if (!insert.getDest().hasOneUse()) {
      OpWork whole = getCopyWork(insert.getDest().getType());
      work.bytesRead += whole.bytesRead;
      work.bytesWritten += whole.bytesWritten;
    }
    return work;
  }
};

} // namespace

void mlir::weft::registerCostExternalModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, linalg::LinalgDialect *) {
    attachTo<
#define GET_OP_LIST
#include "mlir/Dialect/Linalg/IR/LinalgStructuredOps.cpp.inc"
        >(context);
  });
  registry.addExtension(+[](MLIRContext *context, rt::WeftRTDialect *) {
    rt::FusedOp::attachInterface<FusedModel>(*context);
    rt::GemmOp::attachInterface<GemmModel>(*context);
    rt::AttentionOp::attachInterface<AttentionModel>(*context);
    rt::ScatterAddOp::attachInterface<ScatterAddModel>(*context);
    rt::LaunchOp::attachInterface<LaunchModel>(*context);
    rt::CopyOp::attachInterface<CopyModel>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    arith::ConstantOp::attachInterface<ConstantModel>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    tensor::EmptyOp::attachInterface<EmptyModel>(*context);
    tensor::ConcatOp::attachInterface<ConcatModel>(*context);
    tensor::InsertSliceOp::attachInterface<InsertSliceModel>(*context);
  });
}
