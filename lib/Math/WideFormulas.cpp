// SPDX-License-Identifier: Apache-2.0

// Formulas in f64 arithmetic: functions of f64, and functions of f32
// that are used too little to have formulas in f32. The latter are wide of the
// mark by some 2^-45 before they are rounded once.
//
// Polynomials are minimax fits of our own, as those in f32 are.

#include "FormulaList.h"

#include <limits>

using namespace mlir;
using namespace mlir::weft;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
/// Adding it rounds to an integer, which is then in the low bits.
constexpr double kRound = 0x1.8p52;
/// ln 2 in two parts, of which the first has 38 bits.
constexpr double kLn2High = 0x1.62e42fefap-1, kLn2Low = 0x1.cf79abc9e3b3ap-40;
constexpr double kLn2 = 0x1.62e42fefa39efp-1;
constexpr double kLog2E = 0x1.71547652b82fep+0, kLog10E = 0x1.bcb7b1526e50ep-2;
constexpr double kHalfPi = 0x1.921fb54442d18p+0;

/// x = power * ln 2 + rest with |rest| <= ln 2 / 2.
struct Reduced {
  Term power;
  Term rest;
};

/// For |x| below 2^20.
Reduced reduceByLn2(Term x) {
  Term shifted = fma(x, kLog2E, kRound);
  Term count = shifted - kRound;
  Term rest = fma(count, -kLn2Low, fma(count, -kLn2High, x));
  return {shifted.bits() - x.like(kRound).bits(), rest};
}

/// 2^power, for normal results.
Term powerOf2(Term power) { return ((power + 1023) << 52).fromBits(); }

/// exp(r) - 1 for |r| <= ln 2 / 2, small for small r. Fit: 2.1e-18.
Term expm1OfRest(Term r) {
  Term p = polynomial(r, {0x1.206e54802cf2fp-29, 0x1.af75a09ee8748p-26,
                          0x1.27e4476f41119p-22, 0x1.71ddea8c1d38dp-19,
                          0x1.a01a01e8acaa3p-16, 0x1.a01a01b5f3912p-13,
                          0x1.6c16c16c0a425p-10, 0x1.111111110e54dp-7,
                          0x1.555555555556cp-5, 0x1.555555555555dp-3, 0x1p-1});
  return fma(p, r * r, r);
}

/// x = mantissa * 2^exponent with the mantissa in [sqrt(1/2), sqrt(2)).
struct Split {
  Term exponent;
  Term mantissa;
};

/// For positive normal numbers. The exponent becomes a float by its bits, for
/// CPUs that cannot convert 64-bit integers in vectors.
Split splitNumber(Term x) {
  Term origin = x.like(0x1.6a09e667f3bcdp-1).bits();
  Term one = x.like(1).bits();
  // Positive: the exponent and 1023 + 1.
  Term bits = x.bits() - origin + one + x.like(0x1p-1022).bits();
  Term biased = shiftUnsigned(bits, 52) | x.like(0x1p52).bits();
  Term mantissa = ((bits & double((1ull << 52) - 1)) + origin).fromBits();
  return {biased.fromBits() - (0x1p52 + 1024), mantissa};
}

/// log(1 + d) for 1 + d in [sqrt(1/2), sqrt(2)], plus `tail`. It is 2 atanh(s)
/// with s = d / (2 + d), which is d - (d^2 / 2 - s * (d^2 / 2 + R(s^2))).
/// Fit of R: 1.2e-18.
Term logOfRest(Term d, Term tail) {
  Term s = d / (d + 2);
  Term z = s * s;
  Term r = z * polynomial(z, {0x1.2f044ad2950fep-3, 0x1.39a1dbd2b2013p-3,
                              0x1.74663d5ea081ep-3, 0x1.c71c52127fd7bp-3,
                              0x1.24924941e3102p-2, 0x1.999999997ff06p-2,
                              0x1.5555555555592p-1});
  Term half = d * d * 0.5;
  return d - (half - fma(s, half + r, tail));
}

