// SPDX-License-Identifier: Apache-2.0

// Into how many loops a kernel cuts a dimension does not matter: a function of
// the digits of a number, and that of the number, are one. Where expressions
// ask for digits they are a function's variables, and else the number is.

#include "Elements.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::weft::proof;

/// Numbers of variables that are there until a function numbers its own: always
/// the same, so that what is made of them is made once.
static constexpr unsigned kFirstDigit = 1 << 20, kFirstNumber = 1 << 21,
                          kFirstChosen = 1 << 22;

namespace {

/// Which of some variables may be digits of a number: indices that do not occur
/// by themselves, but in sums.
class VariableUses {
public:
  VariableUses(ArrayRef<const Element *> roots,
               ArrayRef<const Element *> variables) {
    for (const Element *variable : variables)
      if (variable->type.isIndex())
        candidates.insert(variable);
    for (const Element *root : roots) {
      candidates.remove(root);
      for (auto [i, variable] : llvm::enumerate(root->variables))
        if (root->isAlone(i))
          candidates.remove(variable);
    }
    SmallVector<const Element *> stack(roots);
    DenseSet<const Element *> seen;
    // Mostly all occur by themselves, which shows at once: a step's sums over
    // all layers are long.
    while (!stack.empty() && candidates.size() > 1) {
      const Element *element = stack.pop_back_val();
      if (element->variables.empty() || !seen.insert(element).second)
        continue;
      if (element->kind == ElementKind::Sum)
        sums.push_back(element);
      for (const Element *operand : element->operands) {
        if (element->kind != ElementKind::Sum)
          candidates.remove(operand);
        stack.push_back(operand);
      }
    }
  }

  /// None if there is only one.
  ArrayRef<const Element *> getCandidates() const {
    return candidates.size() > 1 ? candidates.getArrayRef()
                                 : ArrayRef<const Element *>();
  }

  /// Says whether all that is made of two such is made of their number as two
  /// digits, `size(inner) * outer + inner`.
  bool areDigits(const Element *outer, const Element *inner) const {
    return llvm::all_of(sums, [&](const Element *sum) {
      return getFactor(sum, outer) == getFactor(sum, inner) * inner->numbers[1];
    });
  }

private:
  static int64_t getFactor(const Element *sum, const Element *variable) {
    const auto *it = llvm::find(sum->operands, variable);
    return it == sum->operands.end()
               ? 0
               : sum->numbers[it - sum->operands.begin() + 1];
  }

  SmallVector<const Element *> sums;
  llvm::SetVector<const Element *> candidates;
};

} // namespace

namespace {

/// The numbers that variables are divided by, in the order of their first use.
llvm::MapVector<const Element *, SmallVector<int64_t>>
findDivisors(ArrayRef<const Element *> roots) {
  llvm::MapVector<const Element *, SmallVector<int64_t>> divisors;
  SmallVector<const Element *> stack(llvm::reverse(roots));
  DenseSet<const Element *> seen;
  while (!stack.empty()) {
    const Element *element = stack.pop_back_val();
    if (!element->divides || !seen.insert(element).second)
      continue;
    const Element *divided =
        element->kind == ElementKind::Quotient ? element->operands[0] : nullptr;
    if (divided && divided->kind == ElementKind::Variable &&
        divided->type.isIndex()) {
      SmallVector<int64_t> &all = divisors[divided];
      if (!llvm::is_contained(all, element->numbers[0]))
        all.push_back(element->numbers[0]);
    }
    stack.append(element->operands.rbegin(), element->operands.rend());
  }
  return divisors;
}

/// Says whether each number divides the next one.
bool isChain(ArrayRef<int64_t> numbers) {
  for (unsigned i = 1; i < numbers.size(); ++i)
    if (numbers[i] % numbers[i - 1] != 0)
      return false;
  return true;
}

/// Of a sum that has no number of times as many elements as a divisor says, the
/// last digit is not whole: those divisors are kept of which each divides the
/// next one, and `size`.
SmallVector<int64_t> keepChain(SmallVector<int64_t> divisors, int64_t size) {
  llvm::sort(divisors);
  SmallVector<int64_t> kept;
  for (int64_t divisor : divisors)
    if (divisor > 1 && divisor < size && size % divisor == 0 &&
        (kept.empty() || divisor % kept.back() == 0))
      kept.push_back(divisor);
  return kept;
}

} // namespace

