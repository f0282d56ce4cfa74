// SPDX-License-Identifier: Apache-2.0

// Parts of sums over the reals and of integers, in any order: sets of parts of
// several sums are one set, of a sum that has the parts of all.
//
// Worked example. On 4 ranks of ["dp"=2, "tp"=2], `a` is cut along "tp" and `b`
// along "dp". What ranks have of a + b are the sets {0, 2}, {1, 2}, {0, 3} and
// {1, 3} of the four parts a0, a1, b0, b1. No collective gives all of them,
// each once: an all_reduce over "tp" would count b twice.

#include "LocalLifter.h"
#include "Shares.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

/// What ranks have of a sum of two.
Contribution LocalLifter::addParts(const Contribution &a,
                                   const Contribution &b) {
  if (a.isSame(b))
    return a;
  Contribution sum = a;
  sum.parts = a.parts + b.parts;
  RankVector &known = added[{{{a.part, a.parts}, {b.part, b.parts}}}];
  if (!known)
    known = perRank([&](int64_t rank) {
      std::vector<int64_t> parts = sets[(*a.part)[rank]];
      for (int64_t part : sets[(*b.part)[rank]])
        parts.push_back(a.parts + part);
      return getSet(std::move(parts));
    });
  sum.part = known;
  return sum;
}

/// What ranks have of a sum over loops that they share, if what is summed is a
/// sum of which they have parts.
Contribution LocalLifter::multiplyParts(const Contribution &a,
                                        const Contribution &b) {
  Contribution product = a;
  product.parts = a.parts * b.parts;
  product.part = perRank([&](int64_t rank) {
    std::vector<int64_t> parts;
    for (int64_t major : sets[(*a.part)[rank]])
      for (int64_t minor : sets[(*b.part)[rank]])
        parts.push_back(major * b.parts + minor);
    return getSet(std::move(parts));
  });
  return product;
}

/// Adds to the parts that an op makes those that its operand is one of.
void LocalLifter::carryParts(const Contribution &carried, Contribution &own) {
  if (own.kind == Contribution::Whole)
    own = carried;
  else if (carried.kind != Contribution::Whole)
    own = multiplyParts(carried, own);
}

/// What ranks have of a tensor that several are put together to: all of it, or
/// parts of a sum, if each of them is such a part or zero.
FailureOr<Contribution>
LocalLifter::getTogether(Operation *op, ArrayRef<const LocalValue *> values) {
  Contribution together;
  bool isSummed = isa<MatmulOp, ScatterAddOp>(op);
  for (const LocalValue *value : values) {
    const Contribution &own = value->contribution;
    if (own.kind == Contribution::Whole)
      continue;
    // Integers may be combined in any order, too, where they are moved or added
    // up: both are linear in the ring of integers of a width. Products are
    // rounded. The greatest of floats is one of them, wherever they are moved.
    bool isExact = forms.isOfReals() ||
                   (!isa<MatmulOp>(op) && (value->form->element.isInteger() ||
                                           isIdempotent(own.reduction)));
    bool isFirst = together.kind == Contribution::Whole;
    bool isSet = own.kind == Contribution::Exact && isExact;
    if (!isSet || (!isFirst && together.reduction != own.reduction))
      return op->emitOpError("computes with a contribution: one of ")
                 << own.parts << " parts of " << value->form->str(),
             failure();
    if (isSummed && own.reduction != ReduceKind::Sum)
      return op->emitOpError("sums contributions to a ")
                 << stringifyReduceKind(own.reduction) << ": one of "
                 << own.parts << " parts of " << value->form->str(),
             failure();
    together = isFirst ? own : addParts(together, own);
  }
  if (together.kind == Contribution::Whole)
    return together;
  for (const LocalValue *value : values)
    if (value->contribution.kind == Contribution::Whole &&
        (together.reduction != ReduceKind::Sum || !isZero(value->form)))
      return op->emitOpError("puts together contributions and ")
                 << value->form->str(),
             failure();
  return together;
}

/// What ranks have of a product with a factor that they have all of.
FailureOr<Contribution> LocalLifter::getProduct(Operation *op,
                                                const LocalValue &factor,
                                                const LocalValue &other) {
  if (other.contribution.kind == Contribution::Whole)
    return getTogether(op, &factor);
  if (factor.contribution.kind == Contribution::Whole)
    return getTogether(op, &other);
  return op->emitOpError("multiplies two contributions, to ")
             << factor.form->str() << " and " << other.form->str(),
         failure();
}
