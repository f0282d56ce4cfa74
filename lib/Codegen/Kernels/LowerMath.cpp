// SPDX-License-Identifier: Apache-2.0

// Functions become formulas that vectorize, and fast-math flags are set on what
// the program itself computes, where they change no more than the rounding of
// sums, if sums may be rounded in different ways at all.

#include "weft/Codegen/Kernels/Passes.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Math/Expand.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::weft {
#define GEN_PASS_DEF_LOWERMATHPASS
#include "weft/Codegen/Kernels/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

void setFlags(Operation *op, arith::FastMathFlags set) {
  auto flags = cast<arith::ArithFastMathInterface>(op);
  op->setAttr(flags.getFastMathAttrName(),
              arith::FastMathFlagsAttr::get(op->getContext(), set));
}

/// A product and the sum that it goes into may be rounded once. Narrow types
/// round each op, on CPUs that compute in them as on those that do not.
void allowContraction(Operation *op) {
  Type type = getElementTypeOrSelf(op->getResultTypes().front());
  if (type.isF32() || type.isF64())
    setFlags(op, arith::FastMathFlags::contract);
}

/// What a loop sums up, or multiplies up, may be taken in another order: as
/// many partial sums as fit a vector. No other op is reordered, so that what a
/// program writes to keep small terms, infinities or zeros is what it gets.
void allowReordering(scf::ForOp loop) {
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  for (auto [carried, value] :
       llvm::zip(loop.getRegionIterArgs(), yield.getOperands())) {
    Operation *op = value.getDefiningOp();
    if (isa_and_nonnull<arith::AddFOp, arith::MulFOp>(op) &&
        carried.hasOneUse() && *carried.user_begin() == op && value.hasOneUse())
      setFlags(op,
               arith::FastMathFlags::reassoc | arith::FastMathFlags::contract);
  }
}

/// Integers become bf16 by way of f32: LLVM would call a function.
template <typename CastOp> struct CastThroughF32 : OpRewritePattern<CastOp> {
  using OpRewritePattern<CastOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(CastOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isBF16())
      return failure();
    Value wide = CastOp::create(rewriter, op.getLoc(), rewriter.getF32Type(),
                                op.getIn());
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), wide);
    return success();
  }
};

/// So do numbers of f64.
struct TruncateThroughF32 : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isBF16() || !op.getIn().getType().isF64())
      return failure();
    Value single = arith::TruncFOp::create(rewriter, op.getLoc(),
                                           rewriter.getF32Type(), op.getIn());
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), single);
    return success();
  }
};

/// Products and sums of narrow numbers are rounded to f32 and then once more:
/// few CPUs have an instruction, and LLVM would call a function, or, for floats
/// of 8 bits, has none.
struct FuseThroughF32 : OpRewritePattern<math::FmaOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::FmaOp op,
                                PatternRewriter &rewriter) const override {
    if (getElementTypeOrSelf(op.getType()).getIntOrFloatBitWidth() >= 32)
      return failure();
    SmallVector<Value> wide;
    for (Value operand : op->getOperands())
      wide.push_back(arith::ExtFOp::create(rewriter, op.getLoc(),
                                           rewriter.getF32Type(), operand));
    Value fused =
        math::FmaOp::create(rewriter, op.getLoc(), wide[0], wide[1], wide[2]);
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), fused);
    return success();
  }
};

/// The number of the two, else their maximum (minimum), which knows which zero
/// is larger: what instructions for this give depends on the CPU and on which
/// operand comes first.
template <typename NumOp, typename Op>
struct ExpandNumber : OpRewritePattern<NumOp> {
  using OpRewritePattern<NumOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(NumOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto orOther = [&](Value value, Value other) -> Value {
      Value isNaN = arith::CmpFOp::create(
          rewriter, loc, arith::CmpFPredicate::UNO, value, value);
      return arith::SelectOp::create(rewriter, loc, isNaN, other, value);
    };
    Value lhs = orOther(op.getLhs(), op.getRhs());
    Value rhs = orOther(op.getRhs(), op.getLhs());
    rewriter.replaceOpWithNewOp<Op>(op, lhs, rhs);
    return success();
  }
};

/// Flags of what the program says. Formulas, which come later, have none.
void setFlagsOfSums(ModuleOp module) {
  module.walk([](Operation *op) {
    if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp>(op))
      allowContraction(op);
  });
  module.walk(allowReordering);
}

/// What must not depend on the machine has no functions of the C library, and
/// rounds as it is written.
LogicalResult verifyDeclaredResults(ModuleOp module) {
  WalkResult result = module.walk([](Operation *op) {
    if (!isa<math::MathDialect, arith::ArithDialect>(op->getDialect()) ||
        hasDeclaredResult(op))
      return WalkResult::advance();
    op->emitOpError("of ") << op->getResult(0).getType()
                           << " has no declared result, which invariance needs";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// Casts of narrow numbers that were put around functions allow to leave out
/// the rounding between two of them: bits would depend on what is fused.
void keepRoundings(ModuleOp module) {
  module.walk([](Operation *op) {
    if (auto extend = dyn_cast<arith::ExtFOp>(op))
      extend.removeFastmathAttr();
    else if (auto truncate = dyn_cast<arith::TruncFOp>(op))
      truncate.removeFastmathAttr();
  });
}

/// Ops that a pattern may rewrite, of many, and casts that may go with one:
/// sums, loops and loads are not looked at.
SmallVector<Operation *> findRewritable(ModuleOp module) {
  SmallVector<Operation *> ops;
  module.walk([&](Operation *op) {
    if (isa<math::MathDialect>(op->getDialect()) ||
        isa<arith::SIToFPOp, arith::UIToFPOp, arith::ExtFOp, arith::TruncFOp,
            arith::MaxNumFOp, arith::MinNumFOp>(op))
      ops.push_back(op);
  });
  return ops;
}

struct LowerMathPass : public weft::impl::LowerMathPassBase<LowerMathPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    bool isInvariant = module->hasAttr(WeftDialect::kInvarianceAttr);
    if (!isInvariant)
      setFlagsOfSums(module);
    else if (failed(verifyDeclaredResults(module)))
      return signalPassFailure();
    if (isInvariant)
      keepRoundings(module);
    RewritePatternSet patterns(&getContext());
    patterns
        .add<CastThroughF32<arith::SIToFPOp>, CastThroughF32<arith::UIToFPOp>,
             TruncateThroughF32, FuseThroughF32>(&getContext());
    if (isInvariant)
      patterns.add<ExpandNumber<arith::MaxNumFOp, arith::MaximumFOp>,
                   ExpandNumber<arith::MinNumFOp, arith::MinimumFOp>>(
          &getContext());
    populateExpandFunctionsPatterns(patterns);
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
    config.setScope(&module.getBodyRegion());
    if (failed(applyOpPatternsGreedily(findRewritable(module),
                                       std::move(patterns), config)))
      return signalPassFailure();
  }
};

} // namespace
