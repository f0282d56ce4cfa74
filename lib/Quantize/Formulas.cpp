// SPDX-License-Identifier: Apache-2.0

#include "Formulas.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <limits>

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Arithmetic on scalars, of which those named are i32 and f32.
class Scalars {
public:
  Scalars(OpBuilder &builder, Location loc)
      : builder(builder), loc(loc), i32(builder.getI32Type()),
        i64(builder.getI64Type()), f32(builder.getF32Type()) {}

  Value number(float value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getF32FloatAttr(value));
  }
  Value bits(uint32_t value) {
    return arith::ConstantOp::create(
        builder, loc, builder.getI32IntegerAttr(static_cast<int32_t>(value)));
  }
  template <typename Op> Value make(Value a, Value b) {
    return Op::create(builder, loc, a, b);
  }
  template <typename Op> Value cast(Type type, Value a) {
    return Op::create(builder, loc, type, a);
  }
  Value add(Value a, Value b) { return make<arith::AddFOp>(a, b); }
  Value sub(Value a, Value b) { return make<arith::SubFOp>(a, b); }
  Value mul(Value a, Value b) { return make<arith::MulFOp>(a, b); }
  Value div(Value a, Value b) { return make<arith::DivFOp>(a, b); }
  /// NaN if one of them is.
  Value min(Value a, Value b) { return make<arith::MinimumFOp>(a, b); }
  Value max(Value a, Value b) { return make<arith::MaximumFOp>(a, b); }
  Value addI(Value a, Value b) { return make<arith::AddIOp>(a, b); }
  Value subI(Value a, Value b) { return make<arith::SubIOp>(a, b); }
  Value mulI(Value a, Value b) { return make<arith::MulIOp>(a, b); }
  Value andI(Value a, uint32_t mask) {
    return make<arith::AndIOp>(a, bits(mask));
  }
  Value xorI(Value a, Value b) { return make<arith::XOrIOp>(a, b); }
  Value left(Value a, int count) { return make<arith::ShLIOp>(a, bits(count)); }
  Value right(Value a, int count) {
    return make<arith::ShRUIOp>(a, bits(count));
  }
  Value toBits(Value a) { return cast<arith::BitcastOp>(i32, a); }
  Value toFloat(Value a) { return cast<arith::BitcastOp>(f32, a); }
  Value compare(arith::CmpFPredicate predicate, Value a, Value b) {
    return arith::CmpFOp::create(builder, loc, predicate, a, b);
  }
  Value compare(arith::CmpIPredicate predicate, Value a, uint32_t b) {
    return arith::CmpIOp::create(builder, loc, predicate, a, bits(b));
  }
  Value both(Value a, Value b) { return make<arith::AndIOp>(a, b); }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  /// i1 as 0 or 1.
  Value count(Value condition) { return cast<arith::ExtUIOp>(i32, condition); }

  OpBuilder &builder;
  Location loc;
  Type i32, i64, f32;
};

constexpr uint32_t kNaN = 0x7fc00000, kInfinity = 0x7f800000;

/// As a constant that no fold makes another op of.
Value fromBits(Scalars &s, uint32_t bits) {
  APFloat value(APFloat::IEEEsingle(), APInt(32, bits));
  return arith::ConstantOp::create(s.builder, s.loc,
                                   s.builder.getFloatAttr(s.f32, value));
}

/// 2^(exponent - 127) of an exponent of f8E8M0FNU, 0 to 254, as bits: 0 stands
/// for 2^-127, which has no exponent of its own in f32.
Value powerOfTwo(Scalars &s, Value exponent) {
  return s.make<arith::MaxSIOp>(s.left(exponent, 23), s.bits(0x00400000));
}

