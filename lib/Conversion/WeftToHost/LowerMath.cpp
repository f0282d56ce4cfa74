// SPDX-License-Identifier: Apache-2.0

// Functions of f32 become polynomials that vectorize: exp and log by Cephes'
// formulas, in which denormals count, others by upstream's patterns; and
// fast-math flags are set where they change no more than the rounding of sums,
// if sums may be rounded in different ways at all.

#include "weft/Conversion/WeftToHost/Passes.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <limits>

namespace mlir::weft {
#define GEN_PASS_DEF_LOWERMATHPASS
#include "weft/Conversion/WeftToHost/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

void setFlags(Operation *op, arith::FastMathFlags set) {
  auto flags = cast<arith::ArithFastMathInterface>(op);
  op->setAttr(flags.getFastMathAttrName(),
              arith::FastMathFlagsAttr::get(op->getContext(), set));
}

/// A product and the sum that it goes into may be rounded once. Narrow types
/// round each op, on CPUs that compute in them as on those that do not.
void allowContraction(Operation *op) {
  Type type = getElementTypeOrSelf(op->getResultTypes().front());
  if (type.isF32() || type.isF64())
    setFlags(op, arith::FastMathFlags::contract);
}

/// What a loop sums up, or multiplies up, may be taken in another order: as
/// many partial sums as fit a vector. No other op is reordered, so that what a
/// program writes to keep small terms, infinities or zeros is what it gets.
void allowReordering(scf::ForOp loop) {
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  for (auto [carried, value] :
       llvm::zip(loop.getRegionIterArgs(), yield.getOperands())) {
    Operation *op = value.getDefiningOp();
    if (isa_and_nonnull<arith::AddFOp, arith::MulFOp>(op) &&
        carried.hasOneUse() && *carried.user_begin() == op && value.hasOneUse())
      setFlags(op,
               arith::FastMathFlags::reassoc | arith::FastMathFlags::contract);
  }
}

//===----------------------------------------------------------------------===//
// Formulas
//===----------------------------------------------------------------------===//

/// Emits f32 arithmetic on scalars.
class Formula {
public:
  Formula(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  Value number(float value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getF32FloatAttr(value));
  }
  Value integer(int32_t value) {
    return arith::ConstantIntOp::create(builder, loc, value, 32);
  }
  /// a * b + c, rounded once.
  Value fma(Value a, Value b, Value c) {
    return math::FmaOp::create(builder, loc, a, b, c);
  }
  Value bits(Value value) {
    return arith::BitcastOp::create(builder, loc, builder.getI32Type(), value);
  }
  Value fromBits(Value value) {
    return arith::BitcastOp::create(builder, loc, builder.getF32Type(), value);
  }
  /// `a` if the comparison holds, which it does not for NaN, else `b`.
  Value choose(arith::CmpFPredicate predicate, Value x, float limit, Value a,
               Value b) {
    Value is = arith::CmpFOp::create(builder, loc, predicate, x, number(limit));
    return arith::SelectOp::create(builder, loc, is, a, b);
  }
  /// c[0] * x^n + ... + c[n].
  Value polynomial(Value x, ArrayRef<float> coefficients) {
    Value sum = number(coefficients.front());
    for (float coefficient : coefficients.drop_front())
      sum = fma(sum, x, number(coefficient));
    return sum;
  }

  OpBuilder &builder;
  Location loc;
};

/// exp(x) = 2^k * exp(r) with |r| <= ln 2 / 2. The power is applied in two
/// factors, so that results may be denormal.
struct ExpandExp : OpRewritePattern<math::ExpOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::ExpOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return failure();
    Formula f(rewriter, op.getLoc());
    using P = arith::CmpFPredicate;
    // Beyond these limits the result is 0 or infinite, as at them.
    Value x = op.getOperand();
    x = f.choose(P::OGT, x, 89, f.number(89), x);
    x = f.choose(P::OLT, x, -104, f.number(-104), x);
    // Adding 1.5 * 2^23 rounds to an integer, which is in the low bits.
    constexpr float kRound = 12582912;
    Value shifted = f.fma(x, f.number(1.44269504f), f.number(kRound));
    Value k = arith::SubFOp::create(rewriter, f.loc, shifted, f.number(kRound));
    Value r = f.fma(k, f.number(-0.693359375f), x);
    r = f.fma(k, f.number(2.12194440e-4f), r);
    Value p =
        f.polynomial(r, {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f,
                         4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f});
    Value square = arith::MulFOp::create(rewriter, f.loc, r, r);
    Value y = arith::AddFOp::create(rewriter, f.loc, f.fma(p, square, r),
                                    f.number(1));
    Value power = arith::SubIOp::create(rewriter, f.loc, f.bits(shifted),
                                        f.bits(f.number(kRound)));
    Value half = arith::ShRSIOp::create(rewriter, f.loc, power, f.integer(1));
    Value rest = arith::SubIOp::create(rewriter, f.loc, power, half);
    for (Value exponent : {half, rest}) {
      Value biased =
          arith::AddIOp::create(rewriter, f.loc, exponent, f.integer(127));
      Value factor = f.fromBits(
          arith::ShLIOp::create(rewriter, f.loc, biased, f.integer(23)));
      y = arith::MulFOp::create(rewriter, f.loc, y, factor);
    }
    rewriter.replaceOp(op, y);
    return success();
  }
};

