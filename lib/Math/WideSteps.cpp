// SPDX-License-Identifier: Apache-2.0

// Exponentials and logarithms in f64, their arguments reduced, and numbers in
// two parts.

#include "WideSteps.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::wide;

/// ln 2 in two parts, of which the first has 38 bits.
static constexpr double kLn2High = 0x1.62e42fefap-1,
                        kLn2Low = 0x1.cf79abc9e3b3ap-40;
static constexpr double kLog2E = 0x1.71547652b82fep+0;

Pair wide::add(Term a, Term b) {
  Term sum = a + b;
  Term back = sum - a;
  return {sum, (a - (sum - back)) + (b - back)};
}

Pair wide::multiply(Term a, Term b) {
  Term product = a * b;
  return {product, fma(a, b, -product)};
}

Reduced wide::reduceByLn2(Term x) {
  Term shifted = fma(x, kLog2E, kRound);
  Term count = shifted - kRound;
  Term rest = fma(count, -kLn2Low, fma(count, -kLn2High, x));
  return {shifted.bits() - x.like(kRound).bits(), rest};
}

Term wide::powerOf2(Term power) { return ((power + 1023) << 52).fromBits(); }

/// Fit: 2.1e-18.
Term wide::expm1OfRest(Term r) {
  Term p = polynomial(r, {0x1.206e54802cf2fp-29, 0x1.af75a09ee8748p-26,
                          0x1.27e4476f41119p-22, 0x1.71ddea8c1d38dp-19,
                          0x1.a01a01e8acaa3p-16, 0x1.a01a01b5f3912p-13,
                          0x1.6c16c16c0a425p-10, 0x1.111111110e54dp-7,
                          0x1.555555555556cp-5, 0x1.555555555555dp-3, 0x1p-1});
  return fma(p, r * r, r);
}

/// The exponent becomes a float by its bits, for
/// CPUs that cannot convert 64-bit integers in vectors.
Split wide::splitNumber(Term x) {
  Term origin = x.like(0x1.6a09e667f3bcdp-1).bits();
  Term one = x.like(1).bits();
  // Positive: the exponent and 1023 + 1.
  Term bits = x.bits() - origin + one + x.like(0x1p-1022).bits();
  Term biased = shiftUnsigned(bits, 52) | x.like(0x1p52).bits();
  Term mantissa = ((bits & double((1ull << 52) - 1)) + origin).fromBits();
  return {biased.fromBits() - (0x1p52 + 1024), mantissa};
}

/// log(1 + d) is 2 atanh(s) with s = d / (2 + d), which is
/// d - (d^2 / 2 - s * (d^2 / 2 + R(s^2))).
/// Fit of R: 1.2e-18.
Term wide::logOfRest(Term d, Term tail) {
  Term s = d / (d + 2);
  Term z = s * s;
  Term r = z * polynomial(z, {0x1.2f044ad2950fep-3, 0x1.39a1dbd2b2013p-3,
                              0x1.74663d5ea081ep-3, 0x1.c71c52127fd7bp-3,
                              0x1.24924941e3102p-2, 0x1.999999997ff06p-2,
                              0x1.5555555555592p-1});
  Term half = d * d * 0.5;
  return d - (half - fma(s, half + r, tail));
}

Term wide::logOfSplit(Term d, Term e) {
  return fma(e, kLn2High, logOfRest(d, e * kLn2Low));
}

/// Denormals are scaled up.
Split wide::splitAny(Term x) {
  Term isDenormal = x < 0x1p-1022;
  Split split = splitNumber(select(isDenormal, x * 0x1p54, x));
  return {split.exponent + select(isDenormal, x.like(-54), 0), split.mantissa};
}

Term wide::withLimits(Term y, Term x, double zero) {
  y = select(x < kInfinity, y, x);
  y = select(x < zero, kNaN, y);
  return select(x == zero, -kInfinity, y);
}

Term wide::scale(Term y, Term power) {
  Term half = shiftUnsigned(power + 2048, 1) - 1024;
  return y * powerOf2(half) * powerOf2(power - half);
}

/// 2 s + 2/3 s^3 + s^5 R(s^2) with s = d / (2 + d), all but the last term in
/// pairs. Fit of R: 1.1e-20.
Pair wide::logInPairs(Term x) {
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
