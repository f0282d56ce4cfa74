// SPDX-License-Identifier: Apache-2.0

// bf16 and f16 arithmetic is widened to f32 where the target has none (ops
// round where the program rounds), functions become polynomials by upstream's
// approximation patterns, and fast-math flags are set where they change no more
// than the rounding of sums.

#include "weft/Conversion/WeftToHost/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::weft {
#define GEN_PASS_DEF_LOWERMATHPASS
#include "weft/Conversion/WeftToHost/Passes.h.inc"
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
        carried.hasOneUse() && *carried.user_begin() == op &&
        value.hasOneUse())
      setFlags(op,
               arith::FastMathFlags::reassoc | arith::FastMathFlags::contract);
  }
}

/// Integers become bf16 by way of f32: LLVM would call a function.
template <typename CastOp>
struct CastThroughF32 : OpRewritePattern<CastOp> {
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

bool isApproximated(StringRef name) {
  // exp2, asin and the like are rare: those keep the C library's function.
  return llvm::is_contained({"math.exp", "math.log",
                             "math.tanh", "math.erf", "math.log1p",
                             "math.expm1", "math.log2"},
                            name);
}

struct LowerMathPass : public weft::impl::LowerMathPassBase<LowerMathPass> {
  using Base::Base;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathF32ExpansionPatterns(patterns, isApproximated);
    populateMathPolynomialApproximationPatterns(patterns, isApproximated);
    patterns.add<CastThroughF32<arith::SIToFPOp>,
                 CastThroughF32<arith::UIToFPOp>>(&getContext());
    GreedyRewriteConfig config;
    config.setUseTopDownTraversal(true);
    config.setMaxIterations(GreedyRewriteConfig::kNoLimit);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns),
                                     config)))
      return signalPassFailure();
    getOperation().walk([](Operation *op) {
      if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp>(op))
        allowContraction(op);
    });
    getOperation().walk(allowReordering);
  }
};

} // namespace