/// e * ln 2 + log(1 + d).
Term logOfSplit(Term d, Term e) {
  return fma(e, kLn2High, logOfRest(d, e * kLn2Low));
}

/// A positive number, denormals scaled up.
Split splitAny(Term x) {
  Term isDenormal = x < 0x1p-1022;
  Split split = splitNumber(select(isDenormal, x * 0x1p54, x));
  return {split.exponent + select(isDenormal, x.like(-54), 0), split.mantissa};
}

/// What logarithms are of zero, negative numbers, infinity and NaN, else `y`.
Term withLimits(Term y, Term x, double zero = 0) {
  y = select(x < kInfinity, y, x);
  y = select(x < zero, kNaN, y);
  return select(x == zero, -kInfinity, y);
}

/// 2^power applied in two factors, so that results may be denormal.
Term scale(Term y, Term power) {
  Term half = shiftUnsigned(power + 2048, 1) - 1024;
  return y * powerOf2(half) * powerOf2(power - half);
}

//===----------------------------------------------------------------------===//
// Pairs
//===----------------------------------------------------------------------===//

/// high + low, where high is the sum rounded.
struct Pair {
  Term high;
  Term low;
};

/// a + b exactly.
Pair add(Term a, Term b) {
  Term sum = a + b;
  Term back = sum - a;
  return {sum, (a - (sum - back)) + (b - back)};
}

/// a * b exactly.
Pair multiply(Term a, Term b) {
  Term product = a * b;
  return {product, fma(a, b, -product)};
}

/// log of a positive number to some 2^-66 of it: 2 s + 2/3 s^3 + s^5 R(s^2)
/// with s = d / (2 + d), all but the last term in pairs. Fit of R: 1.1e-20.
Pair logInPairs(Term x) {
  Split split = splitAny(x);
  Term d = split.mantissa - 1, e = split.exponent;
  Pair divisor = add(d, d.like(2));
  Term s = d / divisor.high;
  Term left = fma(-s, divisor.low, fma(-s, divisor.high, d));
  Term sLow = left / divisor.high;
  Pair z = multiply(s, s);
  Term zLow = fma(s * 2, sLow, z.low);
  Pair cube = multiply(s, z.high);
  Term cubeLow = fma(s, zLow, fma(sLow, z.high, cube.low));
  Term r = polynomial(z.high, {0x1.0e42bb7faf02fp-3, 0x1.0f7fe8dc8b41cp-3,
                               0x1.3b1eec08fe3b2p-3, 0x1.745ce9e39e0fcp-3,
                               0x1.c71c722d6514ap-3, 0x1.2492492457d6ep-2,
                               0x1.9999999999b30p-2});
  constexpr double kTwoThirds = 0x1.5555555555555p-1,
                   kTwoThirdsLow = 0x1.5555555555555p-55;
  Pair third = multiply(cube.high, s.like(kTwoThirds));
  Term low = fma(cube.high, kTwoThirdsLow, fma(cubeLow, kTwoThirds, third.low));
  low = fma(cube.high * z.high, r, low);
  Pair sum = add(e * kLn2High, s * 2);
  Pair more = add(sum.high, third.high);
  low = low + (more.low + sum.low) + fma(e, kLn2Low, sLow * 2);
  return add(more.high, low);
}

/// The sine and cosine of quarter turns.
struct SineCosine {
  Term sine;
  Term cosine;
};

/// Of r * pi / 2 for |r| <= 1/2. Fits: 3.7e-18 and 5.7e-20.
SineCosine ofQuarter(Term r) {
  Term t = r * kHalfPi;
  Term z = t * t;
  Term p = polynomial(z, {0x1.5d8b5534fc231p-33, -0x1.ae5e4b82ca86ap-26,
                          0x1.71de35552a40cp-19, -0x1.a01a019be920cp-13,
                          0x1.111111110f730p-7, -0x1.5555555555548p-3});
  Term q = polynomial(z, {-0x1.8fa65ed09e567p-37, 0x1.1ee9db8e9585ap-29,
                          -0x1.27e4f7f1417c7p-22, 0x1.a01a019c8ed0cp-16,
                          -0x1.6c16c16c15013p-10, 0x1.555555555554bp-5});
  return {fma(t * z, p, t), fma(z * z, q, fma(z, -0.5, 1))};
}

