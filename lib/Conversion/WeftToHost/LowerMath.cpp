// SPDX-License-Identifier: Apache-2.0

// bf16 and f16 arithmetic is widened to f32 where the target has none (ops
// round where the program rounds), functions become polynomials by upstream's
// approximation patterns, and fast-math flags are set on what may use them.

#include "weft/Conversion/WeftToHost/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::weft {
#define GEN_PASS_DEF_LOWERMATHPASS
#include "weft/Conversion/WeftToHost/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Flags that allow sums to be reordered and products to be contracted, but
/// keep NaN and infinities.
constexpr auto kFlags =
    arith::FastMathFlags::reassoc | arith::FastMathFlags::nsz |
    arith::FastMathFlags::contract | arith::FastMathFlags::arcp |
    arith::FastMathFlags::afn;

void setFastMath(Operation *op) {
  auto flags = dyn_cast<arith::ArithFastMathInterface>(op);
  if (!flags)
    return;
  // Conversions take no flags in LLVM's dialect; comparisons and maxima have
  // nothing to gain.
  bool keeps = isa<arith::ExtFOp, arith::TruncFOp, arith::CmpFOp,
                   arith::MaximumFOp, arith::MinimumFOp>(op);
  op->setAttr(flags.getFastMathAttrName(),
              arith::FastMathFlagsAttr::get(
                  op->getContext(),
                  keeps ? arith::FastMathFlags::none : kFlags));
}

bool isApproximated(StringRef name) {
  // exp2, asin and the like are rare: those keep the C library's function.
  return llvm::is_contained({"math.exp", "math.log", "math.sin", "math.cos",
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
    GreedyRewriteConfig config;
    config.setUseTopDownTraversal(true);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns),
                                     config)))
      return signalPassFailure();
    getOperation().walk(setFastMath);
  }
};

} // namespace
