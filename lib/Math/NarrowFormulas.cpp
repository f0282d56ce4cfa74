// SPDX-License-Identifier: Apache-2.0

// Formulas in f32 arithmetic, for functions that training steps use a lot.
//
// Polynomials are minimax fits of our own: Remez exchange in 160 bits on the
// interval that is reduced to, coefficients rounded to f32 one after the other
// from the constant up, those above fitted again each time. The error of a fit
// is that of the function, relative to it, before rounding in evaluation.

#include "FormulaList.h"

#include <limits>

using namespace mlir;
using namespace mlir::weft;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
/// Adding it rounds to an integer, which is then in the low bits.
constexpr double kRound = 0x1.8p23;
/// ln 2 in two parts, of which the first has 15 bits: its products with
/// exponents are exact.
constexpr double kLn2High = 0x1.62e4p-1, kLn2Low = 0x1.7f7d1cp-20;
constexpr double kLog2E = 0x1.715476p+0;

/// x = power * ln 2 + rest with |rest| <= ln 2 / 2.
struct Reduced {
  Term power;
  Term rest;
};

Term integerOf(Term shifted) {
  return shifted.bits() - shifted.like(kRound).bits();
}

/// x - count * ln 2.
Term restOf(Term x, Term count) {
  return fma(count, -kLn2Low, fma(count, -kLn2High, x));
}

/// For |x| below 2^20.
Reduced reduceByLn2(Term x) {
  Term shifted = fma(x, kLog2E, kRound);
  return {integerOf(shifted), restOf(x, shifted - kRound)};
}

/// 2^power, for normal results.
Term powerOf2(Term power) { return ((power + 127) << 23).fromBits(); }

/// Adding it rounds to an integer, which is then in the low bits with the bias
/// of two floats.
constexpr double kRoundTwice = kRound + 254;

/// y * 2^power, in two factors, so that the result may be denormal or infinite:
/// it is rounded once. `shifted` is power + kRoundTwice: each half of its low
/// bits is the exponent of a factor, and the rest is shifted out.
Term scale(Term y, Term shifted) {
  Term both = shifted.bits(), one = both >> 1;
  return y * (one << 23).fromBits() * ((both - one) << 23).fromBits();
}

/// exp(r) for |r| <= ln 2 / 2. Fit: 3.2e-9.
Term expOfRest(Term r) {
  Term p = polynomial(r, {0x1.6ac74ep-10, 0x1.123dep-7, 0x1.555858p-5,
                          0x1.55548cp-3, 0x1.fffffcp-2});
  return fma(p, r * r, r) + 1;
}

/// exp(r) - 1, small for small r. Fit: 3.1e-9.
Term expm1OfRest(Term r) {
  Term p = polynomial(r, {0x1.6a658p-13, 0x1.6d4982p-10, 0x1.113748p-7,
                          0x1.5554f2p-5, 0x1.55553cp-3, 0x1p-1});
  return fma(p, r * r, r);
}

/// log(1 + d) - d for 1 + d in [sqrt(1/2), sqrt(2)], plus e * ln 2 but for the
/// part that `logOfParts` adds. Fit: 8.1e-9.
Term logOfParts(Term d, Term e) {
  Term square = d * d;
  Term p = polynomial(d, {0x1.b04264p-5, -0x1.bf0c5ap-4, 0x1.f03bb4p-4,
                          -0x1.00fecp-3, 0x1.23036ap-3, -0x1.552f18p-3,
                          0x1.99a54p-3, -0x1.00007p-2, 0x1.555548p-2});
  Term y = p * (d * square);
  y = fma(e, kLn2Low, y);
  y = fma(square, -0.5, y);
  return fma(e, kLn2High, d + y);
}

/// x = mantissa * 2^exponent with the mantissa in [sqrt(1/2), sqrt(2)).
struct Split {
  Term exponent;
  Term mantissa;
};

/// For positive normal numbers.
Split splitNumber(Term x) {
  Term origin = x.like(0x1.6a09e6p-1).bits();
  Term bits = x.bits() - origin;
  return {bits >> 23, ((bits & 0x7fffff) + origin).fromBits()};
}

