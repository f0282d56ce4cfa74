// SPDX-License-Identifier: Apache-2.0

// Indices are sums of variables, quotients, and numbers that come from data.
// What a reshape does to an index, and another undoes, falls away by the ranges
// of variables: (8 a + b) / 8 is a, if b is below 8. A remainder is written as
// x - c (x / c).

#include "Elements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace mlir::weft::proof;

ElementTable::Terms ElementTable::getTerms(const Element *index) {
  Terms terms;
  if (TypedAttr value = getConstantValue(index))
    if (auto number = dyn_cast<IntegerAttr>(value)) {
      terms.constant = number.getValue().getSExtValue();
      return terms;
    }
  if (index->kind != ElementKind::Sum) {
    terms.terms.push_back({index, 1});
    return terms;
  }
  terms.constant = index->numbers[0];
  for (auto [i, operand] : llvm::enumerate(index->operands))
    terms.terms.push_back({operand, index->numbers[i + 1]});
  return terms;
}

void ElementTable::addTerms(Terms &terms, const Terms &other, int64_t factor) {
  terms.constant += other.constant * factor;
  for (auto [element, count] : other.terms) {
    auto *it = llvm::find_if(
        terms.terms, [&, e = element](auto &term) { return term.first == e; });
    if (it == terms.terms.end()) {
      terms.terms.push_back({element, count * factor});
      continue;
    }
    it->second += count * factor;
    if (it->second == 0)
      terms.terms.erase(it);
  }
}

const Element *ElementTable::getIndex(int64_t number) {
  const Element *&index = indices[number];
  if (!index)
    index = getConstant(IntegerAttr::get(IndexType::get(context), number));
  return index;
}

const Element *ElementTable::getSum(Terms terms) {
  llvm::erase_if(terms.terms, [](auto &term) { return term.second == 0; });
  if (terms.terms.empty())
    return getIndex(terms.constant);
  if (terms.terms.size() == 1 && terms.constant == 0 &&
      terms.terms[0].second == 1)
    return terms.terms[0].first;
  // By factors first: those do not depend on how variables are numbered.
  llvm::sort(terms.terms, [](auto &a, auto &b) {
    return std::tuple(-a.second, a.first->pattern, a.first->id) <
           std::tuple(-b.second, b.first->pattern, b.first->id);
  });
  Element sum{ElementKind::Sum};
  sum.type = IndexType::get(context);
  sum.numbers.push_back(terms.constant);
  for (auto [element, factor] : terms.terms) {
    sum.operands.push_back(element);
    sum.numbers.push_back(factor);
  }
  return get(std::move(sum));
}

const Element *ElementTable::add(const Element *a, const Element *b,
                                 int64_t factor) {
  Terms terms = getTerms(a);
  addTerms(terms, getTerms(b), factor);
  return getSum(std::move(terms));
}

const Element *ElementTable::scale(const Element *a, int64_t factor) {
  Terms terms;
  addTerms(terms, getTerms(a), factor);
  return getSum(std::move(terms));
}

/// The range of a sum with f (x / d) - f c (x / (d c)) in it, f times the
/// remainder of x / d by c; `last` is the second of these.
ElementTable::Range ElementTable::getRemainderRange(const Terms &terms,
                                                    const Element *last,
                                                    int64_t factor) {
  for (auto [first, times] : terms.terms) {
    if (first == last || first->kind != ElementKind::Quotient ||
        first->operands != last->operands || times <= 0 ||
        last->numbers[0] % first->numbers[0] != 0)
      continue;
    int64_t divisor = last->numbers[0] / first->numbers[0];
    if (-factor % times != 0 || -factor / times != divisor)
      continue;
    Terms rest = terms;
    llvm::erase_if(rest.terms, [&, first = first](auto &term) {
      return term.first == first || term.first == last;
    });
    if (Range range = getRange(rest))
      return {{range->first, range->second + times * (divisor - 1)}};
  }
  return std::nullopt;
}