/// The exponent of the least power of two that is not below `quotient`, which
/// is no less than 0: 254 for infinity, any for NaN.
Value roundUpExponent(Scalars &s, Value quotient) {
  Value bits = s.toBits(quotient);
  Value up = s.right(s.addI(bits, s.bits(0x7fffff)), 23);
  // 2^-127 is the mantissa 0x400000 of exponent 0.
  Value isLeast = s.compare(arith::CmpIPredicate::ule, bits, 0x400000);
  return s.make<arith::MinSIOp>(s.select(isLeast, s.bits(0), up), s.bits(254));
}

Scale emitPowerScale(Scalars &s, Value amax, float greatest) {
  Value exponent = roundUpExponent(s, s.mul(amax, s.number(1.0f / greatest)));
  Value isNaN = s.compare(arith::CmpFPredicate::UNO, amax, amax);
  Value multiplier = s.select(isNaN, s.bits(kNaN),
                              powerOfTwo(s, s.subI(s.bits(254), exponent)));
  Value byte = s.cast<arith::TruncIOp>(s.builder.getI8Type(),
                                       s.select(isNaN, s.bits(255), exponent));
  return {s.toFloat(multiplier),
          s.cast<arith::BitcastOp>(
              Float8E8M0FNUType::get(s.builder.getContext()), byte)};
}

/// `greatest / amax`, at most the greatest f32; 1 of 0, and 0 of infinity.
Value emitFactor(Scalars &s, Value amax, float greatest) {
  using Predicate = arith::CmpFPredicate;
  Value most = s.number(std::numeric_limits<float>::max());
  Value factor = s.min(s.div(s.number(greatest), amax), most);
  return s.select(s.compare(Predicate::OEQ, amax, s.number(0.0f)),
                  s.number(1.0f), factor);
}

/// A NaN whose bits do not depend on where it came from.
Value emitOneNaN(Scalars &s, Value value) {
  return s.select(s.compare(arith::CmpFPredicate::UNO, value, value),
                  fromBits(s, kNaN), value);
}

Scale emitWideScale(Scalars &s, Value amax, float greatest, bool powerOfTwo) {
  Value multiplier = emitFactor(s, amax, greatest);
  if (powerOfTwo)
    multiplier = emitOneNaN(
        s, s.select(s.compare(arith::CmpFPredicate::UNO, amax, amax), amax,
                    s.toFloat(s.andI(s.toBits(multiplier), 0x7f800000))));
  return {multiplier, emitOneNaN(s, s.div(s.number(1.0f), multiplier))};
}

/// The factor that brings the greatest magnitude of a tensor to the product of
/// the greatest scale and the greatest element; 1 of 0 and of infinity.
Value emitTensorFactor(Scalars &s, Value tensorAmax, float greatest) {
  Value factor = emitFactor(s, tensorAmax, 448.0f * greatest);
  return s.select(s.compare(arith::CmpFPredicate::OEQ, factor, s.number(0.0f)),
                  s.number(1.0f), factor);
}

/// The scale of a tensor, beside those of its blocks: infinity stays.
Scale emitTensorScale(Scalars &s, Value amax, float greatest) {
  Value factor = emitTensorFactor(s, amax, greatest);
  Value infinity = fromBits(s, kInfinity);
  Value scale = s.select(s.compare(arith::CmpFPredicate::OEQ, amax, infinity),
                         infinity, s.div(s.number(1.0f), factor));
  return {factor, emitOneNaN(s, scale)};
}

Scale emitNarrowScale(Scalars &s, Value amax, Value tensorAmax,
                      float greatest) {
  Value most = s.number(std::numeric_limits<float>::max());
  Value factor = emitTensorFactor(s, tensorAmax, greatest);
  Value wide = s.mul(amax, s.mul(factor, s.number(1.0f / greatest)));
  Type type = Float8E4M3FNType::get(s.builder.getContext());
  // No magnitude is below 0; in a range of both signs it is rounded at once.
  Value limited = s.max(s.min(wide, s.number(448.0f)), s.number(-448.0f));
  Value scale = s.cast<arith::TruncFOp>(type, limited);
  Value back = s.cast<arith::ExtFOp>(s.f32, scale);
  Value decode = s.mul(back, s.div(s.number(1.0f), factor));
  return {s.min(s.div(s.number(1.0f), decode), most), scale};
}

} // namespace