/// x in quarter turns: `count` whole ones, modulo 4 in the low bits, and
/// `rest`, at most half of one.
struct Quarters {
  Term count;
  Term rest;
};

/// For all floats of f32, which have 24 bits: 2 / pi is cut in parts of 27 bits
/// so that products are exact, as is taking whole turns, 4, off each. Eight
/// parts give 2^-88 quarters at 2^128, and no float comes nearer to a whole
/// number of quarters than 2^-33.
Quarters reduceToQuarters(Term x) {
  static const double parts[] = {0x1.45f306cp-1,   0x1.c9c8828p-29,
                                 0x1.29fc27p-56,   0x1.5f47d4cp-82,
                                 0x1.3770368p-110, 0x1.6295990000000p-136,
                                 0x1.e21c82p-163,  0x1.fe5163p-192};
  Term sum = x.like(0), lost = x.like(0);
  for (double part : parts) {
    Term product = x * part;
    Term turns = roundEven(product * 0.25);
    Term term = fma(turns, -4, product);
    Pair next = add(sum, term);
    lost = lost + next.low;
    sum = next.high;
  }
  Term count = roundEven(sum);
  Term bits = (count + kRound).bits();
  return {bits, (sum - count) + lost};
}

/// The sine of the quarters, shifted by `shift` of them.
Term sineOfQuarters(Quarters quarters, int shift) {
  SineCosine values = ofQuarter(quarters.rest);
  Term count = quarters.count + shift;
  Term swapped = (count & 1) == 1;
  Term size = select(swapped, values.cosine, values.sine);
  return (size.bits() ^ ((count & 2) << 62)).fromBits();
}

/// Changes the sign of `x` if that of `sign` is set.
Term flipSign(Term x, Term sign) {
  Term bit = shiftUnsigned(sign.bits(), 63) << 63;
  return (x.bits() ^ bit).fromBits();
}

/// The angle of the point (x, y). atan on [0, 1]: fit 1.1e-11.
Term angle(Term y, Term x) {
  Term high = abs(x), wide = abs(y);
  Term steep = wide > high;
  Term large = select(steep, wide, high), small = select(steep, high, wide);
  Term z = select(large == 0, 0, small / large);
  z = select(small == kInfinity, 1, z);
  Term square = z * z;
  Term p = polynomial(square, {0x1.ce7f40c45a4fcp-12, -0x1.b4403d8869e75p-9,
                               0x1.821687c8f89ddp-7, -0x1.b30808cf9bd9dp-6,
                               0x1.69f0dc29b0e79p-5, -0x1.f03280867a35ep-5,
                               0x1.33a1d337bf0e5p-4, -0x1.72d64109ddb48p-4,
                               0x1.c6e85c3b144a9p-4, -0x1.24903926a825ap-3,
                               0x1.9999846c2b80ap-3, -0x1.5555552f278d2p-2});
  Term t = fma(z * square, p, z);
  t = select(steep, kHalfPi - t, t);
  t = select(x.bits() < 0, 2 * kHalfPi - t, t);
  // NaN of either.
  Term sum = x + y;
  return withSignOf(select(x == x, select(y == y, t, sum), sum), y);
}

/// sqrt(1 - x^2).
Term legOf(Term x) { return sqrt((1 - x) * (x + 1)); }

/// A function of f32 by one of f64.
template <typename Function> Term inF64(Term x, Function function) {
  return function(x.toF64()).toF32();
}