/// The range of a sum; of x - c (x / c), with other terms, the one of a
/// remainder.
ElementTable::Range ElementTable::getRange(const Terms &terms) {
  for (auto [element, factor] : terms.terms) {
    if (element->kind != ElementKind::Quotient)
      continue;
    if (Range range = getRemainderRange(terms, element, factor))
      return range;
    int64_t divisor = element->numbers[0];
    if (factor >= 0 || factor % divisor != 0)
      continue;
    int64_t times = -factor / divisor;
    Terms rest = terms;
    llvm::erase_if(rest.terms, [e = element](auto &t) { return t.first == e; });
    addTerms(rest, getTerms(element->operands[0]), -times);
    if (rest.terms.size() >= terms.terms.size())
      continue;
    if (Range range = getRange(rest))
      return {{range->first, range->second + times * (divisor - 1)}};
  }
  int64_t least = terms.constant, greatest = terms.constant;
  for (auto [element, factor] : terms.terms) {
    if (!element->range)
      return std::nullopt;
    auto [low, high] = *element->range;
    int64_t a, b;
    if (llvm::MulOverflow(low, factor, a) || llvm::MulOverflow(high, factor, b))
      return std::nullopt;
    if (llvm::AddOverflow(least, std::min(a, b), least) ||
        llvm::AddOverflow(greatest, std::max(a, b), greatest))
      return std::nullopt;
  }
  return {{least, greatest}};
}

/// The range of an index that is `chosen` where `condition` holds: one that is
/// below another as unsigned numbers is not negative either.
static std::optional<std::pair<int64_t, int64_t>>
getChosenRange(const Element &condition, const Element &chosen) {
  if (condition.isOp("arith.cmpi") && condition.operands[0] == &chosen) {
    auto predicate = cast<DictionaryAttr>(condition.details)
                         .getAs<arith::CmpIPredicateAttr>("predicate");
    auto below = condition.operands[1]->range;
    if (predicate && predicate.getValue() == arith::CmpIPredicate::ult &&
        below && below->first > 0)
      return {{0, below->second - 1}};
  }
  return chosen.range;
}

ElementTable::Range ElementTable::getRange(const Element &element) {
  switch (element.kind) {
  case ElementKind::Constant:
    if (!element.type.isIndex())
      return std::nullopt;
    {
      int64_t number =
          cast<IntegerAttr>(element.details).getValue().getSExtValue();
      return {{number, number}};
    }
  case ElementKind::Variable:
    if (!element.type.isIndex())
      return std::nullopt;
    return {{0, element.numbers[1] - 1}};
  case ElementKind::Sum: {
    Terms terms;
    terms.constant = element.numbers[0];
    for (auto [i, operand] : llvm::enumerate(element.operands))
      terms.terms.push_back({operand, element.numbers[i + 1]});
    return getRange(terms);
  }
  case ElementKind::Quotient: {
    Range range = element.operands[0]->range;
    if (!range)
      return std::nullopt;
    int64_t divisor = element.numbers[0];
    return {{llvm::divideFloorSigned(range->first, divisor),
             llvm::divideFloorSigned(range->second, divisor)}};
  }
  case ElementKind::Scalar: {
    if (!element.type.isIndex() || !element.isOp("arith.select"))
      return std::nullopt;
    Range chosen = getChosenRange(*element.operands[0], *element.operands[1]);
    Range other = element.operands[2]->range;
    if (!chosen || !other)
      return std::nullopt;
    return {{std::min(chosen->first, other->first),
             std::max(chosen->second, other->second)}};
  }
  default:
    return std::nullopt;
  }
}

/// Divides what has no multiples of the divisor in it any more.
const Element *ElementTable::divideRest(Terms rest, int64_t divisor) {
  if (Range range = getRange(rest)) {
    int64_t low = llvm::divideFloorSigned(range->first, divisor);
    if (low == llvm::divideFloorSigned(range->second, divisor))
      return getIndex(low);
  }
  // (4 a + b) / 8 is a / 2, if b is below 4.
  SmallVector<int64_t> common;
  for (auto [element, factor] : rest.terms)
    if (int64_t g = std::gcd(divisor, factor); g > 1)
      common.push_back(g);
  llvm::sort(common, std::greater<>());
  for (int64_t g : common) {
    Terms divided, small;
    small.constant =
        rest.constant - g * llvm::divideFloorSigned(rest.constant, g);
    divided.constant = llvm::divideFloorSigned(rest.constant, g);
    for (auto [element, factor] : rest.terms)
      if (factor % g == 0)
        divided.terms.push_back({element, factor / g});
      else
        small.terms.push_back({element, factor});
    Range range = getRange(small);
    if (range && range->first >= 0 && range->second < g)
      return floorDiv(getSum(std::move(divided)), divisor / g);
  }
  const Element *sum = getSum(std::move(rest));
  if (sum->kind == ElementKind::Quotient)
    return floorDiv(sum->operands[0], sum->numbers[0] * divisor);
  Element quotient{ElementKind::Quotient};
  quotient.type = IndexType::get(context);
  quotient.numbers = {divisor};
  quotient.operands = {sum};
  return get(std::move(quotient));
}

