// SPDX-License-Identifier: Apache-2.0

// What ops of the tensor dialect, and constants, say about how they may be
// sharded. Dimensions that are cut, padded or joined are needed whole.

#include "Models.h"

#include "weft/Rules/ShardingRule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::weft;

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

namespace {

/// The rule of a reshape: `expanded` dims are the factors, and each dim of the
/// other side is a group of them.
ShardingRule getReshapeRule(Operation *op, Value expanded,
                            ArrayRef<ReassociationIndices> groups) {
  RuleBuilder builder(op);
  bool expands = expanded == op->getResult(0);
  TensorFactors &many =
      expands ? builder.rule.results[0] : builder.rule.operands[0];
  TensorFactors &few =
      expands ? builder.rule.operands[0] : builder.rule.results[0];
  SmallVector<int> factors = builder.addAll(getTensorShape(expanded));
  builder.putAll(many, factors);
  for (auto [dim, group] : llvm::zip(few, groups))
    for (int64_t d : group)
      builder.put(dim, factors[d]);
  return builder.rule;
}

ShardingRule getRule(tensor::ExtractSliceOp op) {
  RuleBuilder builder(op);
  llvm::SmallBitVector dropped = op.getDroppedDims();
  ArrayRef<int64_t> source = getTensorShape(op.getSource());
  int64_t resultDim = 0;
  for (int64_t d = 0; d < static_cast<int64_t>(source.size()); ++d) {
    bool isWhole =
        op.getStaticSizes()[d] == source[d] && op.getStaticStrides()[d] == 1;
    int factor = builder.add(source[d], isWhole ? FactorKind::Parallel
                                                : FactorKind::Replicated);
    builder.put(builder.rule.operands[0][d], factor);
    if (dropped.test(d))
      continue;
    int own = isWhole ? factor
                      : builder.add(getTensorShape(op.getResult())[resultDim],
                                    FactorKind::Replicated);
    builder.put(builder.rule.results[0][resultDim++], own);
  }
  return builder.rule;
}

ShardingRule getRule(tensor::InsertSliceOp op) {
  RuleBuilder builder(op);
  llvm::SmallBitVector dropped = op.getDroppedDims();
  ArrayRef<int64_t> dest = getTensorShape(op.getDest());
  int64_t sourceDim = 0;
  for (int64_t d = 0; d < static_cast<int64_t>(dest.size()); ++d) {
    bool isWhole =
        op.getStaticSizes()[d] == dest[d] && op.getStaticStrides()[d] == 1;
    int factor = builder.add(dest[d], isWhole ? FactorKind::Parallel
                                              : FactorKind::Replicated);
    builder.put(builder.rule.operands[1][d], factor);
    builder.put(builder.rule.results[0][d], factor);
    if (dropped.test(d))
      continue;
    int own = isWhole ? factor
                      : builder.add(getTensorShape(op.getSource())[sourceDim],
                                    FactorKind::Replicated);
    builder.put(builder.rule.operands[0][sourceDim++], own);
  }
  return builder.rule;
}

ShardingRule getRule(tensor::PadOp op) {
  RuleBuilder builder(op);
  ArrayRef<int64_t> source = getTensorShape(op.getSource());
  for (auto [d, size] : llvm::enumerate(getTensorShape(op.getResult()))) {
    bool isWhole = op.getStaticLow()[d] == 0 && op.getStaticHigh()[d] == 0;
    int factor = builder.add(size, isWhole ? FactorKind::Parallel
                                           : FactorKind::Replicated);
    builder.put(builder.rule.results[0][d], factor);
    int own = isWhole ? factor : builder.add(source[d], FactorKind::Replicated);
    builder.put(builder.rule.operands[0][d], own);
  }
  return builder.rule;
}

ShardingRule getRule(tensor::ConcatOp op) {
  RuleBuilder builder(op);
  SmallVector<int> factors = builder.addAll(getTensorShape(op.getResult()));
  int64_t concatDim = op.getDim();
  builder.replicate(factors[concatDim]);
  builder.putAll(builder.rule.results[0], factors);
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    SmallVector<int> own = factors;
    own[concatDim] =
        builder.add(getTensorShape(input)[concatDim], FactorKind::Replicated);
    builder.putAll(builder.rule.operands[i], own);
  }
  return builder.rule;
}

