// SPDX-License-Identifier: Apache-2.0

// Reductions whose order is open: a sum of sums of parts is one sum, and so are
// a maximum of maxima, a product of products, and the like. With r < 8, c < 16,
//   sum over r of (0 + sum over c of x[16 r + c])
// is
//   sum over k < 128 of x[k].
// What has an order, or does more than combine, is left as it is.
//
// Of maxima and the like each element counts however often it is combined. What
// does not depend on the variables is what the whole begins with:
//   max over r of max(w, max over c of x[16 r + c])
// is
//   max over k < 128 of x[k], from w.

#include "Elements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::weft::proof;

/// Whether of a number and NaN the op takes the number.
static bool takesOtherThanNan(StringRef op) {
  return op == "arith.maxnumf" || op == "arith.minnumf";
}

/// Whether combining an element twice is the same as once.
static bool isIdempotent(StringRef op) {
  return llvm::is_contained(
      {StringRef("arith.maximumf"), StringRef("arith.minimumf"),
       StringRef("arith.maxnumf"), StringRef("arith.minnumf"),
       StringRef("arith.maxsi"), StringRef("arith.maxui"),
       StringRef("arith.minsi"), StringRef("arith.minui"),
       StringRef("arith.andi"), StringRef("arith.ori")},
      op);
}

/// What may be combined any number of times; null for what is no such op, or
/// if the type has none.
static TypedAttr getNeutral(StringRef op, Type type) {
  using Kind = arith::AtomicRMWKind;
  std::optional<Kind> kind = llvm::StringSwitch<std::optional<Kind>>(op)
                                 .Case("arith.addf", Kind::addf)
                                 .Case("arith.addi", Kind::addi)
                                 .Case("arith.mulf", Kind::mulf)
                                 .Case("arith.muli", Kind::muli)
                                 .Case("arith.maximumf", Kind::maximumf)
                                 .Case("arith.minimumf", Kind::minimumf)
                                 .Case("arith.maxnumf", Kind::maxnumf)
                                 .Case("arith.minnumf", Kind::minnumf)
                                 .Case("arith.maxsi", Kind::maxs)
                                 .Case("arith.maxui", Kind::maxu)
                                 .Case("arith.minsi", Kind::mins)
                                 .Case("arith.minui", Kind::minu)
                                 .Case("arith.andi", Kind::andi)
                                 .Case("arith.ori", Kind::ori)
                                 .Case("arith.xori", Kind::xori)
                                 .Default(std::nullopt);
  if (!kind)
    return {};
  OpBuilder builder(type.getContext());
  auto number = dyn_cast<FloatType>(type);
  if (number && takesOtherThanNan(op))
    return FloatAttr::get(type, APFloat::getNaN(number.getFloatSemantics()));
  // Types that have none would get NaN, which is not neutral.
  bool isExtremum = op == "arith.maximumf" || op == "arith.minimumf";
  if (number && isExtremum &&
      !APFloat::semanticsHasInf(number.getFloatSemantics()))
    return {};
  return arith::getIdentityValueAttr(*kind, type, builder,
                                     builder.getUnknownLoc());
}

/// Any zero will do for sums whose order is open, and any NaN where the other
/// operand is taken.
static bool isNeutral(const Element *element, StringRef op) {
  TypedAttr value = ElementTable::getConstantValue(element);
  auto number = dyn_cast_if_present<FloatAttr>(value);
  if (op == "arith.addf" && number)
    return number.getValue().isZero();
  if (takesOtherThanNan(op) && number)
    return number.getValue().isNaN();
  return value && value == getNeutral(op, element->type);
}

/// What the op combines with the accumulator, if it does nothing else.
static const Element *getTerm(const Element *yielded,
                              const Element *accumulator) {
  if (yielded->kind != ElementKind::Scalar || yielded->operands.size() != 2)
    return nullptr;
  bool isFirst = yielded->operands[0] == accumulator;
  const Element *term = yielded->operands[isFirst];
  if (yielded->operands[!isFirst] != accumulator ||
      !getNeutral(cast<StringAttr>(yielded->name).getValue(), yielded->type))
    return nullptr;
  bool isPlain = llvm::all_of(term->variables, [](const Element *variable) {
    return variable->type.isIndex();
  });
  return isPlain ? term : nullptr;
}

static bool dependsOn(const Element *element,
                      ArrayRef<const Element *> variables) {
  return llvm::any_of(variables, [&](const Element *variable) {
    return llvm::is_contained(element->variables, variable);
  });
}

