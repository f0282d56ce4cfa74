// SPDX-License-Identifier: Apache-2.0

// Sums over the reals. Addends have no order; a sum of sums is one sum, and so
// is a sum over two variables that are used as one. A sum over a variable by
// which parts of a tensor are told apart is one for each part:
//   sum over k < 8 of concat(a, b)[k] c[k]
// is
//   sum over k < 4 of a[k] c[k], plus sum over k < 4 of b[k] c[k + 4].
// How addends were rounded before they are added is passed over.

#include "Elements.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::weft::proof;

/// Where the variables begin that are made for a while.
static constexpr unsigned kFirstFresh = 1 << 12;

static bool isCast(const Element *element) {
  if (element->kind != ElementKind::Scalar)
    return false;
  StringRef name = cast<StringAttr>(element->name).getValue();
  return name == "arith.extf" || name == "arith.truncf";
}

const Element *ElementTable::skipRounding(const Element *element) {
  while (element->kind == ElementKind::Rounded || isCast(element))
    element = element->operands[0];
  return element;
}

const Element *ElementTable::getTotal(ArrayRef<const Element *> addends) {
  Element total{ElementKind::Total};
  total.type = Float64Type::get(context);
  for (const Element *addend : addends) {
    addend = skipRounding(addend);
    auto number = dyn_cast_if_present<FloatAttr>(getConstantValue(addend));
    if (number)
      addend =
          getConstant(FloatAttr::get(total.type, number.getValueAsDouble()));
    if (addend->kind == ElementKind::Total)
      llvm::append_range(total.operands, addend->operands);
    else if (!number || !number.getValue().isZero())
      total.operands.push_back(addend);
  }
  if (total.operands.empty())
    return getConstant(FloatAttr::get(total.type, 0.0));
  if (total.operands.size() == 1)
    return total.operands[0];
  sortOperands(total.operands);
  return get(std::move(total));
}

static bool isProductOverVariables(const Element *element) {
  return element->kind == ElementKind::Read &&
         element->operands[0]->kind == ElementKind::Contraction &&
         cast<StringAttr>(element->operands[0]->name).getValue() ==
             "arith.mulf";
}

/// What a product over variables begins with is a factor of it, of any type.
const Element *ElementTable::multiply(Attribute name, DictionaryAttr details,
                                      Type type,
                                      ArrayRef<const Element *> factors) {
  Element product{ElementKind::Scalar, name, details,
                  Float64Type::get(context)};
  product.numbers = {0};
  for (const Element *factor : factors) {
    factor = skipRounding(factor);
    if (auto number = dyn_cast_if_present<FloatAttr>(getConstantValue(factor)))
      factor =
          getConstant(FloatAttr::get(product.type, number.getValueAsDouble()));
    product.operands.push_back(factor);
  }
  if (llvm::none_of(product.operands, isProductOverVariables))
    return nullptr;
  sortOperands(product.operands);
  return round(get(std::move(product)), type);
}

/// A sum that is not followed, but of which an op says that it is one.
static bool isOpaqueSum(const Element *element) {
  return element->kind == ElementKind::Read &&
         element->operands[0]->kind == ElementKind::Other &&
         cast<StringAttr>(element->operands[0]->name).getValue() ==
             "weft.attention_grad";
}

const Element *ElementTable::round(const Element *element, Type type) {
  element = skipRounding(element);
  if (auto number = dyn_cast_if_present<FloatAttr>(getConstantValue(element)))
    return getConstant(FloatAttr::get(type, number.getValueAsDouble()));
  bool isProduct = element->kind == ElementKind::Scalar &&
                   llvm::any_of(element->operands, isProductOverVariables);
  bool isSum = isProduct || isOpaqueSum(element) ||
               element->kind == ElementKind::Total ||
               (element->kind == ElementKind::Read &&
                element->operands[0]->kind == ElementKind::Contraction);
  if (element->type == type && !isSum)
    return element;
  Element rounded{ElementKind::Rounded};
  rounded.type = type;
  rounded.operands = {element};
  return get(std::move(rounded));
}

//===----------------------------------------------------------------------===//
// Over variables
//===----------------------------------------------------------------------===//

const Element *ElementTable::getFresh(int64_t size) {
  return getVariable(kFirstFresh + numFresh++, size);
}

