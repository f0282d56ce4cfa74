// SPDX-License-Identifier: Apache-2.0

// Choices. Branches are choices for each element, so that one inside of another
// may be decided by it, or be one choice with it, as upstream's patterns of
// branches and choices have it. Conditions that are the same for all elements,
// those of branches, are known in all that is chosen by them.

#include "Elements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::weft::proof;

const Element *ElementTable::getNegated(const Element *condition) {
  if (!condition->isOp("arith.xori") || !condition->type.isInteger(1))
    return nullptr;
  for (unsigned i : {0, 1})
    if (auto number = dyn_cast_if_present<IntegerAttr>(
            getConstantValue(condition->operands[i])))
      if (number.getValue().isOne())
        return condition->operands[1 - i];
  return nullptr;
}

const Element *ElementTable::negate(const Element *condition) {
  if (const Element *negated = getNegated(condition))
    return negated;
  // The condition's own type does not do: what a reduction has so far has one
  // that tells it from others.
  Builder builder(context);
  return getScalar(builder.getStringAttr("arith.xori"),
                   builder.getDictionaryAttr({}), builder.getI1Type(),
                   {condition, getConstant(builder.getBoolAttr(true))});
}

/// One of both holds: not neither of them does. There are no other
/// disjunctions, so that it does not matter which branch a choice has first.
const Element *ElementTable::negateBoth(ArrayRef<const Element *> conditions) {
  Builder builder(context);
  return negate(getScalar(builder.getStringAttr("arith.andi"),
                          builder.getDictionaryAttr({}), builder.getI1Type(),
                          {negate(conditions[0]), negate(conditions[1])}));
}

/// The conditions that all hold where this one does: those of a conjunction, or
/// itself. As many as are told apart.
static SmallVector<const Element *> getConjuncts(const Element *condition) {
  constexpr unsigned kMaxConjuncts = 64;
  SmallVector<const Element *> conjuncts, pending = {condition};
  while (!pending.empty()) {
    const Element *next = pending.pop_back_val();
    bool isSeveral = next->isOp("arith.andi") && next->type.isInteger(1) &&
                     conjuncts.size() + pending.size() < kMaxConjuncts;
    if (isSeveral)
      llvm::append_range(pending, next->operands);
    else
      conjuncts.push_back(next);
  }
  llvm::sort(conjuncts,
             [](const Element *a, const Element *b) { return a->id < b->id; });
  conjuncts.erase(llvm::unique(conjuncts), conjuncts.end());
  return conjuncts;
}

/// Conjunctions of the same conditions are one, whichever were joined first.
/// Null if it is one of two.
const Element *
ElementTable::foldConjunction(Attribute name, DictionaryAttr details, Type type,
                              ArrayRef<const Element *> operands) {
  SmallVector<const Element *> conjuncts;
  for (const Element *operand : operands)
    llvm::append_range(conjuncts, getConjuncts(operand));
  if (conjuncts.size() == 2)
    return nullptr;
  llvm::sort(conjuncts,
             [](const Element *a, const Element *b) { return a->id < b->id; });
  conjuncts.erase(llvm::unique(conjuncts), conjuncts.end());
  for (const Element *conjunct : conjuncts)
    if (const Element *negated = getNegated(conjunct))
      if (llvm::is_contained(conjuncts, negated))
        return getConstant(IntegerAttr::get(type, 0));
  // Not in the order in which they were made, which is another one in another
  // program.
  sortOperands(conjuncts);
  const Element *joined = conjuncts.front();
  for (const Element *conjunct : ArrayRef(conjuncts).drop_front())
    joined = makeScalar(name, details, type, {joined, conjunct});
  return joined;
}

/// Of two comparisons of which one holds where the other does not, only one is
/// made: `a >= b` is not `a < b`. Null if this is the one.
const Element *ElementTable::foldInverted(Attribute name,
                                          DictionaryAttr details, Type type,
                                          ArrayRef<const Element *> operands) {
  auto attr = details.getAs<arith::CmpIPredicateAttr>("predicate");
  if (!attr || !type.isInteger(1))
    return nullptr;
  arith::CmpIPredicate opposite = arith::invertPredicate(attr.getValue());
  if (attr.getValue() < opposite)
    return nullptr;
  NamedAttrList inverted(details);
  inverted.set("predicate", arith::CmpIPredicateAttr::get(context, opposite));
  return negate(
      getScalar(name, inverted.getDictionary(context), type, operands));
}

