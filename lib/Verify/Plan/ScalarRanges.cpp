// SPDX-License-Identifier: Apache-2.0

// What an op makes of ranges is what upstream's ops say of themselves: numbers
// of the width of their type, any of them where a sum goes beyond. Nothing is
// known of what is read, and of what a loop carries.

#include "ScalarRanges.h"

#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

namespace {

unsigned getWidth(Type type) {
  return ConstantIntRanges::getStorageBitwidth(type);
}

ConstantIntRanges getIndices(int64_t first, int64_t last) {
  return ConstantIntRanges::fromSigned(APInt(64, first, /*isSigned=*/true),
                                       APInt(64, last, /*isSigned=*/true));
}

/// Whether the result is no number at all for some operands: no bound on it is
/// one then.
bool promisesNoOverflow(Operation *op) {
  auto flags = dyn_cast<arith::ArithIntegerOverflowFlagsInterface>(op);
  return flags && (flags.hasNoSignedWrap() || flags.hasNoUnsignedWrap());
}

} // namespace

ConstantIntRanges ScalarRanges::get(Value scalar) {
  auto it = ranges.find(scalar);
  if (it != ranges.end())
    return it->second;
  auto choice = scalar.getDefiningOp<scf::IfOp>();
  if (!choice)
    return ConstantIntRanges::maxRange(getWidth(scalar.getType()));
  // Known only after both branches. Kept, as choices may be of choices.
  unsigned number = cast<OpResult>(scalar).getResultNumber();
  ConstantIntRanges range =
      get(choice.thenYield().getOperand(number))
          .rangeUnion(get(choice.elseYield().getOperand(number)));
  ranges.try_emplace(scalar, range);
  return range;
}

/// From the first number to the one before the end, unless the one after that
/// is beyond 64 bits, and so before the end again.
ConstantIntRanges ScalarRanges::getCounter(scf::ForOp loop) {
  Type type = loop.getInductionVar().getType();
  ConstantIntRanges any = ConstantIntRanges::maxRange(getWidth(type));
  if (loop.getUnsignedCmp())
    return any;
  APInt first = get(loop.getLowerBound()).smin();
  APInt end = get(loop.getUpperBound()).smax();
  ConstantIntRanges step = get(loop.getStep());
  bool overflows = end.isMinSignedValue();
  if (!overflows)
    (void)(end - 1).sadd_ov(step.smax(), overflows);
  if (overflows || !step.smin().isStrictlyPositive())
    return any;
  return ConstantIntRanges::fromSigned(first, first.slt(end) ? end - 1 : first);
}

void ScalarRanges::add(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    ranges.try_emplace(loop.getInductionVar(), getCounter(loop));
    return;
  }
  if (auto index = dyn_cast<AxisIndexOp>(op)) {
    MeshAttr mesh = lookupMesh(op, index.getMeshAttr());
    if (mesh)
      ranges.try_emplace(
          index.getResult(),
          getIndices(0, getNumShards(mesh, index.getAxes().getAxes()) - 1));
    return;
  }
  auto known = dyn_cast<InferIntRangeInterface>(op);
  if (!known || promisesNoOverflow(op))
    return;
  SmallVector<ConstantIntRanges> operands;
  for (Value operand : op->getOperands()) {
    if (!operand.getType().isIntOrIndex())
      return;
    operands.push_back(get(operand));
  }
  known.inferResultRanges(operands,
                          [&](Value result, const ConstantIntRanges &range) {
                            ranges.try_emplace(result, range);
                          });
}

LogicalResult ScalarRanges::check(rt::ViewOp view) {
  Value offset = view.getDynamicOffset();
  if (!offset)
    return success();
  ConstantIntRanges range = get(offset);
  __int128 first = range.smin().getSExtValue();
  __int128 last = range.smax().getSExtValue();
  __int128 begin = view.getOffset();
  __int128 room = rt::getSpan(view.getSource().getType());
  if (begin + first >= 0 && begin + last + rt::getSpan(view.getType()) <= room)
    return success();
  return view.emitOpError("begins ")
         << view.getOffset() << " elements and between "
         << range.smin().getSExtValue() << " and "
         << range.smax().getSExtValue()
         << " more from the first on, and may leave its source of "
         << static_cast<int64_t>(room);
}
