// SPDX-License-Identifier: Apache-2.0

// Conversions from and to bf16 become shifts and additions of integers. No
// other op is expanded, so that a maximum of zeros stays what arith says.

#include "weft/Conversion/WeftToHost/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::weft {
#define GEN_PASS_DEF_EXPANDBFLOATPASS
#include "weft/Conversion/WeftToHost/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

struct ExpandBfloatPass
    : public weft::impl::ExpandBfloatPassBase<ExpandBfloatPass> {
  using Base::Base;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    arith::populateExpandBFloat16Patterns(patterns);
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isa<arith::ExtFOp, arith::TruncFOp>(op))
        ops.push_back(op);
    });
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingOps);
    // Conversions that upstream's emulation puts around each op may be folded
    // away, and ops with them would not round.
    config.enableFolding(false);
    if (failed(applyOpPatternsGreedily(ops, std::move(patterns), config)))
      signalPassFailure();
  }
};

} // namespace