const Element *ElementTable::floorDiv(const Element *a, int64_t divisor) {
  if (divisor == 1)
    return a;
  Terms terms = getTerms(a), whole, rest;
  whole.constant = llvm::divideFloorSigned(terms.constant, divisor);
  rest.constant = terms.constant - whole.constant * divisor;
  for (auto [element, factor] : terms.terms) {
    int64_t times = factor / divisor;
    if (times != 0)
      whole.terms.push_back({element, times});
    if (factor != times * divisor)
      rest.terms.push_back({element, factor - times * divisor});
  }
  const Element *quotient = divideRest(std::move(rest), divisor);
  return add(getSum(std::move(whole)), quotient);
}

const Element *ElementTable::evaluate(AffineExpr expr,
                                      ArrayRef<const Element *> dims) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto number = dyn_cast<AffineConstantExpr>(expr))
    return getIndex(number.getValue());
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return nullptr;
  const Element *a = evaluate(binary.getLHS(), dims);
  const Element *b = evaluate(binary.getRHS(), dims);
  if (!a || !b)
    return nullptr;
  if (expr.getKind() == AffineExprKind::Add)
    return add(a, b);
  if (expr.getKind() == AffineExprKind::Mul && getConstantValue(a))
    std::swap(a, b);
  auto number = dyn_cast_if_present<IntegerAttr>(getConstantValue(b));
  if (!number)
    return nullptr;
  int64_t value = number.getInt();
  if (expr.getKind() == AffineExprKind::Mul)
    return scale(a, value);
  if (value <= 0)
    return nullptr;
  if (expr.getKind() == AffineExprKind::CeilDiv)
    return floorDiv(add(a, getIndex(value - 1)), value);
  const Element *quotient = floorDiv(a, value);
  return expr.getKind() == AffineExprKind::Mod ? add(a, quotient, -value)
                                               : quotient;
}

/// What the ranges of indices say of their comparison, or null.
const Element *
ElementTable::foldComparison(Attribute name, DictionaryAttr details, Type type,
                             ArrayRef<const Element *> operands) {
  if (cast<StringAttr>(name).getValue() != "arith.cmpi" ||
      !operands[0]->type.isIndex())
    return nullptr;
  using arith::CmpIPredicate;
  auto attr = details.getAs<arith::CmpIPredicateAttr>("predicate");
  if (attr && attr.getValue() == CmpIPredicate::eq)
    if (const Element *known =
            foldEquality(name, details, type, operands[0], operands[1]))
      return known;
  Range a = operands[0]->range, b = operands[1]->range;
  if (!attr || !a || !b)
    return nullptr;
  auto decide = [&](bool isTrue, bool isFalse) -> const Element * {
    return isTrue || isFalse ? getConstant(IntegerAttr::get(type, isTrue))
                             : nullptr;
  };
  // Unsigned: a negative index is a large one.
  bool areNatural = a->first >= 0 && b->first >= 0;
  switch (attr.getValue()) {
  case CmpIPredicate::ult:
    if (!areNatural)
      return decide(false, a->second < 0 && b->first >= 0);
    [[fallthrough]];
  case CmpIPredicate::slt:
    return decide(a->second < b->first, a->first >= b->second);
  case CmpIPredicate::eq:
    return decide(false, a->second < b->first || b->second < a->first);
  default:
    return nullptr;
  }
}

/// An op on indices, or null if it is none that is understood.
const Element *ElementTable::foldIndex(Attribute name,
                                       ArrayRef<const Element *> operands) {
  StringRef op = cast<StringAttr>(name).getValue();
  // An index has 64 bits: a cast to as many and back gives the same.
  if (op == "arith.index_cast" && operands[0]->kind == ElementKind::Scalar &&
      operands[0]->name == name && operands[0]->type.isInteger(64))
    return operands[0]->operands[0];
  if (operands.size() != 2)
    return nullptr;
  const Element *a = operands[0], *b = operands[1];
  if (op == "arith.addi")
    return add(a, b);
  if (op == "arith.subi")
    return add(a, b, -1);
  if (op == "arith.muli" && getConstantValue(a))
    std::swap(a, b);
  auto number = dyn_cast_if_present<IntegerAttr>(getConstantValue(b));
  if (!number)
    return nullptr;
  int64_t value = number.getInt();
  if (op == "arith.muli")
    return scale(a, value);
  if (value <= 0 || !a->range || a->range->first < 0)
    return nullptr;
  if (op == "arith.divsi" || op == "arith.divui" || op == "arith.floordivsi")
    return floorDiv(a, value);
  if (op == "arith.remsi" || op == "arith.remui")
    return add(a, floorDiv(a, value), -value);
  return nullptr;
}
