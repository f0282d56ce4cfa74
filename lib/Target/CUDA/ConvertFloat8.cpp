// SPDX-License-Identifier: Apache-2.0

// GPUs from sm_90 on widen two floats of 8 bits to f16 with one instruction,
// and round two numbers of f32 to 8 bits with one, which brings them into range
// itself: to the nearest, ties to even, NaN to 0x7f. Of what was brought into
// range before that is the same, but for the NaN of f8E5M2, which is 0x7e where
// it is rounded by arith.

#include "Architectures.h"
#include "weft/Codegen/Kernels/SaturatedFloat8.h"
#include "weft/Target/CUDA/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::weft {
#define GEN_PASS_DEF_CONVERTFLOAT8PASS
#include "weft/Target/CUDA/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

/// The first architecture whose oldest version of PTX has the instruction.
constexpr unsigned kFirst = 90;

bool hasInstruction(ModuleOp module) {
  unsigned number = 0;
  StringRef name = getArchitecture(module);
  return name.consume_front("sm_") && !name.consumeInteger(10, number) &&
         number >= kFirst;
}

bool isFloat8(Type type) { return isa<Float8E4M3FNType, Float8E5M2Type>(type); }

/// The f32 that is rounded, or null if no instruction does that.
Value getRounded(arith::TruncFOp op) {
  if (!isFloat8(op.getType()) || !op.getIn().getType().isF32())
    return {};
  return getSaturated(op.getIn(), op.getType());
}

/// The NaN of ml_dtypes instead of the instruction's.
Value emitOtherNaN(OpBuilder &builder, Location loc, Value byte) {
  auto number = [&](int64_t value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI8IntegerAttr(value));
  };
  Value isNaN = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                      byte, number(0x7f));
  return arith::SelectOp::create(builder, loc, isNaN, number(0x7e), byte);
}

/// Rounds two numbers of one block, where the later one is: none of them is
/// used before. There may be no second one.
void round(arith::TruncFOp first, arith::TruncFOp second) {
  arith::TruncFOp last = second ? second : first;
  OpBuilder builder(last.getContext());
  builder.setInsertionPointAfter(last);
  Location loc = last.getLoc();
  Type i8 = builder.getI8Type(), i16 = builder.getI16Type();
  Value low = getRounded(first), high;
  if (second)
    high = getRounded(second);
  else
    high = arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0));
  bool hasInfinity = isa<Float8E5M2Type>(first.getType());
  Value both =
      LLVM::CallIntrinsicOp::create(
          builder, loc, i16,
          builder.getStringAttr(hasInfinity ? "llvm.nvvm.ff.to.e5m2x2.rn"
                                            : "llvm.nvvm.ff.to.e4m3x2.rn"),
          ValueRange{high, low})
          .getResults();
  auto replace = [&](arith::TruncFOp op, Value bits) {
    Value byte = arith::TruncIOp::create(builder, loc, i8, bits);
    if (hasInfinity)
      byte = emitOtherNaN(builder, loc, byte);
    op.replaceAllUsesWith(
        arith::BitcastOp::create(builder, loc, op.getType(), byte).getResult());
    op.erase();
  };
  if (second) {
    Value eight =
        arith::ConstantOp::create(builder, loc, builder.getI16IntegerAttr(8));
    replace(second, arith::ShRUIOp::create(builder, loc, both, eight));
  }
  replace(first, both);
}

/// Says whether what an op of an inner block is in stands before `second`.
bool isInFront(Operation *inner, Operation *second) {
  Operation *outer = second->getBlock()->findAncestorOpInBlock(*inner);
  return !outer || outer->isBeforeInBlock(second);
}

