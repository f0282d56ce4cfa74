// SPDX-License-Identifier: Apache-2.0

// Sums of a row. A sum with a declared order (OrderAttr) is taken by its leaves
// and lanes, each a chain: those of one result are spread over the row's
// threads, and joined by the declared tree, in shared memory. One without is
// taken in as many lanes as there are threads, which are joined by shuffles
// where they are of one row. No result depends on who is first. Where a row has
// several results of a sum, each is one thread's.

#include "RowKernel.h"
#include "WideAccess.h"

#include "weft/Codegen/Program/EmitMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::weft {

/// Steps of a walk whose loads are on their way together, of 16 bytes and of
/// one element, and the most ops of all of them.
static constexpr int64_t kStepsAtOnce = 4, kPointsAtOnce = 16,
                         kMaxStepOps = 1024;

/// a + b: what was there first is in front.
Value RowKernel::combine(const RowSum &sum, Value a, Value b) {
  OperationState state(loc, sum.combiner->op->getName(), {a, b}, a.getType());
  return builder.create(state)->getResult(0);
}

RowKernel::Values RowKernel::getIdentities() {
  Values values;
  for (const RowSum &sum : sums)
    values.push_back(
        arith::ConstantOp::create(builder, loc, sum.combiner->identity));
  return values;
}

/// Adds the init. A tree of sums starts from +0 and so is never -0: adding a
/// zero to it would change nothing.
Value RowKernel::startFrom(const RowSum &sum, Value tree) {
  Attribute constant;
  bool isIdentity = matchPattern(sum.init, m_Constant(&constant)) &&
                    (constant == sum.combiner->identity ||
                     (isa<arith::AddFOp>(sum.combiner->op) &&
                      matchPattern(sum.init, m_AnyZeroFloat())));
  return isIdentity ? tree : combine(sum, sum.init, tree);
}

void RowKernel::finish(ArrayRef<Value> values, Value isStored) {
  for (auto [sum, value] : llvm::zip(sums, values))
    if (shape.isRowScalar(sum.result))
      scalars.map(sum.result, value);
  emitGuarded(isStored, [&] {
    for (auto [sum, value] : llvm::zip(sums, values))
      atColumn(sum.column, [&] {
        forEachPlace(*sum.member, sum.result, [&](Value address) {
          emitStore(builder, loc, value, address);
        });
      });
  });
}

//===----------------------------------------------------------------------===//
// The walk of a leaf's lane
//===----------------------------------------------------------------------===//

/// Computes all members for the current point, and adds what sums add.
void RowKernel::addPoint(Values &carried, SmallVectorImpl<Store> &stores,
                         int64_t column) {
  Values terms;
  for (unsigned i : members) {
    const Member &member = shape.members[i];
    if (member.isReduction())
      emitTerms(member, terms);
    else
      emitMember(member, {}, stores);
  }
  for (auto [i, term] : llvm::enumerate(terms)) {
    Value &sum = carried[column * terms.size() + i];
    sum = combine(sums[i], sum, term);
  }
}

/// Adds the current point and its neighbours.
void RowKernel::emitStep(Values &carried) {
  std::vector<SmallVector<Store>> ofPoints(width);
  forEachNeighbour(reduced.back(), width,
                   [&](int64_t i) { addPoint(carried, ofPoints[i]); });
  if (storesPoints)
    storePoint(sortStores(ofPoints));
}

/// Adds `number` points and their neighbours, each `lanes` after the last:
/// stores come after all loads, so that those are on their way together.
void RowKernel::emitSteps(Value flat, int64_t number, Values &carried) {
  SmallVector<Store> stores;
  for (int64_t step = 0; step < number; ++step) {
    std::vector<SmallVector<Store>> ofPoints(width * columns);
    delinearize(step == 0 ? flat : add(flat, this->number(step * lanes)),
                reduced, width);
    forEachNeighbour(reduced.back(), width, [&](int64_t i) {
      for (int64_t column = 0; column < columns; ++column)
        atColumn(column, [&] {
          addPoint(carried, ofPoints[i * columns + column], column);
        });
    });
    llvm::append_range(stores, sortStores(ofPoints));
  }
  if (storesPoints)
    storePoint(stores);
}

void RowKernel::emitRun(Value base, int64_t length, Values &carried) {
  carried = emitLoop(currentLane, length, lanes, carried,
                     [&](Value step, Values &values) {
                       index[reduced.back()] = add(base, step);
                       emitStep(values);
                     });
}

