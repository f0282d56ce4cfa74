// SPDX-License-Identifier: Apache-2.0

// Flags of arith and math that promise something about operands, and make the
// result poison where that does not hold, are taken away: the promise would be
// used by folds and by LLVM, differently on each mesh. A flag that allows
// another rounding of a float stays. Sizes are bounded so that what follows can
// add and multiply them. Casts of indices keep just the bits that they give.
// Loops end, and what is read and is not there is 0;
// those of generic ops are what their results say.

#include "weft/Canonicalize/Passes.h"

#include "CheckValues.h"
#include "weft/Canonicalize/MissingElements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::weft {
#define GEN_PASS_DEF_CHECKVALUESPASS
#include "weft/Canonicalize/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Removes `nsw`, `nuw` and `exact`; says whether there was one.
bool dropIntegerFlags(Operation *op) {
  bool changed = false;
  if (auto flags = dyn_cast<arith::ArithIntegerOverflowFlagsInterface>(op);
      flags && (flags.hasNoSignedWrap() || flags.hasNoUnsignedWrap())) {
    op->setAttr(flags.getIntegerOverflowAttrName(),
                arith::IntegerOverflowFlagsAttr::get(
                    op->getContext(), arith::IntegerOverflowFlags::none));
    changed = true;
  }
  if (isa<arith::DivUIOp, arith::DivSIOp, arith::ShRUIOp, arith::ShRSIOp>(op))
    changed |= static_cast<bool>(op->removeAttr("isExact"));
  return changed;
}

/// Removes `nnan` and `ninf`; says whether there was one.
bool dropFloatFlags(Operation *op) {
  auto flags = dyn_cast<arith::ArithFastMathInterface>(op);
  if (!flags || !flags.getFastMathFlagsAttr())
    return false;
  arith::FastMathFlags given = flags.getFastMathFlagsAttr().getValue();
  arith::FastMathFlags kept =
      given & ~(arith::FastMathFlags::nnan | arith::FastMathFlags::ninf);
  if (kept == given)
    return false;
  op->setAttr(flags.getFastMathAttrName(),
              arith::FastMathFlagsAttr::get(op->getContext(), kept));
  return true;
}

/// Only one way to round is known further on.
LogicalResult verifyRounding(Operation *op) {
  auto rounding = dyn_cast<arith::ArithRoundingModeInterface>(op);
  auto mode = rounding ? rounding.getRoundingModeAttr() : nullptr;
  if (!mode || mode.getValue() == arith::RoundingMode::to_nearest_even)
    return success();
  return op->emitOpError("rounds ")
         << arith::stringifyRoundingMode(mode.getValue())
         << ", expected to_nearest_even";
}

/// Bytes of one tensor or buffer, and of all in a module. More cannot be
/// addressed, and sums of them would not fit 64 bits.
constexpr double kMaxBytes = 0x1p48, kMaxSum = 0x1p61;

/// Adds the bytes of a value's type to `sum`; reports what is too large.
LogicalResult addBytes(Operation *op, Type type, double &sum) {
  auto shaped = dyn_cast<ShapedType>(type);
  if (!shaped || !shaped.hasStaticShape() ||
      !shaped.getElementType().isIntOrIndexOrFloat())
    return success();
  Type element = shaped.getElementType();
  double bytes = element.isIndex() ? 8 : element.getIntOrFloatBitWidth() / 8.0;
  for (int64_t size : shaped.getShape())
    bytes *= double(size);
  sum += bytes;
  if (bytes > kMaxBytes)
    return op->emitOpError("has a value of type ")
           << type << ", which is larger than 2^48 bytes";
  if (sum > kMaxSum)
    return op->emitOpError("is where all values together are larger than 2^61 "
                           "bytes");
  return success();
}

/// The types of an op's results, and of what its regions begin with.
LogicalResult checkSizes(Operation *op, double &sum) {
  for (Type type : op->getResultTypes())
    if (failed(addBytes(op, type, sum)))
      return failure();
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Type type : block.getArgumentTypes())
        if (failed(addBytes(op, type, sum)))
          return failure();
  return success();
}

