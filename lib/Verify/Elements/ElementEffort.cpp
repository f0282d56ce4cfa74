// SPDX-License-Identifier: Apache-2.0

#include "ElementEffort.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// Whether it is made of more expressions than `bound`, without those inside of
/// functions.
static bool isLarger(const Element *element, size_t bound) {
  DenseSet<const Element *> seen;
  SmallVector<const Element *> open = {element};
  while (!open.empty()) {
    const Element *next = open.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (seen.size() > bound)
      return true;
    if (!next->isFunction())
      open.append(next->operands.begin(), next->operands.end());
  }
  return false;
}

/// Steps of a scan are woven into each other: an element is one or another as
/// its index is even or odd. There programs are cut alike however they are
/// written.
static bool isWoven(const Element *element) {
  return element->isOp("arith.select") && element->operands[0]->divides;
}

const Element *ElementTable::nameIfLarge(const Element *element) {
  if (limits.named == SIZE_MAX || !(limits.namesAll || isWoven(element)) ||
      !isLarger(element, limits.named))
    return element;
  return name(element);
}

/// What is widened may be so in one program only: its operand is named.
const Element *ElementTable::nameFactor(const Element *element) {
  constexpr size_t kSmall = 4;
  if (!limits.namesAlike || element->kind == ElementKind::Read ||
      !isLarger(element, kSmall))
    return element;
  if (element->isOp("arith.extf"))
    return rebuild(element, nameFactor(element->operands[0]));
  const Element *&named = namedFactors[element];
  if (!named)
    named = name(element);
  return named;
}

const Element *ElementTable::name(const Element *element) {
  Element named{ElementKind::Named};
  named.type = element->type;
  named.operands = {element};
  return apply(std::move(named), {});
}

//===----------------------------------------------------------------------===//
// Tries
//===----------------------------------------------------------------------===//

/// Of most programs there are 3 expressions an op.
static constexpr size_t kFew = 200000, kFewPerOp = 100;
/// Some seconds, and some gigabytes.
static constexpr size_t kMany = 6000000, kMost = 12000000;

int64_t proof::countOps(Operation *one, Operation *other) {
  int64_t count = 0;
  for (Operation *op : {one, other})
    op->walk([&](Operation *) { ++count; });
  return count;
}

LogicalResult proof::compareWithEffort(
    Operation *op, int64_t numOps,
    function_ref<Outcome(ElementTable &, bool says)> compare) {
  size_t few = kFew + kFewPerOp * numOps;
  // Where factors of products are the same in both programs, as most are, what
  // they are is not gone through once more for each product. So it is with ops
  // that are the same.
  const ElementLimits tries[] = {{few, SIZE_MAX, false, /*namesAlike=*/true},
                                 {few},
                                 {few, /*named=*/256, /*namesAll=*/true},
                                 {std::max(few, kMany), /*named=*/256},
                                 {std::max(few, kMany), /*named=*/2048},
                                 {std::max(few, kMost)}};
  bool wasFull = false;
  for (ElementLimits limits : tries) {
    // Without names there are no fewer expressions.
    if (wasFull && limits.isExact() && limits.elements == few)
      continue;
    ElementTable table(op->getContext(), limits);
    table.reserve(std::min<size_t>(numOps, few));
    bool isExact = limits.isExact();
    Outcome outcome = compare(table, /*says=*/isExact);
    if (outcome == Outcome::Equal)
      return success();
    wasFull = outcome == Outcome::Full;
    if (outcome == Outcome::Failed ||
        (outcome == Outcome::Different && isExact))
      return failure();
  }
  return op->emitError("is too large to be compared with what it was made "
                       "from: more than ")
         << std::max(few, kMost)
         << " expressions are needed; --no-proofs compiles it without a proof";
}