void RowKernel::emitDims(unsigned depth, Values &carried) {
  if (depth + 1 == sizes.size())
    return emitRun(number(0), sizes[depth], carried);
  carried = emitLoop(number(0), sizes[depth], 1, carried,
                     [&](Value step, Values &values) {
                       index[reduced[depth]] = step;
                       emitDims(depth + 1, values);
                     });
}

/// As the host's OrderedNest: a leaf is some steps of one dim, each with all of
/// the dims after it.
void RowKernel::emitLeaf(Value leaf, Values &carried) {
  int64_t length = count / leaves, part = 1;
  if (length == 0)
    return;
  unsigned inner = sizes.size();
  while (inner > 0 && length % (part * sizes[inner - 1]) == 0)
    part *= sizes[--inner];
  if (inner == 0)
    return emitDims(0, carried);
  int64_t steps = length / part;
  Value first = multiply(leaf, steps);
  ArrayRef<int> outer = ArrayRef(reduced).take_front(inner);
  bool isLast = inner == sizes.size();
  if (isLast && sizes[inner - 1] % steps == 0) {
    delinearize(first, outer);
    return emitRun(index[outer.back()], steps, carried);
  }
  carried =
      emitLoop(number(0), steps, 1, carried, [&](Value step, Values &values) {
        delinearize(add(first, step), outer);
        isLast ? emitStep(values) : emitDims(inner, values);
      });
}

/// What one of `leaves * lanes` chains sums up.
RowKernel::Values RowKernel::emitWalkOf(Value chain) {
  Values carried = getIdentities();
  Value leaf = arith::DivUIOp::create(builder, loc, chain, number(lanes));
  currentLane = arith::RemUIOp::create(builder, loc, chain, number(lanes));
  if (isDeclared) {
    emitLeaf(leaf, carried);
    return carried;
  }
  int64_t steps = count / width, numOps = 0;
  for (unsigned i : members)
    linalg::GenericOp(shape.members[i].op).getBody()->walk([&](Operation *) {
      ++numOps;
    });
  int64_t atOnce = width == 1 ? kPointsAtOnce : kStepsAtOnce;
  while (atOnce > 1 && (steps < atOnce * lanes ||
                        atOnce * width * columns * numOps > kMaxStepOps))
    atOnce /= 2;
  int64_t run = atOnce * lanes, end = steps / run * run;
  carried = emitLoop(chain, end, run, carried, [&](Value flat, Values &values) {
    emitSteps(flat, atOnce, values);
  });
  if (end == steps)
    return carried;
  return emitLoop(
      add(chain, number(end)), steps, lanes, carried,
      [&](Value flat, Values &values) { emitSteps(flat, 1, values); });
}

//===----------------------------------------------------------------------===//
// One result, all threads of the row
//===----------------------------------------------------------------------===//

/// Joins the lanes, then the leaves, in the memory that the threads share.
void RowKernel::joinPartials() {
  auto join = [&](Value to, int64_t distance) {
    for (RowSum &sum : sums) {
      Type element = getElementTypeOrSelf(sum.result);
      auto at = [&](Value place) {
        return emitAddress(builder, loc, sum.partials, element,
                           getPlace(place));
      };
      Value address = at(to);
      Value first = emitLoad(builder, loc, element, address);
      Value second =
          emitLoad(builder, loc, element, at(add(to, number(distance))));
      emitStore(builder, loc, combine(sum, first, second), address);
    }
  };
  for (int64_t half = lanes / 2; half > 0; half /= 2) {
    forEachOfSlot(leaves * half, [&](Value position) {
      Value leaf = arith::DivUIOp::create(builder, loc, position, number(half));
      Value lane = arith::RemUIOp::create(builder, loc, position, number(half));
      join(add(multiply(leaf, lanes), lane), half);
    });
    emitBarrier();
  }
  for (int64_t distance = 1; distance < leaves; distance *= 2) {
    int64_t numJoins = llvm::divideCeil(leaves - distance, 2 * distance);
    forEachOfSlot(numJoins, [&](Value position) {
      join(multiply(position, 2 * distance * lanes), distance * lanes);
    });
    emitBarrier();
  }
}

/// Says whether the threads of a row hand sums on among themselves.
bool RowKernel::usesShuffles() {
  return team.isTogether && !isDeclared && team.getThreads() % kWarp == 0 &&
         llvm::all_of(sums, [](const RowSum &sum) {
           return getElementTypeOrSelf(sum.result).isIntOrFloat();
         });
}