/// What `root` is where `condition` holds, or does not. Functions, which have
/// variables of their own, and what lies far below are left as they are.
const Element *ElementTable::assume(const Element *root,
                                    const Element *condition, bool holds) {
  constexpr unsigned kMaxVisits = 4096;
  unsigned key = condition->id * 2 + holds, visits = 0;
  Type boolean = IntegerType::get(context, 1);
  auto lookup = [&](const Element *element) -> const Element * {
    if (element == condition)
      return getConstant(IntegerAttr::get(boolean, holds));
    bool isMade = element->kind == ElementKind::Scalar ||
                  element->kind == ElementKind::Read ||
                  element->kind == ElementKind::Sum ||
                  element->kind == ElementKind::Quotient ||
                  element->kind == ElementKind::Total ||
                  element->kind == ElementKind::Rounded;
    // What is older than the condition does not depend on it.
    if (!isMade || element->id < condition->id)
      return element;
    return assumed.lookup({element->id, key});
  };
  SmallVector<const Element *> stack = {root};
  while (!stack.empty()) {
    const Element *element = stack.back();
    if (lookup(element)) {
      stack.pop_back();
      continue;
    }
    // As deep as is looked, the rest is as it was.
    if (++visits > kMaxVisits)
      return root;
    bool isDecided =
        element->isOp("arith.select") && element->operands[0] == condition;
    SmallVector<const Element *> operands;
    if (isDecided)
      operands = {element->operands[holds ? 1 : 2]};
    else
      operands.append(element->operands.begin(), element->operands.end());
    size_t depth = stack.size();
    for (const Element *&operand : operands) {
      const Element *known = lookup(operand);
      if (!known)
        stack.push_back(operand);
      operand = known;
    }
    if (stack.size() > depth)
      continue;
    const Element *made = isDecided ? operands[0]
                          : ArrayRef(operands) == ArrayRef(element->operands)
                              ? element
                              : rebuild(element, operands);
    assumed[{element->id, key}] = made;
    stack.pop_back();
  }
  return lookup(root);
}

/// A choice that is another one, or null.
const Element *ElementTable::foldChoice(Attribute name, DictionaryAttr details,
                                        Type type,
                                        ArrayRef<const Element *> operands) {
  const Element *condition = operands[0], *yes = operands[1], *no = operands[2];
  Builder builder(context);
  auto make = [&](StringRef op, ArrayRef<const Element *> conditions) {
    return getScalar(builder.getStringAttr(op), builder.getDictionaryAttr({}),
                     builder.getI1Type(), conditions);
  };
  auto choose = [&](const Element *condition, const Element *yes,
                    const Element *no) {
    return getScalar(name, details, type, {condition, yes, no});
  };
  if (yes == no)
    return yes;
  if (const Element *negated = getNegated(condition))
    return choose(negated, no, yes);
  if (condition->variables.empty() &&
      condition->kind != ElementKind::Constant) {
    const Element *then = assume(yes, condition, true);
    for (const Element *fact : getConjuncts(condition)) {
      const Element *negated = getNegated(fact);
      then = assume(then, negated ? negated : fact, !negated);
    }
    const Element *otherwise = assume(no, condition, false);
    if (then != yes || otherwise != no)
      return choose(condition, then, otherwise);
  }
  if (condition->divides || llvm::any_of(condition->variables, isChosenDigit)) {
    const Element *then = yes;
    for (const Element *fact : getConjuncts(condition)) {
      const Element *negated = getNegated(fact);
      then = assumeMultiple(then, negated ? negated : fact, !negated);
      then = assumeDigit(then, negated ? negated : fact, !negated);
    }
    const Element *otherwise = assumeMultiple(no, condition, false);
    otherwise = assumeDigit(otherwise, condition, false);
    if (then != yes || otherwise != no)
      return choose(condition, then, otherwise);
  }
  auto isBool = [&](const Element *element, bool value) {
    auto number = dyn_cast_if_present<IntegerAttr>(getConstantValue(element));
    return number && type.isInteger(1) && number.getValue().isOne() == value;
  };
  if (isBool(yes, false) && isBool(no, true))
    return negate(condition);
  // One of the values twice: a choice by both conditions.
  if (yes->isOp("arith.select")) {
    const Element *inner = yes->operands[0];
    if (inner == condition)
      return choose(condition, yes->operands[1], no);
    if (yes->operands[2] == no)
      return choose(make("arith.andi", {condition, inner}), yes->operands[1],
                    no);
    if (yes->operands[1] == no)
      return choose(make("arith.andi", {condition, negate(inner)}),
                    yes->operands[2], no);
  }
  if (no->isOp("arith.select")) {
    const Element *inner = no->operands[0];
    if (inner == condition)
      return choose(condition, yes, no->operands[2]);
    if (no->operands[1] == yes)
      return choose(make("arith.ori", {condition, inner}), yes,
                    no->operands[2]);
    if (no->operands[2] == yes)
      return choose(make("arith.ori", {condition, negate(inner)}), yes,
                    no->operands[1]);
  }
  return nullptr;
}