/// A combination of combinations is one over the variables of both.
bool ElementTable::inlineCombination(Attribute op, const Element *&summand,
                                     SmallVectorImpl<const Element *> &bound) {
  if (summand->kind != ElementKind::Read)
    return false;
  const Element *inner = summand->operands[0];
  if (inner->kind != ElementKind::Contraction || inner->name != op)
    return false;
  Assignment at;
  unsigned position = 0;
  for (auto [size, index] :
       llvm::zip(inner->shape, ArrayRef(summand->operands).drop_front())) {
    if (!index->type.isIndex())
      return false;
    at.push_back({getVariable(position++, size), index});
  }
  SmallVector<const Element *> all;
  for (int64_t size : inner->numbers) {
    all.push_back(getFresh(size));
    at.push_back({getVariable(position++, size), all.back()});
  }
  summand = skipRounding(substitute(inner->operands[0], at));
  llvm::append_range(all, bound);
  bound.assign(all.begin(), all.end());
  return true;
}

/// One variable for all of `bound`: (a, b) with b < B is B a + b.
const Element *ElementTable::joinVariables(const Element *&summand,
                                           ArrayRef<const Element *> bound) {
  int64_t size = 1;
  for (const Element *variable : bound)
    size *= variable->numbers[1];
  const Element *joined = getFresh(size), *rest = joined;
  Assignment at;
  for (const Element *variable : llvm::reverse(bound)) {
    int64_t own = variable->numbers[1];
    const Element *outer = floorDiv(rest, own);
    at.push_back({variable, add(rest, outer, -own)});
    rest = outer;
  }
  summand = substitute(summand, at);
  return joined;
}

/// Whether something is chosen in it by the digits of a variable.
static bool dividesCondition(const Element *root) {
  SmallVector<const Element *> stack = {root};
  DenseSet<const Element *> seen;
  while (!stack.empty()) {
    const Element *element = stack.pop_back_val();
    if (!element->divides || !seen.insert(element).second)
      continue;
    if (element->isOp("arith.select") && element->operands[0]->divides)
      return true;
    llvm::append_range(stack, element->operands);
  }
  return false;
}

namespace {

/// A digit of a variable: it, divided by `step`, modulo `size`, plus `offset`;
/// size 0: none.
struct Digit {
  int64_t step = 1, size = 0, offset = 0;
};

} // namespace

/// What an index is divided by, if it is `variable` divided by something.
static int64_t getDivisor(const Element *index, const Element *variable) {
  if (index == variable)
    return 1;
  bool isQuotient =
      index->kind == ElementKind::Quotient && index->operands[0] == variable;
  return isQuotient ? index->numbers[0] : 0;
}

static Digit getDigit(const Element *index, const Element *variable) {
  int64_t count = variable->numbers[1], offset = 0;
  bool isSum = index->kind == ElementKind::Sum;
  if (isSum)
    offset = index->numbers[0];
  if (isSum && index->operands.size() == 1 && index->numbers[1] == 1)
    index = index->operands[0];
  if (int64_t step = getDivisor(index, variable))
    return count % step == 0 ? Digit{step, count / step, offset} : Digit();
  if (index->kind != ElementKind::Sum || index->operands.size() != 2)
    return {};
  for (auto [i, rest] : {std::pair(0, 1), std::pair(1, 0)}) {
    int64_t step = getDivisor(index->operands[i], variable);
    int64_t next = getDivisor(index->operands[rest], variable);
    int64_t size = -index->numbers[rest + 1];
    if (step != 0 && size > 0 && index->numbers[i + 1] == 1 &&
        next == step * size && count % next == 0)
      return {step, size, offset};
  }
  return {};
}

/// Where parts begin or end in the range of a digit; with `whole` only where no
/// part is cut in two by that.
static SmallVector<int64_t> getCuts(const Element *parts, unsigned dim,
                                    const Digit &digit, bool whole) {
  unsigned rank = parts->shape.size();
  auto clamp = [&](int64_t at) {
    return std::clamp<int64_t>(at - digit.offset, 0, digit.size);
  };
  SmallVector<std::pair<int64_t, int64_t>> ranges;
  for (unsigned i = 0; i + 1 < parts->operands.size(); ++i) {
    int64_t begin = parts->numbers[i * 2 * rank + dim];
    int64_t end = begin + parts->numbers[i * 2 * rank + rank + dim];
    ranges.push_back({clamp(begin), clamp(end)});
  }
  llvm::sort(ranges);
  // No part that begins earlier is past `reached`.
  int64_t reached = 0;
  SmallVector<int64_t> cuts = {0, digit.size};
  for (auto [begin, end] : ranges) {
    if (!whole)
      cuts.append({begin, end});
    else if (begin >= reached)
      cuts.append({reached, begin});
    reached = std::max(reached, end);
  }
  cuts.push_back(reached);
  llvm::sort(cuts);
  cuts.erase(llvm::unique(cuts), cuts.end());
  return cuts;
}

