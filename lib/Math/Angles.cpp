// SPDX-License-Identifier: Apache-2.0

// Sines, cosines and tangents, and the angles that have them, in f64
// arithmetic.
//
// Arguments of any size are reduced to quarter turns by multiplying them by
// 2 / pi in as many bits as it takes (Payne and Hanek), of which whole turns
// are taken off exactly.

#include "FormulaList.h"
#include "WideSteps.h"

#include <cmath>

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::wide;

namespace {

constexpr double kHalfPi = 0x1.921fb54442d18p+0,
                 kHalfPiLow = 0x1.1a62633145c07p-54;

//===----------------------------------------------------------------------===//
// Of small angles
//===----------------------------------------------------------------------===//

/// (sin(t) - t) / t^3 of z = t^2, for |t| <= pi / 4. Fit: 3.7e-18 of sin(t).
Term sinePolynomial(Term z) {
  return polynomial(z, {0x1.5d8b5534fc231p-33, -0x1.ae5e4b82ca86ap-26,
                        0x1.71de35552a40cp-19, -0x1.a01a019be920cp-13,
                        0x1.111111110f730p-7, -0x1.5555555555548p-3});
}

/// (cos(t) - 1 + z / 2) / z^2. Fit: 5.7e-20 of cos(t).
Term cosinePolynomial(Term z) {
  return polynomial(z, {-0x1.8fa65ed09e567p-37, 0x1.1ee9db8e9585ap-29,
                        -0x1.27e4f7f1417c7p-22, 0x1.a01a019c8ed0cp-16,
                        -0x1.6c16c16c15013p-10, 0x1.555555555554bp-5});
}

struct SineCosine {
  Term sine;
  Term cosine;
};

/// Of r quarter turns, |r| <= 1/2.
SineCosine ofQuarter(Term r) {
  Term t = r * kHalfPi;
  Term z = t * t;
  return {fma(t * z, sinePolynomial(z), t),
          fma(z * z, cosinePolynomial(z), fma(z, -0.5, 1))};
}

/// The same, rounded less.
SineCosine ofQuarter(Pair r) {
  Pair t = multiply(r.high, r.high.like(kHalfPi));
  Term low = fma(r.high, kHalfPiLow, fma(r.low, kHalfPi, t.low));
  Term z = t.high * t.high;
  Term sine = fma(z, fma(t.high, sinePolynomial(z), low * -0.5), low);
  Term half = z * 0.5, most = 1 - half;
  Term cosine = fma(z * z, cosinePolynomial(z), -(t.high * low));
  return {t.high + sine, most + (((1 - most) - half) + cosine)};
}

//===----------------------------------------------------------------------===//
// Quarter turns
//===----------------------------------------------------------------------===//

/// An angle in quarter turns: `count` whole ones, modulo 4 in the low bits, and
/// `rest`, at most half of one.
template <typename Rest> struct Quarters {
  Term count;
  Rest rest;
};

/// Takes off whole turns.
Term withoutTurns(Term quarters) {
  return fma(roundEven(quarters * 0.25), -4, quarters);
}

/// An integer's low bits.
Term lowBits(Term count) { return (count + kRound).bits(); }

/// For all floats of f32, which have 24 bits: 2 / pi is cut into parts of 27
/// bits so that products are exact. Eight parts give 2^-88 quarters at 2^128,
/// and no float comes nearer to a whole number of quarters than 2^-33.
Quarters<Term> reduceNarrow(Term x) {
  static const double parts[] = {0x1.45f306cp-1,   0x1.c9c8828p-29,
                                 0x1.29fc27p-56,   0x1.5f47d4cp-82,
                                 0x1.3770368p-110, 0x1.6295990000000p-136,
                                 0x1.e21c82p-163,  0x1.fe5163p-192};
  Term sum = x.like(0), lost = x.like(0);
  for (double part : parts) {
    Pair next = add(sum, withoutTurns(x * part));
    lost = lost + next.low;
    sum = next.high;
  }
  Term count = roundEven(sum);
  return {lowBits(count), (sum - count) + lost};
}

/// The bits of 2 / pi that matter for x: parts of 53 bits, of which each next
/// one counts 2^-53 as much, and x scaled for the first one.
constexpr int kNumParts = 6;
struct Window {
  Term x;
  SmallVector<Term> parts;
};

/// Leaves out parts whose products with x are whole turns. Six parts give
/// 2^-157 quarters wherever they begin.
Window chooseParts(Term x) {
  static const double parts[] = {
      0x1.45f306dc9c882p-1, 0x1.4a7f09d5f47d4p-1, 0x1.a6ee06db14accp-1,
      0x1.3c439041fe516p-1, 0x1.d5ef5de2b0db8p-3, 0x1.2371d2126e970p-2,
      0x1.924bba8274600p-8, 0x1.21cfe1deb1cb1p-1, 0x1.4d39f74411af8p-3,
      0x1.4baed1213a671p-1, 0x1.8135a2fbf209cp-1, 0x1.91d639835339fp-1,
      0x1.272117e2ef7e4p-2, 0x1.41d8ffc4bffeep-2, 0x1.02cc07f79788cp-1,
      0x1.6b414da3eda6cp-2, 0x1.fb3c9f2c26dd2p-2, 0x1.d18fd9a797fa8p-1,
      0x1.6ba93dd63f5f2p-1, 0x1.f17b3d0739f78p-1, 0x1.4a525d4d7f6bfp-1,
      0x1.88fc6ae842b00p-2, 0x1.98237e3db5d5fp-1, 0x1.0cfbc209af436p-1};
  Window window{x, {}};
  for (int i = 0; i < kNumParts; ++i)
    window.parts.push_back(x.like(parts[i]));
  for (int first = 2; first + kNumParts <= int(std::size(parts)); first += 2) {
    Term isBeyond = x >= std::ldexp(1.0, 53 * (first + 1) + 2);
    window.x = select(isBeyond, x * std::ldexp(1.0, -53 * first), window.x);
    for (int i = 0; i < kNumParts; ++i)
      window.parts[i] = select(isBeyond, parts[first + i], window.parts[i]);
  }
  return window;
}

/// For all positive floats of f64. The sum has three parts: no float comes
/// nearer to a whole number of quarters than 2^-62.
Quarters<Pair> reduceWide(Term x) {
  Window window = chooseParts(x);
  Term sum = x.like(0), low = sum, lowest = sum;
  auto addTerm = [&](Term term) {
    Pair first = add(sum, withoutTurns(term));
    Pair second = add(low, first.low);
    sum = first.high;
    low = second.high;
    lowest = lowest + second.low;
  };
  for (int i = 0; i < kNumParts; ++i) {
    Pair product =
        multiply(window.x * std::ldexp(1.0, -53 * i), window.parts[i]);
    addTerm(product.high);
    addTerm(product.low);
  }
  Term count = roundEven(sum);
  Pair rest = add(sum - count, low);
  return {lowBits(count), {rest.high, rest.low + lowest}};
}

/// The sine of `count` quarters and an angle after them.
Term sineAfter(Term count, SineCosine angle) {
  Term size = select((count & 1) == 1, angle.cosine, angle.sine);
  return (size.bits() ^ ((count & 2) << 62)).fromBits();
}

/// Changes the sign of `x` if that of `sign` is set.
Term flipSign(Term x, Term sign) {
  Term bit = shiftUnsigned(sign.bits(), 63) << 63;
  return (x.bits() ^ bit).fromBits();
}

/// sin, cos, tan of |x| in quarters.
template <typename Rest> SineCosine ofQuarters(Quarters<Rest> quarters) {
  SineCosine angle = ofQuarter(quarters.rest);
  return {sineAfter(quarters.count, angle),
          sineAfter(quarters.count + 1, angle)};
}

/// What is its own sine and tangent.
Term keepTiny(Term y, Term x) { return select(abs(x) < 0x1p-27, x, y); }

//===----------------------------------------------------------------------===//
// Angles
//===----------------------------------------------------------------------===//

/// atan(z) for |z| <= tan(pi / 8). Fit: 6.4e-20.
Term smallAngle(Term z) {
  Term square = z * z;
  Term p = polynomial(square, {0x1.ef72269ccf754p-7, -0x1.1191655791fa1p-5,
                               0x1.70a04aaae230ap-5, -0x1.ab68f8cd9ef68p-5,
                               0x1.e16e8422b7b22p-5, -0x1.110c409a5f10cp-4,
                               0x1.3b136a6385fa4p-4, -0x1.745d1489345ccp-4,
                               0x1.c71c71b5bda8cp-4, -0x1.2492492471a9dp-3,
                               0x1.99999999995b4p-3, -0x1.5555555555554p-2});
  return fma(z * square, p, z);
}

/// The angle of the point (x, y) in [0, pi]: a multiple of pi / 4 and a small
/// angle, which is added to it or subtracted from it.
Term sizeOfAngle(Term y, Term x) {
  Term width = abs(x), height = abs(y);
  Term isSteep = height > width, isLeft = x.bits() < 0;
  Term large = select(isSteep, height, width);
  Term small = select(isSteep, width, height);
  // Their sum may overflow.
  Term factor = select(large > 0x1p1000, x.like(0x1p-100), 1);
  large = large * factor;
  small = small * factor;
  Term isDiagonal =
      (small > large * 0x1.a8279a0000000p-2) | (small == kInfinity);
  // tan(pi / 4 + w) = (1 + tan(w)) / (1 - tan(w))
  Term z = select(isDiagonal, small - large, small) /
           select(isDiagonal, small + large, large);
  z = select((large == 0) | (small == kInfinity), 0, z);
  Term angle = smallAngle(z);
  angle = select(isSteep ^ isLeft, -angle, angle);
  Term count = select(isDiagonal, x.like(1), 0);
  count = select(isSteep, 2 - count, count);
  count = select(isLeft, 4 - count, count);
  Pair base = multiply(count, x.like(kHalfPi / 2));
  return base.high + (angle + fma(count, kHalfPiLow / 2, base.low));
}

Term angle(Term y, Term x) {
  Term size = sizeOfAngle(y, x);
  // NaN of either.
  Term sum = x + y;
  return withSignOf(select(x == x, select(y == y, size, sum), sum), y);
}

/// sqrt(1 - x^2).
Term legOf(Term x) { return sqrt((1 - x) * (x + 1)); }

} // namespace

