// SPDX-License-Identifier: Apache-2.0

// Hyperbolic functions, their inverses, and the error functions, by
// exponentials and logarithms in f64.

#include "FormulaList.h"
#include "WideSteps.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::wide;

namespace {

/// (exp(x) - 1) / 4, which is finite where sinh and cosh are.
Term quarterOfExpm1(Term x) {
  // Beyond this limit they are infinite, as at it.
  Reduced r = reduceByLn2(clamp(x, 0, 710.6));
  Term quarter = powerOf2(r.power - 2);
  return fma(quarter, expm1OfRest(r.rest), quarter - 0.25);
}

/// log(1 + x), or log(2 x) where squares of x might overflow.
Term logOfSum(Term isLarge, Term x, Term more) {
  Term log = formulas::log1pWide(select(isLarge, x, more));
  return log + select(isLarge, x.like(kLn2), 0);
}

/// erf(a) for |a| <= 1. Fit: 1.1e-17.
Term smallErf(Term a) {
  Term p = polynomial(a * a, {0x1.0b709faf79c3cp-33, -0x1.a001de055c739p-30,
                              0x1.0d033f3fbe9cdp-26, -0x1.6265a211235cdp-23,
                              0x1.ba44e3f40f300p-20, -0x1.f4da0ec66d830p-17,
                              0x1.f9a3922ef3f09p-14, -0x1.c02db7d7684d4p-11,
                              0x1.565bcd24ce86bp-8, -0x1.b82ce31323b9bp-6,
                              0x1.ce2f21a044ef7p-4, -0x1.812746b037a1ap-2,
                              0x1.06eba8214db69p-3});
  return fma(a, p, a);
}

/// erfc(a) for a >= 0: exp(-a^2) * g / (1 + 2 a), where g is a polynomial of
/// (a - 3.5) / (a + 3.5) (Shepherd and Laframboise). Fit: 9.4e-18.
Term erfcOfSize(Term a) {
  // Zero from 27.3 on.
  a = select(a > 28, 28, a);
  Term g = polynomial(
      (a - 3.5) / (a + 3.5),
      {0x1.73fff5d7c88a8p-29,  0x1.7f98db2e2a0f8p-27,  -0x1.1e6eba6f44bcep-27,
       -0x1.9a80651a2ecf1p-24, 0x1.448ea822ab254p-28,  0x1.442b3c3628324p-21,
       -0x1.d31932c8b87f9p-25, -0x1.002ca9b44586dp-18, 0x1.392d06045a22bp-19,
       0x1.970dfce9f88d0p-16,  -0x1.66e5934640d02p-15, -0x1.fda96e2787974p-14,
       0x1.27e670111e7cfp-11,  -0x1.3cf364da38b37p-12, -0x1.143c4cd454633p-8,
       0x1.38ec666f13472p-6,   -0x1.8ff5ef766bca4p-5,  0x1.6861060476391p-4,
       -0x1.d76830c354bd6p-4,  0x1.8f702ec6b307fp-4,   -0x1.59e2c284b10d3p-7,
       -0x1.1ebd220ea593ap-3,  0x1.3e0a99a0ee914p+0});
  Pair square = multiply(a, a);
  Reduced r = reduceByLn2(-square.high);
  Term power = expm1OfRest(r.rest - square.low) + 1;
  return scale(power * (g / fma(a, 2, 1)), r.power);
}

} // namespace

//===----------------------------------------------------------------------===//
// Hyperbolic functions
//===----------------------------------------------------------------------===//

/// With q = exp(|x|) - 1, small for small x: (q + q / (q + 1)) / 2.
Term formulas::sinhWide(Term x) {
  Term size = abs(x);
  Term q = quarterOfExpm1(size);
  Term y = (q + q / fma(q, 4, 1)) * 2;
  return withSignOf(select(size < 0x1p-27, size, y), x);
}

Term formulas::coshWide(Term x) {
  Term e = quarterOfExpm1(abs(x)) + 0.25;
  return (e + 0.0625 / e) * 2;
}

Term formulas::tanhWide(Term x) {
  // tanh(20) rounds to 1.
  Term size = abs(x);
  Reduced r = reduceByLn2(select(size > 20, 20, size) * -2);
  Term factor = powerOf2(r.power);
  Term q = fma(factor, expm1OfRest(r.rest), factor - 1);
  return withSignOf(q / (q + 2), x);
}

/// log(a + sqrt(a^2 + 1)), small for small a.
Term formulas::asinhWide(Term x) {
  Term size = abs(x), square = size * size;
  Term more = size + square / (sqrt(square + 1) + 1);
  return withSignOf(logOfSum(size > 0x1p60, size, more), x);
}

/// log(x + sqrt(x^2 - 1)), small for x near 1.
Term formulas::acoshWide(Term x) {
  Term t = x - 1;
  Term y = logOfSum(x > 0x1p60, x, t + sqrt(t * (t + 2)));
  return select(x < 1, kNaN, y);
}

/// log((1 + a) / (1 - a)) / 2.
Term formulas::atanhWide(Term x) {
  Term size = abs(x);
  Term y = log1pWide(size * 2 / (1 - size)) * 0.5;
  return withSignOf(select(size < 0x1p-27, size, y), x);
}

//===----------------------------------------------------------------------===//
// Error functions
//===----------------------------------------------------------------------===//

Term formulas::erfWide(Term x) {
  Term size = abs(x);
  return withSignOf(select(size < 1, smallErf(size), 1 - erfcOfSize(size)), x);
}

/// Near zero and below it the result is near 1, and rounded once.
Term formulas::erfcWide(Term x) {
  Term size = abs(x);
  Term y = erfcOfSize(size);
  return select(size < 0.5, 1 - smallErf(x), select(x < 0, 2 - y, y));
}

//===----------------------------------------------------------------------===//
// f32 by way of f64
//===----------------------------------------------------------------------===//

Term formulas::sinh(Term x) { return inF64(x, sinhWide); }
Term formulas::cosh(Term x) { return inF64(x, coshWide); }
Term formulas::asinh(Term x) { return inF64(x, asinhWide); }
Term formulas::acosh(Term x) { return inF64(x, acoshWide); }
Term formulas::atanh(Term x) { return inF64(x, atanhWide); }
Term formulas::erfc(Term x) { return inF64(x, erfcWide); }
