// SPDX-License-Identifier: Apache-2.0

// weft-start-collectives: each collective is started and waited for at once.

#include "weft/Analysis/Traffic.h"
#include "weft/Dialect/Weft/Transforms/Passes.h"
#include "weft/Dialect/Weft/Transforms/Start.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::weft {
#define GEN_PASS_DEF_STARTCOLLECTIVESPASS
#include "weft/Dialect/Weft/Transforms/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

WaitOp mlir::weft::startCollective(Operation *op) {
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  SmallVector<Type> types(op->getResultTypes());
  for (OpResult result : op->getResults())
    result.setType(FutureType::get(op->getContext(),
                                   cast<RankedTensorType>(result.getType())));
  auto wait = WaitOp::create(builder, op->getLoc(), types, op->getResults());
  for (auto [future, tensor] : llvm::zip(op->getResults(), wait.getOutputs()))
    future.replaceAllUsesExcept(tensor, wait);
  return wait;
}

namespace {

struct StartCollectivesPass
    : public weft::impl::StartCollectivesPassBase<StartCollectivesPass> {
  void runOnOperation() override {
    SmallVector<Operation *> collectives;
    getOperation()->walk([&](Operation *op) {
      if (getCollectiveKind(op) && !getWait(op))
        collectives.push_back(op);
    });
    for (Operation *op : collectives) {
      if (!getCollectiveChannel(op)) {
        op->emitOpError("has no channel to be started on");
        return signalPassFailure();
      }
      startCollective(op);
    }
  }
};

} // namespace
