// SPDX-License-Identifier: Apache-2.0

// Conversions from and to f8E4M3FN and f8E5M2 become arithmetic on f32 and its
// bits, as ml_dtypes defines them: to the nearest, ties to even; what is too
// large is an infinity in f8E5M2, and NaN in f8E4M3FN, which has none. Of a NaN
// comes one NaN, whatever its bits are: these are the processor's. What is left
// moves 8 bits, and is given that type. f8E8M0FNU has an exponent only.

#include "StoreAsInteger.h"

#include "weft/Codegen/Kernels/Passes.h"
#include "weft/Codegen/Kernels/SaturatedFloat8.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/bit.h"

#include <cmath>

namespace mlir::weft {
#define GEN_PASS_DEF_EXPANDFLOAT8PASS
#include "weft/Codegen/Kernels/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

/// How the 7 bits beside the sign are divided. The largest exponent is for
/// infinity and NaN if there is an infinity; else only all bits set is NaN.
struct Format {
  int mantissaBits, bias;
  bool hasInfinity;

  /// The place of the exponent, and how much further it is in f32.
  int shift() const { return 23 - mantissaBits; }
  int rebias() const { return 127 - bias; }
  /// The bits of infinity, or of NaN.
  int limit() const { return hasInfinity ? 0x7c : 0x7f; }
  /// The bits of the NaN that computations give.
  int nan() const { return hasInfinity ? 0x7e : 0x7f; }
  /// The bits of f32's least number that is normal in f8.
  int64_t leastNormal() const { return int64_t(rebias() + 1) << 23; }
  /// The number of bits that are normal; past the greatest as if there were
  /// more exponents.
  float toNumber(int64_t bits) const {
    return llvm::bit_cast<float>(
        uint32_t((bits << shift()) + (int64_t(rebias()) << 23)));
  }
};

/// Of a scalar, or of the elements of a vector.
std::optional<Format> getFormat(Type type) {
  type = getElementTypeOrSelf(type);
  if (isa<Float8E4M3FNType>(type))
    return Format{3, 7, false};
  if (isa<Float8E5M2Type>(type))
    return Format{2, 15, true};
  return std::nullopt;
}

bool isExponent(Type type) {
  return isa<Float8E8M0FNUType>(getElementTypeOrSelf(type));
}

bool isFloat8(Type type) {
  return getFormat(type).has_value() || isExponent(type);
}

/// Arithmetic on i32 and f32, or on vectors of them as long as `shape`.
class Bits {
public:
  Bits(OpBuilder &builder, Location loc, Type shape)
      : builder(builder), loc(loc), shape(shape) {}

  Type i8() { return withElement(shape, builder.getI8Type()); }
  Type i16() { return withElement(shape, builder.getI16Type()); }
  Type i32() { return withElement(shape, builder.getI32Type()); }
  Type f32() { return withElement(shape, builder.getF32Type()); }

  Value number(int64_t value) {
    return createInteger(builder, loc, i32(), value);
  }
  Value number(float value) {
    TypedAttr attr = builder.getF32FloatAttr(value);
    if (auto shaped = dyn_cast<ShapedType>(f32()))
      attr = DenseElementsAttr::get(shaped, Attribute(attr));
    return arith::ConstantOp::create(builder, loc, attr);
  }
  template <typename Op> Value make(Value a, Value b) {
    return Op::create(builder, loc, a, b);
  }
  template <typename Op> Value cast(Type type, Value a) {
    return Op::create(builder, loc, type, a);
  }
  Value add(Value a, Value b) { return make<arith::AddIOp>(a, b); }
  Value left(Value a, int bits) {
    return make<arith::ShLIOp>(a, number(int64_t(bits)));
  }
  Value right(Value a, int bits) {
    return make<arith::ShRUIOp>(a, number(int64_t(bits)));
  }
  Value mask(Value a, int64_t bits) {
    return make<arith::AndIOp>(a, number(bits));
  }
  Value toBits(Value a) { return cast<arith::BitcastOp>(i32(), a); }
  Value toFloat(Value a) { return cast<arith::BitcastOp>(f32(), a); }
  Value least(Value a, int64_t limit) {
    return make<arith::MinUIOp>(a, number(limit));
  }
  /// One instruction of x86: the second also if one of them is NaN.
  Value lesserOrSecond(Value a, Value c) {
    return select(
        arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT, a, c), a,
        c);
  }
  /// `a * factor + c`, of which the product is exact: it may be rounded once or
  /// twice.
  Value multiplyAdd(Value a, float factor, Value c) {
    constexpr auto fused = arith::FastMathFlags::contract;
    Value product =
        arith::MulFOp::create(builder, loc, a, number(factor), fused);
    return arith::AddFOp::create(builder, loc, product, c, fused);
  }
  Value most(Value a, int64_t limit) {
    return make<arith::MaxUIOp>(a, number(limit));
  }
  Value isNaN(Value a) {
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO, a, a);
  }
  Value isLess(Value a, int32_t limit) {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, a,
                                 number(int64_t(limit)));
  }
  Value isBelow(Value a, int64_t limit) {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, a,
                                 number(limit));
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }

