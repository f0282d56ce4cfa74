// SPDX-License-Identifier: Apache-2.0

// Indices that are multiples of a number, as those of every second element are:
//   8 + 2 ((1 - i) / 2) == 9 - i
// holds where 1 - i is even, and is not (i == 2 (i / 2)). There an index is
// known but for the quotient, so that
//   (9 - i) / 2 is 4 - i / 2.

#include "Elements.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::weft::proof;

/// The remainder, from 0 on.
static int64_t getRemainder(int64_t number, int64_t divisor) {
  int64_t remainder = number % divisor;
  return remainder < 0 ? remainder + divisor : remainder;
}

/// Of `difference` = 0: the x and the m of which it says that x is a multiple
/// of m. It is m (x / m) - x, or x - m (x / m).
std::optional<std::pair<const Element *, int64_t>>
ElementTable::findMultiple(const Element *difference) {
  for (auto [quotient, factor] : getTerms(difference).terms) {
    if (quotient->kind != ElementKind::Quotient ||
        std::abs(factor) != quotient->numbers[0])
      continue;
    const Element *dividend = quotient->operands[0];
    const Element *rest = add(difference, quotient, -factor);
    if (add(rest, dividend, factor > 0 ? 1 : -1) == getIndex(0))
      return {{dividend, quotient->numbers[0]}};
  }
  return std::nullopt;
}

/// Whether `index` is a multiple of `divisor`, in one form of all that say so.
const Element *ElementTable::isMultiple(Attribute name, DictionaryAttr details,
                                        Type type, const Element *index,
                                        int64_t divisor) {
  Terms terms = getTerms(index);
  terms.constant = getRemainder(terms.constant, divisor);
  for (auto &term : terms.terms)
    term.second = getRemainder(term.second, divisor);
  llvm::erase_if(terms.terms, [](auto &term) { return term.second == 0; });
  if (terms.terms.empty())
    return getConstant(IntegerAttr::get(type, terms.constant == 0));
  if (terms.terms.size() == 1 && 2 * terms.terms[0].second > divisor) {
    terms.terms[0].second = divisor - terms.terms[0].second;
    terms.constant = getRemainder(-terms.constant, divisor);
  }
  bool isOdd = divisor == 2 && terms.constant == 1;
  if (isOdd)
    terms.constant = 0;
  const Element *one = getSum(std::move(terms));
  const Element *least = scale(floorDiv(one, divisor), divisor);
  const Element *made =
      getConstantValue(least)
          ? compareIntegers(arith::CmpIPredicate::eq, one, least)
          : makeScalar(name, details, type, {least, one});
  return isOdd ? negate(made) : made;
}

/// Whether `difference`, which is of a digit alone, is 0: the digit is some
/// number. Of two, there is one form for both.
const Element *ElementTable::isDigit(Attribute name, DictionaryAttr details,
                                     Type type, const Terms &difference) {
  auto [digit, factor] = difference.terms[0];
  int64_t number = -difference.constant / factor;
  if (number * factor != -difference.constant)
    return getConstant(IntegerAttr::get(type, 0));
  bool isOther = digit->numbers[1] == 2 && number == 1;
  const Element *made =
      makeScalar(name, details, type, {digit, getIndex(isOther ? 0 : number)});
  return isOther ? negate(made) : made;
}

const Element *ElementTable::foldEquality(Attribute name,
                                          DictionaryAttr details, Type type,
                                          const Element *a, const Element *b) {
  const Element *difference = add(a, b, -1);
  if (auto number =
          dyn_cast_if_present<IntegerAttr>(getConstantValue(difference)))
    return getConstant(IntegerAttr::get(type, number.getInt() == 0));
  if (Range range = difference->range;
      range && (range->first > 0 || range->second < 0))
    return getConstant(IntegerAttr::get(type, 0));
  Terms terms = getTerms(difference);
  if (terms.terms.size() == 1 && isChosenDigit(terms.terms[0].first))
    return isDigit(name, details, type, terms);
  if (auto multiple = findMultiple(difference))
    return isMultiple(name, details, type, multiple->first, multiple->second);
  return nullptr;
}

const Element *ElementTable::assumeMultiple(const Element *element,
                                            const Element *fact, bool holds) {
  if (!fact->isOp("arith.cmpi") || !fact->operands[0]->type.isIndex())
    return element;
  auto attr = cast<DictionaryAttr>(fact->details)
                  .getAs<arith::CmpIPredicateAttr>("predicate");
  if (!attr || attr.getValue() != arith::CmpIPredicate::eq)
    return element;
  auto multiple = findMultiple(add(fact->operands[0], fact->operands[1], -1));
  if (!multiple)
    return element;
  auto [index, divisor] = *multiple;
  Terms terms = getTerms(index);
  bool isOfOne = terms.terms.size() == 1 && terms.terms[0].second == 1 &&
                 terms.terms[0].first->kind == ElementKind::Variable;
  // What is not a multiple of 2 is one more.
  if (!isOfOne || (!holds && divisor != 2))
    return element;
  const Element *variable = terms.terms[0].first;
  int64_t rest = getRemainder(-terms.constant + !holds, divisor);
  Assignment known = {
      {variable,
       add(scale(floorDiv(variable, divisor), divisor), getIndex(rest))}};
  const Element *made = substitute(element, known);
  // One form, or none.
  return substitute(made, known) == made ? made : element;
}

const Element *ElementTable::assumeDigit(const Element *element,
                                         const Element *fact, bool holds) {
  if (!fact->isOp("arith.cmpi") || !isChosenDigit(fact->operands[0]))
    return element;
  auto attr = cast<DictionaryAttr>(fact->details)
                  .getAs<arith::CmpIPredicateAttr>("predicate");
  auto number =
      dyn_cast_if_present<IntegerAttr>(getConstantValue(fact->operands[1]));
  const Element *digit = fact->operands[0];
  bool isKnown = holds || digit->numbers[1] == 2;
  if (!attr || attr.getValue() != arith::CmpIPredicate::eq || !number ||
      !isKnown)
    return element;
  int64_t known = holds ? number.getInt() : 1 - number.getInt();
  return substitute(element, {{digit, getIndex(known)}});
}