/// Joins what the threads of a row have, so that all have it: within warps, and
/// then what warps have, by way of shared memory.
void RowKernel::joinByShuffles(Values &values) {
  for (auto [sum, value] : llvm::zip(sums, values))
    for (int64_t distance = std::min(team.slots, kWarp) / 2; distance > 0;
         distance /= 2)
      value = combine(sum, value, emitShuffle(builder, loc, value, distance));
  int64_t numWarps = team.slots / kWarp;
  if (numWarps <= 1)
    return;
  Value warp = arith::DivUIOp::create(builder, loc, slot, number(kWarp));
  Value isFirst = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::eq,
      arith::RemUIOp::create(builder, loc, slot, number(kWarp)), number(0));
  auto getAddress = [&](RowSum &sum, Value place) {
    return emitAddress(builder, loc, sum.partials,
                       getElementTypeOrSelf(sum.result), place);
  };
  for (RowSum &sum : sums)
    sum.partials = allocateShared(getElementTypeOrSelf(sum.result), numWarps);
  emitGuarded(isFirst, [&] {
    for (auto [sum, value] : llvm::zip(sums, values))
      emitStore(builder, loc, value, getAddress(sum, warp));
  });
  emitBarrier();
  for (auto [sum, value] : llvm::zip(sums, values)) {
    Values ofWarps;
    for (int64_t i = 0; i < numWarps; ++i)
      ofWarps.push_back(emitLoad(builder, loc, getElementTypeOrSelf(sum.result),
                                 getAddress(sum, number(i))));
    value = joinLanes(sum, ofWarps);
  }
}

/// The sums of what the threads of a row have, from their inits.
RowKernel::Values RowKernel::finishTeamSums(Values values) {
  joinByShuffles(values);
  for (auto [sum, value] : llvm::zip(sums, values))
    value = startFrom(sum, value);
  return values;
}

void RowKernel::emitTeamSums() {
  int64_t numChains = leaves * lanes;
  if (usesShuffles()) {
    for (RowSum &sum : sums)
      sum.init = emitInit(*sum.member, sum.result);
    return finish(finishTeamSums(emitWalkOf(slot)), isFirstSlot());
  }
  for (RowSum &sum : sums) {
    atColumn(sum.column, [&] { sum.init = emitInit(*sum.member, sum.result); });
    sum.partials = allocateShared(getElementTypeOrSelf(sum.result), numChains);
  }
  forEachOfSlot(numChains, [&](Value chain) {
    Values values = emitWalkOf(chain);
    for (auto [sum, value] : llvm::zip(sums, values))
      emitStore(builder, loc, value,
                emitAddress(builder, loc, sum.partials,
                            getElementTypeOrSelf(sum.result), getPlace(chain)));
  });
  emitBarrier();
  joinPartials();
  Values values;
  for (RowSum &sum : sums) {
    Type element = getElementTypeOrSelf(sum.result);
    Value tree = emitLoad(
        builder, loc, element,
        emitAddress(builder, loc, sum.partials, element, getPlace(number(0))));
    values.push_back(startFrom(sum, tree));
  }
  finish(values, isFirstSlot());
}

//===----------------------------------------------------------------------===//
// Each result by one thread
//===----------------------------------------------------------------------===//

/// One chain, which starts from the init.
RowKernel::Values RowKernel::emitChain() {
  Values carried;
  for (RowSum &sum : sums)
    carried.push_back(sum.init);
  return emitLoop(number(0), count, 1, carried,
                  [&](Value flat, Values &values) {
                    delinearize(flat, reduced);
                    SmallVector<Store> stores;
                    emitMembers(members, values, stores);
                    if (storesPoints)
                      storePoint(stores);
                  });
}

Value RowKernel::joinLanes(const RowSum &sum, ArrayRef<Value> lanes) {
  if (lanes.size() == 1)
    return lanes.front();
  size_t half = lanes.size() / 2;
  Values joined;
  for (size_t i = 0; i < half; ++i)
    joined.push_back(combine(sum, lanes[i], lanes[i + half]));
  return joinLanes(sum, joined);
}

Value RowKernel::joinLeaves(const RowSum &sum, ArrayRef<Value> leaves) {
  if (leaves.size() == 1)
    return leaves.front();
  size_t split = llvm::bit_ceil(leaves.size()) / 2;
  return combine(sum, joinLeaves(sum, leaves.take_front(split)),
                 joinLeaves(sum, leaves.drop_front(split)));
}