private:
  OpBuilder &builder;
  Location loc;
  Type shape;
};

bool isSingle(Type type) { return getElementTypeOrSelf(type).isF32(); }

/// The bits of f8 from those of f32, both without sign. The sum with a power
/// of two whose last bit is worth as much as that of f8 there is rounded where
/// f8 is: what the sum is past the power are f8's mantissa and, if it is
/// normal, its leading one, which goes into the exponent. Of NaN it is no more
/// than the greatest.
Value roundMagnitude(Bits b, Value magnitude, Format format) {
  int shift = format.shift();
  // The greatest number, or the power of two past it.
  int64_t top = format.limit() + (format.hasInfinity ? 0 : 1);
  int64_t greatest = (top << shift) + (int64_t(format.rebias()) << 23);
  Value limited = b.least(magnitude, greatest);
  Value power = b.most(b.mask(limited, 0x7f800000), format.leastNormal());
  Value magic = b.add(power, b.number(int64_t(shift) << 23));
  Value sum =
      b.toBits(b.make<arith::AddFOp>(b.toFloat(limited), b.toFloat(magic)));
  Value mantissa = b.make<arith::SubIOp>(sum, magic);
  Value exponent =
      b.add(b.right(power, shift), b.number(-(format.leastNormal() >> shift)));
  return b.least(b.add(mantissa, exponent), format.limit());
}

/// The bits of f8 of an f32 that is saturated, the last 8 of the result. It is
/// rounded in the same way; as only the last bits count, the power is not taken
/// off again, and what an exponent begins with, which is even, is added with
/// the power, where it decides nothing about ties. NaN becomes the number whose
/// bits would be those of NaN. `wide` is the f32 that f8 stands for: what is
/// left of the sum without the power.
Value roundSaturated(Bits b, Value in, Format format, Value *wide) {
  int shift = format.shift();
  Value bits = b.toBits(in);
  Value magnitude = b.toFloat(b.mask(bits, 0x7fffffff));
  Value finite = b.lesserOrSecond(b.number(format.toNumber(format.limit() - 1)),
                                  magnitude);
  Value limited =
      b.lesserOrSecond(finite, b.number(format.toNumber(format.nan())));
  Value power =
      b.most(b.mask(b.toBits(limited), 0x7f800000), format.leastNormal());
  int64_t first = -(format.leastNormal() >> shift) & 0xff;
  float factor = std::ldexp(float((int64_t(1) << 23) + first), shift - 23);
  Value base = b.toFloat(power);
  Value sum = b.multiplyAdd(base, factor, limited);
  if (wide) {
    Value rounded = b.toBits(b.multiplyAdd(base, -factor, sum));
    Value number =
        b.make<arith::OrIOp>(rounded, b.mask(bits, int64_t(0x80000000)));
    *wide =
        b.toFloat(b.select(b.isNaN(in), b.number(int64_t(0x7fc00000)), number));
  }
  Value code = b.add(b.toBits(sum), b.right(power, shift));
  // Those of -0 to -infinity; a NaN has no sign.
  Value isNegative = b.isLess(bits, int32_t(0xff800001));
  Value sign =
      b.select(isNegative, b.number(int64_t(0x80)), b.number(int64_t(0)));
  return b.make<arith::OrIOp>(code, sign);
}

