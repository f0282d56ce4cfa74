// SPDX-License-Identifier: Apache-2.0

// A loop makes as many passes as there are numbers from its lower bound on, a
// step apart, below the upper one. Where a sum that overflows, or a step that
// is not positive, would make code go on for ever, passes are counted instead.

#include "CheckValues.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Whether the induction variable passes the upper bound without overflow.
bool isCounted(scf::ForOp loop) {
  APInt step, upper;
  if (!matchPattern(loop.getStep(), m_ConstantInt(&step)))
    return false;
  if (step.isOne())
    return true;
  if (!matchPattern(loop.getUpperBound(), m_ConstantInt(&upper)))
    return false;
  unsigned width = step.getBitWidth();
  if (loop.getUnsignedCmp())
    return (APInt::getMaxValue(width) - step + 1).uge(upper);
  return (APInt::getSignedMaxValue(width) - step + 1).sge(upper);
}

/// Counts the passes; there are none if the step is not positive.
void count(scf::ForOp loop) {
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  Value lower = loop.getLowerBound(), upper = loop.getUpperBound(),
        step = loop.getStep(), induction = loop.getInductionVar();
  auto emit = [&](int64_t number) -> Value {
    return arith::ConstantOp::create(
        builder, loc, builder.getIntegerAttr(step.getType(), number));
  };
  auto compare = [&](Value a, Value b) -> Value {
    return arith::CmpIOp::create(builder, loc,
                                 loop.getUnsignedCmp()
                                     ? arith::CmpIPredicate::ult
                                     : arith::CmpIPredicate::slt,
                                 a, b);
  };
  Value zero = emit(0), one = emit(1);
  Value goesUp = compare(zero, step);
  Value isAny =
      arith::AndIOp::create(builder, loc, goesUp, compare(lower, upper));
  Value safe = arith::SelectOp::create(builder, loc, goesUp, step, one);
  Value span = arith::SubIOp::create(builder, loc, upper, lower);
  Value passes = arith::CeilDivUIOp::create(builder, loc, span, safe);
  loop.setLowerBound(zero);
  loop.setUpperBound(
      arith::SelectOp::create(builder, loc, isAny, passes, zero));
  loop.setStep(one);
  loop.setUnsignedCmp(true);
  builder.setInsertionPointToStart(loop.getBody());
  Value moved = arith::MulIOp::create(builder, loc, induction, step);
  Value value = arith::AddIOp::create(builder, loc, lower, moved);
  induction.replaceAllUsesExcept(value, moved.getDefiningOp());
}

LogicalResult defineLoop(scf::ForOp loop) {
  APInt step;
  bool isKnown = matchPattern(loop.getStep(), m_ConstantInt(&step));
  if (isKnown &&
      (step.isZero() || (step.isNegative() && !loop.getUnsignedCmp())))
    return loop.emitOpError("has step ")
           << step.getSExtValue() << ", expected a positive one";
  if (!isCounted(loop))
    count(loop);
  return success();
}

/// A condition that is a constant does not depend on what a pass changes.
LogicalResult checkEnds(scf::WhileOp loop) {
  if (!matchPattern(loop.getConditionOp().getCondition(), m_One()))
    return success();
  return loop.emitOpError("never ends: its condition is always true");
}

} // namespace

LogicalResult weft::defineLoops(ModuleOp module) {
  WalkResult result = module.walk([](Operation *op) -> WalkResult {
    if (isa<scf::ParallelOp, scf::ForallOp>(op))
      return op->emitOpError("is not supported; scf.for is");
    if (auto loop = dyn_cast<scf::WhileOp>(op))
      return checkEnds(loop);
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return defineLoop(loop);
    return success();
  });
  return failure(result.wasInterrupted());
}
