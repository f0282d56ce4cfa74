// SPDX-License-Identifier: Apache-2.0

// Conversions from and to bf16 become shifts and additions of integers. What is
// left moves 16 bits, and is given that type: to choose between vectors of
// bf16, say, LLVM would call functions that the C++ compiler's library may not
// have. A maximum is still arith's, of f32, so that one of zeros stays what it
// says.

#include "StoreAsInteger.h"

#include "weft/Codegen/Kernels/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

namespace mlir::weft {
#define GEN_PASS_DEF_EXPANDBFLOATPASS
#include "weft/Codegen/Kernels/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Rounds to the nearest, ties to even: adds half of what is cut off, less one
/// unit if the rest is even. NaN would become something else.
struct RoundToBfloat : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isBF16() ||
        !getElementTypeOrSelf(op.getIn().getType()).isF32())
      return failure();
    Location loc = op.getLoc();
    Value in = op.getIn();
    Type i32 = withElement(in.getType(), rewriter.getI32Type()),
         i16 = withElement(in.getType(), rewriter.getI16Type());
    Value sixteen = createInteger(rewriter, loc, i32, 16);
    Value bits = arith::BitcastOp::create(rewriter, loc, i32, in);
    Value odd = arith::AndIOp::create(
        rewriter, loc, arith::ShRUIOp::create(rewriter, loc, bits, sixteen),
        createInteger(rewriter, loc, i32, 1));
    Value half = arith::AddIOp::create(
        rewriter, loc, odd, createInteger(rewriter, loc, i32, 0x7fff));
    Value sum = arith::AddIOp::create(rewriter, loc, bits, half);
    Value high = arith::TruncIOp::create(
        rewriter, loc, i16,
        arith::ShRUIOp::create(rewriter, loc, sum, sixteen));
    Value isNaN =
        arith::CmpFOp::create(rewriter, loc, arith::CmpFPredicate::UNO, in, in);
    Value result = arith::SelectOp::create(
        rewriter, loc, isNaN, createInteger(rewriter, loc, i16, 0x7fc0), high);
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), result);
    return success();
  }
};

/// bf16 is the upper half of an f32.
struct ExtendBfloat : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getIn().getType()).isBF16() ||
        !getElementTypeOrSelf(op.getType()).isF32())
      return failure();
    Location loc = op.getLoc();
    Type i32 = withElement(op.getType(), rewriter.getI32Type()),
         i16 = withElement(op.getType(), rewriter.getI16Type());
    Value bits = arith::BitcastOp::create(rewriter, loc, i16, op.getIn());
    Value wide = arith::ExtUIOp::create(rewriter, loc, i32, bits);
    Value high = arith::ShLIOp::create(rewriter, loc, wide,
                                       createInteger(rewriter, loc, i32, 16));
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), high);
    return success();
  }
};

/// f64 goes by way of f32, which holds each bf16.
struct ExtendThroughF32 : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getIn().getType()).isBF16() ||
        !getElementTypeOrSelf(op.getType()).isF64())
      return failure();
    Type f32 = withElement(op.getType(), rewriter.getF32Type());
    Value single =
        arith::ExtFOp::create(rewriter, op.getLoc(), f32, op.getIn());
    rewriter.replaceOpWithNewOp<arith::ExtFOp>(op, op.getType(), single);
    return success();
  }
};

/// The upper 16 bits of an f32.
Value emitUpperHalf(OpBuilder &builder, Location loc, Value wide) {
  Type i32 = withElement(wide.getType(), builder.getI32Type()),
       i16 = withElement(wide.getType(), builder.getI16Type());
  Value bits = arith::BitcastOp::create(builder, loc, i32, wide);
  return arith::TruncIOp::create(
      builder, loc, i16,
      arith::ShRUIOp::create(builder, loc, bits,
                             createInteger(builder, loc, i32, 16)));
}

/// A maximum or minimum is one of the operands: nothing is rounded, and none of
/// the denormals gets lost that the instruction would take as zeros.
template <typename Op> struct ChooseBfloat : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isBF16())
      return failure();
    Location loc = op.getLoc();
    Type f32 = withElement(op.getType(), rewriter.getF32Type());
    Value lhs = arith::ExtFOp::create(rewriter, loc, f32, op.getLhs());
    Value rhs = arith::ExtFOp::create(rewriter, loc, f32, op.getRhs());
    Value wide = Op::create(rewriter, loc, lhs, rhs, op.getFastmathAttr());
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(
        op, op.getType(), emitUpperHalf(rewriter, loc, wide));
    return success();
  }
};