/// The bits of f8 of any f32.
Value roundNumber(Bits b, Value in, Format format) {
  Value bits = b.toBits(in);
  Value magnitude = b.mask(bits, 0x7fffffff);
  Value sign = b.mask(b.right(bits, 24), 0x80);
  Value number =
      b.make<arith::OrIOp>(roundMagnitude(b, magnitude, format), sign);
  Value isNaN = b.isNaN(in), nan = b.number(int64_t(format.nan()));
  return b.select(isNaN, nan, number);
}

/// f32 to f8.
struct RoundToFloat8 : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<Format> format = getFormat(op.getType());
    if (!format || !isSingle(op.getIn().getType()))
      return failure();
    Bits b(rewriter, op.getLoc(), op.getType());
    Value saturated = getSaturated(op.getIn(), op.getType());
    SmallVector<Operation *> widened;
    for (Operation *user : op->getUsers())
      if (saturated && isa<arith::ExtFOp>(user) &&
          isSingle(user->getResult(0).getType()))
        widened.push_back(user);
    Value wide;
    Value code = saturated ? roundSaturated(b, saturated, *format,
                                            widened.empty() ? nullptr : &wide)
                           : roundNumber(b, op.getIn(), *format);
    for (Operation *user : widened)
      rewriter.replaceOp(user, wide);
    Value byte = b.cast<arith::TruncIOp>(b.i8(), code);
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), byte);
    return success();
  }
};

/// Whether it is rounded by a sum, which gives its f32 too.
bool isRoundedSaturated(arith::TruncFOp op) {
  return getFormat(op.getType()) && isSingle(op.getIn().getType()) &&
         getSaturated(op.getIn(), op.getType());
}

/// f8 to f32, which holds each.
struct ExtendFloat8 : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<Format> format = getFormat(op.getIn().getType());
    auto rounded = op.getIn().getDefiningOp<arith::TruncFOp>();
    if (!format || !isSingle(op.getType()) ||
        (rounded && isRoundedSaturated(rounded)))
      return failure();
    Bits b(rewriter, op.getLoc(), op.getType());
    int shift = format->shift();
    Value byte = b.cast<arith::BitcastOp>(b.i8(), op.getIn());
    Value bits = b.cast<arith::ExtUIOp>(b.i32(), byte);
    Value code = b.mask(bits, 0x7f);
    Value normal =
        b.add(b.left(code, shift), b.number(int64_t(format->rebias()) << 23));
    float lastBit = std::ldexp(1.0f, 1 - format->bias - format->mantissaBits);
    Value denormal = b.toBits(b.make<arith::MulFOp>(
        b.cast<arith::UIToFPOp>(b.f32(), code), b.number(lastBit)));
    // Without infinities it is one NaN.
    Value special =
        format->hasInfinity
            ? b.make<arith::OrIOp>(b.number(int64_t(0x7f800000)),
                                   b.mask(b.left(code, shift), 0x7fffff))
            : b.number(int64_t(0x7fc00000));
    Value magnitude =
        b.select(b.isBelow(code, int64_t(1) << format->mantissaBits), denormal,
                 b.select(b.isBelow(code, format->limit()), normal, special));
    Value sign = b.left(b.mask(bits, 0x80), 24);
    rewriter.replaceOp(op, b.toFloat(b.make<arith::OrIOp>(magnitude, sign)));
    return success();
  }
};

/// f32 to f8E8M0FNU: the nearest exponent, the greater one if two are as near.
/// What is not above 0, and what is past 2^127, is NaN.
struct RoundToExponent : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    if (!isExponent(op.getType()) || !isSingle(op.getIn().getType()))
      return failure();
    Bits b(rewriter, op.getLoc(), op.getType());
    Value bits = b.toBits(op.getIn());
    Value rounded = b.right(b.add(bits, b.number(int64_t(0x400000))), 23);
    // 2^-127 is the only one that f32 has no exponent for.
    Value code =
        b.select(b.isBelow(bits, 0x400001), b.number(int64_t(0)), rounded);
    // Less than 1, so that 0 is among what is greater.
    Value isNumber =
        b.isBelow(b.add(bits, b.number(int64_t(-1))), 0x7f800000 - 1);
    Value byte = b.cast<arith::TruncIOp>(
        b.i8(), b.select(isNumber, code, b.number(int64_t(255))));
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), byte);
    return success();
  }
};

