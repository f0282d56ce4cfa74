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
Term exp2Wide(Term x);
Term expWide(Term x);
Term expm1Wide(Term x);
Term log10Wide(Term x);
Term log1pWide(Term x);
Term log2Wide(Term x);
Term logWide(Term x);
Term powWide(Term x, Term y);
Term tanhWide(Term x);

// In f32, computed in f64.
Term sin(Term x);
Term cos(Term x);
Term tan(Term x);
Term log2(Term x);
Term log10(Term x);
Term cbrt(Term x);
Term atan(Term x);
Term atan2(Term y, Term x);
Term asin(Term x);
Term acos(Term x);
Term sinh(Term x);
Term cosh(Term x);
Term pow(Term x, Term y);
Term powOfInteger(Term x, Term y);

} // namespace mlir::weft::formulas

#endif // WEFT_MATH_FORMULALIST_H
