// SPDX-License-Identifier: Apache-2.0

// Loops of global programs. A short one is its passes, one after the other. A
// longer one, or one whose length is not known, is a function of where it
// begins and what a pass makes of it: of each result, just of what that depends
// on. What each pass hands on as it is belongs to the program around.

#include "ProgramElements.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

//===----------------------------------------------------------------------===//
// Short loops
//===----------------------------------------------------------------------===//

/// Passes of a loop and of all loops inside that are followed one by one. As
/// many as are written out in the canonical form, at least.
static constexpr int64_t kMaxPasses = 256;

static std::optional<int64_t> countInside(scf::ForOp op, int64_t trips) {
  if (trips <= 0 || trips > kMaxPasses)
    return std::nullopt;
  int64_t inside = 0;
  for (auto nested : op.getBody()->getOps<scf::ForOp>()) {
    std::optional<APInt> nestedTrips = nested.getStaticTripCount();
    std::optional<int64_t> count =
        nestedTrips && nestedTrips->isSingleWord()
            ? countInside(nested, nestedTrips->getSExtValue())
            : std::nullopt;
    if (!count)
      return std::nullopt;
    inside += *count;
  }
  int64_t total = trips * std::max<int64_t>(inside, 1);
  return total <= kMaxPasses ? std::optional(total) : std::nullopt;
}

/// The numbers from `begin` on, `step` apart, below `end`. None if code would
/// not count so many: the number after the last one is not of that type.
static std::optional<int64_t> countNumbers(const APInt &begin, const APInt &end,
                                           const APInt &step, bool isUnsigned) {
  unsigned width = begin.getBitWidth() + 2;
  auto widen = [&](const APInt &number) {
    return isUnsigned ? number.zext(width) : number.sext(width);
  };
  APInt from = widen(begin), to = widen(end), by = widen(step);
  if (!by.isStrictlyPositive())
    return std::nullopt;
  if (from.sge(to))
    return 0;
  APInt trips = (to - from - 1).udiv(by) + 1;
  if (trips.ugt(kMaxPasses))
    return std::nullopt;
  APInt after = from + trips * by;
  if (widen(after.trunc(width - 2)) != after)
    return std::nullopt;
  return trips.getZExtValue();
}

/// How often a loop is passed through, if it is followed pass by pass.
std::optional<int64_t> ProgramElements::countPasses(scf::ForOp op) {
  auto getNumber = [&](Value value) {
    return dyn_cast_if_present<IntegerAttr>(table.getConstantValue(get(value)));
  };
  IntegerAttr begin = getNumber(op.getLowerBound()),
              end = getNumber(op.getUpperBound()),
              step = getNumber(op.getStep());
  if (!begin || !end || !step)
    return std::nullopt;
  std::optional<int64_t> trips = countNumbers(
      begin.getValue(), end.getValue(), step.getValue(), op.getUnsignedCmp());
  if (!trips || (*trips > 0 && !countInside(op, *trips)))
    return std::nullopt;
  return trips;
}

LogicalResult ProgramElements::liftFor(scf::ForOp op) {
  int64_t trips = *countPasses(op);
  auto begin =
      cast<IntegerAttr>(table.getConstantValue(get(op.getLowerBound())));
  auto step = cast<IntegerAttr>(table.getConstantValue(get(op.getStep())));
  Elements carried;
  for (Value init : op.getInitArgs())
    carried.push_back(get(init));
  APInt counter = begin.getValue();
  for (int64_t pass = 0; pass < trips; ++pass) {
    values[op.getInductionVar()] =
        table.getConstant(IntegerAttr::get(begin.getType(), counter));
    for (auto [arg, element] : llvm::zip(op.getRegionIterArgs(), carried))
      values[arg] = element;
    if (failed(liftBlock(*op.getBody())))
      return failure();
    for (auto [i, yielded] :
         llvm::enumerate(op.getBody()->getTerminator()->getOperands()))
      carried[i] = get(yielded);
    counter += step.getValue();
  }
  for (auto [result, element] : llvm::zip(op.getResults(), carried))
    set(op, result, element);
  return success();
}

//===----------------------------------------------------------------------===//
// Other loops
//===----------------------------------------------------------------------===//

namespace {

/// Collects which of the loop's states `root` depends on.
void collectStates(const Element *root, int64_t depth, llvm::BitVector &found) {
  SmallVector<const Element *> stack = {root};
  llvm::SmallPtrSet<const Element *, 32> seen;
  while (!stack.empty()) {
    const Element *element = stack.pop_back_val();
    // What is made of nothing inside of a loop as deep as this one.
    if (element->depth < depth || !seen.insert(element).second)
      continue;
    if (element->kind == ElementKind::Argument &&
        element->numbers[0] == depth && element->numbers[1] == 0)
      found.set(element->numbers[2]);
    llvm::append_range(stack, element->operands);
  }
}

} // namespace