//===----------------------------------------------------------------------===//
// f64
//===----------------------------------------------------------------------===//

Term formulas::sinWide(Term x) {
  return keepTiny(flipSign(ofQuarters(reduceWide(abs(x))).sine, x), x);
}

Term formulas::cosWide(Term x) { return ofQuarters(reduceWide(abs(x))).cosine; }

Term formulas::tanWide(Term x) {
  SineCosine values = ofQuarters(reduceWide(abs(x)));
  return keepTiny(flipSign(values.sine / values.cosine, x), x);
}

Term formulas::atanWide(Term x) { return angle(x, x.like(1)); }
Term formulas::atan2Wide(Term y, Term x) { return angle(y, x); }
Term formulas::asinWide(Term x) { return angle(x, legOf(x)); }
Term formulas::acosWide(Term x) { return angle(legOf(x), x); }

//===----------------------------------------------------------------------===//
// f32 by way of f64
//===----------------------------------------------------------------------===//

Term formulas::sin(Term x) {
  return inF64(x, [](Term x) {
    return flipSign(ofQuarters(reduceNarrow(abs(x))).sine, x);
  });
}

Term formulas::cos(Term x) {
  return inF64(x,
               [](Term x) { return ofQuarters(reduceNarrow(abs(x))).cosine; });
}

Term formulas::tan(Term x) {
  return inF64(x, [](Term x) {
    SineCosine values = ofQuarters(reduceNarrow(abs(x)));
    return flipSign(values.sine / values.cosine, x);
  });
}

Term formulas::atan(Term x) { return inF64(x, atanWide); }
Term formulas::asin(Term x) { return inF64(x, asinWide); }
Term formulas::acos(Term x) { return inF64(x, acosWide); }

Term formulas::atan2(Term y, Term x) {
  return angle(y.toF64(), x.toF64()).toF32();
}
