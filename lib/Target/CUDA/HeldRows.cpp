// SPDX-License-Identifier: Apache-2.0

// Rows that registers hold. Each thread of a row has the same points in all
// phases, so that it reads inputs once, keeps what it computed, and needs of
// others nothing but sums. The code of all its points is written out. What is
// of this row alone is loaded before anything else, so that a lot is on its way
// at a time.

#include "RowKernel.h"
#include "WideAccess.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::weft {

/// Says whether an input has several elements in a row.
bool RowKernel::isAlongRow(const Access &access) {
  return llvm::any_of(shape.phases, [&](const Phase &phase) {
    return llvm::any_of(phase.loops,
                        [&](int dim) { return access.strides[dim] != 0; });
  });
}

/// Says whether rows have elements of their own in an input.
bool RowKernel::isOfRow(const Access &access) {
  return llvm::any_of(shape.rows,
                      [&](int dim) { return access.strides[dim] != 0; });
}

Value RowKernel::emitHeldInput(const Member &member, OpOperand &operand) {
  const Access &access = member.accesses[operand.getOperandNumber()];
  SmallVector<HeldInput> &inputs = heldInputs[operand.get()];
  auto it = llvm::find_if(
      inputs, [&](HeldInput &input) { return input.access == access; });
  if (it == inputs.end())
    it = inputs.insert(inputs.end(), {access, {}});
  size_t place = isAlongRow(access) ? heldPoint : 0;
  if (it->atPoints.size() <= place)
    it->atPoints.resize(place + 1);
  if (Value loaded = it->atPoints[place])
    return loaded;
  // `it` may move.
  Value loaded = PointEmitter::emitOperand(member, operand);
  return it->atPoints[place] = loaded;
}

Value RowKernel::emitOperand(const Member &member, OpOperand &operand) {
  Value value = operand.get();
  if (heldPoint >= 0 && isa<RankedTensorType>(value.getType())) {
    if (isa<BlockArgument>(value))
      return emitHeldInput(member, operand);
    if (shape.findProducer(value) >= 0 && !shape.isRowScalar(value) &&
        !shape.isForwarded(value, member))
      return heldResults.find(value)->second[heldPoint];
  }
  return PointEmitter::emitOperand(member, operand);
}

int64_t RowKernel::getNumSteps(const Phase &phase) {
  return llvm::divideCeil(getCount(phase.loops) / team.heldWidth, team.slots);
}

/// Sets the index to the first of the thread's neighbours of a step; after the
/// row's end to the last ones, which are not the thread's own.
void RowKernel::goToChunk(const Phase &phase, int64_t step) {
  int64_t chunks = getCount(phase.loops) / team.heldWidth;
  Value position = add(slot, number(step * team.slots));
  isOwn = {};
  if ((step + 1) * team.slots > chunks) {
    isOwn = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                  position, number(chunks));
    position =
        arith::MinSIOp::create(builder, loc, position, number(chunks - 1));
  }
  delinearize(position, phase.loops, team.heldWidth);
}

/// Visits the thread's points of a step; `body` gets their place in the step.
void RowKernel::forEachHeldPoint(const Phase &phase, int64_t step,
                                 function_ref<void(int64_t)> body) {
  goToChunk(phase, step);
  forEachNeighbour(phase.loops.back(), team.heldWidth, [&](int64_t i) {
    heldPoint = step * team.heldWidth + i;
    body(i);
  });
  heldPoint = -1;
}

/// Loads the inputs of a phase: those that rows have of their own, or all.
void RowKernel::loadHeld(const Phase &phase, bool onlyOfRow) {
  for (int64_t step = 0; step < getNumSteps(phase); ++step)
    for (unsigned i : phase.members) {
      const Member &member = shape.members[i];
      linalg::GenericOp op = member.op;
      for (OpOperand *operand : op.getDpsInputOperands()) {
        const Access &access = member.accesses[operand->getOperandNumber()];
        if (isa<BlockArgument>(operand->get()) &&
            isa<RankedTensorType>(operand->get().getType()) &&
            isAlongRow(access) && (!onlyOfRow || isOfRow(access)))
          forEachHeldPoint(phase, step,
                           [&](int64_t) { emitOperand(member, *operand); });
      }
    }
}

/// Keeps what members gave at the point.
void RowKernel::keepResults(const Phase &phase) {
  for (unsigned i : phase.members) {
    const Member &member = shape.members[i];
    if (member.isReduction())
      continue;
    for (OpResult result : linalg::GenericOp(member.op)->getResults()) {
      Values &atPoints = heldResults[result];
      if (int64_t(atPoints.size()) <= heldPoint)
        atPoints.resize(heldPoint + 1);
      atPoints[heldPoint] = scalars.lookup(result);
    }
  }
}

void RowKernel::emitHeldPoints(const Phase &phase) {
  loadHeld(phase, /*onlyOfRow=*/false);
  for (int64_t step = 0; step < getNumSteps(phase); ++step) {
    std::vector<SmallVector<Store>> ofPoints(team.heldWidth);
    forEachHeldPoint(phase, step, [&](int64_t i) {
      emitMembers(phase.members, {}, ofPoints[i]);
      keepResults(phase);
    });
    emitGuarded(isOwn, [&] { storePoint(sortStores(ofPoints)); });
  }
}

/// Sums, and what their phase stores on the way.
void RowKernel::emitHeldSums(const Phase &phase) {
  loadHeld(phase, /*onlyOfRow=*/false);
  for (RowSum &sum : sums)
    sum.init = emitInit(*sum.member, sum.result);
  Values values = getIdentities();
  SmallVector<std::pair<Value, SmallVector<Store>>> stores;
  for (int64_t step = 0; step < getNumSteps(phase); ++step) {
    std::vector<SmallVector<Store>> ofPoints(team.heldWidth);
    forEachHeldPoint(phase, step, [&](int64_t i) {
      Values before = values;
      addPoint(values, ofPoints[i]);
      keepResults(phase);
      for (auto [value, old] : llvm::zip(values, before))
        if (isOwn)
          value = arith::SelectOp::create(builder, loc, isOwn, value, old);
    });
    stores.push_back({isOwn, sortStores(ofPoints)});
  }
  for (auto &[isThere, ofStep] : stores)
    emitGuarded(isThere, [&] { storePoint(ofStep); });
  finish(finishTeamSums(values), isFirstSlot());
}

void RowKernel::emitHeldTile() {
  heldInputs.clear();
  heldResults.clear();
  for (const Phase &phase : shape.phases)
    if (!phase.loops.empty())
      loadHeld(phase, /*onlyOfRow=*/true);
  for (const Phase &phase : shape.phases) {
    uint64_t dims = 0;
    for (unsigned i : phase.members)
      dims |= shape.members[i].reductionDims;
    if (phase.loops.empty()) {
      emitPoints(phase);
    } else if (dims == 0) {
      emitHeldPoints(phase);
    } else {
      collectSums(phase, dims);
      emitHeldSums(phase);
    }
    emitBarrier();
  }
}

} // namespace mlir::weft
