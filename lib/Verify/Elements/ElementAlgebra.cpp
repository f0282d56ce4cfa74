// SPDX-License-Identifier: Apache-2.0

// Scalars in the one form of those that upstream's patterns take for each
// other. The passes between two programs apply these patterns wherever ops meet
// in one body, so that both sides have to be brought to one form, whichever of
// them they come in. The rules here are written down from the arithmetic and
// share no code with the patterns.

#include "Elements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

#include <cmath>

using namespace mlir;
using namespace mlir::weft::proof;
using arith::CmpIPredicate;

static std::optional<APInt> getInteger(const Element *element) {
  auto number =
      dyn_cast_if_present<IntegerAttr>(ElementTable::getConstantValue(element));
  if (!number || !element->type.isInteger())
    return std::nullopt;
  return number.getValue();
}

const Element *ElementTable::getNumber(Type type, const APInt &value) {
  return getConstant(IntegerAttr::get(type, value));
}

const Element *ElementTable::getPlain(StringRef op, Type type,
                                      ArrayRef<const Element *> operands,
                                      ArrayRef<NamedAttribute> attrs) {
  auto name = StringAttr::get(context, op);
  return getScalar(name, getDetails(name, attrs), type, operands);
}

/// Says whether it is an op of this name with no attributes but what it has by
/// itself: one that may overflow, and rounds as it says.
bool ElementTable::isPlain(const Element *element, StringRef op) {
  return element->isOp(op) &&
         element->details == getDetails(cast<StringAttr>(element->name), {});
}

const Element *ElementTable::compareIntegers(CmpIPredicate predicate,
                                             const Element *a,
                                             const Element *b) {
  NamedAttribute attr(StringAttr::get(context, "predicate"),
                      arith::CmpIPredicateAttr::get(context, predicate));
  return getPlain("arith.cmpi", IntegerType::get(context, 1), {a, b}, attr);
}

//===----------------------------------------------------------------------===//
// Sums and products
//===----------------------------------------------------------------------===//

/// A sum or difference of x and a number is x or -x, and one number.
const Element *
ElementTable::foldIntegerSum(bool isDifference, Type type,
                             ArrayRef<const Element *> operands) {
  const Element *a = operands[0], *b = operands[1];
  std::optional<APInt> first = getInteger(a), second = getInteger(b);
  if (bool(first) == bool(second))
    return foldDifference(isDifference, type, operands);
  const Element *base = first ? b : a;
  APInt number = first ? *first : *second;
  bool isNegative = isDifference && first;
  if (isDifference && second)
    number = -number;
  if (isPlain(base, "arith.addi")) {
    if (std::optional<APInt> inner = getInteger(base->operands[1])) {
      number += isNegative ? -*inner : *inner;
      base = base->operands[0];
    }
  } else if (isPlain(base, "arith.subi")) {
    if (std::optional<APInt> inner = getInteger(base->operands[0])) {
      number += isNegative ? -*inner : *inner;
      base = base->operands[1];
      isNegative = !isNegative;
    }
  }
  if (!isNegative && number.isZero())
    return base;
  auto name =
      StringAttr::get(context, isNegative ? "arith.subi" : "arith.addi");
  const Element *constant = getNumber(type, number);
  return isNegative
             ? makeScalar(name, getDetails(name, {}), type, {constant, base})
             : makeScalar(name, getDetails(name, {}), type, {base, constant});
}

/// What is multiplied by -1, or null.
const Element *ElementTable::getOpposite(const Element *element) {
  if (!isPlain(element, "arith.muli"))
    return nullptr;
  std::optional<APInt> factor = getInteger(element->operands[1]);
  return factor && factor->isAllOnes() ? element->operands[0] : nullptr;
}

/// x + -1 * y is x - y, -1 * x - y is -1 * (x + y), and (x - y) - x is 0 - y.
const Element *
ElementTable::foldDifference(bool isDifference, Type type,
                             ArrayRef<const Element *> operands) {
  const Element *a = operands[0], *b = operands[1];
  if (isDifference) {
    if (isPlain(a, "arith.subi") && a->operands[0] == b)
      return getPlain("arith.subi", type,
                      {getNumber(type, APInt(type.getIntOrFloatBitWidth(), 0)),
                       a->operands[1]});
    if (const Element *opposite = getOpposite(a))
      return getPlain(
          "arith.muli", type,
          {getPlain("arith.addi", type, {opposite, b}),
           getNumber(type, APInt::getAllOnes(type.getIntOrFloatBitWidth()))});
    return nullptr;
  }
  for (auto [one, other] : {std::pair(a, b), std::pair(b, a)})
    if (const Element *opposite = getOpposite(other))
      return getPlain("arith.subi", type, {one, opposite});
  return nullptr;
}

