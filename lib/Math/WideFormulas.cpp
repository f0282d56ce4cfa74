// SPDX-License-Identifier: Apache-2.0

// Formulas in f64 arithmetic: functions of f64, and functions of f32
// that are used too little to have formulas in f32. The latter are wide of the
// mark by some 2^-45 before they are rounded once.
//
// Polynomials are minimax fits of our own, as those in f32 are.

#include "FormulaList.h"
#include "WideSteps.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::wide;

namespace {

constexpr double kLog2E = 0x1.71547652b82fep+0, kLog10E = 0x1.bcb7b1526e50ep-2;

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

Term toFloat(Term integer, Term like) {
  return integer.cast<arith::SIToFPOp>(like.value.getType());
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

Term formulas::powOfIntegerWide(Term x, Term y) {
  Term power = toFloat(y, x);
  Term isOdd = (y & 1) == 1;
  Term size = sizeOfWidePower(x, power);
  return finishPower(size, x, power, isOdd.like(1), isOdd);
}

/// By logarithm, and one step of Newton from there.
Term formulas::cbrtWide(Term x) {
  Term size = abs(x), isTiny = size < 0x1p-900;
  // Products of denormals are not exact.
  Term scaled = select(isTiny, size * 0x1p300, size);
  Term y = expWide(logWide(scaled) * (1.0 / 3));
  Pair square = multiply(y, y);
  Term excess = fma(square.low, y, fma(square.high, y, -scaled));
  y = y - excess / (square.high * 3);
  y = select(isTiny, y * 0x1p-100, y);
  return withSignOf(select((size == 0) | (size == kInfinity), size, y), x);
}

//===----------------------------------------------------------------------===//
// f32 by way of f64
//===----------------------------------------------------------------------===//

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

Term formulas::pow(Term x, Term y) {
  Term base = x.toF64(), power = y.toF64();
  auto [isInteger, isOdd] = classifyInteger(power);
  Term size = sizeOfNarrowPower(base, power);
  return finishPower(size, base, power, isInteger, isOdd).toF32();
}

Term formulas::powOfInteger(Term x, Term y) {
  Term base = x.toF64(), power = toFloat(y, base);
  Term isOdd = (y & 1) == 1;
  Term size = sizeOfNarrowPower(base, power);
  return finishPower(size, base, power, isOdd.like(1), isOdd).toF32();
}