float weft::getGreatest(Type element) {
  return llvm::APFloat::getLargest(cast<FloatType>(element).getFloatSemantics())
      .convertToDouble();
}

/// What the bits of a half of a byte are moved by: of any index its last bit
/// counts, so that no shift is too far.
static Value emitShift(Scalars &s, Value half) {
  Value number = s.cast<arith::IndexCastOp>(s.i64, half);
  Value last = s.andI(s.cast<arith::TruncIOp>(s.i32, number), 1);
  return s.mulI(last, s.bits(4));
}

Value weft::emitDecode(OpBuilder &builder, Location loc, Value value,
                       Value half) {
  Scalars s(builder, loc);
  if (isa<Float8E8M0FNUType>(value.getType())) {
    Value byte = s.cast<arith::BitcastOp>(builder.getI8Type(), value);
    Value exponent = s.cast<arith::ExtUIOp>(s.i32, byte);
    Value isNaN = s.compare(arith::CmpIPredicate::eq, exponent, 255);
    return s.toFloat(s.select(isNaN, s.bits(kNaN), powerOfTwo(s, exponent)));
  }
  // Two bits of exponent and one of mantissa; without exponent it is 0 or 0.5.
  using Predicate = arith::CmpIPredicate;
  Value bits = s.make<arith::ShRUIOp>(s.cast<arith::ExtUIOp>(s.i32, value),
                                      emitShift(s, half));
  Value code = s.andI(bits, 7);
  Value normal = s.addI(s.left(code, 22), s.bits(126u << 23));
  Value small = s.select(s.compare(Predicate::eq, code, 1), s.bits(126u << 23),
                         s.bits(0));
  Value magnitude = s.select(s.compare(Predicate::ult, code, 2), small, normal);
  Value sign = s.left(s.andI(bits, 8), 28);
  return s.toFloat(s.make<arith::OrIOp>(magnitude, sign));
}

Scale weft::emitScale(OpBuilder &builder, Location loc, Value amax,
                      Value tensorAmax, Type element, Type scale,
                      bool powerOfTwo) {
  Scalars s(builder, loc);
  float greatest = getGreatest(element);
  if (isa<Float8E8M0FNUType>(scale))
    return emitPowerScale(s, amax, greatest);
  // The scale of a tensor whose blocks have scales up to 448.
  if (scale.isF32() && isa<Float4E2M1FNType>(element))
    return emitTensorScale(s, amax, greatest);
  if (scale.isF32())
    return emitWideScale(s, amax, greatest, powerOfTwo);
  return emitNarrowScale(s, amax, tensorAmax, greatest);
}

Value weft::emitCast8(OpBuilder &builder, Location loc, Value product,
                      Type element) {
  Scalars s(builder, loc);
  float greatest = getGreatest(element);
  Value least = s.number(-greatest), most = s.number(greatest);
  Value clamped = s.max(s.min(product, most), least);
  Value number = s.cast<arith::TruncFOp>(element, clamped);
  if (!isa<Float8E5M2Type>(element))
    return number;
  // The NaN that torch and CUDA give; no number in the range is the other.
  auto byte = [&](int64_t value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI8IntegerAttr(value));
  };
  Value bits = s.cast<arith::BitcastOp>(builder.getI8Type(), number);
  Value isNaN = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                      bits, byte(0x7e));
  return s.cast<arith::BitcastOp>(element, s.select(isNaN, byte(0x7f), bits));
}