/// Two factors that are numbers are one.
const Element *
ElementTable::foldIntegerProduct(Type type,
                                 ArrayRef<const Element *> operands) {
  for (auto [x, factor] : {std::pair(operands[0], operands[1]),
                           std::pair(operands[1], operands[0])}) {
    std::optional<APInt> outer = getInteger(factor);
    if (!outer || !isPlain(x, "arith.muli"))
      continue;
    if (std::optional<APInt> inner = getInteger(x->operands[1]))
      return getPlain("arith.muli", type,
                      {x->operands[0], getNumber(type, *outer * *inner)});
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Bits and casts
//===----------------------------------------------------------------------===//

/// Both are made wider in the same way, from the same type.
static bool areWidened(const Element *a, const Element *b) {
  return (a->isOp("arith.extui") || a->isOp("arith.extsi")) &&
         b->isOp(cast<StringAttr>(a->name).getValue()) &&
         a->details == b->details &&
         a->operands[0]->type == b->operands[0]->type;
}

/// What is done bit by bit to numbers that were made wider is done to those.
const Element *ElementTable::foldBits(StringRef op, Type type,
                                      ArrayRef<const Element *> operands) {
  const Element *a = operands[0], *b = operands[1];
  if (areWidened(a, b))
    return getPlain(
        cast<StringAttr>(a->name).getValue(), type,
        getPlain(op, a->operands[0]->type, {a->operands[0], b->operands[0]}));
  if (op != "arith.xori" || !type.isInteger(1) || getInteger(b) ||
      getInteger(a))
    return nullptr;
  // Of a negation that one of both is different is negated.
  const Element *inA = getNegated(a), *inB = getNegated(b);
  if (!inA && !inB)
    return nullptr;
  const Element *differ = getPlain(op, type, {inA ? inA : a, inB ? inB : b});
  return bool(inA) != bool(inB) ? negate(differ) : differ;
}

/// Casts of casts.
const Element *ElementTable::foldCast(StringRef op, Attribute name,
                                      DictionaryAttr details, Type type,
                                      const Element *from) {
  bool isWidened = from->isOp("arith.extui") || from->isOp("arith.extsi");
  if (op == "arith.bitcast" && from->isOp("arith.bitcast"))
    return from->operands[0]->type == type
               ? from->operands[0]
               : getScalar(name, details, type, from->operands);
  if (op == "arith.extsi" && from->isOp("arith.extui"))
    return getPlain("arith.extui", type, from->operands);
  bool isIndex = (op == "arith.index_cast" && from->isOp("arith.extsi")) ||
                 (op == "arith.index_castui" && from->isOp("arith.extui"));
  if (isIndex && type.isIndex())
    return getScalar(name, details, type, from->operands);
  if (op != "arith.trunci")
    return nullptr;
  unsigned width = type.getIntOrFloatBitWidth();
  if (isWidened && width > from->operands[0]->type.getIntOrFloatBitWidth())
    return getScalar(from->name, cast<DictionaryAttr>(from->details), type,
                     from->operands);
  // The bits that a shift brings in are cut off again.
  if (isPlain(from, "arith.shrsi"))
    if (std::optional<APInt> count = getInteger(from->operands[1]);
        count && count->ule(from->type.getIntOrFloatBitWidth() - width))
      return getScalar(name, details, type,
                       getPlain("arith.shrui", from->type, from->operands));
  return nullptr;
}

/// Of numbers: 1 where a condition holds, else 0, or the other way round.
const Element *ElementTable::foldBoolean(Type type,
                                         ArrayRef<const Element *> operands) {
  std::optional<APInt> yes = getInteger(operands[1]),
                       no = getInteger(operands[2]);
  if (!yes || !no || type.isInteger(1))
    return nullptr;
  if (yes->isOne() && no->isZero())
    return getPlain("arith.extui", type, operands[0]);
  if (yes->isZero() && no->isOne())
    return getPlain("arith.extui", type, negate(operands[0]));
  return nullptr;
}

/// The signs of two factors, or of what is divided and by what, are lost.
const Element *ElementTable::foldSigns(Attribute name, DictionaryAttr details,
                                       Type type,
                                       ArrayRef<const Element *> operands) {
  const Element *a = operands[0], *b = operands[1];
  if (details != getDetails(cast<StringAttr>(name), {}) ||
      !isPlain(a, "arith.negf") || !isPlain(b, "arith.negf"))
    return nullptr;
  return getScalar(name, details, type, {a->operands[0], b->operands[0]});
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

/// Comparisons of truth values: true is 1, or -1 where there are signs.
const Element *ElementTable::compareBooleans(CmpIPredicate predicate,
                                             const Element *a,
                                             const Element *b) {
  auto isBelow = [&](const Element *a, const Element *b) {
    return getPlain("arith.andi", a->type, {negate(a), b});
  };
  switch (predicate) {
  case CmpIPredicate::eq:
    return negate(getPlain("arith.xori", a->type, {a, b}));
  case CmpIPredicate::ne:
    return getPlain("arith.xori", a->type, {a, b});
  case CmpIPredicate::ult:
  case CmpIPredicate::sgt:
    return isBelow(a, b);
  case CmpIPredicate::ugt:
  case CmpIPredicate::slt:
    return isBelow(b, a);
  case CmpIPredicate::uge:
  case CmpIPredicate::sle:
    return negate(isBelow(a, b));
  case CmpIPredicate::ule:
  case CmpIPredicate::sge:
    return negate(isBelow(b, a));
  }
  return nullptr;
}

static CmpIPredicate getUnsigned(CmpIPredicate predicate) {
  switch (predicate) {
  case CmpIPredicate::slt:
    return CmpIPredicate::ult;
  case CmpIPredicate::sle:
    return CmpIPredicate::ule;
  case CmpIPredicate::sgt:
    return CmpIPredicate::ugt;
  case CmpIPredicate::sge:
    return CmpIPredicate::uge;
  default:
    return predicate;
  }
}

const Element *
ElementTable::foldIntegerComparison(DictionaryAttr details,
                                    ArrayRef<const Element *> operands) {
  const Element *a = operands[0], *b = operands[1];
  auto attr = details.getAs<arith::CmpIPredicateAttr>("predicate");
  if (!attr || (getInteger(a) && getInteger(b)))
    return nullptr;
  CmpIPredicate predicate = attr.getValue();
  if (a->type.isInteger(1))
    return compareBooleans(predicate, a, b);
  if (areWidened(a, b))
    return compareIntegers(a->isOp("arith.extui") ? getUnsigned(predicate)
                                                  : predicate,
                           a->operands[0], b->operands[0]);
  std::optional<APInt> number = getInteger(b);
  if (!number)
    return nullptr;
  bool isOfBoolean = (a->isOp("arith.extui") || a->isOp("arith.extsi")) &&
                     a->operands[0]->type.isInteger(1);
  if (predicate == CmpIPredicate::eq && number->isZero() && isOfBoolean)
    return negate(a->operands[0]);
  // At most a number is below the next, if there is one.
  if (predicate == CmpIPredicate::sle && !number->isMaxSignedValue())
    return compareIntegers(CmpIPredicate::slt, a,
                           getNumber(a->type, *number + 1));
  if (predicate == CmpIPredicate::ule && !number->isMaxValue())
    return compareIntegers(CmpIPredicate::ult, a,
                           getNumber(a->type, *number + 1));
  return nullptr;
}

namespace {

/// What a comparison of floats asks of numbers that are none of them NaN.
enum class Asked { Nothing, Equal, Below, BelowOrEqual, IsNumber };

} // namespace

/// And whether it is the opposite that is asked.
static std::pair<Asked, bool> getAsked(arith::CmpFPredicate predicate) {
  using arith::CmpFPredicate;
  switch (predicate) {
  case CmpFPredicate::OEQ:
  case CmpFPredicate::UEQ:
    return {Asked::Equal, false};
  case CmpFPredicate::ONE:
  case CmpFPredicate::UNE:
    return {Asked::Equal, true};
  case CmpFPredicate::OLT:
  case CmpFPredicate::ULT:
    return {Asked::Below, false};
  case CmpFPredicate::OGE:
  case CmpFPredicate::UGE:
    return {Asked::Below, true};
  case CmpFPredicate::OLE:
  case CmpFPredicate::ULE:
    return {Asked::BelowOrEqual, false};
  case CmpFPredicate::OGT:
  case CmpFPredicate::UGT:
    return {Asked::BelowOrEqual, true};
  case CmpFPredicate::ORD:
    return {Asked::IsNumber, false};
  case CmpFPredicate::UNO:
    return {Asked::IsNumber, true};
  default:
    return {Asked::Nothing, false};
  }
}

/// An integer as a float, compared with a number, is one compared with an
/// integer: where each is a float, or the number is so small that no integer is
/// rounded across it. Of types that have infinities, and no NaN for what is
/// too large.
const Element *
ElementTable::foldFloatComparison(DictionaryAttr details,
                                  ArrayRef<const Element *> operands) {
  const Element *from = operands[0];
  bool isSigned = from->isOp("arith.sitofp");
  auto attr = details.getAs<arith::CmpFPredicateAttr>("predicate");
  auto limit = dyn_cast_if_present<FloatAttr>(getConstantValue(operands[1]));
  if ((!isSigned && !from->isOp("arith.uitofp")) || !attr || !limit)
    return nullptr;
  const Element *integer = from->operands[0];
  unsigned width = integer->type.getIntOrFloatBitWidth();
  auto type = cast<FloatType>(limit.getType());
  double value = limit.getValueAsDouble();
  auto [asked, isOpposite] = getAsked(attr.getValue());
  unsigned exact = type.getFPMantissaWidth();
  bool isExact = width - isSigned <= exact ||
                 std::abs(value) < std::ldexp(1.0, std::min(exact, 53u) - 1);
  bool hasInfinities =
      type.isF16() || type.isBF16() || type.isF32() || type.isF64();
  if (asked == Asked::Nothing || width > 64 || !hasInfinities ||
      std::isnan(value) || !isExact)
    return nullptr;
  auto say = [&, opposite = isOpposite](const Element *answer) {
    return opposite ? negate(answer) : answer;
  };
  auto decide = [&](bool holds) {
    return say(getConstant(Builder(context).getBoolAttr(holds)));
  };
  if (asked == Asked::IsNumber)
    return decide(true);
  if (asked == Asked::Equal && value != std::floor(value))
    return decide(false);
  // Below 2.5 is below 3, at most 2.5 is below 3, at most 3 is below 4.
  double bound = asked == Asked::Below          ? std::ceil(value)
                 : asked == Asked::BelowOrEqual ? std::floor(value) + 1
                                                : value;
  double least = isSigned ? -std::ldexp(1.0, width - 1) : 0;
  double end = std::ldexp(1.0, width - isSigned);
  if (bound >= end)
    return decide(asked != Asked::Equal);
  if (bound < least)
    return decide(false);
  APInt number(width, isSigned ? uint64_t(int64_t(bound)) : uint64_t(bound),
               isSigned);
  return say(compareIntegers(asked == Asked::Equal ? CmpIPredicate::eq
                             : isSigned            ? CmpIPredicate::slt
                                                   : CmpIPredicate::ult,
                             integer, getNumber(integer->type, number)));
}

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

/// The form of a scalar op that is the same for all that mean it, or null if it
/// has that form.
const Element *ElementTable::foldAlgebra(Attribute name, DictionaryAttr details,
                                         Type type,
                                         ArrayRef<const Element *> operands) {
  StringRef op = cast<StringAttr>(name).getValue();
  if (!op.consume_front("arith."))
    return nullptr;
  StringRef whole = cast<StringAttr>(name).getValue();
  bool isPlainOp = details == getDetails(cast<StringAttr>(name), {});
  bool isInteger = type.isInteger();
  if (isInteger && isPlainOp && (op == "addi" || op == "subi"))
    return foldIntegerSum(op == "subi", type, operands);
  if (isInteger && isPlainOp && op == "muli")
    return foldIntegerProduct(type, operands);
  if (isInteger && (op == "andi" || op == "ori" || op == "xori"))
    return foldBits(whole, type, operands);
  if (isInteger && op == "select")
    return foldBoolean(type, operands);
  if (op == "mulf" || op == "divf")
    return foldSigns(name, details, type, operands);
  if (op == "cmpi" && operands[0]->type.isInteger())
    return foldIntegerComparison(details, operands);
  if (op == "cmpf")
    return foldFloatComparison(details, operands);
  return operands.size() == 1
             ? foldCast(whole, name, details, type, operands[0])
             : nullptr;
}
