// SPDX-License-Identifier: Apache-2.0

// A loop makes as many passes as there are numbers from its lower bound on, a
// step apart, below the upper one. Code would go on for ever where a sum
// overflows or a step is not positive, and upstream's folds take the extent and
// the step for signed numbers of the loop's type. Where that matters, a loop
// over an index counts the passes instead, from 0 on.

#include "CheckValues.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// What a loop runs over, where all of it is constant; of the loop's type, with
/// room for sums and differences.
struct Range {
  APInt lower, upper, step;
};

std::optional<Range> getRange(scf::ForOp loop) {
  Range range;
  for (auto [value, number] : {std::pair(loop.getLowerBound(), &range.lower),
                               std::pair(loop.getUpperBound(), &range.upper),
                               std::pair(loop.getStep(), &range.step)}) {
    if (!matchPattern(value, m_ConstantInt(number)))
      return std::nullopt;
    unsigned width = number->getBitWidth() + 2;
    *number = loop.getUnsignedCmp() ? number->zext(width) : number->sext(width);
  }
  return range;
}

/// Whether the passes, the extent, and what the induction variable ends with
/// are the same to everybody.
bool isCounted(scf::ForOp loop) {
  if (loop.getUnsignedCmp())
    return false;
  if (std::optional<Range> range = getRange(loop)) {
    unsigned width = range->step.getBitWidth();
    APInt most = APInt::getSignedMaxValue(width - 2).sext(width);
    return (range->upper - range->lower).sle(most) &&
           (range->upper + range->step - 1).sle(most);
  }
  // An extent that is not a number of 64 bits is never passed through.
  Type type = loop.getStep().getType();
  return matchPattern(loop.getStep(), m_One()) &&
         (type.isIndex() || type.isInteger(64));
}

/// More passes are none that anybody waits for.
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

int64_t countPasses(const Range &range) {
  if (range.lower.sge(range.upper))
    return 0;
  APInt passes = (range.upper - range.lower + range.step - 1).udiv(range.step);
  return passes.getActiveBits() < 64 ? passes.getZExtValue() : kMost;
}

/// Computes the passes as an index; there are none if the step is not positive.
Value emitPasses(OpBuilder &builder, scf::ForOp loop) {
  Location loc = loop.getLoc();
  if (std::optional<Range> range = getRange(loop))
    return arith::ConstantIndexOp::create(builder, loc, countPasses(*range));
  Value lower = loop.getLowerBound(), upper = loop.getUpperBound(),
        step = loop.getStep();
  Type type = step.getType();
  auto emit = [&](int64_t number) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getIntegerAttr(type, number));
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
  passes = arith::SelectOp::create(builder, loc, isAny, passes, zero);
  if (type.isIndex() || type.isInteger(64))
    passes = arith::MinUIOp::create(builder, loc, passes, emit(kMost));
  return type.isIndex() ? passes
                        : arith::IndexCastUIOp::create(
                              builder, loc, builder.getIndexType(), passes);
}

/// Goes from 0 to the number of passes, a step of 1 apart.
void count(scf::ForOp loop) {
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  Value lower = loop.getLowerBound(), step = loop.getStep(),
        induction = loop.getInductionVar();
  loop.setUpperBound(emitPasses(builder, loop));
  loop.setLowerBound(arith::ConstantIndexOp::create(builder, loc, 0));
  loop.setStep(arith::ConstantIndexOp::create(builder, loc, 1));
  loop.setUnsignedCmp(false);
  induction.setType(builder.getIndexType());
  builder.setInsertionPointToStart(loop.getBody());
  Value pass = induction;
  if (!step.getType().isIndex()) {
    pass = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), pass);
    if (!step.getType().isInteger(64))
      pass = arith::TruncIOp::create(builder, loc, step.getType(), pass);
  }
  Value moved = arith::MulIOp::create(builder, loc, pass, step);
  Value value = arith::AddIOp::create(builder, loc, lower, moved);
  induction.replaceAllUsesExcept(value, &loop.getBody()->front());
}

LogicalResult defineLoop(scf::ForOp loop) {
  APInt step;
  bool isKnown = matchPattern(loop.getStep(), m_ConstantInt(&step));
  if (isKnown &&
      (step.isZero() || (step.isNegative() && !loop.getUnsignedCmp())))
    return loop.emitOpError("has step ")
           << step.getSExtValue() << ", expected a positive one";
  // Wider integers are refused where values are.
  Type type = loop.getStep().getType();
  if ((type.isIndex() || type.getIntOrFloatBitWidth() <= 64) &&
      !isCounted(loop))
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