Value weft::emitCast4(OpBuilder &builder, Location loc, Value product,
                      Value random, Value half) {
  using Predicate = arith::CmpFPredicate;
  Scalars s(builder, loc);
  Value shift = emitShift(s, half);
  constexpr int kMantissa = 23;
  // At most 6, and 0 of NaN. Processors have an instruction for each choice.
  auto choose = [&](Predicate predicate, Value a, float other) {
    Value number = s.number(other);
    return s.select(s.compare(predicate, a, number), a, number);
  };
  Value magnitude = s.toFloat(s.andI(s.toBits(product), 0x7fffffff));
  magnitude = choose(Predicate::OGT, magnitude, 0.0f);
  magnitude = choose(Predicate::OLT, magnitude, 6.0f);
  // The power of two at or below it, in bits, and at least 1: numbers lie half
  // of that apart, and their codes are one apart.
  Value power = s.make<arith::MaxSIOp>(s.andI(s.toBits(magnitude), kInfinity),
                                       s.bits(127 << kMantissa));
  Value code;
  if (random) {
    // A part of the distance to the next number is added, and cut off. Below 1
    // the bits after the exponent's last are no code.
    Value part = s.mul(s.cast<arith::UIToFPOp>(s.f32, random),
                       s.toFloat(s.subI(power, s.bits(9 << kMantissa))));
    Value sum = s.add(magnitude, part);
    Value normal =
        s.subI(s.right(s.toBits(sum), kMantissa - 1), s.bits(2 * 126));
    code = s.make<arith::MaxSIOp>(
        normal, s.count(s.compare(Predicate::OGE, sum, s.number(0.5f))));
  } else {
    // Beside a number so great that its last bit is the distance, it is rounded
    // to a multiple of that. Of twice the power, codes begin two later: with
    // the last bits of that, 254 is 6, and 2 more, which is even, are 0. The
    // great number is exact, so that it may be one instruction with the sum.
    Value great =
        s.mul(s.toFloat(power), s.number(float((1 << (kMantissa - 1)) + 1)));
    Value sum = s.toBits(s.add(great, magnitude));
    code = s.addI(sum, s.right(power, kMantissa - 1));
  }
  // In its place before what is no code of it is cut off: LLVM would shift what
  // it has made bytes of.
  auto place = [&](Value value) { return s.make<arith::ShLIOp>(value, shift); };
  code = s.make<arith::AndIOp>(place(code), place(s.bits(7)));
  // NaN has no sign, nor has a zero that was no number below it.
  Value isNegative = s.compare(Predicate::OLT, product, s.number(0.0f));
  Value bits = s.make<arith::OrIOp>(
      code, s.select(isNegative, place(s.bits(8)), s.bits(0)));
  return s.cast<arith::TruncIOp>(builder.getI8Type(), bits);
}

/// A bijection of 32 bits that mixes high into low ones, and back.
static Value mix(Scalars &s, Value x) {
  x = s.mulI(s.xorI(x, s.right(x, 16)), s.bits(0x7feb352d));
  x = s.mulI(s.xorI(x, s.right(x, 15)), s.bits(0x846ca68b));
  return s.xorI(x, s.right(x, 16));
}

Value weft::emitMix(OpBuilder &builder, Location loc, Value value) {
  Scalars s(builder, loc);
  return mix(s, value);
}

Value weft::emitRandom(OpBuilder &builder, Location loc, Value first,
                       Value second, Value index) {
  Scalars s(builder, loc);
  auto number = [&](int64_t value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI64IntegerAttr(value));
  };
  // Of the 32 bits of each four elements, every one has 8.
  bool isWide = index.getType().isInteger(64);
  Value four = s.make<arith::ShRUIOp>(index, isWide ? number(2) : s.bits(2));
  Value low = isWide ? s.cast<arith::TruncIOp>(s.i32, four) : four;
  Value sum = s.addI(mix(s, s.xorI(low, first)), second);
  if (isWide) {
    Value high = s.cast<arith::TruncIOp>(
        s.i32, s.make<arith::ShRUIOp>(four, number(32)));
    sum = s.addI(sum, s.mulI(high, s.bits(0x9e3779b9)));
  }
  Value last = isWide ? s.cast<arith::TruncIOp>(s.i32, index) : index;
  Value place = s.left(s.andI(last, 3), 3);
  return s.andI(s.make<arith::ShRUIOp>(mix(s, sum), place), 255);
}
