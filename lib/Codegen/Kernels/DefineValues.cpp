// SPDX-License-Identifier: Apache-2.0

// What arith leaves open, because CPUs differ, gets one result: operands that
// an instruction must not see are replaced by ones that it may, and the result
// is chosen afterwards. The results are those of StableHLO and XLA. Ops of math
// that LLVM has no word for are written with ops of arith.

#include "weft/Codegen/Kernels/Passes.h"
#include "weft/Target/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::weft {
#define GEN_PASS_DEF_DEFINEVALUESPASS
#include "weft/Codegen/Kernels/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Writes the ops that stand for one op, before it.
class Definer {
public:
  explicit Definer(Operation *op) : builder(op), loc(op->getLoc()) {}

  void define(Operation *op);

private:
  unsigned getWidth(Type type) {
    return type.isIndex() ? IndexType::kInternalStorageBitWidth
                          : type.getIntOrFloatBitWidth();
  }
  Value emitConstant(Type type, const APInt &value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getIntegerAttr(type, value));
  }
  Value emitConstant(Type type, uint64_t value) {
    return emitConstant(type, APInt(getWidth(type), value));
  }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  }
  Value isEqual(Value a, const APInt &number) {
    return compare(arith::CmpIPredicate::eq, a,
                   emitConstant(a.getType(), number));
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  template <typename Op> Value emit(Value a, Value b) {
    return Op::create(builder, loc, a, b);
  }

  template <typename ShiftOp> Value emitShift(ShiftOp op);
  template <typename CastOp> Value emitToInteger(CastOp op, StringRef name);
  Value emitSafeDivisor(Value a, Value b, bool isSigned);
  Value emitQuotient(Value a, Value b, bool isSigned);
  Value emitRemainder(Value a, Value b, bool isSigned);
  Value emitFloor(arith::FloorDivSIOp op);
  Value emitCeil(Value a, Value b, bool isSigned);
  Value emitPower(math::IPowIOp op);
  Value emitRepeatedSquares(Value base, Value exponent);
  Value compareSize(arith::CmpFPredicate predicate, Value x,
                    const APFloat &limit);
  Value emitIsInfinite(Value x);
  Value emitIsNormal(Value x);

  OpBuilder builder;
  Location loc;
};

/// By the width or more: all bits are shifted out.
template <typename ShiftOp> Value Definer::emitShift(ShiftOp op) {
  constexpr bool isArithmetic = std::is_same_v<ShiftOp, arith::ShRSIOp>;
  Type type = op.getType();
  unsigned width = getWidth(type);
  APInt amount;
  if (matchPattern(op.getRhs(), m_ConstantInt(&amount)) && amount.ult(width))
    return nullptr;
  Value inside = compare(arith::CmpIPredicate::ult, op.getRhs(),
                         emitConstant(type, width));
  if (isArithmetic) {
    Value most = emitConstant(type, width - 1);
    return emit<ShiftOp>(op.getLhs(), select(inside, op.getRhs(), most));
  }
  Value zero = emitConstant(type, 0);
  Value shifted = emit<ShiftOp>(op.getLhs(), select(inside, op.getRhs(), zero));
  return select(inside, shifted, zero);
}

/// Outside of the range: its end. NaN: 0.
template <typename CastOp>
Value Definer::emitToInteger(CastOp op, StringRef name) {
  Value in = op.getIn();
  // The intrinsic takes what each CPU has.
  if (getWidth(in.getType()) < 32)
    in = arith::ExtFOp::create(builder, loc, builder.getF32Type(), in);
  return LLVM::CallIntrinsicOp::create(builder, loc, op.getType(),
                                       builder.getStringAttr(name), in)
      .getResults();
}

/// `b` where it divides, else 1.
Value Definer::emitSafeDivisor(Value a, Value b, bool isSigned) {
  Type type = a.getType();
  unsigned width = getWidth(type);
  APInt number;
  bool isConstant = matchPattern(b, m_ConstantInt(&number));
  if (isConstant && !number.isZero() && !(isSigned && number.isAllOnes()))
    return b;
  Value isBad = isEqual(b, APInt::getZero(width));
  if (isSigned) {
    Value overflows =
        emit<arith::AndIOp>(isEqual(a, APInt::getSignedMinValue(width)),
                            isEqual(b, APInt::getAllOnes(width)));
    isBad = emit<arith::OrIOp>(isBad, overflows);
  }
  return select(isBad, emitConstant(type, 1), b);
}

