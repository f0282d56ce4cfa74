// SPDX-License-Identifier: Apache-2.0

// The list of functions that have formulas, and of the ops that need none.

#include "weft/Math/Expand.h"

#include "FormulaList.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

using Unary = Term (*)(Term);
using Binary = Term (*)(Term, Term);

/// A function on floats of some width, by one of one or two operands.
struct Entry {
  StringRef name;
  unsigned width;
  Unary unary;
  Binary binary = nullptr;
};

const Entry kEntries[] = {
    {"math.acos", 32, formulas::acos},
    {"math.acos", 64, formulas::acosWide},
    {"math.acosh", 32, formulas::acosh},
    {"math.acosh", 64, formulas::acoshWide},
    {"math.asin", 32, formulas::asin},
    {"math.asin", 64, formulas::asinWide},
    {"math.asinh", 32, formulas::asinh},
    {"math.asinh", 64, formulas::asinhWide},
    {"math.atan", 32, formulas::atan},
    {"math.atan", 64, formulas::atanWide},
    {"math.atan2", 32, nullptr, formulas::atan2},
    {"math.atan2", 64, nullptr, formulas::atan2Wide},
    {"math.atanh", 32, formulas::atanh},
    {"math.atanh", 64, formulas::atanhWide},
    {"math.cbrt", 32, formulas::cbrt},
    {"math.cbrt", 64, formulas::cbrtWide},
    {"math.cos", 32, formulas::cos},
    {"math.cos", 64, formulas::cosWide},
    {"math.cosh", 32, formulas::cosh},
    {"math.cosh", 64, formulas::coshWide},
    {"math.erf", 32, formulas::erf},
    {"math.erf", 64, formulas::erfWide},
    {"math.erfc", 32, formulas::erfc},
    {"math.erfc", 64, formulas::erfcWide},
    {"math.exp", 32, formulas::exp},
    {"math.exp", 64, formulas::expWide},
    {"math.exp2", 32, formulas::exp2},
    {"math.exp2", 64, formulas::exp2Wide},
    {"math.expm1", 32, formulas::expm1},
    {"math.expm1", 64, formulas::expm1Wide},
    {"math.fpowi", 32, nullptr, formulas::powOfInteger},
    {"math.fpowi", 64, nullptr, formulas::powOfIntegerWide},
    {"math.log", 32, formulas::log},
    {"math.log", 64, formulas::logWide},
    {"math.log10", 32, formulas::log10},
    {"math.log10", 64, formulas::log10Wide},
    {"math.log1p", 32, formulas::log1p},
    {"math.log1p", 64, formulas::log1pWide},
    {"math.log2", 32, formulas::log2},
    {"math.log2", 64, formulas::log2Wide},
    {"math.powf", 32, nullptr, formulas::pow},
    {"math.powf", 64, nullptr, formulas::powWide},
    {"math.rsqrt", 32, formulas::rsqrt},
    {"math.rsqrt", 64, formulas::rsqrt},
    {"math.sin", 32, formulas::sin},
    {"math.sin", 64, formulas::sinWide},
    {"math.sinh", 32, formulas::sinh},
    {"math.sinh", 64, formulas::sinhWide},
    {"math.tan", 32, formulas::tan},
    {"math.tan", 64, formulas::tanWide},
    {"math.tanh", 32, formulas::tanh},
    {"math.tanh", 64, formulas::tanhWide},
};

const Entry *find(StringRef name, unsigned width) {
  const Entry *entry = llvm::find_if(kEntries, [&](const Entry &entry) {
    return entry.name == name && entry.width == width;
  });
  return entry == std::end(kEntries) ? nullptr : entry;
}

struct ExpandFunction : RewritePattern {
  ExpandFunction(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isa<math::MathDialect>(op->getDialect()) || op->getNumResults() != 1)
      return failure();
    auto type = dyn_cast<FloatType>(op->getResult(0).getType());
    if (!type)
      return failure();
    const Entry *entry = find(op->getName().getStringRef(), type.getWidth());
    if (!entry)
      return failure();
    Term x(rewriter, op->getLoc(), op->getOperand(0));
    Term result = entry->unary ? entry->unary(x)
                               : entry->binary(x, x.with(op->getOperand(1)));
    rewriter.replaceOp(op, result.value);
    return success();
  }
};

/// Ops of math that are exact, or rounded once as IEEE says.
bool isExact(Operation *op) {
  return isa<math::AbsFOp, math::AbsIOp, math::CeilOp, math::CopySignOp,
             math::CountLeadingZerosOp, math::CountTrailingZerosOp,
             math::CtPopOp, math::FloorOp, math::FmaOp, math::IPowIOp,
             math::IsFiniteOp, math::IsInfOp, math::IsNaNOp, math::IsNormalOp,
             math::RoundEvenOp, math::RoundOp, math::SqrtOp, math::TruncOp>(op);
}

} // namespace

void weft::populateExpandFunctionsPatterns(RewritePatternSet &patterns) {
  patterns.add<ExpandFunction>(patterns.getContext());
}

/// Casts may carry flags, which say nothing about one op.
static bool hasFastMathFlags(Operation *op) {
  auto flags = dyn_cast<arith::ArithFastMathInterface>(op);
  if (!flags || !flags.getFastMathFlagsAttr() ||
      isa<arith::ExtFOp, arith::TruncFOp>(op))
    return false;
  return flags.getFastMathFlagsAttr().getValue() != arith::FastMathFlags::none;
}

bool weft::hasDeclaredResult(Operation *op) {
  if (hasFastMathFlags(op))
    return false;
  if (!isa_and_nonnull<math::MathDialect>(op->getDialect()))
    return isa_and_nonnull<arith::ArithDialect>(op->getDialect());
  if (isExact(op))
    return true;
  auto type = dyn_cast<FloatType>(getElementTypeOrSelf(op->getResult(0)));
  return type &&
         find(op->getName().getStringRef(), std::max(type.getWidth(), 32u));
}