/// f8E8M0FNU to f32 or bf16, which hold each; the latter are the upper half of
/// the former, and no instruction takes the least for 0.
struct ExtendExponent : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    if (!isExponent(op.getIn().getType()) ||
        !(isSingle(op.getType()) ||
          getElementTypeOrSelf(op.getType()).isBF16()))
      return failure();
    Bits b(rewriter, op.getLoc(), op.getType());
    Value byte = b.cast<arith::BitcastOp>(b.i8(), op.getIn());
    Value code = b.cast<arith::ExtUIOp>(b.i32(), byte);
    Value number = b.select(b.isBelow(code, 255), b.left(code, 23),
                            b.number(int64_t(0x7fc00000)));
    Value bits =
        b.select(b.isBelow(code, 1), b.number(int64_t(0x400000)), number);
    if (isSingle(op.getType())) {
      rewriter.replaceOp(op, b.toFloat(bits));
      return success();
    }
    Value half = b.cast<arith::TruncIOp>(b.i16(), b.right(bits, 16));
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), half);
    return success();
  }
};

/// f8 to any other float, by way of f32.
struct ExtendFloat8ThroughF32 : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    auto element = cast<FloatType>(getElementTypeOrSelf(op.getType()));
    if (!isFloat8(op.getIn().getType()) || element.isF32() ||
        (isExponent(op.getIn().getType()) && element.isBF16()))
      return failure();
    Bits b(rewriter, op.getLoc(), op.getType());
    Value single = b.cast<arith::ExtFOp>(b.f32(), op.getIn());
    if (element.getWidth() < 32)
      rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), single);
    else
      rewriter.replaceOpWithNewOp<arith::ExtFOp>(op, op.getType(), single);
    return success();
  }
};

/// Any other float to f8, by way of f32, to which ml_dtypes rounds f64 too.
struct TruncateToFloat8ThroughF32 : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    Type in = getElementTypeOrSelf(op.getIn().getType());
    if (!isFloat8(op.getType()) || in.isF32())
      return failure();
    Bits b(rewriter, op.getLoc(), op.getType());
    Value single = in.isF64() ? b.cast<arith::TruncFOp>(b.f32(), op.getIn())
                              : b.cast<arith::ExtFOp>(b.f32(), op.getIn());
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), single);
    return success();
  }
};

struct ExpandFloat8Pass
    : public weft::impl::ExpandFloat8PassBase<ExpandFloat8Pass> {
  using Base::Base;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<RoundToFloat8, ExtendFloat8, RoundToExponent, ExtendExponent,
                 ExtendFloat8ThroughF32, TruncateToFloat8ThroughF32>(
        &getContext());
    if (failed(expandCasts(getOperation(), std::move(patterns), isFloat8)))
      signalPassFailure();
  }
};

} // namespace

Value mlir::weft::getSaturated(Value value, Type element) {
  auto most = value.getDefiningOp<arith::MaximumFOp>();
  auto least = most ? most.getLhs().getDefiningOp<arith::MinimumFOp>()
                    : arith::MinimumFOp();
  APFloat low(0.0f), high(0.0f);
  if (!least || !matchPattern(most.getRhs(), m_ConstantFloat(&low)) ||
      !matchPattern(least.getRhs(), m_ConstantFloat(&high)))
    return {};
  float greatest =
      APFloat::getLargest(
          cast<FloatType>(getElementTypeOrSelf(element)).getFloatSemantics())
          .convertToDouble();
  bool isRange =
      high.convertToFloat() == greatest && low.convertToFloat() == -greatest;
  return isRange ? least.getLhs() : Value();
}
