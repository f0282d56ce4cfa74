// SPDX-License-Identifier: Apache-2.0

// Reductions whose order is open: a sum of sums of parts is one sum, and so are
// a maximum of maxima, a product of products, and the like. With r < 8, c < 16,
//   sum over r of (0 + sum over c of x[16 r + c])
// is
//   sum over k < 128 of x[k].
// What has an order, or does more than combine, is left as it is.

#include "Elements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::weft::proof;

/// What may be combined any number of times; null for what is no such op.
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
                                 .Default(std::nullopt);
  OpBuilder builder(type.getContext());
  return kind ? arith::getIdentityValueAttr(*kind, type, builder,
                                            builder.getUnknownLoc())
              : TypedAttr();
}

/// Any zero will do for sums whose order is open.
static bool isNeutral(const Element *element, StringRef op) {
  TypedAttr value = ElementTable::getConstantValue(element);
  auto number = dyn_cast_if_present<FloatAttr>(value);
  if (op == "arith.addf" && number)
    return number.getValue().isZero();
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

/// If what is reduced is a reduction of the same kind, it becomes what that one
/// reduces, over its variables besides.
bool ElementTable::inlineReduction(const Element *outer, const Element *&term,
                                   SmallVectorImpl<const Element *> &bound) {
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
      yielded->details != outer->details ||
      !isNeutral(inner->operands[1], cast<StringAttr>(outer->name).getValue()))
    return false;
  Assignment at;
  unsigned position = 0;
  for (auto [size, index] :
       llvm::zip(inner->shape, ArrayRef(term->operands).drop_front())) {
    if (!index->type.isIndex())
      return false;
    at.push_back({getVariable(position++, size), index});
  }
  for (int64_t size : inner->numbers) {
    bound.push_back(getFresh(size));
    at.push_back({getVariable(position++, size), bound.back()});
  }
  term = substitute(innerTerm, at);
  return true;
}

const Element *
ElementTable::mergeReductions(const Element *yielded,
                              const Element *accumulator,
                              SmallVectorImpl<const Element *> &bound) {
  const Element *term = getTerm(yielded, accumulator);
  if (!term)
    return yielded;
  while (inlineReduction(yielded, term, bound)) {
  }
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