Term toFloat(Term integer, Term like) {
  return integer.cast<arith::SIToFPOp>(like.value.getType());
}

} // namespace

Term formulas::exp(Term x) {
  // Beyond these limits the result is 0 or infinite, as at them.
  Term bounded = clamp(x, -104, 89);
  Term shifted = fma(bounded, kLog2E, kRoundTwice);
  return scale(expOfRest(restOf(bounded, shifted - kRoundTwice)), shifted);
}

Term formulas::exp2(Term x) {
  Term bounded = clamp(x, -151, 129);
  Term shifted = bounded + kRoundTwice;
  Term rest = bounded - (shifted - kRoundTwice);
  return scale(expOfRest(rest * 0x1.62e43p-1), shifted);
}

/// exp(x) - 1 = 2^k * (exp(r) - 1) + (2^k - 1), computed in halves: 2^128 is
/// too large.
Term formulas::expm1(Term x) {
  Reduced r = reduceByLn2(clamp(x, -18, 89));
  Term half = powerOf2(r.power - 1);
  Term y = fma(half, expm1OfRest(r.rest), half - 0.5) * 2;
  // Keeps denormals and the sign of zero.
  return select(abs(x) < 0x1p-25, x, y);
}

Term formulas::log(Term x) {
  Term isDenormal = x < 0x1p-126;
  Split split = splitNumber(select(isDenormal, x * 0x1p23, x));
  Term e = toFloat(split.exponent, x) + select(isDenormal, x.like(-23), 0);
  Term y = logOfParts(split.mantissa - 1, e);
  // Infinity and NaN stay.
  y = select(x < kInfinity, y, x);
  y = select(x < 0, kNaN, y);
  return select(x == 0, -kInfinity, y);
}

/// The exponent is that of 1 + x rounded; what is left of x after scaling by
/// it is exact but for one rounding.
Term formulas::log1p(Term x) {
  Term sum = x + 1;
  Split split = splitNumber(sum);
  Term factor = powerOf2(0 - split.exponent);
  Term d = fma(x, factor, factor - 1);
  // Where 1 does not count, and the factor may be too small for a float.
  d = select(x < 0x1p60, d, split.mantissa - 1);
  Term y = withSignOf(logOfParts(d, toFloat(split.exponent, x)), x);
  y = select(x < kInfinity, y, x);
  y = select(x < -1, kNaN, y);
  return select(x == -1, -kInfinity, y);
}

/// q / (q + 2) with q = exp(-2 |x|) - 1, which is small for small x.
Term formulas::tanh(Term x) {
  // tanh(10) rounds to 1.
  Term size = abs(x);
  size = select(size > 10, 10, size);
  // The low bits are the power with a float's bias: the rest is shifted out.
  constexpr double kRoundBiased = kRound + 127;
  Term shifted = fma(size, -2 * kLog2E, kRoundBiased);
  Term rest = restOf(size * -2, shifted - kRoundBiased);
  Term factor = (shifted.bits() << 23).fromBits();
  Term q = fma(factor, expm1OfRest(rest), factor - 1);
  return withSignOf(q / (q + 2), x);
}

/// x + x * p(x^2) below 1, 1 - exp(q(x)) above. Fits: 1.5e-9 and 1.2e-9.
Term formulas::erf(Term x) {
  Term size = abs(x);
  Term p =
      polynomial(size * size, {0x1.4771fep-14, -0x1.a3515ep-11, 0x1.53f224p-8,
                               -0x1.b7f71ap-6, 0x1.ce2ce6p-4, -0x1.81273ep-2,
                               0x1.06eba8p-3});
  Term small = fma(size, p, size);
  // erf(3.925) rounds to 1.
  Term q =
      polynomial(select(size > 3.925, 3.925, size),
                 {0x1.86d79ep-13, -0x1.825864p-9, 0x1.65ca9p-6, -0x1.a652f4p-4,
                  -0x1.46baf2p-1, -0x1.2088eap+0, -0x1.661c94p-12});
  Reduced r = reduceByLn2(q);
  Term large = fma(-powerOf2(r.power), expOfRest(r.rest), 1);
  return withSignOf(select(size < 1, small, large), x);
}

Term formulas::rsqrt(Term x) { return 1 / sqrt(x); }