/// An array of the thread's own.
Value RowKernel::allocateOwn(Type element) {
  OpBuilder::InsertionGuard guard(builder);
  LLVM::LLVMFuncOp func = kernel.func;
  builder.setInsertionPointToStart(&func.getBody().front());
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  return LLVM::AllocaOp::create(builder, loc, pointer, getMemoryType(element),
                                number(leaves * lanes), /*alignment=*/16);
}

/// The declared tree, whose chains the thread takes one after the other.
RowKernel::Values RowKernel::emitTree() {
  Values arrays;
  for (RowSum &sum : sums)
    arrays.push_back(allocateOwn(getElementTypeOrSelf(sum.result)));
  auto getAddress = [&](unsigned i, Value chain) {
    return emitAddress(builder, loc, arrays[i],
                       getElementTypeOrSelf(sums[i].result), chain);
  };
  emitLoop(number(0), leaves * lanes, 1, {}, [&](Value chain, Values &) {
    Values values = emitWalkOf(chain);
    for (unsigned i = 0; i < sums.size(); ++i)
      emitStore(builder, loc, values[i], getAddress(i, chain));
  });
  Values values;
  for (unsigned i = 0; i < sums.size(); ++i) {
    Type element = getElementTypeOrSelf(sums[i].result);
    Values joined;
    for (int64_t leaf = 0; leaf < leaves; ++leaf) {
      Values ofLanes;
      for (int64_t lane = 0; lane < lanes; ++lane)
        ofLanes.push_back(emitLoad(builder, loc, element,
                                   getAddress(i, number(leaf * lanes + lane))));
      joined.push_back(joinLanes(sums[i], ofLanes));
    }
    values.push_back(startFrom(sums[i], joinLeaves(sums[i], joined)));
  }
  return values;
}

void RowKernel::emitOwnSums() {
  auto emitResult = [&](Value position) {
    delinearize(position, parallel);
    for (RowSum &sum : sums)
      sum.init = emitInit(*sum.member, sum.result);
    Values values = isDeclared ? emitTree() : emitChain();
    finish(values, isValid);
  };
  if (parallel.empty())
    return emitResult({});
  forEachOfSlot(getCount(parallel), emitResult);
}

/// Finds the sums over the dims `dims` of a phase, and who is with them.
void RowKernel::collectSums(const Phase &phase, uint64_t dims) {
  members.clear();
  sums.clear();
  for (unsigned i : phase.members)
    if (const Member &member = shape.members[i];
        !member.isReduction() || member.reductionDims == dims)
      members.push_back(i);
  for (int64_t column = 0; column < columns; ++column)
    for (unsigned i : members) {
      const Member &member = shape.members[i];
      auto op =
          cast<linalg::LinalgOp>(linalg::GenericOp(member.op).getOperation());
      for (unsigned k = 0; member.isReduction() && k < op->getNumResults(); ++k)
        sums.push_back(
            {&member, op->getResult(k), getCombiner(op, k), {}, {}, column});
    }
}

/// Sets what is known of the sums over the dims `dims`.
void RowKernel::prepareSums(const Phase &phase, uint64_t dims, bool isLast) {
  collectSums(phase, dims);
  parallel.clear();
  reduced.clear();
  sizes.clear();
  bool isPlain = llvm::all_of(
      sums, [](const RowSum &sum) { return sum.combiner.has_value(); });
  for (int dim : phase.loops)
    (dims >> dim & 1 ? reduced : parallel).push_back(dim);
  if (phase.order)
    reduced = phase.order->dims;
  for (int dim : reduced)
    sizes.push_back(shape.sizes[dim]);
  count = getCount(reduced);
  storesPoints = isLast;
  isDeclared = phase.order && !phase.order->isChain;
  isTeams = parallel.empty() && team.slots > 1 && isPlain;
  leaves = isDeclared ? phase.order->leaves : 1;
  lanes = isDeclared ? phase.order->lanes : isTeams ? team.slots : 1;
  width = isTeams && !isDeclared ? getWidth(phase) : 1;
}

/// The sums over the dims `dims`, with all that they are sums of.
void RowKernel::emitSums(const Phase &phase, uint64_t dims, bool isLast) {
  prepareSums(phase, dims, isLast);
  isTeams ? emitTeamSums() : emitOwnSums();
}

} // namespace mlir::weft