std::optional<ShardingRule> getRule(tensor::CastOp op) {
  return getIdentityRule(op);
}

ShardingRule getRule(tensor::ExpandShapeOp op) {
  return getReshapeRule(op, op.getResult(), op.getReassociationIndices());
}

ShardingRule getRule(tensor::CollapseShapeOp op) {
  return getReshapeRule(op, op.getSrc(), op.getReassociationIndices());
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

template <typename Model, typename Op>
using RuleModel = ShardingRuleOpInterface::ExternalModel<Model, Op>;

/// Makes a tensor of nothing that is sharded.
template <typename Op> struct SourceModel : RuleModel<SourceModel<Op>, Op> {
  std::optional<ShardingRule> getShardingRule(Operation *op) const {
    return getIdentityRule(op);
  }
};

struct ConstantModel : RuleModel<ConstantModel, arith::ConstantOp> {
  std::optional<ShardingRule> getShardingRule(Operation *op) const {
    if (!isa<DenseElementsAttr>(cast<arith::ConstantOp>(op).getValue()))
      return std::nullopt;
    return getIdentityRule(op);
  }
};

/// Gives the elements of its operand other places.
template <typename Op> struct MoveModel : RuleModel<MoveModel<Op>, Op> {
  std::optional<ShardingRule> getShardingRule(Operation *op) const {
    return getRule(cast<Op>(op));
  }
  bool keepsPartial(Operation *, ArrayRef<PartialState>, Reduction) const {
    return true;
  }
  bool movesPartial(Operation *, ArrayRef<PartialState>) const { return true; }
};

/// Puts tensors together: all must be contributions.
template <typename Op> struct JoinModel : RuleModel<JoinModel<Op>, Op> {
  std::optional<ShardingRule> getShardingRule(Operation *op) const {
    return getRule(cast<Op>(op));
  }
  bool keepsPartial(Operation *op, ArrayRef<PartialState> operands,
                    Reduction) const {
    return llvm::all_of(llvm::zip(op->getOperands(), operands), [](auto entry) {
      auto [value, contribution] = entry;
      return !isa<RankedTensorType>(value.getType()) ||
             contribution != PartialState::Whole;
    });
  }
};

struct PadModel : RuleModel<PadModel, tensor::PadOp> {
  std::optional<ShardingRule> getShardingRule(Operation *op) const {
    return getRule(cast<tensor::PadOp>(op));
  }
  bool keepsPartial(Operation *op, ArrayRef<PartialState>,
                    Reduction kind) const {
    Value padding = cast<tensor::PadOp>(op).getConstantPaddingValue();
    return kind == Reduction::Sum && padding &&
           isSafeInit(getSplatElement(padding), kind);
  }
};

} // namespace

void mlir::weft::registerTensorRuleModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    tensor::EmptyOp::attachInterface<SourceModel<tensor::EmptyOp>>(*context);
    tensor::SplatOp::attachInterface<SourceModel<tensor::SplatOp>>(*context);
    tensor::CastOp::attachInterface<MoveModel<tensor::CastOp>>(*context);
    tensor::ExpandShapeOp::attachInterface<MoveModel<tensor::ExpandShapeOp>>(
        *context);
    tensor::CollapseShapeOp::attachInterface<
        MoveModel<tensor::CollapseShapeOp>>(*context);
    tensor::ExtractSliceOp::attachInterface<MoveModel<tensor::ExtractSliceOp>>(
        *context);
    tensor::InsertSliceOp::attachInterface<JoinModel<tensor::InsertSliceOp>>(
        *context);
    tensor::ConcatOp::attachInterface<JoinModel<tensor::ConcatOp>>(*context);
    tensor::PadOp::attachInterface<PadModel>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    arith::ConstantOp::attachInterface<ConstantModel>(*context);
  });
}