/// By zero: all bits set. The least number by -1: itself.
Value Definer::emitQuotient(Value a, Value b, bool isSigned) {
  Type type = a.getType();
  unsigned width = getWidth(type);
  Value ones = emitConstant(type, APInt::getAllOnes(width));
  if (width == 1)
    return emit<arith::OrIOp>(a, emit<arith::XOrIOp>(b, ones));
  Value safe = emitSafeDivisor(a, b, isSigned);
  Value quotient =
      isSigned ? emit<arith::DivSIOp>(a, safe) : emit<arith::DivUIOp>(a, safe);
  if (safe == b)
    return quotient;
  return select(isEqual(b, APInt::getZero(width)), ones, quotient);
}

/// By zero: the dividend. The least number by -1: zero.
Value Definer::emitRemainder(Value a, Value b, bool isSigned) {
  Type type = a.getType();
  unsigned width = getWidth(type);
  if (width == 1)
    return emit<arith::AndIOp>(
        a, emit<arith::XOrIOp>(b, emitConstant(type, APInt::getAllOnes(1))));
  Value safe = emitSafeDivisor(a, b, isSigned);
  Value rest =
      isSigned ? emit<arith::RemSIOp>(a, safe) : emit<arith::RemUIOp>(a, safe);
  if (safe == b)
    return rest;
  return select(isEqual(b, APInt::getZero(width)), a, rest);
}

/// One less than the quotient that is rounded to zero, where that is above.
Value Definer::emitFloor(arith::FloorDivSIOp op) {
  Value a = op.getLhs(), b = op.getRhs();
  unsigned width = getWidth(op.getType());
  Value quotient = emitQuotient(a, b, /*isSigned=*/true);
  Value rest = emitRemainder(a, b, /*isSigned=*/true);
  Value zero = emitConstant(op.getType(), 0);
  // The rest by zero is the dividend: there is nothing to be rounded.
  Value isRounded =
      emit<arith::AndIOp>(compare(arith::CmpIPredicate::ne, rest, zero),
                          compare(arith::CmpIPredicate::ne, b, zero));
  Value isBelow =
      compare(arith::CmpIPredicate::slt, emit<arith::XOrIOp>(a, b), zero);
  Value less = emit<arith::AddIOp>(
      quotient, emitConstant(op.getType(), APInt::getAllOnes(width)));
  return select(emit<arith::AndIOp>(isRounded, isBelow), less, quotient);
}

/// One more than the quotient that is rounded to zero, where that is below.
Value Definer::emitCeil(Value a, Value b, bool isSigned) {
  Value quotient = emitQuotient(a, b, isSigned);
  Value rest = emitRemainder(a, b, isSigned);
  Value zero = emitConstant(a.getType(), 0);
  Value isAbove =
      emit<arith::AndIOp>(compare(arith::CmpIPredicate::ne, rest, zero),
                          compare(arith::CmpIPredicate::ne, b, zero));
  if (isSigned)
    isAbove =
        emit<arith::AndIOp>(isAbove, compare(arith::CmpIPredicate::sge,
                                             emit<arith::XOrIOp>(a, b), zero));
  Value more = emit<arith::AddIOp>(quotient, emitConstant(a.getType(), 1));
  return select(isAbove, more, quotient);
}

/// `base` to the power of `exponent`, which is taken as not negative.
Value Definer::emitRepeatedSquares(Value base, Value exponent) {
  Type type = base.getType();
  unsigned width = getWidth(type);
  Value result = emitConstant(type, 1);
  for (unsigned bit = 0; bit + 1 < width; ++bit) {
    Value mask = emitConstant(type, APInt::getOneBitSet(width, bit));
    Value isClear =
        isEqual(emit<arith::AndIOp>(exponent, mask), APInt::getZero(width));
    result = select(isClear, result, emit<arith::MulIOp>(result, base));
    base = emit<arith::MulIOp>(base, base);
  }
  return result;
}