/// Moves what depends on `first` after `second`, as far as it stands between
/// the two; returns false, and moves nothing, where that is not arithmetic.
bool moveUsesAfter(Operation *first, Operation *second) {
  llvm::SetVector<Operation *> between;
  between.insert(first);
  for (unsigned i = 0; i < between.size(); ++i)
    for (Operation *user : between[i]->getUsers()) {
      bool isBetween = user->getBlock() == second->getBlock() &&
                       user->isBeforeInBlock(second);
      if (user == second || (isBetween && !isPure(user)) ||
          (user->getBlock() != second->getBlock() && isInFront(user, second)))
        return false;
      if (isBetween)
        between.insert(user);
    }
  SmallVector<Operation *> moved(llvm::drop_begin(between));
  llvm::sort(moved,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  Operation *last = second;
  for (Operation *op : moved) {
    op->moveAfter(last);
    last = op;
  }
  return true;
}

/// f16 that was 8 bits as f32, or as bf16, which holds it: the upper half of
/// that.
Value emitWide(OpBuilder &builder, Location loc, Value half, Type type) {
  Value wide = arith::ExtFOp::create(builder, loc, builder.getF32Type(), half);
  if (type.isF32())
    return wide;
  Type i16 = builder.getI16Type(), i32 = builder.getI32Type();
  Value bits = arith::BitcastOp::create(builder, loc, i32, wide);
  Value sixteen = arith::ConstantIntOp::create(builder, loc, 16, 32);
  Value upper = arith::TruncIOp::create(
      builder, loc, i16, arith::ShRUIOp::create(builder, loc, bits, sixteen));
  return arith::BitcastOp::create(builder, loc, type, upper);
}

/// Widens two numbers, in the same way, by f16.
void widen(arith::ExtFOp first, arith::ExtFOp second) {
  arith::ExtFOp last = second ? second : first;
  OpBuilder builder(last.getContext());
  builder.setInsertionPointAfter(last);
  Location loc = last.getLoc();
  Type i8 = builder.getI8Type(), i16 = builder.getI16Type();
  auto getByte = [&](arith::ExtFOp op) -> Value {
    Value byte = arith::BitcastOp::create(builder, loc, i8, op.getIn());
    return arith::ExtUIOp::create(builder, loc, i16, byte);
  };
  Value bytes = getByte(first);
  if (second) {
    Value eight =
        arith::ConstantOp::create(builder, loc, builder.getI16IntegerAttr(8));
    bytes = arith::OrIOp::create(
        builder, loc, bytes,
        arith::ShLIOp::create(builder, loc, getByte(second), eight));
  }
  bool hasInfinity = isa<Float8E5M2Type>(first.getIn().getType());
  Value halves =
      LLVM::CallIntrinsicOp::create(
          builder, loc, VectorType::get({2}, builder.getF16Type()),
          builder.getStringAttr(hasInfinity ? "llvm.nvvm.e5m2x2.to.f16x2.rn"
                                            : "llvm.nvvm.e4m3x2.to.f16x2.rn"),
          bytes)
          .getResults();
  auto replace = [&](arith::ExtFOp op, int64_t number) {
    Value place = arith::ConstantIntOp::create(builder, loc, number, 32);
    Value half = LLVM::ExtractElementOp::create(builder, loc, halves, place);
    op.replaceAllUsesWith(emitWide(builder, loc, half, op.getType()));
    op.erase();
  };
  if (second)
    replace(second, 1);
  replace(first, 0);
}

/// Calls `convert` for two ops each that may be one instruction, and for ops
/// that are alone.
template <typename Op>
void convertAll(Block &block, llvm::function_ref<bool(Op)> isMeant,
                llvm::function_ref<void(Op, Op)> convert) {
  Op waiting;
  for (Operation &each : llvm::make_early_inc_range(block)) {
    auto op = dyn_cast<Op>(each);
    if (!op || !isMeant(op))
      continue;
    if (!waiting) {
      waiting = op;
      continue;
    }
    bool arePair = waiting.getType() == op.getType() &&
                   waiting.getIn().getType() == op.getIn().getType() &&
                   moveUsesAfter(waiting, op);
    if (arePair)
      convert(waiting, op);
    else
      convert(waiting, {});
    waiting = arePair ? Op() : op;
  }
  if (waiting)
    convert(waiting, {});
}

struct ConvertFloat8Pass
    : public weft::impl::ConvertFloat8PassBase<ConvertFloat8Pass> {
  using Base::Base;

  void runOnOperation() override {
    if (!hasInstruction(getOperation()))
      return;
    getOperation().walk([](Block *block) {
      convertAll<arith::TruncFOp>(
          *block, [](arith::TruncFOp op) { return bool(getRounded(op)); },
          round);
      convertAll<arith::ExtFOp>(
          *block,
          [](arith::ExtFOp op) {
            return isFloat8(op.getIn().getType()) &&
                   (op.getType().isF32() || op.getType().isBF16());
          },
          widen);
    });
  }
};

} // namespace
