// SPDX-License-Identifier: Apache-2.0

// A formula's values, with operators that emit ops: what is written in C++ is
// the arithmetic that compiled code does, each op rounded once, with no
// fast-math flag. Numbers take the type of the term beside them.

#ifndef WEFT_MATH_TERM_H
#define WEFT_MATH_TERM_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace mlir::weft {

class Term;

/// A term or a number. Numbers are exact in f64, integers too.
struct Operand {
  Operand(const Term &term);
  Operand(double number) : number(number) {}

  Value value;
  double number = 0;
};

/// A scalar of type f32, f64, i32, i64 or, of a comparison, i1.
class Term {
public:
  Term(OpBuilder &builder, Location loc, Value value)
      : value(value), builder(&builder), loc(loc) {}

  /// `value` as a term with this one's builder and location.
  Term with(Value value) const { return Term(*builder, loc, value); }
  /// The operand as a term of this one's type.
  Term like(Operand operand) const;

  template <typename OpTy> Term unary() const {
    return with(OpTy::create(*builder, loc, value));
  }
  template <typename OpTy> Term binary(Operand right) const {
    return with(OpTy::create(*builder, loc, value, like(right).value));
  }
  /// Converts to another type by a cast op.
  template <typename OpTy> Term cast(Type type) const {
    return with(OpTy::create(*builder, loc, type, value));
  }

  Term compare(arith::CmpFPredicate floats, arith::CmpIPredicate integers,
               Operand right) const;
  /// This condition's choice.
  Term choose(Term a, Term b) const {
    return with(
        arith::SelectOp::create(*builder, loc, value, a.value, b.value));
  }
  Term multiplyAdd(Term b, Term c) const {
    return with(math::FmaOp::create(*builder, loc, value, b.value, c.value));
  }

  bool isFloat() const { return isa<FloatType>(value.getType()); }
  unsigned getWidth() const { return value.getType().getIntOrFloatBitWidth(); }

  /// A float's bits as an integer.
  Term bits() const;
  /// The float that has these bits.
  Term fromBits() const;
  Term toF64() const { return cast<arith::ExtFOp>(builder->getF64Type()); }
  Term toF32() const { return cast<arith::TruncFOp>(builder->getF32Type()); }

  Value value;

private:
  OpBuilder *builder;
  Location loc;
};

inline Operand::Operand(const Term &term) : value(term.value) {}

// Arithmetic on floats or integers.
Term operator+(Term a, Operand b);
Term operator-(Term a, Operand b);
Term operator*(Term a, Operand b);
inline Term operator/(Term a, Operand b) { return a.binary<arith::DivFOp>(b); }
inline Term operator-(double a, Term b) { return b.like(a) - b; }
inline Term operator/(double a, Term b) { return b.like(a) / b; }
inline Term operator-(Term a) { return a.unary<arith::NegFOp>(); }

// On integers and conditions.
inline Term operator&(Term a, Operand b) { return a.binary<arith::AndIOp>(b); }
inline Term operator|(Term a, Operand b) { return a.binary<arith::OrIOp>(b); }
inline Term operator^(Term a, Operand b) { return a.binary<arith::XOrIOp>(b); }
inline Term operator<<(Term a, Operand b) { return a.binary<arith::ShLIOp>(b); }
/// Of signed integers.
inline Term operator>>(Term a, Operand b) {
  return a.binary<arith::ShRSIOp>(b);
}
inline Term shiftUnsigned(Term a, Operand b) {
  return a.binary<arith::ShRUIOp>(b);
}

// Comparisons of floats do not hold for NaN, but for != ; integers are signed.
Term operator<(Term a, Operand b);
Term operator>(Term a, Operand b);
Term operator<=(Term a, Operand b);
Term operator>=(Term a, Operand b);
Term operator==(Term a, Operand b);
Term operator!=(Term a, Operand b);

/// `a` where the condition holds, else `b`; at least one is a term.
Term select(Term condition, Operand a, Operand b);

/// a * b + c, rounded once.
Term fma(Term a, Operand b, Operand c);
/// coefficients[0] * x^n + ... + coefficients[n], by Horner's rule.
Term polynomial(Term x, ArrayRef<double> coefficients);

inline Term abs(Term x) { return x.unary<math::AbsFOp>(); }
inline Term sqrt(Term x) { return x.unary<math::SqrtOp>(); }
inline Term roundEven(Term x) { return x.unary<math::RoundEvenOp>(); }
inline Term withSignOf(Term x, Term sign) {
  return x.binary<math::CopySignOp>(sign);
}
/// `x`, but not less than `low` nor more than `high`; NaN stays.
Term clamp(Term x, double low, double high);

} // namespace mlir::weft

#endif // WEFT_MATH_TERM_H