/// Takes what does not depend on `bound` out of a term that is combined by
/// `outer`, an op that counts nothing twice. Null if nothing is left.
const Element *ElementTable::takeOut(const Element *outer, const Element *term,
                                     ArrayRef<const Element *> bound,
                                     SmallVectorImpl<const Element *> &around) {
  if (!dependsOn(term, bound)) {
    around.push_back(term);
    return nullptr;
  }
  bool isSame = term->kind == ElementKind::Scalar &&
                term->name == outer->name && term->details == outer->details &&
                term->type == outer->type;
  if (!isSame)
    return term;
  const Element *a = takeOut(outer, term->operands[0], bound, around);
  const Element *b = takeOut(outer, term->operands[1], bound, around);
  if (!a || !b)
    return a ? a : b;
  return getScalar(outer->name, cast<DictionaryAttr>(outer->details),
                   outer->type, {a, b});
}

/// If what is reduced is a reduction of the same kind, it becomes what that one
/// reduces, over its variables besides. What that one begins with is neutral,
/// or goes to `around`.
bool ElementTable::inlineReduction(const Element *outer, const Element *&term,
                                   SmallVectorImpl<const Element *> &bound,
                                   SmallVectorImpl<const Element *> &around) {
  if (term->kind != ElementKind::Read ||
      term->operands[0]->kind != ElementKind::Reduction)
    return false;
  const Element *inner = term->operands[0];
  if (inner->details || inner->operands.size() != 2 ||
      inner->type != outer->type)
    return false;
  const Element *yielded = inner->operands[0];
  const Element *innerTerm = getTerm(yielded, getAccumulator(0, inner->type));
  if (!innerTerm || yielded->name != outer->name ||
      yielded->details != outer->details)
    return false;
  Assignment at;
  unsigned position = 0;
  for (auto [size, index] :
       llvm::zip(inner->shape, ArrayRef(term->operands).drop_front())) {
    if (!index->type.isIndex())
      return false;
    at.push_back({getVariable(position++, size), index});
  }
  StringRef op = cast<StringAttr>(outer->name).getValue();
  if (!isNeutral(inner->operands[1], op)) {
    const Element *start = substitute(inner->operands[1], at);
    if (!isIdempotent(op) || dependsOn(start, bound))
      return false;
    around.push_back(start);
  }
  for (int64_t size : inner->numbers) {
    bound.push_back(getFresh(size));
    at.push_back({getVariable(position++, size), bound.back()});
  }
  term = substitute(innerTerm, at);
  return true;
}

/// What is combined once, by the op that `yielded` is: constants first, and
/// nothing twice.
const Element *ElementTable::combineOnce(const Element *yielded,
                                         ArrayRef<const Element *> elements) {
  llvm::SetVector<const Element *> constants, others;
  for (const Element *element : elements)
    (getConstantValue(element) ? constants : others).insert(element);
  SmallVector<const Element *, 4> sorted = llvm::to_vector<4>(others);
  sortOperands(sorted);
  sorted.append(constants.begin(), constants.end());
  while (sorted.size() > 1) {
    const Element *last = sorted.pop_back_val();
    sorted.back() =
        getScalar(yielded->name, cast<DictionaryAttr>(yielded->details),
                  yielded->type, {sorted.back(), last});
  }
  return sorted.front();
}

const Element *
ElementTable::mergeReductions(const Element *yielded,
                              const Element *accumulator, const Element *&init,
                              SmallVectorImpl<const Element *> &bound) {
  const Element *term = getTerm(yielded, accumulator);
  if (!term)
    return yielded;
  StringRef op = cast<StringAttr>(yielded->name).getValue();
  SmallVector<const Element *> around;
  do {
    if (isIdempotent(op))
      term = takeOut(yielded, term, bound, around);
  } while (term && inlineReduction(yielded, term, bound, around));
  if (!around.empty() && !isNeutral(init, op))
    around.push_back(init);
  if (!around.empty())
    init = combineOnce(yielded, around);
  if (!term)
    return nullptr;
  term = splitBound(term, bound);
  SmallVector<const Element *> joined;
  Assignment at;
  for (ArrayRef<const Element *> digits : joinDigits(term, bound)) {
    int64_t size = 1;
    for (const Element *digit : digits)
      size *= digit->numbers[1];
    joined.push_back(digits.size() == 1 ? digits[0] : getFresh(size));
    for (const Element *digit : digits.drop_back())
      at.push_back({digit, getIndex(0)});
    at.push_back({digits.back(), joined.back()});
  }
  bound.assign(joined.begin(), joined.end());
  return getScalar(yielded->name, cast<DictionaryAttr>(yielded->details),
                   yielded->type, {accumulator, substitute(term, at)});
}