/// Notes the number that the variable's digits are, and what each is of the
/// variable, if all divisions of it ask for these. Digits are numbered from
/// `position`; without one, they are fresh.
bool ElementTable::splitNumber(const Element *variable,
                               SmallVector<int64_t> divisors,
                               Assignment &numbers, Assignment &digits,
                               std::optional<unsigned> position) {
  llvm::sort(divisors);
  divisors.push_back(variable->numbers[1]);
  if (!isChain(divisors) || divisors.front() <= 1)
    return false;
  // Outermost first, as loops are numbered.
  const Element *number = getIndex(0);
  for (unsigned i = divisors.size(); i-- > 0;) {
    int64_t place = i == 0 ? 1 : divisors[i - 1], size = divisors[i] / place;
    const Element *digit =
        position ? getVariable((*position)++, size) : getFresh(size);
    const Element *value = floorDiv(variable, place);
    if (i + 1 < divisors.size())
      value = add(value, floorDiv(variable, divisors[i]), -size);
    number = add(number, digit, place);
    digits.push_back({digit, value});
  }
  numbers.push_back({variable, number});
  return true;
}

/// Free variables of which the digits are asked for become these: which of the
/// two a kernel loops over does not matter. Says what each digit is.
Assignment ElementTable::splitNumbers(MutableArrayRef<const Element *> roots,
                                      ArrayRef<const Element *> bound) {
  Assignment digits, numbers;
  for (auto &[variable, divisors] : findDivisors(roots))
    if (!llvm::is_contained(bound, variable))
      splitNumber(variable, divisors, numbers, digits,
                  kFirstDigit + digits.size());
  if (!numbers.empty())
    for (const Element *&root : roots)
      root = substitute(root, numbers);
  return digits;
}

/// The same for variables of a reduction.
const Element *ElementTable::splitBound(const Element *term,
                                        SmallVectorImpl<const Element *> &bound,
                                        std::optional<unsigned> position) {
  Assignment numbers;
  SmallVector<const Element *> all;
  auto divisors = findDivisors(term);
  for (const Element *variable : bound) {
    Assignment digits;
    auto it = divisors.find(variable);
    if (it != divisors.end() && position)
      it->second = keepChain(it->second, variable->numbers[1]);
    if (it == divisors.end() ||
        !splitNumber(variable, it->second, numbers, digits, position))
      all.push_back(variable);
    for (auto &[digit, value] : digits)
      all.push_back(digit);
  }
  bound.assign(all.begin(), all.end());
  return numbers.empty() ? term : substitute(term, numbers);
}

/// The same for the variable of a sum, while choices are made by its digits:
/// what is known of a digit where something is chosen does not depend on how
/// the sum was cut into loops.
const Element *
ElementTable::splitChosen(const Element *term, const Element *variable,
                          SmallVectorImpl<const Element *> &bound) {
  bound.assign({variable});
  return splitBound(term, bound, kFirstChosen);
}

bool ElementTable::isChosenDigit(const Element *element) {
  return element->kind == ElementKind::Variable && element->type.isIndex() &&
         element->numbers[0] >= kFirstChosen;
}

