// SPDX-License-Identifier: Apache-2.0

// The ops behind the operators on terms.

#include "Term.h"

using namespace mlir;
using namespace mlir::weft;

Term Term::like(Operand operand) const {
  if (operand.value)
    return with(operand.value);
  Type type = value.getType();
  TypedAttr attr;
  if (isFloat())
    attr = builder->getFloatAttr(type, operand.number);
  else
    attr = builder->getIntegerAttr(type, int64_t(operand.number));
  return with(arith::ConstantOp::create(*builder, loc, attr));
}

Term Term::bits() const {
  return cast<arith::BitcastOp>(builder->getIntegerType(getWidth()));
}

Term Term::fromBits() const {
  return cast<arith::BitcastOp>(getWidth() == 32 ? Type(builder->getF32Type())
                                                 : builder->getF64Type());
}

template <typename FloatOp, typename IntegerOp>
static Term arithmetic(Term a, Operand b) {
  return a.isFloat() ? a.binary<FloatOp>(b) : a.binary<IntegerOp>(b);
}

Term weft::operator+(Term a, Operand b) {
  return arithmetic<arith::AddFOp, arith::AddIOp>(a, b);
}
Term weft::operator-(Term a, Operand b) {
  return arithmetic<arith::SubFOp, arith::SubIOp>(a, b);
}
Term weft::operator*(Term a, Operand b) {
  return arithmetic<arith::MulFOp, arith::MulIOp>(a, b);
}

Term Term::compare(arith::CmpFPredicate floats, arith::CmpIPredicate integers,
                   Operand right) const {
  Value b = like(right).value;
  if (isFloat())
    return with(arith::CmpFOp::create(*builder, loc, floats, value, b));
  return with(arith::CmpIOp::create(*builder, loc, integers, value, b));
}

Term weft::operator<(Term a, Operand b) {
  return a.compare(arith::CmpFPredicate::OLT, arith::CmpIPredicate::slt, b);
}
Term weft::operator>(Term a, Operand b) {
  return a.compare(arith::CmpFPredicate::OGT, arith::CmpIPredicate::sgt, b);
}
Term weft::operator<=(Term a, Operand b) {
  return a.compare(arith::CmpFPredicate::OLE, arith::CmpIPredicate::sle, b);
}
Term weft::operator>=(Term a, Operand b) {
  return a.compare(arith::CmpFPredicate::OGE, arith::CmpIPredicate::sge, b);
}
Term weft::operator==(Term a, Operand b) {
  return a.compare(arith::CmpFPredicate::OEQ, arith::CmpIPredicate::eq, b);
}
Term weft::operator!=(Term a, Operand b) {
  return a.compare(arith::CmpFPredicate::UNE, arith::CmpIPredicate::ne, b);
}

Term weft::select(Term condition, Operand a, Operand b) {
  Term typed = condition.with(a.value ? a.value : b.value);
  return condition.choose(typed.like(a), typed.like(b));
}

Term weft::fma(Term a, Operand b, Operand c) {
  return a.multiplyAdd(a.like(b), a.like(c));
}

Term weft::polynomial(Term x, ArrayRef<double> coefficients) {
  Term sum = x.like(coefficients.front());
  for (double coefficient : coefficients.drop_front())
    sum = fma(sum, x, coefficient);
  return sum;
}

Term weft::clamp(Term x, double low, double high) {
  Term bounded = select(x > high, high, x);
  return select(bounded < low, low, bounded);
}
