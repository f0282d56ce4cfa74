// SPDX-License-Identifier: Apache-2.0

// The lowering of the test ops: all that an op needs besides its definition.

#include "TestOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::test;

namespace {

struct WeightedSumToGeneric : OpRewritePattern<WeightedSumOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(WeightedSumOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<RankedTensorType>(op.getType());
    Value zero = arith::ConstantOp::create(
        rewriter, loc, cast<TypedAttr>(rewriter.getZeroAttr(type)));
    AffineExpr i = rewriter.getAffineDimExpr(0),
               j = rewriter.getAffineDimExpr(1);
    auto maps = AffineMap::inferFromExprList(
        ArrayRef<ArrayRef<AffineExpr>>{{i, j}, {j}, {i}}, op.getContext());
    auto buildBody = [](OpBuilder &body, Location loc, ValueRange args) {
      Value product = arith::MulFOp::create(body, loc, args[0], args[1]);
      Value sum = arith::AddFOp::create(body, loc, args[2], product);
      linalg::YieldOp::create(body, loc, sum);
    };
    SmallVector<utils::IteratorType> loops = {utils::IteratorType::parallel,
                                              utils::IteratorType::reduction};
    Attribute order = op->getAttr(WeftDialect::kOrderAttr);
    auto sum = rewriter.replaceOpWithNewOp<linalg::GenericOp>(
        op, TypeRange(type), ValueRange{op.getX(), op.getWeights()},
        ValueRange(zero), maps, loops, buildBody);
    if (order)
      sum->setAttr(WeftDialect::kOrderAttr, order);
    return success();
  }
};

struct LowerTestOpsPass
    : public PassWrapper<LowerTestOpsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerTestOpsPass)

  StringRef getArgument() const override { return "test-lower-ops"; }
  StringRef getDescription() const override {
    return "what weft_test ops compute, as linalg ops";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, linalg::LinalgDialect>();
  }
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<WeightedSumToGeneric>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

void mlir::weft::test::registerLowerTestOps() {
  PassRegistration<LowerTestOpsPass>();
}
