// SPDX-License-Identifier: Apache-2.0

// One form for all elementwise, broadcasting and reducing computations:
// linalg.generic whose operands are tensors, and whose inits are read or empty.

#include "Raise.h"

#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace {

SmallVector<utils::IteratorType> parallelLoops(int64_t rank) {
  return SmallVector<utils::IteratorType>(rank, utils::IteratorType::parallel);
}

Value emptyLike(OpBuilder &builder, Location loc, RankedTensorType type) {
  return tensor::EmptyOp::create(builder, loc, type.getShape(),
                                 type.getElementType());
}

/// linalg.add ins(%a, %b) -> linalg.generic { arith.addf }
struct GeneralizeNamedOp : OpInterfaceRewritePattern<linalg::LinalgOp> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(linalg::LinalgOp op,
                                PatternRewriter &rewriter) const override {
    if (isa<linalg::GenericOp>(op))
      return rewriter.notifyMatchFailure(op, "is generic already");
    if (!op.hasPureTensorSemantics())
      return rewriter.notifyMatchFailure(op, "is not on tensors");
    auto order = op->getAttrOfType<OrderAttr>(WeftDialect::kOrderAttr);
    FailureOr<linalg::GenericOp> generic =
        linalg::generalizeNamedOp(rewriter, op);
    if (succeeded(generic) && order)
      (*generic)->setAttr(WeftDialect::kOrderAttr, order);
    return generic;
  }
};

/// linalg.softmax -> max, sub, exp, sum, div as linalg.generic
struct DecomposeSoftmax : OpRewritePattern<linalg::SoftmaxOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::SoftmaxOp op,
                                PatternRewriter &rewriter) const override {
    FailureOr<SmallVector<Value>> results = op.decomposeOperation(rewriter);
    if (failed(results))
      return rewriter.notifyMatchFailure(op, "cannot be decomposed");
    rewriter.replaceOp(op, *results);
    return success();
  }
};

/// math.sincos to one op for each result, as elementwise ops are. What the two
/// have in common is computed once where they are in one kernel.
struct SplitSincos : OpRewritePattern<math::SincosOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::SincosOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value sine = math::SinOp::create(rewriter, loc, op.getOperand());
    Value cosine = math::CosOp::create(rewriter, loc, op.getOperand());
    rewriter.replaceOp(op, {sine, cosine});
    return success();
  }
};

/// arith.addf %a, %b : tensor<8xf32> -> linalg.generic { arith.addf }
/// Scalar operands (the condition of arith.select) are used in the body.
struct ElementwiseToGeneric : RewritePattern {
  ElementwiseToGeneric(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!OpTrait::hasElementwiseMappableTraits(op) || op->getNumResults() != 1)
      return rewriter.notifyMatchFailure(op, "is not elementwise");
    auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    if (!type || !type.hasStaticShape())
      return rewriter.notifyMatchFailure(op, "is not on tensors");

    SmallVector<Value> inputs;
    for (Value operand : op->getOperands())
      if (isa<RankedTensorType>(operand.getType()))
        inputs.push_back(operand);
    SmallVector<AffineMap> maps(
        inputs.size() + 1, rewriter.getMultiDimIdentityMap(type.getRank()));
    auto body = [&](OpBuilder &builder, Location loc, ValueRange args) {
      SmallVector<Value> operands;
      unsigned next = 0;
      for (Value operand : op->getOperands())
        operands.push_back(
            isa<RankedTensorType>(operand.getType()) ? args[next++] : operand);
      Operation *scalar =
          builder.create(loc, op->getName().getIdentifier(), operands,
                         type.getElementType(), op->getAttrs());
      linalg::YieldOp::create(builder, loc, scalar->getResults());
    };
    rewriter.replaceOpWithNewOp<linalg::GenericOp>(
        op, type, inputs, ValueRange{emptyLike(rewriter, op->getLoc(), type)},
        maps, parallelLoops(type.getRank()), body);
    return success();
  }
};

/// tensor.splat %s -> linalg.generic { yield %s }
struct SplatToGeneric : OpRewritePattern<tensor::SplatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::SplatOp op,
                                PatternRewriter &rewriter) const override {
    RankedTensorType type = op.getType();
    if (!type.hasStaticShape())
      return rewriter.notifyMatchFailure(op, "has a dynamic shape");
    AffineMap scalar = AffineMap::get(type.getRank(), 0, op.getContext());
    rewriter.replaceOpWithNewOp<linalg::GenericOp>(
        op, type, op.getInput(),
        ValueRange{emptyLike(rewriter, op.getLoc(), type)},
        ArrayRef<AffineMap>{scalar,
                            rewriter.getMultiDimIdentityMap(type.getRank())},
        parallelLoops(type.getRank()),
        [](OpBuilder &builder, Location loc, ValueRange args) {
          linalg::YieldOp::create(builder, loc, args.front());
        });
    return success();
  }
};

