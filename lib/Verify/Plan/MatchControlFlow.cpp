// SPDX-License-Identifier: Apache-2.0

// What a loop carries has one place: there lies what it begins with before the
// first pass, and what a pass yields at its end. So there lies what is carried
// at the beginning of each pass, and what the loop gives after it, even if it
// has no pass at all.

#include "PlanMatcher.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

/// The values of tensor type, or the others.
static SmallVector<Value> select(ValueRange values, bool tensors) {
  SmallVector<Value> selected;
  for (Value value : values)
    if (isa<RankedTensorType>(value.getType()) == tensors)
      selected.push_back(value);
  return selected;
}

/// Nothing is known any more of what an op writes in its regions.
void PlanMatcher::forget(Operation *planned) {
  planned->walk([&](Operation *inner) {
    if (!isStep(inner))
      return;
    for (const Access &access : program.getAccesses(inner)) {
      if (!access.writes)
        continue;
      Spot spot;
      spot.root = access.place->root;
      spot.bytes = spot.unshifted = access.place->region;
      contents.write(spot, nullptr, inner);
    }
  });
}

/// The assembles at `at`, one per tensor that a loop or branch carries, and
/// where they are. There may be buffers between them.
FailureOr<std::vector<Spot>>
PlanMatcher::readJoins(ValueRange tensors, Operation *op,
                       SmallVectorImpl<Operation *> &joins) {
  std::vector<Spot> places;
  for (Value tensor : tensors) {
    while (isa<rt::ViewOp, rt::BufferOp>(*at))
      ++at;
    auto join = dyn_cast<rt::AssembleOp>(*at);
    if (!join) {
      fail(&*at, op) << getOpName(&*at) << " stands where the plan has to say "
                     << "where " << getOpName(op) << " carries its tensor #"
                     << places.size();
      return failure();
    }
    if (failed(checkBuffer(join, join.getBuffer(), getType(tensor))))
      return failure();
    places.push_back(getSpot(join.getBuffer()));
    joins.push_back(join);
    ++at;
  }
  return places;
}

/// Says whether scalars of the plan are those of the scheduled program.
LogicalResult PlanMatcher::matchScalars(Operation *planned, Operation *op,
                                        ValueRange from, ValueRange to) {
  bool isSame = from.size() == to.size();
  for (auto [a, b] : llvm::zip(from, to))
    isSame &= scalars.isSame(a, b);
  if (isSame)
    return success();
  return fail(planned, op) << getOpName(planned)
                           << " takes other scalars than the scheduled program";
}

/// A join is numbered as what the scheduled program carries.
LogicalResult PlanMatcher::checkJoin(Operation *op, Value value, Value a,
                                     Value b) {
  auto join = cast<rt::AssembleOp>(op);
  if (failed(checkNumber(join, join.getValue(), get(value).value)))
    return failure();
  for (unsigned number : {0, 1})
    if (failed(checkInto(join, number, get(value), getType(value))))
      return failure();
  return checkFrom(join, {a, b});
}

/// A block of a loop or branch, at the end of which what it yields lies at
/// `spots`.
LogicalResult PlanMatcher::matchBranch(Operation *op, Block &from, Block &to,
                                       ArrayRef<Spot> spots) {
  for (Operation &inner : from.without_terminator())
    if (failed(match(&inner)))
      return failure();
  Operation *yield = from.getTerminator();
  FailureOr<Operation *> end = next(yield);
  if (failed(end))
    return failure();
  if (*end != to.getTerminator())
    return fail(*end, op) << getOpName(*end)
                          << " stands past the end of a block of the "
                             "scheduled program";
  for (auto [spot, tensor] :
       llvm::zip(spots, select(yield->getOperands(), true)))
    if (failed(checkThere(*end, "the next pass, or what follows, needs", spot,
                          tensor)))
      return failure();
  return matchScalars(*end, op, select(yield->getOperands(), false),
                      (*end)->getOperands());
}

