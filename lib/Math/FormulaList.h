// SPDX-License-Identifier: Apache-2.0

// What each function is computed by. Formulas have no branches and no tables,
// and use IEEE additions, products, fused products, quotients and roots,
// integer ops, selections and bit casts only: the bits are the same on every
// machine and for every vector width.

#ifndef WEFT_MATH_FORMULALIST_H
#define WEFT_MATH_FORMULALIST_H

#include "Term.h"

namespace mlir::weft::formulas {

// In f32.
Term exp(Term x);
Term exp2(Term x);
Term expm1(Term x);
Term log(Term x);
Term log1p(Term x);
Term tanh(Term x);
Term erf(Term x);

// In the type of x.
Term rsqrt(Term x);

// In f64.
Term acosWide(Term x);
Term acoshWide(Term x);
Term asinWide(Term x);
Term asinhWide(Term x);
Term atan2Wide(Term y, Term x);
Term atanWide(Term x);
Term atanhWide(Term x);
Term cbrtWide(Term x);
Term cosWide(Term x);
Term coshWide(Term x);
Term erfWide(Term x);
Term erfcWide(Term x);
Term exp2Wide(Term x);
Term expWide(Term x);
Term expm1Wide(Term x);
Term log10Wide(Term x);
Term log1pWide(Term x);
Term log2Wide(Term x);
Term logWide(Term x);
Term powOfIntegerWide(Term x, Term y);
Term powWide(Term x, Term y);
Term sinWide(Term x);
Term sinhWide(Term x);
Term tanWide(Term x);
Term tanhWide(Term x);

// In f32, computed in f64.
Term acos(Term x);
Term acosh(Term x);
Term asin(Term x);
Term asinh(Term x);
Term atan(Term x);
Term atan2(Term y, Term x);
Term atanh(Term x);
Term cbrt(Term x);
Term cos(Term x);
Term cosh(Term x);
Term erfc(Term x);
Term log10(Term x);
Term log2(Term x);
Term pow(Term x, Term y);
Term powOfInteger(Term x, Term y);
Term sin(Term x);
Term sinh(Term x);
Term tan(Term x);

} // namespace mlir::weft::formulas

#endif // WEFT_MATH_FORMULALIST_H
