// SPDX-License-Identifier: Apache-2.0

// Steps in f64 that formulas share: exponentials and logarithms with their
// arguments reduced, and numbers in two parts.
//
// Polynomials are minimax fits of our own, as those in f32 are.

#ifndef WEFT_MATH_WIDESTEPS_H
#define WEFT_MATH_WIDESTEPS_H

#include "Term.h"

#include <limits>

namespace mlir::weft::wide {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
/// Adding it rounds to an integer, which is then in the low bits.
constexpr double kRound = 0x1.8p52;
constexpr double kLn2 = 0x1.62e42fefa39efp-1;

/// A function of f32 by one of f64.
template <typename Function> Term inF64(Term x, Function function) {
  return function(x.toF64()).toF32();
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
Pair add(Term a, Term b);
/// a * b exactly.
Pair multiply(Term a, Term b);

//===----------------------------------------------------------------------===//
// Exponentials
//===----------------------------------------------------------------------===//

/// x = power * ln 2 + rest with |rest| <= ln 2 / 2.
struct Reduced {
  Term power;
  Term rest;
};

/// For |x| below 2^20.
Reduced reduceByLn2(Term x);
/// 2^power, for normal results.
Term powerOf2(Term power);
/// y * 2^power in two factors, so that results may be denormal.
Term scale(Term y, Term power);
/// exp(r) - 1 for |r| <= ln 2 / 2, small for small r.
Term expm1OfRest(Term r);

//===----------------------------------------------------------------------===//
// Logarithms
//===----------------------------------------------------------------------===//

/// x = mantissa * 2^exponent with the mantissa in [sqrt(1/2), sqrt(2)).
struct Split {
  Term exponent;
  Term mantissa;
};

/// For positive normal numbers.
Split splitNumber(Term x);
/// For positive numbers.
Split splitAny(Term x);
/// log(1 + d) for 1 + d in [sqrt(1/2), sqrt(2)], plus `tail`.
Term logOfRest(Term d, Term tail);
/// e * ln 2 + log(1 + d).
Term logOfSplit(Term d, Term e);
/// log of a positive number to some 2^-66 of it.
Pair logInPairs(Term x);
/// What logarithms are of zero, negative numbers, infinity and NaN, else `y`.
Term withLimits(Term y, Term x, double zero = 0);

} // namespace mlir::weft::wide

#endif // WEFT_MATH_WIDESTEPS_H