LogicalResult PlanMatcher::matchFor(scf::ForOp op) {
  FailureOr<scf::ForOp> planned = expect<scf::ForOp>(op);
  if (failed(planned))
    return failure();
  scf::ForOp loop = *planned;
  if (failed(matchScalars(
          loop, op, {op.getLowerBound(), op.getUpperBound(), op.getStep()},
          {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})) ||
      failed(matchScalars(loop, op, select(op.getInitArgs(), false),
                          loop.getInitArgs())) ||
      failed(checkSame(loop, op, op.getUnsignedCmpAttr(),
                       loop.getUnsignedCmpAttr(), "unsigned comparison")))
    return failure();
  Block::iterator after = at;
  at = loop.getBody()->begin();
  SmallVector<Value> inits = select(op.getInitArgs(), true);
  SmallVector<Value> carried = select(op.getRegionIterArgs(), true);
  SmallVector<Value> yielded = select(op.getYieldedValues(), true);
  SmallVector<Value> results = select(op.getResults(), true);
  SmallVector<Operation *> joins;
  FailureOr<std::vector<Spot>> spots = readJoins(carried, op, joins);
  if (failed(spots))
    return failure();
  for (auto [spot, init, join] : llvm::zip(*spots, inits, joins))
    if (failed(checkThere(join, "the loop needs", spot, init)))
      return failure();
  scalars.unite(op.getInductionVar(), loop.getInductionVar());
  for (auto [from, to] : llvm::zip(select(op.getRegionIterArgs(), false),
                                   loop.getRegionIterArgs()))
    scalars.unite(from, to);
  forget(loop);
  contents.open();
  for (auto [spot, value, join] : llvm::zip(*spots, carried, joins)) {
    define(value, addBase(getType(value), op));
    contents.name(spot, get(value), join);
  }
  if (failed(matchBranch(op, *op.getBody(), *loop.getBody(), *spots)))
    return failure();
  contents.restore();
  for (unsigned i = 0; i < joins.size(); ++i)
    if (failed(checkJoin(joins[i], carried[i], inits[i], yielded[i])))
      return failure();
  at = after;
  SmallVector<Operation *> ends;
  FailureOr<std::vector<Spot>> left = readJoins(results, op, ends);
  if (failed(left))
    return failure();
  for (unsigned i = 0; i < ends.size(); ++i) {
    if (!((*left)[i] == (*spots)[i]))
      return fail(ends[i], op) << "the loop carries its tensor #" << i << " at "
                               << describe((*spots)[i]) << ", but leaves it at "
                               << describe((*left)[i]);
    define(results[i], addBase(getType(results[i]), op));
    if (failed(checkJoin(ends[i], results[i], inits[i], yielded[i])))
      return failure();
    contents.name((*left)[i], get(results[i]), ends[i]);
  }
  for (auto [from, to] :
       llvm::zip(select(op.getResults(), false), loop.getResults()))
    scalars.unite(from, to);
  return success();
}

LogicalResult PlanMatcher::matchIf(scf::IfOp op) {
  FailureOr<scf::IfOp> planned = expect<scf::IfOp>(op);
  if (failed(planned))
    return failure();
  scf::IfOp branch = *planned;
  bool hasElse = !op.getElseRegion().empty();
  if (failed(
          matchScalars(branch, op, op.getCondition(), branch.getCondition())))
    return failure();
  if (hasElse == branch.getElseRegion().empty())
    return fail(branch, op)
           << getOpName(branch) << " has " << (hasElse ? "no" : "an")
           << " else branch, unlike the scheduled program";
  SmallVector<Value> results = select(op.getResults(), true);
  SmallVector<Operation *> joins;
  FailureOr<std::vector<Spot>> spots = readJoins(results, op, joins);
  if (failed(spots))
    return failure();
  Block::iterator after = at;
  for (bool isThen : {true, false}) {
    if (!isThen && !hasElse)
      continue;
    Block &from = isThen ? *op.thenBlock() : *op.elseBlock();
    Block &to = isThen ? *branch.thenBlock() : *branch.elseBlock();
    contents.open();
    at = to.begin();
    if (failed(matchBranch(op, from, to, *spots)))
      return failure();
    contents.restore();
  }
  at = after;
  forget(branch);
  for (unsigned i = 0; i < joins.size(); ++i) {
    define(results[i], addBase(getType(results[i]), op));
    SmallVector<Value> thenGiven = select(op.thenYield().getOperands(), true);
    SmallVector<Value> elseGiven = select(op.elseYield().getOperands(), true);
    if (failed(checkJoin(joins[i], results[i], thenGiven[i], elseGiven[i])))
      return failure();
    contents.name((*spots)[i], get(results[i]), joins[i]);
  }
  for (auto [from, to] :
       llvm::zip(select(op.getResults(), false), branch.getResults()))
    scalars.unite(from, to);
  return success();
}