/// A negative exponent: 1 / base^-exponent, rounded to zero; of 0 it is 0.
Value Definer::emitPower(math::IPowIOp op) {
  Value base = op.getLhs(), exponent = op.getRhs();
  Type type = op.getType();
  unsigned width = getWidth(type);
  Value power = emitRepeatedSquares(base, exponent);
  Value isNegative =
      compare(arith::CmpIPredicate::slt, exponent, emitConstant(type, 0));
  // Of 1 and -1, the only numbers that have an inverse, each power is one of
  // both, by the exponent's last bit.
  Value isOdd = emit<arith::AndIOp>(exponent, emitConstant(type, 1));
  Value inverse = select(isEqual(isOdd, APInt::getZero(width)),
                         emitConstant(type, 1), base);
  Value isOne = isEqual(base, APInt(width, 1));
  Value isMinusOne = isEqual(base, APInt::getAllOnes(width));
  Value hasInverse = emit<arith::OrIOp>(isOne, isMinusOne);
  Value ofNegative = select(hasInverse, inverse, emitConstant(type, 0));
  return select(isNegative, ofNegative, power);
}

Value Definer::compareSize(arith::CmpFPredicate predicate, Value x,
                           const APFloat &limit) {
  Value size = math::AbsFOp::create(builder, loc, x);
  Value bound = arith::ConstantOp::create(
      builder, loc, builder.getFloatAttr(x.getType(), limit));
  return arith::CmpFOp::create(builder, loc, predicate, size, bound);
}

Value Definer::emitIsInfinite(Value x) {
  const auto &semantics = cast<FloatType>(x.getType()).getFloatSemantics();
  return compareSize(arith::CmpFPredicate::OGT, x,
                     APFloat::getLargest(semantics));
}

/// Neither zero nor subnormal nor infinite nor NaN.
Value Definer::emitIsNormal(Value x) {
  const auto &semantics = cast<FloatType>(x.getType()).getFloatSemantics();
  Value isLarge = compareSize(arith::CmpFPredicate::OGE, x,
                              APFloat::getSmallestNormalized(semantics));
  Value isFinite =
      compareSize(arith::CmpFPredicate::OLE, x, APFloat::getLargest(semantics));
  return emit<arith::AndIOp>(isLarge, isFinite);
}

void Definer::define(Operation *op) {
  bool isSigned = !isa<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp>(op);
  Value result =
      TypeSwitch<Operation *, Value>(op)
          .Case<arith::ShLIOp, arith::ShRUIOp, arith::ShRSIOp>(
              [&](auto o) { return emitShift(o); })
          .Case([&](arith::FPToSIOp o) {
            return emitToInteger(o, "llvm.fptosi.sat");
          })
          .Case([&](arith::FPToUIOp o) {
            return emitToInteger(o, "llvm.fptoui.sat");
          })
          .Case<arith::DivSIOp, arith::DivUIOp>([&](auto o) {
            return emitQuotient(o.getLhs(), o.getRhs(), isSigned);
          })
          .Case<arith::RemSIOp, arith::RemUIOp>([&](auto o) {
            return emitRemainder(o.getLhs(), o.getRhs(), isSigned);
          })
          .Case([&](arith::FloorDivSIOp o) { return emitFloor(o); })
          .Case<arith::CeilDivSIOp, arith::CeilDivUIOp>([&](auto o) {
            return emitCeil(o.getLhs(), o.getRhs(), isSigned);
          })
          .Case([&](math::IPowIOp o) { return emitPower(o); })
          .Case([&](math::IsInfOp o) { return emitIsInfinite(o.getOperand()); })
          .Case(
              [&](math::IsNormalOp o) { return emitIsNormal(o.getOperand()); })
          .Case([&](math::ClampFOp o) {
            return emit<arith::MinimumFOp>(
                emit<arith::MaximumFOp>(o.getValue(), o.getMin()), o.getMax());
          })
          .Default(nullptr);
  if (!result)
    return;
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
}

struct DefineValuesPass
    : public weft::impl::DefineValuesPassBase<DefineValuesPass> {
  using Base::Base;

  void runOnOperation() override {
    StringRef actual = getTargetName(getOperation());
    if (!target.empty() && actual != target) {
      getOperation().emitError("is for target '")
          << actual << "', expected '" << target << "'";
      return signalPassFailure();
    }
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<arith::ArithDialect, math::MathDialect>(op->getDialect()))
        ops.push_back(op);
    });
    for (Operation *op : ops)
      Definer(op).define(op);
  }
};

} // namespace
