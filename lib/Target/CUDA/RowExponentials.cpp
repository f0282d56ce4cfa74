// SPDX-License-Identifier: Apache-2.0

// A row's maximum m, and the sum s of exp(x - m), in one walk over rows that
// nothing holds: a thread takes some points, then m grows to their maximum, s
// is multiplied by what exp(-m) is less, and their exponentials are added. What
// threads have is joined by their largest m in the same way. While m is -inf,
// exponentials are taken of x itself, which are 0; if it stays so, the sum is
// NaN, as it is in two walks.

#include "RowKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

namespace mlir::weft {

/// Points of which a thread takes the exponentials at once.
static constexpr int64_t kMostPoints = 32;

/// What a body reads of an input, widened or not.
static OpOperand *findRead(linalg::GenericOp op, Value value) {
  if (auto extend = value.getDefiningOp<arith::ExtFOp>())
    value = extend.getIn();
  auto argument = dyn_cast<BlockArgument>(value);
  bool isInput = argument && argument.getOwner() == op.getBody() &&
                 argument.getArgNumber() < op.getNumDpsInputs();
  return isInput ? op.getDpsInputOperand(argument.getArgNumber()) : nullptr;
}

/// Says whether two members read the same elements.
static bool readTheSame(const Member &a, Value ofA, const Member &b,
                        Value ofB) {
  OpOperand *first = findRead(a.op, ofA), *second = findRead(b.op, ofB);
  return first && second && first->get() == second->get() &&
         ofA.getType() == ofB.getType() &&
         a.accesses[first->getOperandNumber()] ==
             b.accesses[second->getOperandNumber()];
}

/// Whose exponential the only sum of a phase adds, if that is x - m.
static arith::SubFOp findExponent(const KernelShape &shape,
                                  const Phase &phase) {
  if (phase.members.size() != 1 || phase.order)
    return {};
  linalg::GenericOp op = shape.members[phase.members.front()].op;
  if (op.getNumResults() != 1)
    return {};
  std::optional<Combiner> combiner =
      getCombiner(cast<linalg::LinalgOp>(op.getOperation()), 0);
  if (!combiner || !isa<arith::AddFOp>(combiner->op) ||
      !combiner->term.getType().isF32())
    return {};
  auto power = combiner->term.getDefiningOp<math::ExpOp>();
  return power ? power.getOperand().getDefiningOp<arith::SubFOp>()
               : arith::SubFOp();
}

OpResult findPivot(const KernelShape &shape, unsigned number) {
  if (number + 1 >= shape.phases.size())
    return {};
  const Phase &first = shape.phases[number], &second = shape.phases[number + 1];
  uint64_t dims = 0;
  for (int dim : first.loops)
    dims |= uint64_t(1) << dim;
  auto isSum = [&](unsigned i) {
    return shape.members[i].reductionDims == dims;
  };
  arith::SubFOp exponent = findExponent(shape, second);
  if (!exponent || dims == 0 || first.order || first.loops != second.loops ||
      !llvm::all_of(first.members, isSum) ||
      !llvm::all_of(second.members, isSum))
    return {};
  const Member &user = shape.members[second.members.front()];
  OpOperand *subtracted = findRead(user.op, exponent.getRhs());
  for (unsigned i : first.members) {
    const Member &member = shape.members[i];
    auto op =
        cast<linalg::LinalgOp>(linalg::GenericOp(member.op).getOperation());
    for (OpResult result : op->getResults()) {
      std::optional<Combiner> combiner =
          getCombiner(op, result.getResultNumber());
      if (!combiner || !getElementTypeOrSelf(result).isIntOrFloat())
        return {};
      if (subtracted && subtracted->get() == result &&
          isa<arith::MaximumFOp>(combiner->op) &&
          readTheSame(member, combiner->term, user, exponent.getLhs()))
        return result;
    }
  }
  return {};
}

/// The factor of a sum that is to be one by another maximum.
static Value emitFactor(OpBuilder &builder, Location loc, Value from,
                        Value to) {
  return math::ExpOp::create(builder, loc,
                             arith::SubFOp::create(builder, loc, from, to));
}

/// Adds `number` runs of points; the last of `carried` is the sum of
/// exponentials.
void RowKernel::emitPowers(const RowSum &power, unsigned pivot, Value flat,
                           int64_t number, Values &carried) {
  Value before = carried[pivot];
  auto forEachPoint = [&](function_ref<void()> body) {
    for (int64_t step = 0; step < number; ++step) {
      delinearize(step == 0 ? flat : add(flat, this->number(step * lanes)),
                  reduced, width);
      forEachNeighbour(reduced.back(), width, [&](int64_t) { body(); });
    }
  };
  forEachPoint([&] {
    SmallVector<Store> stores;
    addPoint(carried, stores);
  });
  Value most = carried[pivot];
  Type f32 = builder.getF32Type();
  auto constant = [&](double value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getFloatAttr(f32, value));
  };
  Value isLeast =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, most,
                            constant(-std::numeric_limits<double>::infinity()));
  most = arith::SelectOp::create(builder, loc, isLeast, constant(0), most);
  Value sum = arith::MulFOp::create(builder, loc, carried.back(),
                                    emitFactor(builder, loc, before, most));
  scalars.map(sums[pivot].result, most);
  forEachPoint([&] {
    Values terms;
    emitTerms(*power.member, terms);
    sum = combine(power, sum, terms.front());
  });
  carried.back() = sum;
}

/// What a thread sums up of a row.
RowKernel::Values RowKernel::walkPowers(const RowSum &power, unsigned pivot) {
  Values carried = getIdentities();
  carried.push_back(
      arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0)));
  int64_t steps = count / width, atOnce = kMostPoints / width;
  while (atOnce > 1 && steps < atOnce * lanes)
    atOnce /= 2;
  int64_t run = atOnce * lanes, end = steps / run * run;
  carried = emitLoop(slot, end, run, carried, [&](Value flat, Values &values) {
    emitPowers(power, pivot, flat, atOnce, values);
  });
  if (end == steps)
    return carried;
  return emitLoop(add(slot, number(end)), steps, lanes, carried,
                  [&](Value flat, Values &values) {
                    emitPowers(power, pivot, flat, 1, values);
                  });
}

/// The phase `number` and the next one, whose exponentials are by `most`.
void RowKernel::emitExponentials(unsigned number, OpResult most) {
  const Phase &first = shape.phases[number], &second = shape.phases[number + 1];
  uint64_t dims = shape.members[first.members.front()].reductionDims;
  prepareSums(second, dims, /*isLast=*/false);
  RowSum power = sums.front();
  power.init = emitInit(*power.member, power.result);
  prepareSums(first, dims, /*isLast=*/false);
  width = std::min(getWidth(first), getWidth(second));
  for (RowSum &sum : sums)
    sum.init = emitInit(*sum.member, sum.result);
  unsigned pivot = 0;
  while (sums[pivot].result != most)
    ++pivot;
  Values values = walkPowers(power, pivot);
  Value sum = values.pop_back_val(), own = values[pivot];
  values = finishTeamSums(values);
  Value factor = emitFactor(builder, loc, own, values[pivot]);
  sum = arith::MulFOp::create(builder, loc, sum, factor);
  finish(values, isFirstSlot());
  emitBarrier();
  sums = {power};
  finish(finishTeamSums({sum}), isFirstSlot());
}

} // namespace mlir::weft