static Digit findCuts(ArrayRef<const Element *> factors,
                      const Element *variable, bool whole,
                      SmallVectorImpl<int64_t> &cuts) {
  for (const Element *factor : factors) {
    factor = ElementTable::skipRounding(factor);
    if (factor->kind != ElementKind::Read ||
        factor->operands[0]->kind != ElementKind::Parts)
      continue;
    const Element *parts = factor->operands[0];
    for (unsigned dim = 0; dim < parts->shape.size(); ++dim) {
      Digit digit = getDigit(factor->operands[dim + 1], variable);
      if (digit.size == 0)
        continue;
      cuts = getCuts(parts, dim, digit, whole);
      if (cuts.size() > 2)
        return digit;
    }
  }
  return {};
}

/// The digit of `variable` by which parts of a tensor are told apart, of the
/// tensor that is read, or of a factor; and where it goes from one to another.
/// Parts stay whole where they can: a sum over one of them would have to be
/// the sum of two otherwise.
static Digit findCuts(const Element *summand, const Element *variable,
                      SmallVectorImpl<int64_t> &cuts) {
  SmallVector<const Element *> factors = {summand};
  if (summand->kind == ElementKind::Scalar &&
      cast<StringAttr>(summand->name).getValue() == "arith.mulf")
    factors.assign(summand->operands.begin(), summand->operands.end());
  Digit digit = findCuts(factors, variable, /*whole=*/true, cuts);
  return digit.size == 0 ? findCuts(factors, variable, /*whole=*/false, cuts)
                         : digit;
}

const Element *ElementTable::combine(Attribute op, const Element *summand,
                                     SmallVector<const Element *> bound) {
  bool isSum = cast<StringAttr>(op).getValue() == "arith.addf";
  summand = skipRounding(summand);
  // Zeros are nothing, however many: a part of one element is a constant.
  auto number = dyn_cast_if_present<FloatAttr>(getConstantValue(summand));
  if (number)
    summand = getConstant(
        FloatAttr::get(Float64Type::get(context), number.getValueAsDouble()));
  if (bound.empty() || (isSum && number && number.getValue().isZero()))
    return summand;
  SmallVector<const Element *> addends;
  if (isSum && summand->kind == ElementKind::Total) {
    for (const Element *addend : summand->operands)
      addends.push_back(combine(op, addend, bound));
    return getTotal(addends);
  }
  if (inlineCombination(op, summand, bound))
    return combine(op, summand, std::move(bound));
  const Element *variable = joinVariables(summand, bound);
  if (dividesCondition(summand)) {
    summand = splitChosen(summand, variable, bound);
    summand = sortChoices(summand, bound);
    variable = joinVariables(summand, bound);
  }
  int64_t size = variable->numbers[1];
  SmallVector<int64_t> cuts;
  Digit digit = isSum ? findCuts(summand, variable, cuts) : Digit();
  if (digit.size == 0) {
    Element made{ElementKind::Contraction, op};
    made.type = Float64Type::get(context);
    made.operands = {summand};
    made.numbers = {size};
    return apply(std::move(made), variable);
  }
  const Element *outer = getFresh(size / digit.size / digit.step);
  const Element *inner = getFresh(digit.step);
  for (auto [begin, end] : llvm::zip(cuts, ArrayRef(cuts).drop_front())) {
    const Element *own = getFresh(end - begin);
    const Element *index = add(own, getIndex(begin));
    index = add(index, outer, digit.size);
    index = add(inner, index, digit.step);
    SmallVector<const Element *> parts;
    for (const Element *part : {outer, own, inner})
      if (part->kind == ElementKind::Variable)
        parts.push_back(part);
    addends.push_back(
        combine(op, substitute(summand, {{variable, index}}), parts));
  }
  return getTotal(addends);
}