/// A magnitude is the number without its sign, and not rounded either.
void clearSigns(Operation *root) {
  root->walk([](arith::TruncFOp op) {
    auto magnitude = op.getIn().getDefiningOp<math::AbsFOp>();
    auto extended = magnitude
                        ? magnitude.getOperand().getDefiningOp<arith::ExtFOp>()
                        : nullptr;
    if (!extended || extended.getIn().getType() != op.getType() ||
        !getElementTypeOrSelf(op.getType()).isBF16())
      return;
    OpBuilder builder(op);
    Location loc = op.getLoc();
    Type i16 = withElement(op.getType(), builder.getI16Type());
    Value bits = arith::BitcastOp::create(builder, loc, i16, extended.getIn());
    Value cleared = arith::AndIOp::create(
        builder, loc, bits, createInteger(builder, loc, i16, 0x7fff));
    op.replaceAllUsesWith(
        arith::BitcastOp::create(builder, loc, op.getType(), cleared)
            .getResult());
    op.erase();
    for (Operation *unused :
         {magnitude.getOperation(), extended.getOperation()})
      if (unused->use_empty())
        unused->erase();
  });
}

bool isExtended(Value value) {
  auto op = value.getDefiningOp<arith::ExtFOp>();
  return op && getElementTypeOrSelf(op.getIn().getType()).isBF16() &&
         getElementTypeOrSelf(op.getType()).isF32();
}

bool isRoundedToBfloat(Operation *op) {
  auto rounding = dyn_cast<arith::TruncFOp>(op);
  return rounding && getElementTypeOrSelf(rounding.getType()).isBF16() &&
         getElementTypeOrSelf(rounding.getIn().getType()).isF32();
}

bool isChoice(Operation *op) {
  return isa_and_present<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
                         arith::MinNumFOp>(op);
}

/// Whether an f32 is a bf16 by what it is made of: nothing is rounded.
bool isBfloat(Value value) {
  Operation *op = value.getDefiningOp();
  if (op && getElementTypeOrSelf(value.getType()).isF32() &&
      (isChoice(op) || isa<math::AbsFOp>(op)))
    return llvm::all_of(op->getOperands(), isBfloat);
  return isExtended(value);
}

/// Maxima of magnitudes that were computed in f32 stay in f32, where each is
/// made a bf16 and taken back to f32 for the next one: the last one's rounding
/// gives the same NaN.
void stayWide(Operation *root) {
  root->walk([](arith::ExtFOp op) {
    auto rounding = op.getIn().getDefiningOp<arith::TruncFOp>();
    auto isLast = [](Operation *user) {
      return isChoice(user) &&
             llvm::all_of(user->getUsers(), isRoundedToBfloat);
    };
    if (!rounding || !isRoundedToBfloat(rounding) || !isExtended(op) ||
        !isBfloat(rounding.getIn()) || !llvm::all_of(op->getUsers(), isLast))
      return;
    op.replaceAllUsesWith(rounding.getIn());
    op.erase();
    if (rounding->use_empty())
      rounding.erase();
  });
}

/// Takes the upper half of what is a bf16 already. A NaN is the one of
/// roundings.
void takeUpperHalves(Operation *root) {
  root->walk([](arith::TruncFOp op) {
    Value in = op.getIn();
    if (!isRoundedToBfloat(op) || !isBfloat(in))
      return;
    OpBuilder builder(op);
    Location loc = op.getLoc();
    Type i16 = withElement(in.getType(), builder.getI16Type());
    Value isNaN =
        arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO, in, in);
    Value bits = arith::SelectOp::create(
        builder, loc, isNaN, createInteger(builder, loc, i16, 0x7fc0),
        emitUpperHalf(builder, loc, in));
    op.replaceAllUsesWith(
        arith::BitcastOp::create(builder, loc, op.getType(), bits).getResult());
    op.erase();
  });
}

struct ExpandBfloatPass
    : public weft::impl::ExpandBfloatPassBase<ExpandBfloatPass> {
  using Base::Base;

  void runOnOperation() override {
    if (extendOnly) {
      clearSigns(getOperation());
    } else {
      stayWide(getOperation());
      takeUpperHalves(getOperation());
    }
    RewritePatternSet patterns(&getContext());
    patterns.add<ExtendBfloat>(&getContext());
    patterns
        .add<ChooseBfloat<arith::MaximumFOp>, ChooseBfloat<arith::MinimumFOp>,
             ChooseBfloat<arith::MaxNumFOp>, ChooseBfloat<arith::MinNumFOp>>(
            &getContext());
    if (!extendOnly)
      patterns.add<RoundToBfloat, ExtendThroughF32>(&getContext());
    auto isStored = [&](Type type) { return !extendOnly && type.isBF16(); };
    if (failed(expandCasts(getOperation(), std::move(patterns), isStored)))
      signalPassFailure();
  }
};

} // namespace