/// Free variables that are the digits of one number, outermost first, become
/// one: into how many loops a kernel cuts a dimension does not matter.
SmallVector<SmallVector<const Element *>>
ElementTable::joinDigits(ArrayRef<const Element *> roots,
                         ArrayRef<const Element *> free) {
  llvm::SmallDenseMap<const Element *, const Element *> outerOf;
  DenseSet<const Element *> isOuter;
  VariableUses uses(roots, free);
  for (const Element *inner : uses.getCandidates())
    for (const Element *outer : uses.getCandidates())
      if (inner != outer && !outerOf.contains(inner) &&
          !isOuter.contains(outer) && uses.areDigits(outer, inner)) {
        outerOf[inner] = outer;
        isOuter.insert(outer);
      }
  // By the innermost one's first use: there the number would be.
  SmallVector<SmallVector<const Element *>> joined;
  for (const Element *variable : free) {
    if (isOuter.contains(variable))
      continue;
    SmallVector<const Element *> digits;
    for (const Element *digit = variable; digit; digit = outerOf.lookup(digit))
      digits.insert(digits.begin(), digit);
    joined.push_back(std::move(digits));
  }
  return joined;
}

namespace {

/// The variables but `bound`, in the order of their first use.
SmallVector<const Element *> findFree(ArrayRef<const Element *> roots,
                                      ArrayRef<const Element *> bound) {
  llvm::SetVector<const Element *> free;
  for (const Element *root : roots)
    free.insert(root->variables.begin(), root->variables.end());
  free.remove_if([&](const Element *variable) {
    return llvm::is_contained(bound, variable);
  });
  return free.takeVector();
}

/// What stands for a variable; without an entry, itself.
const Element *lookup(const Assignment &values, const Element *variable) {
  for (auto [from, to] : values)
    if (from == variable)
      return to;
  return variable;
}

} // namespace

/// Free variables that are the digits of one number become one variable. Says
/// what that is.
Assignment ElementTable::joinNumbers(MutableArrayRef<const Element *> roots,
                                     ArrayRef<const Element *> bound) {
  Assignment numbers, own;
  for (ArrayRef<const Element *> digits :
       joinDigits(roots, findFree(roots, bound))) {
    if (digits.size() == 1)
      continue;
    const Element *index = digits.front();
    int64_t size = index->numbers[1];
    for (const Element *digit : digits.drop_front()) {
      index = add(digit, index, digit->numbers[1]);
      size *= digit->numbers[1];
    }
    const Element *number = getVariable(kFirstNumber + numbers.size(), size);
    numbers.push_back({number, index});
    own.push_back({digits.back(), number});
    for (const Element *digit : digits.drop_back())
      own.push_back({digit, getIndex(0)});
  }
  if (!own.empty())
    for (const Element *&root : roots)
      root = substitute(root, own);
  return numbers;
}

const Element *ElementTable::apply(Element function,
                                   ArrayRef<const Element *> bound,
                                   ArrayRef<const Element *> more) {
  Assignment split = splitNumbers(function.operands, bound);
  Assignment joined = joinNumbers(function.operands, bound);
  // All numbers change at once.
  Assignment own;
  unsigned position = 0, accumulator = 0;
  SmallVector<int64_t, 2> shape;
  SmallVector<const Element *> indices;
  auto rename = [&](const Element *variable) {
    bool isIndex = variable->type.isIndex();
    own.push_back(
        {variable,
         isIndex ? getVariable(position++, variable->numbers[1])
                 : getAccumulator(accumulator++,
                                  cast<TupleType>(variable->type).getType(0))});
  };
  for (const Element *variable : findFree(function.operands, bound)) {
    rename(variable);
    shape.push_back(variable->type.isIndex() ? variable->numbers[1] : 1);
    indices.push_back(substitute(lookup(joined, variable), split));
  }
  for (const Element *variable : bound)
    rename(variable);
  for (const Element *&operand : function.operands)
    operand = substitute(operand, own);
  shape.append(function.shape.begin(), function.shape.end());
  function.shape = std::move(shape);
  indices.append(more.begin(), more.end());
  return getRead(get(std::move(function)), indices);
}
