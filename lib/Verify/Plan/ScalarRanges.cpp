// SPDX-License-Identifier: Apache-2.0

// What an op makes of ranges is what upstream's ops say of themselves: numbers
// of the width of their type, any of them where a sum goes beyond. Nothing is
// known of what is read, and of what a loop carries.

#include "ScalarRanges.h"

#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

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

using GetRange = function_ref<ConstantIntRanges(Value)>;

/// Whether ranges of the op's results follow from those of its operands.
bool isInferred(Operation *op) {
  return isa<InferIntRangeInterface>(op) && !promisesNoOverflow(op) &&
         llvm::all_of(op->getOperandTypes(),
                      [](Type type) { return type.isIntOrIndex(); });
}

void infer(Operation *op, GetRange get, SetIntRangeFn set) {
  if (!isInferred(op))
    return;
  SmallVector<ConstantIntRanges> operands;
  for (Value operand : op->getOperands())
    operands.push_back(get(operand));
  cast<InferIntRangeInterface>(op).inferResultRanges(operands, set);
}

/// One of the numbers that an index of a rank or a counter may be.
struct Case {
  Value value;
  int64_t first, last, now;
};

/// Goes on to the next numbers; false after the last.
bool nextCase(MutableArrayRef<Case> cases) {
  for (Case &one : cases) {
    if (one.now++ < one.last)
      return true;
    one.now = one.first;
  }
  return false;
}

/// The ops that a scalar is computed by, and what these are of.
class Computation {
public:
  explicit Computation(Value scalar) : scalar(scalar) {
    visit(scalar, /*depth=*/0);
  }

  /// Finds what has few numbers, one after the other; false if there is nothing
  /// or too much of it.
  bool findCases(GetRange get, SmallVectorImpl<Case> &cases) const {
    constexpr int64_t kMostCases = 1 << 16;
    int64_t number = 1;
    for (Value value : inputs) {
      ConstantIntRanges range = get(value);
      if (range.smin().getBitWidth() > 64)
        continue;
      int64_t first = range.smin().getSExtValue();
      int64_t last = range.smax().getSExtValue();
      if (first < -kMostCases || last > kMostCases)
        continue;
      number *= last - first + 1;
      if (number > kMostCases)
        return false;
      cases.push_back({value, first, last, first});
    }
    return !cases.empty();
  }

  ConstantIntRanges compute(GetRange get, ArrayRef<Case> cases) const {
    DenseMap<Value, ConstantIntRanges> ranges;
    for (const Case &one : cases)
      ranges.try_emplace(one.value, ConstantIntRanges::constant(APInt(
                                        getWidth(one.value.getType()), one.now,
                                        /*isSigned=*/true)));
    auto getNow = [&](Value value) {
      auto it = ranges.find(value);
      return it != ranges.end() ? it->second : get(value);
    };
    for (Operation *op : ops)
      infer(op, getNow, [&](Value result, const ConstantIntRanges &range) {
        ranges.try_emplace(result, range);
      });
    return getNow(scalar);
  }

private:
  /// Operands come before what reads them. What is far away is an input.
  void visit(Value value, unsigned depth) {
    constexpr unsigned kMostOps = 64;
    Operation *op = value.getDefiningOp();
    if (!op || !isInferred(op) || isa<AxisIndexOp>(op) || depth == kMostOps ||
        seen.size() == kMostOps) {
      inputs.insert(value);
      return;
    }
    if (!seen.insert(op).second)
      return;
    for (Value operand : op->getOperands())
      visit(operand, depth + 1);
    ops.push_back(op);
  }

  Value scalar;
  SmallVector<Operation *> ops;
  llvm::SmallPtrSet<Operation *, 16> seen;
  llvm::SetVector<Value> inputs;
};

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
  infer(
      op, [&](Value operand) { return get(operand); },
      [&](Value result, const ConstantIntRanges &range) {
        ranges.try_emplace(result, range);
      });
}

/// The range over all numbers that what the scalar is computed from may be.
ConstantIntRanges ScalarRanges::getByCases(Value scalar) {
  auto it = byCases.find(scalar);
  if (it != byCases.end())
    return it->second;
  ConstantIntRanges any = get(scalar);
  Computation computation(scalar);
  SmallVector<Case> cases;
  if (!computation.findCases([&](Value value) { return get(value); }, cases))
    return byCases.try_emplace(scalar, any).first->second;
  std::optional<ConstantIntRanges> all;
  do {
    ConstantIntRanges now =
        computation.compute([&](Value value) { return get(value); }, cases);
    all = all ? all->rangeUnion(now) : now;
  } while (nextCase(cases));
  return byCases.try_emplace(scalar, *all).first->second;
}

LogicalResult ScalarRanges::check(rt::ViewOp view) {
  Value offset = view.getDynamicOffset();
  if (!offset)
    return success();
  __int128 begin = view.getOffset();
  __int128 room = rt::getSpan(view.getSource().getType());
  auto isInside = [&](const ConstantIntRanges &range) {
    return begin + range.smin().getSExtValue() >= 0 &&
           begin + range.smax().getSExtValue() + rt::getSpan(view.getType()) <=
               room;
  };
  if (isInside(get(offset)))
    return success();
  ConstantIntRanges range = getByCases(offset);
  if (isInside(range))
    return success();
  return view.emitOpError("begins ")
         << view.getOffset() << " elements and between "
         << range.smin().getSExtValue() << " and "
         << range.smax().getSExtValue()
         << " more from the first on, and may leave its source of "
         << static_cast<int64_t>(room);
}
