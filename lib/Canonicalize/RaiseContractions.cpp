// SPDX-License-Identifier: Apache-2.0

// Contractions as weft.matmul. A linalg.generic is a contraction if each loop
// that is reduced indexes both inputs, at least one other indexes one input
// only, and the body multiplies and adds. Sums are then taken in f32 (f64), at
// least as precise as the body said.

#include "Raise.h"

#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// The value before a widening cast.
Value skipExtF(Value value) {
  auto cast = value.getDefiningOp<arith::ExtFOp>();
  return cast ? cast.getIn() : value;
}

/// Says whether `a` and `b` are `x` and `y`, in any order.
bool isPair(Value a, Value b, Value x, Value y) {
  return (a == x && b == y) || (a == y && b == x);
}

/// Matches `yield (out + ext(lhs) * ext(rhs))`, in any order of operands.
bool isMultiplyAdd(Block &body) {
  if (body.getNumArguments() != 3)
    return false;
  Value lhs = body.getArgument(0), rhs = body.getArgument(1),
        out = body.getArgument(2);
  auto add = body.getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!add)
    return false;
  Value product = add.getLhs() == out ? add.getRhs() : add.getLhs();
  if (!isPair(add.getLhs(), add.getRhs(), out, product))
    return false;
  auto mul = product.getDefiningOp<arith::MulFOp>();
  return mul &&
         isPair(skipExtF(mul.getLhs()), skipExtF(mul.getRhs()), lhs, rhs);
}

/// Checks the roles of the loops; see the head of the file.
bool hasContractionLoops(linalg::GenericOp op) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  if (!llvm::all_of(maps, [](AffineMap map) {
        return map.isProjectedPermutation(/*allowZeroInResults=*/false);
      }))
    return false;
  bool hasOuter = false, hasSum = false;
  for (auto [dim, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
    bool inLhs = maps[0].isFunctionOfDim(dim);
    bool inRhs = maps[1].isFunctionOfDim(dim);
    bool inResult = maps[2].isFunctionOfDim(dim);
    bool isSum = kind == utils::IteratorType::reduction;
    if (isSum == inResult || (isSum && !(inLhs && inRhs)) || !(inLhs || inRhs))
      return false;
    hasSum |= isSum;
    hasOuter |= inLhs != inRhs;
  }
  return hasSum && hasOuter;
}

bool hasMatmulTypes(linalg::GenericOp op) {
  auto element = [](Value value) { return getElementTypeOrSelf(value); };
  Type lhs = element(op.getInputs()[0]), rhs = element(op.getInputs()[1]),
       out = element(op.getOutputs()[0]);
  return isa<FloatType>(lhs) && isa<FloatType>(rhs) && isa<FloatType>(out) &&
         lhs.isF64() == out.isF64() && rhs.isF64() == out.isF64();
}

/// Says whether all elements of a tensor are known to match.
template <typename Matcher> bool isFilled(Value tensor, Matcher matcher) {
  if (matchPattern(tensor, matcher))
    return true;
  if (auto fill = tensor.getDefiningOp<linalg::FillOp>())
    return matchPattern(fill.getInputs()[0], matcher);
  auto generic = tensor.getDefiningOp<linalg::GenericOp>();
  return generic && generic.getNumResults() == 1 &&
         matchPattern(generic.getBody()->getTerminator()->getOperand(0),
                      matcher);
}

using ElementBody = function_ref<Value(OpBuilder &, Location, ValueRange args)>;