/// log of a number that was f32: not denormal.
Term logOfF32(Term x) {
  Split split = splitNumber(x);
  return withLimits(logOfSplit(split.mantissa - 1, split.exponent), x);
}

/// |x|^y as `size` for finite non-zero operands, and then what C says of signs,
/// zeros, ones, infinities and NaN.
Term finishPower(Term size, Term x, Term y, Term isInteger, Term isOdd) {
  // An infinite power of 1 or -1.
  size = select(abs(x) == 1, select(y == y, x.like(1), y), size);
  Term isNegative = x.bits() < 0;
  Term result = select(isNegative & isOdd, -size, size);
  result = select((x < 0) & (x > -kInfinity) & (isInteger ^ 1), kNaN, result);
  return select(y == 0, x.like(1), select(x == 1, x.like(1), result));
}

/// |x|^y of numbers that were f32.
Term sizeOfNarrowPower(Term x, Term y) {
  return formulas::expWide(clamp(y * logOfF32(abs(x)), -200, 200));
}

/// |x|^y, the logarithm and its product with y taken in pairs.
Term sizeOfWidePower(Term x, Term y) {
  Term size = abs(x);
  Pair log = logInPairs(size);
  Pair product = multiply(y, log.high);
  Term bounded = clamp(product.high, -800, 800);
  // What rounding loses, but for products that overflow.
  Term low = select(bounded == product.high, fma(y, log.low, product.low), 0);
  Reduced r = reduceByLn2(bounded);
  Term result = scale(expm1OfRest(r.rest + low) + 1, r.power);
  // Of zero and infinity the limits are right, whose logarithm here is not.
  Term toZero = select(y < 0, x.like(kInfinity), 0);
  Term toInfinity = select(y < 0, x.like(0), kInfinity);
  result = select(size == 0, toZero, result);
  result = select(size == kInfinity, toInfinity, result);
  return select(x == x, select(y == y, result, y), x);
}

/// Whether y is an integer, and an odd one.
std::pair<Term, Term> classifyInteger(Term y) {
  Term whole = roundEven(y), half = y * 0.5;
  Term isInteger = whole == y;
  return {isInteger, isInteger & (roundEven(half) != half)};
}

} // namespace

//===----------------------------------------------------------------------===//
// f64
//===----------------------------------------------------------------------===//

Term formulas::expWide(Term x) {
  // Beyond these limits the result is 0 or infinite, as at them.
  Reduced r = reduceByLn2(clamp(x, -746, 710));
  return scale(expm1OfRest(r.rest) + 1, r.power);
}

Term formulas::exp2Wide(Term x) {
  Term bounded = clamp(x, -1076, 1025);
  Term shifted = bounded + kRound;
  Term rest = (bounded - (shifted - kRound)) * kLn2;
  return scale(expm1OfRest(rest) + 1, shifted.bits() - x.like(kRound).bits());
}

/// As in f32: halves, because 2^1024 is too large.
Term formulas::expm1Wide(Term x) {
  Reduced r = reduceByLn2(clamp(x, -40, 710));
  Term half = powerOf2(r.power - 1);
  Term y = fma(half, expm1OfRest(r.rest), half - 0.5) * 2;
  return select(abs(x) < 0x1p-54, x, y);
}

Term formulas::logWide(Term x) {
  Split split = splitAny(x);
  return withLimits(logOfSplit(split.mantissa - 1, split.exponent), x);
}

/// As in f32: what is left of x after scaling by the exponent of 1 + x.
Term formulas::log1pWide(Term x) {
  Split split = splitNumber(x + 1);
  Term factor = powerOf2(
      0 - split.exponent.cast<arith::FPToSIOp>(x.bits().value.getType()));
  Term d = fma(x, factor, factor - 1);
  d = select(x < 0x1p60, d, split.mantissa - 1);
  Term y = withSignOf(logOfSplit(d, split.exponent), x);
  return withLimits(y, x, -1);
}