/// log(x) = e * ln 2 + log(m) with m around 1.
struct ExpandLog : OpRewritePattern<math::LogOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::LogOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return failure();
    Formula f(rewriter, op.getLoc());
    Location loc = f.loc;
    using P = arith::CmpFPredicate;
    Value x = op.getOperand();
    // Denormals are scaled by 2^23.
    constexpr float kSmallest = 1.17549435e-38f;
    Value scaled =
        f.choose(P::OLT, x, kSmallest,
                 arith::MulFOp::create(rewriter, loc, x, f.number(8388608)), x);
    Value e0 = f.choose(P::OLT, x, kSmallest, f.number(-23), f.number(0));
    // The exponent is counted from sqrt(1/2), whose bits these are.
    Value origin = f.integer(0x3f3504f3);
    Value bits = arith::SubIOp::create(rewriter, loc, f.bits(scaled), origin);
    Value exponent = arith::ShRSIOp::create(rewriter, loc, bits, f.integer(23));
    Value e = arith::AddFOp::create(
        rewriter, loc, e0,
        arith::SIToFPOp::create(rewriter, loc, rewriter.getF32Type(),
                                exponent));
    Value mantissa =
        arith::AndIOp::create(rewriter, loc, bits, f.integer(0x7fffff));
    Value m =
        f.fromBits(arith::AddIOp::create(rewriter, loc, mantissa, origin));
    Value d = arith::SubFOp::create(rewriter, loc, m, f.number(1));
    Value square = arith::MulFOp::create(rewriter, loc, d, d);
    Value p = f.polynomial(
        d, {7.0376836292e-2f, -1.1514610310e-1f, 1.1676998740e-1f,
            -1.2420140846e-1f, 1.4249322787e-1f, -1.6668057665e-1f,
            2.0000714765e-1f, -2.4999993993e-1f, 3.3333331174e-1f});
    Value cube = arith::MulFOp::create(rewriter, loc, d, square);
    Value y = arith::MulFOp::create(rewriter, loc, p, cube);
    y = f.fma(e, f.number(-2.12194440e-4f), y);
    y = f.fma(square, f.number(-0.5f), y);
    y = arith::AddFOp::create(rewriter, loc, d, y);
    y = f.fma(e, f.number(0.693359375f), y);
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    y = f.choose(P::OLT, x, kInfinity, y, x);
    y = f.choose(P::OLT, x, 0,
                 f.number(std::numeric_limits<float>::quiet_NaN()), y);
    rewriter.replaceOp(op, f.choose(P::OEQ, x, 0, f.number(-kInfinity), y));
    return success();
  }
};

/// Integers become bf16 by way of f32: LLVM would call a function.
template <typename CastOp>
struct CastThroughF32 : OpRewritePattern<CastOp> {
  using OpRewritePattern<CastOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(CastOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isBF16())
      return failure();
    Value wide = CastOp::create(rewriter, op.getLoc(), rewriter.getF32Type(),
                                op.getIn());
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), wide);
    return success();
  }
};

/// So do numbers of f64.
struct TruncateThroughF32 : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isBF16() || !op.getIn().getType().isF64())
      return failure();
    Value single = arith::TruncFOp::create(rewriter, op.getLoc(),
                                           rewriter.getF32Type(), op.getIn());
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), single);
    return success();
  }
};

/// The number of the two, else their maximum (minimum), which knows which zero
/// is larger: what instructions for this give depends on the CPU and on which
/// operand comes first.
template <typename NumOp, typename Op>
struct ExpandNumber : OpRewritePattern<NumOp> {
  using OpRewritePattern<NumOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(NumOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto orOther = [&](Value value, Value other) -> Value {
      Value isNaN = arith::CmpFOp::create(
          rewriter, loc, arith::CmpFPredicate::UNO, value, value);
      return arith::SelectOp::create(rewriter, loc, isNaN, other, value);
    };
    Value lhs = orOther(op.getLhs(), op.getRhs());
    Value rhs = orOther(op.getRhs(), op.getLhs());
    rewriter.replaceOpWithNewOp<Op>(op, lhs, rhs);
    return success();
  }
};

/// Upstream's formula for erf gives 0 for -0.
void keepSign(math::ErfOp op) {
  OpBuilder builder(op);
  Value size = math::AbsFOp::create(builder, op.getLoc(), op.getOperand());
  Value erf = math::ErfOp::create(builder, op.getLoc(), size);
  op.replaceAllUsesWith(
      math::CopySignOp::create(builder, op.getLoc(), erf, op.getOperand())
          .getResult());
  op.erase();
}

/// Upstream's formulas are used for these. Others keep the C library's
/// function: they are rare, or (sin, cos, log2) upstream's are good for some
/// arguments only.
bool isApproximated(StringRef name) {
  return llvm::is_contained(
      {"math.tanh", "math.erf", "math.log1p", "math.expm1"}, name);
}

struct LowerMathPass : public weft::impl::LowerMathPassBase<LowerMathPass> {
  using Base::Base;

  void runOnOperation() override {
    getOperation().walk(keepSign);
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandExp, ExpandLog, CastThroughF32<arith::SIToFPOp>,
                 CastThroughF32<arith::UIToFPOp>, TruncateThroughF32>(
        &getContext());
    bool isInvariant = getOperation()->hasAttr(WeftDialect::kInvarianceAttr);
    if (isInvariant)
      patterns.add<ExpandNumber<arith::MaxNumFOp, arith::MaximumFOp>,
                   ExpandNumber<arith::MinNumFOp, arith::MinimumFOp>>(
          &getContext());
    populateMathF32ExpansionPatterns(patterns, isApproximated);
    populateMathPolynomialApproximationPatterns(patterns, isApproximated);
    GreedyRewriteConfig config;
    config.setUseTopDownTraversal(true);
    config.setMaxIterations(GreedyRewriteConfig::kNoLimit);
    if (failed(
            applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      return signalPassFailure();
    // What must not depend on the mesh rounds as it is written.
    if (isInvariant)
      return;
    getOperation().walk([](Operation *op) {
      if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp>(op))
        allowContraction(op);
    });
    getOperation().walk(allowReordering);
  }
};

} // namespace