/// Emits what the body makes of each element of inputs of one shape.
Value makeElementwise(PatternRewriter &rewriter, Location loc,
                      RankedTensorType type, ValueRange inputs,
                      ElementBody body) {
  Value empty = tensor::EmptyOp::create(rewriter, loc, type.getShape(),
                                        type.getElementType());
  SmallVector<AffineMap> maps(inputs.size() + 1,
                              rewriter.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  auto yield = [&](OpBuilder &builder, Location loc, ValueRange args) {
    linalg::YieldOp::create(builder, loc, body(builder, loc, args));
  };
  return linalg::GenericOp::create(rewriter, loc, type, inputs, empty, maps,
                                   loops, yield)
      .getResult(0);
}

/// Emits `init + product`; the product may be of a wider type than the init.
Value addInit(PatternRewriter &rewriter, Location loc, Value product,
              Value init) {
  auto type = cast<RankedTensorType>(init.getType());
  Type wide = getElementTypeOrSelf(product);
  auto body = [&](OpBuilder &builder, Location loc, ValueRange args) -> Value {
    bool widen = wide != type.getElementType();
    Value start = args[1];
    if (widen)
      start = arith::ExtFOp::create(builder, loc, wide, start);
    Value sum = arith::AddFOp::create(builder, loc, start, args[0]);
    if (widen)
      sum = arith::TruncFOp::create(builder, loc, type.getElementType(), sum);
    return sum;
  };
  return makeElementwise(rewriter, loc, type, {product, init}, body);
}

/// Says whether sums of ranks' parts in this type would lose nearly all of what
/// the parts have: a product is rounded to it once they are added.
bool isTooNarrowForParts(Type element) {
  return element.getIntOrFloatBitWidth() < 16;
}

/// Emits the product rounded to the elements of `type`.
Value roundTo(PatternRewriter &rewriter, Location loc, Value product,
              RankedTensorType type) {
  auto body = [&](OpBuilder &builder, Location loc, ValueRange args) -> Value {
    return arith::TruncFOp::create(builder, loc, type.getElementType(),
                                   args.front());
  };
  return makeElementwise(rewriter, loc, type, product, body);
}

RankedTensorType withF32(RankedTensorType type) {
  return type.clone(Float32Type::get(type.getContext()));
}

/// linalg.generic { out + lhs * rhs } outs(%zeros) -> weft.matmul
/// linalg.generic { out + lhs * rhs } outs(%init)  -> weft.matmul, add
struct RaiseContraction : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getInputs().size() != 2 || op.getNumResults() != 1 ||
        !isa<RankedTensorType>(op.getInputs()[0].getType()) ||
        !isa<RankedTensorType>(op.getInputs()[1].getType()))
      return rewriter.notifyMatchFailure(op, "is not of two tensors");
    if (!isMultiplyAdd(*op.getBody()) || !hasMatmulTypes(op))
      return rewriter.notifyMatchFailure(op, "does not multiply and add");
    if (!hasContractionLoops(op))
      return rewriter.notifyMatchFailure(op, "loops are not M, N, K, batch");
    Value init = op.getOutputs()[0];
    if (isFilled(init, m_NegZeroFloat()))
      return rewriter.notifyMatchFailure(op, "begins with -0.0");
    bool fromZero = isFilled(init, m_PosZeroFloat());
    auto order = op->getAttrOfType<OrderAttr>(WeftDialect::kOrderAttr);
    if (order && !fromZero)
      return rewriter.notifyMatchFailure(op, "declares the order of all of it");
    auto type = cast<RankedTensorType>(op.getResult(0).getType());
    if (!fromZero && !type.getElementType().isF64())
      type = withF32(type);
    auto matmul =
        MatmulOp::create(rewriter, op.getLoc(), type, op.getInputs()[0],
                         op.getInputs()[1], op.getIndexingMaps());
    if (order)
      matmul->setAttr(WeftDialect::kOrderAttr, order);
    Value product = matmul;
    if (!fromZero)
      product = addInit(rewriter, op.getLoc(), product, init);
    rewriter.replaceOp(op, product);
    return success();
  }
};

/// weft.matmul -> f8 -> weft.matmul -> f32 ; linalg.generic { truncf to f8 }
struct RoundNarrowAfterSum : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MatmulOp op,
                                PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getType());
    if (!isa<FloatType>(type.getElementType()) ||
        !isTooNarrowForParts(type.getElementType()))
      return rewriter.notifyMatchFailure(op, "has 16 bits or more");
    if (op->hasAttr(WeftDialect::kOrderAttr))
      return rewriter.notifyMatchFailure(op, "is in a declared order");
    Value product = rewriter.clone(*op)->getResult(0);
    product.setType(withF32(type));
    rewriter.replaceOp(op, roundTo(rewriter, op.getLoc(), product, type));
    return success();
  }
};

/// weft.matmul -> f32 ; linalg.generic { truncf to bf16 } -> weft.matmul ->
/// bf16 Both round the f32 sum once.
struct FoldTruncation : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getInputs().size() != 1 || op.getNumResults() != 1 ||
        !llvm::all_of(op.getIndexingMapsArray(),
                      [](AffineMap map) { return map.isIdentity(); }))
      return rewriter.notifyMatchFailure(op, "is not elementwise");
    auto trunc = op.getBody()
                     ->getTerminator()
                     ->getOperand(0)
                     .getDefiningOp<arith::TruncFOp>();
    if (!trunc || trunc.getIn() != op.getRegion().getArgument(0) ||
        trunc.getRoundingmode())
      return rewriter.notifyMatchFailure(op, "does not just truncate");
    if (isTooNarrowForParts(trunc.getType()))
      return rewriter.notifyMatchFailure(op, "is too narrow for parts");
    auto matmul = op.getInputs()[0].getDefiningOp<MatmulOp>();
    if (!matmul || !matmul->hasOneUse() ||
        matmul->hasAttr(WeftDialect::kOrderAttr) ||
        !getElementTypeOrSelf(matmul.getType()).isF32())
      return rewriter.notifyMatchFailure(op, "input is no open f32 matmul used "
                                             "once");
    rewriter.replaceOpWithNewOp<MatmulOp>(op, op.getResult(0).getType(),
                                          matmul.getLhs(), matmul.getRhs(),
                                          matmul.getIndexingMaps());
    return success();
  }
};

} // namespace

void weft::populateRaiseContractionPatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseContraction, RoundNarrowAfterSum, FoldTruncation>(
      patterns.getContext());
}