/// A value that a loop carries, number `number` of those that it is told by.
const Element *ProgramElements::getState(int64_t group, int64_t number,
                                         Type type) {
  Element state{ElementKind::Argument};
  state.type = getElementTypeOrSelf(type);
  state.numbers = {depth, group, number};
  Elements indices;
  if (auto tensor = dyn_cast<RankedTensorType>(type)) {
    state.shape.assign(tensor.getShape().begin(), tensor.getShape().end());
    indices = getIndices(tensor.getShape());
  }
  return table.getRead(table.get(std::move(state)), indices);
}

/// Follows one pass, in which the loop carries `states`.
LogicalResult ProgramElements::liftPass(Operation *op, const Elements &states,
                                        Pass &pass) {
  pass = Pass();
  auto take = [&](Block &block, const Elements &elements) {
    auto args = block.getArguments().take_back(elements.size());
    for (auto [arg, element] : llvm::zip(args, elements))
      values[arg] = element;
    return liftBlock(block);
  };
  auto getAll = [&](ValueRange range) {
    Elements elements;
    for (Value value : range)
      elements.push_back(get(value));
    return elements;
  };
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    values[loop.getInductionVar()] =
        getState(1, 0, loop.getInductionVar().getType());
    if (failed(take(*loop.getBody(), states)))
      return failure();
    pass.results = states;
    pass.next = getAll(loop.getYieldedValues());
    pass.bounds =
        getAll({loop.getLowerBound(), loop.getUpperBound(), loop.getStep()});
    return success();
  }
  auto loop = cast<scf::WhileOp>(op);
  if (failed(take(*loop.getBeforeBody(), states)))
    return failure();
  pass.results = getAll(loop.getConditionOp().getArgs());
  pass.bounds = {get(loop.getConditionOp().getCondition())};
  if (failed(take(*loop.getAfterBody(), pass.results)))
    return failure();
  pass.next = getAll(loop.getYieldOp().getOperands());
  return success();
}

/// Follows one pass again and again, until it is known what none changes.
/// States in `kept` are numbered in order, others are left as they are.
LogicalResult ProgramElements::liftStates(Operation *op, ValueRange inits,
                                          const llvm::BitVector &kept,
                                          Elements &states, Pass &pass) {
  int64_t number = 0;
  for (auto [i, init] : llvm::enumerate(inits))
    if (kept[i])
      states[i] = getState(0, number++, init.getType());
  while (true) {
    if (failed(liftPass(op, states, pass)))
      return failure();
    bool changed = false;
    for (auto [i, init] : llvm::enumerate(inits))
      if (states[i] != get(init) && pass.next[i] == states[i]) {
        states[i] = get(init);
        changed = true;
      }
    if (!changed)
      return success();
  }
}

/// The states on which one result depends, and how long the loop runs.
llvm::BitVector ProgramElements::getNeededStates(const Pass &pass,
                                                 unsigned result) {
  llvm::BitVector needed(pass.next.size()), done(pass.next.size());
  collectStates(pass.results[result], depth, needed);
  for (const Element *bound : pass.bounds)
    collectStates(bound, depth, needed);
  for (int next = needed.find_first(); next >= 0;) {
    done.set(next);
    collectStates(pass.next[next], depth, needed);
    llvm::BitVector open = needed;
    open.reset(done);
    next = open.find_first();
  }
  return needed;
}

LogicalResult ProgramElements::liftLoop(Operation *op) {
  ValueRange inits = isa<scf::ForOp>(op) ? cast<scf::ForOp>(op).getInitArgs()
                                         : cast<scf::WhileOp>(op).getInits();
  ++depth;
  unsigned count = inits.size();
  Elements states(count), all;
  Pass pass;
  if (failed(liftStates(op, inits, llvm::BitVector(count, true), states, pass)))
    return failure();
  all = states;
  llvm::BitVector followed(count, true);
  SmallVector<llvm::BitVector> needed;
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    needed.push_back(getNeededStates(pass, i));
  Elements results;
  for (unsigned i = 0; i < op->getNumResults(); ++i) {
    if (needed[i] != followed) {
      followed = needed[i];
      states = all;
      if (failed(liftStates(op, inits, followed, states, pass)))
        return failure();
    }
    Element made{ElementKind::Other, op->getName().getIdentifier(),
                 getDetails(op)};
    Type type = op->getResult(i).getType();
    made.type = getElementTypeOrSelf(type);
    made.numbers = {0, depth - 1, static_cast<int64_t>(followed.count())};
    auto addOperand = [&](const Element *element, Type type) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      made.operands.push_back(
          tensor ? table.getTensor(element, tensor.getShape()) : element);
    };
    llvm::append_range(made.operands, pass.bounds);
    addOperand(pass.results[i], type);
    for (unsigned state : followed.set_bits()) {
      addOperand(get(inits[state]), inits[state].getType());
      addOperand(pass.next[state], inits[state].getType());
    }
    Elements indices;
    if (auto tensor = dyn_cast<RankedTensorType>(type)) {
      made.shape.assign(tensor.getShape().begin(), tensor.getShape().end());
      indices = getIndices(tensor.getShape());
    }
    const Element *last = pass.results[i];
    results.push_back(
        last->depth < depth ? last : table.apply(std::move(made), {}, indices));
  }
  --depth;
  for (auto [result, element] : llvm::zip(op->getResults(), results))
    set(op, result, element);
  return success();
}