/// tensor.generate { ^bb0(%i: index): yield %x } -> linalg.generic {
///   %i = linalg.index 0 ; yield %x }
struct GenerateToGeneric : OpRewritePattern<tensor::GenerateOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::GenerateOp op,
                                PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getType());
    if (!type.hasStaticShape())
      return rewriter.notifyMatchFailure(op, "has a dynamic shape");
    auto body = [&](OpBuilder &builder, Location loc, ValueRange) {
      IRMapping mapping;
      for (BlockArgument arg : op.getBody().getArguments())
        mapping.map(arg,
                    linalg::IndexOp::create(builder, loc, arg.getArgNumber()));
      for (Operation &inner : op.getBody().front().without_terminator())
        builder.clone(inner, mapping);
      auto yield = cast<tensor::YieldOp>(op.getBody().front().getTerminator());
      linalg::YieldOp::create(builder, loc,
                              mapping.lookupOrDefault(yield.getValue()));
    };
    rewriter.replaceOpWithNewOp<linalg::GenericOp>(
        op, type, ValueRange{},
        ValueRange{emptyLike(rewriter, op.getLoc(), type)},
        ArrayRef<AffineMap>{rewriter.getMultiDimIdentityMap(type.getRank())},
        parallelLoops(type.getRank()), body);
    return success();
  }
};

/// Builds `op` again with other inputs and maps; the body, which has one
/// argument per operand, moves over.
void replaceInputs(PatternRewriter &rewriter, linalg::GenericOp op,
                   ValueRange inputs, ArrayRef<AffineMap> maps) {
  auto replacement = linalg::GenericOp::create(
      rewriter, op.getLoc(), op.getResultTypes(), inputs, op.getOutputs(), maps,
      op.getIteratorTypesArray());
  rewriter.inlineRegionBefore(op.getRegion(), replacement.getRegion(),
                              replacement.getRegion().begin());
  rewriter.replaceOp(op, replacement.getResults());
}

/// ins(%scalar : f32), a constant -> the body uses the constant
struct InlineConstantInput : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    for (unsigned i = 0; i < op.getInputs().size(); ++i) {
      Value input = op.getInputs()[i];
      if (isa<ShapedType>(input.getType()) ||
          !matchPattern(input, m_Constant()))
        continue;
      rewriter.replaceAllUsesWith(op.getRegion().getArgument(i), input);
      rewriter.modifyOpInPlace(
          op, [&] { op.getRegion().front().eraseArgument(i); });
      SmallVector<Value> inputs(op.getInputs());
      SmallVector<AffineMap> maps = op.getIndexingMapsArray();
      inputs.erase(inputs.begin() + i);
      maps.erase(maps.begin() + i);
      replaceInputs(rewriter, op, inputs, maps);
      return success();
    }
    return rewriter.notifyMatchFailure(op, "has no constant scalar input");
  }
};

/// The 0-d tensor whose element `value` is, or null.
Value sourceOfScalar(Value value) {
  auto extract = value.getDefiningOp<tensor::ExtractOp>();
  return extract && extract.getIndices().empty() ? extract.getTensor()
                                                 : Value();
}

/// %s = tensor.extract %t[] ; ins(%s : f32) -> ins(%t : tensor<f32>)
struct ScalarInputToTensor : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> inputs(op.getInputs());
    bool changed = false;
    for (Value &input : inputs)
      if (Value tensor = sourceOfScalar(input)) {
        input = tensor;
        changed = true;
      }
    if (!changed)
      return rewriter.notifyMatchFailure(op, "has no extracted scalar input");
    replaceInputs(rewriter, op, inputs, op.getIndexingMapsArray());
    return success();
  }
};

/// %s = tensor.extract %t[], used in a body -> ins(%t : tensor<f32>)
struct CapturedScalarToInput : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    Value scalar = findCaptured(op);
    if (!scalar)
      return rewriter.notifyMatchFailure(op, "captures no extracted scalar");
    SmallVector<Value> inputs(op.getInputs());
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    unsigned place = inputs.size();
    inputs.push_back(sourceOfScalar(scalar));
    maps.insert(maps.begin() + place,
                AffineMap::get(op.getNumLoops(), 0, op.getContext()));
    BlockArgument arg =
        op.getRegion().insertArgument(place, scalar.getType(), scalar.getLoc());
    rewriter.replaceUsesWithIf(scalar, arg, [&](OpOperand &use) {
      return op->isProperAncestor(use.getOwner());
    });
    replaceInputs(rewriter, op, inputs, maps);
    return success();
  }

  static Value findCaptured(linalg::GenericOp op) {
    Value found;
    op.getRegion().walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (!op.getRegion().isAncestor(operand.getParentRegion()) &&
            sourceOfScalar(operand)) {
          found = operand;
          return WalkResult::interrupt();
        }
      return WalkResult::advance();
    });
    return found;
  }
};

/// outs(%x), which the body does not read -> outs(tensor.empty)
struct UnreadInitToEmpty : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    bool changed = false;
    for (OpOperand &init : op.getDpsInitsMutable()) {
      if (op.payloadUsesValueFromOperand(&init) ||
          init.get().getDefiningOp<tensor::EmptyOp>())
        continue;
      auto type = cast<RankedTensorType>(init.get().getType());
      Value empty = emptyLike(rewriter, op.getLoc(), type);
      rewriter.modifyOpInPlace(op, [&] { init.set(empty); });
      changed = true;
    }
    return success(changed);
  }
};

} // namespace

void weft::populateRaiseToGenericPatterns(RewritePatternSet &patterns) {
  linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
  patterns.add<GeneralizeNamedOp, DecomposeSoftmax, SplitSincos,
               ElementwiseToGeneric, SplatToGeneric, GenerateToGeneric,
               InlineConstantInput, ScalarInputToTensor, CapturedScalarToInput,
               UnreadInitToEmpty>(patterns.getContext());
}