Term formulas::log2Wide(Term x) {
  Split split = splitAny(x);
  Term log = logOfRest(split.mantissa - 1, x.like(0));
  return withLimits(fma(log, kLog2E, split.exponent), x);
}

Term formulas::log10Wide(Term x) {
  constexpr double kHigh = 0x1.34413509fp-2, kLow = 0x1.e7fbcc47c4acdp-40;
  Split split = splitAny(x);
  Term log = logOfRest(split.mantissa - 1, x.like(0));
  Term small = fma(log, kLog10E, split.exponent * kLow);
  return withLimits(fma(split.exponent, kHigh, small), x);
}

Term formulas::powWide(Term x, Term y) {
  auto [isInteger, isOdd] = classifyInteger(y);
  return finishPower(sizeOfWidePower(x, y), x, y, isInteger, isOdd);
}

Term formulas::tanhWide(Term x) {
  // tanh(20) rounds to 1.
  Term size = abs(x);
  Reduced r = reduceByLn2(select(size > 20, 20, size) * -2);
  Term factor = powerOf2(r.power);
  Term q = fma(factor, expm1OfRest(r.rest), factor - 1);
  return withSignOf(q / (q + 2), x);
}

//===----------------------------------------------------------------------===//
// f32 by way of f64
//===----------------------------------------------------------------------===//

Term formulas::sin(Term x) {
  return inF64(x, [](Term x) {
    return flipSign(sineOfQuarters(reduceToQuarters(abs(x)), 0), x);
  });
}

Term formulas::cos(Term x) {
  return inF64(
      x, [](Term x) { return sineOfQuarters(reduceToQuarters(abs(x)), 1); });
}

Term formulas::tan(Term x) {
  return inF64(x, [](Term x) {
    Quarters quarters = reduceToQuarters(abs(x));
    Term sine = sineOfQuarters(quarters, 0);
    return flipSign(sine / sineOfQuarters(quarters, 1), x);
  });
}

Term formulas::log2(Term x) {
  return inF64(x, [](Term x) { return logOfF32(x) * kLog2E; });
}

Term formulas::log10(Term x) {
  return inF64(x, [](Term x) { return logOfF32(x) * kLog10E; });
}

Term formulas::cbrt(Term x) {
  return inF64(x, [](Term x) {
    return withSignOf(expWide(logOfF32(abs(x)) * (1.0 / 3)), x);
  });
}

Term formulas::atan(Term x) {
  return inF64(x, [](Term x) { return angle(x, x.like(1)); });
}

Term formulas::atan2(Term y, Term x) {
  return angle(y.toF64(), x.toF64()).toF32();
}

Term formulas::asin(Term x) {
  return inF64(x, [](Term x) { return angle(x, legOf(x)); });
}

Term formulas::acos(Term x) {
  return inF64(x, [](Term x) { return angle(legOf(x), x); });
}

Term formulas::sinh(Term x) {
  return inF64(x, [](Term x) {
    Term e = expWide(abs(x));
    Term small = x * fma(x * x, 1.0 / 6, 1);
    Term large = withSignOf((e - 1 / e) * 0.5, x);
    return select(abs(x) < 0x1p-8, small, large);
  });
}

Term formulas::cosh(Term x) {
  return inF64(x, [](Term x) {
    Term e = expWide(abs(x));
    return (e + 1 / e) * 0.5;
  });
}

Term formulas::pow(Term x, Term y) {
  Term base = x.toF64(), power = y.toF64();
  auto [isInteger, isOdd] = classifyInteger(power);
  Term size = sizeOfNarrowPower(base, power);
  return finishPower(size, base, power, isInteger, isOdd).toF32();
}

Term formulas::powOfInteger(Term x, Term y) {
  Term base = x.toF64();
  Term power = y.cast<arith::SIToFPOp>(base.value.getType());
  Term isOdd = (y & 1) == 1;
  Term size = sizeOfNarrowPower(base, power);
  return finishPower(size, base, power, isOdd.like(1), isOdd).toF32();
}