/// Whether an op's loops are what its results say: each element of a result is
/// written at one point of the parallel loops, and at all of the reductions.
/// Upstream does not ask for it; what another op means is in its code only.
LogicalResult checkLoops(linalg::GenericOp op) {
  auto iterators = op.getIteratorTypesArray();
  for (OpOperand &init : op.getDpsInitsMutable()) {
    AffineMap map = op.getMatchingIndexingMap(&init);
    unsigned result = init.getOperandNumber() - op.getNumDpsInputs();
    if (!map.isProjectedPermutation(/*allowZeroInResults=*/true))
      return op.emitOpError("writes result #")
             << result << " by the map " << AffineMapAttr::get(map)
             << ", expected one that takes each loop at most once";
    for (auto [loop, iterator] : llvm::enumerate(iterators)) {
      bool isReduced = iterator == utils::IteratorType::reduction;
      if (map.isFunctionOfDim(loop) == isReduced)
        return op.emitOpError("calls loop ")
               << loop << (isReduced ? " a reduction" : " parallel")
               << ", but the map of result #" << result
               << (isReduced ? " takes it" : " does not take it");
    }
  }
  return success();
}

/// index -> i8 becomes index -> i64 -> i8: upstream takes a cast of an index to
/// any integer and back for nothing, however few bits that integer has.
void splitIndexCast(Operation *cast) {
  Value index = cast->getOperand(0), result = cast->getResult(0);
  auto integer = dyn_cast<IntegerType>(getElementTypeOrSelf(result.getType()));
  if (!getElementTypeOrSelf(index.getType()).isIndex() || !integer ||
      integer.getWidth() >= 64)
    return;
  OpBuilder builder(cast);
  Type wide = builder.getI64Type();
  if (auto shaped = dyn_cast<ShapedType>(index.getType()))
    wide = shaped.clone(wide);
  Value number =
      arith::IndexCastOp::create(builder, cast->getLoc(), wide, index);
  result.replaceAllUsesWith(arith::TruncIOp::create(builder, cast->getLoc(),
                                                    result.getType(), number));
  cast->erase();
}

void splitIndexCasts(ModuleOp module) {
  module.walk([](Operation *op) {
    if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op))
      splitIndexCast(op);
  });
}

/// Says whether it had flags.
bool dropFlags(Operation *op) {
  bool dropsInteger = dropIntegerFlags(op), dropsFloat = dropFloatFlags(op);
  return dropsInteger || dropsFloat;
}

LogicalResult checkOp(Operation *op, double &bytes) {
  if (failed(checkDefined(op)))
    return failure();
  if (auto generic = dyn_cast<linalg::GenericOp>(op);
      generic && failed(checkLoops(generic)))
    return failure();
  return success(succeeded(verifyRounding(op)) &&
                 succeeded(checkSizes(op, bytes)));
}

/// Also counts the ops that had flags.
LogicalResult checkModule(ModuleOp module, unsigned &numDropped) {
  double bytes = 0;
  WalkResult result = module.walk([&](Operation *op) -> WalkResult {
    numDropped += dropFlags(op);
    return checkOp(op, bytes);
  });
  if (result.wasInterrupted() || failed(defineLoops(module)))
    return failure();
  splitIndexCasts(module);
  readMissingAsZero(module);
  return guardReads(module);
}

struct CheckValuesPass
    : public weft::impl::CheckValuesPassBase<CheckValuesPass> {
  using Base::Base;

  void runOnOperation() override {
    unsigned count = 0;
    if (failed(checkModule(getOperation(), count)))
      signalPassFailure();
    numDropped += count;
  }
};

} // namespace

LogicalResult weft::checkDefined(Operation *op) {
  if (op->getName().getDialectNamespace() == "ub")
    return op->emitOpError("has no defined value");
  return success();
}

LogicalResult weft::checkValues(ModuleOp module) {
  unsigned numDropped = 0;
  return checkModule(module, numDropped);
}