/// Says whether nothing is read for it.
static bool isOfIndices(const Element *root) {
  SmallVector<const Element *> stack = {root};
  DenseSet<const Element *> seen;
  while (!stack.empty()) {
    const Element *element = stack.pop_back_val();
    if (element->kind == ElementKind::Read || element->isFunction())
      return false;
    if (seen.insert(element).second)
      llvm::append_range(stack, element->operands);
  }
  return true;
}

/// The indices that something is chosen by in it, whatever values are.
static DenseSet<const Element *> findChosenBy(const Element *root) {
  SmallVector<const Element *> stack = {root};
  DenseSet<const Element *> seen, variables;
  while (!stack.empty()) {
    const Element *element = stack.pop_back_val();
    if (element->isFunction() || element->variables.empty() ||
        !seen.insert(element).second)
      continue;
    if (element->isOp("arith.select") && isOfIndices(element->operands[0]))
      variables.insert(element->operands[0]->variables.begin(),
                       element->operands[0]->variables.end());
    llvm::append_range(stack, element->operands);
  }
  return variables;
}

/// What neighbouring digits are together, the first one outermost.
static int64_t countNumbers(ArrayRef<const Element *> digits) {
  int64_t count = 1;
  for (const Element *digit : digits)
    count *= digit->numbers[1];
  return count;
}

/// A choice by the number that the first of `numbers` are the digits of,
/// between what each makes of the term, which is one by the next.
const Element *
ElementTable::chooseByNumbers(const Element *term,
                              ArrayRef<SmallVector<const Element *>> numbers) {
  if (numbers.empty())
    return term;
  ArrayRef<const Element *> digits = numbers.front();
  const Element *index = digits.front(), *chosen = nullptr;
  for (const Element *digit : digits.drop_front())
    index = add(digit, index, digit->numbers[1]);
  for (int64_t number = countNumbers(digits); number-- > 0;) {
    Assignment at;
    int64_t rest = number;
    for (const Element *digit : llvm::reverse(digits)) {
      at.push_back({digit, getIndex(rest % digit->numbers[1])});
      rest /= digit->numbers[1];
    }
    const Element *way =
        chooseByNumbers(substitute(term, at), numbers.drop_front());
    chosen = chosen ? getPlain("arith.select", term->type,
                               {compareIntegers(arith::CmpIPredicate::eq, index,
                                                getIndex(number)),
                                way, chosen})
                    : way;
  }
  return chosen;
}

/// The term of a sum with its choices by digits of the sum's variable in one
/// order: by the outermost one first. Scans weave their steps several times,
/// and which of these choices is inside of which, or joined with it, depends on
/// how the sum is cut. So does how many digits are a number by which is chosen.
const Element *ElementTable::sortChoices(const Element *term,
                                         ArrayRef<const Element *> digits) {
  constexpr int64_t kMaxWays = 1024;
  DenseSet<const Element *> chosenBy = findChosenBy(term);
  SmallVector<SmallVector<const Element *>> numbers;
  int64_t ways = 1;
  bool isNext = false;
  for (const Element *digit : digits) {
    bool isChosenBy = chosenBy.contains(digit);
    if (isChosenBy && !isNext)
      numbers.emplace_back();
    isNext = isChosenBy;
    if (!isChosenBy)
      continue;
    numbers.back().push_back(digit);
    ways *= std::min(digit->numbers[1], kMaxWays + 1);
    if (ways > kMaxWays)
      return term;
  }
  return chooseByNumbers(term, numbers);
}
