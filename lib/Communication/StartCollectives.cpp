// SPDX-License-Identifier: Apache-2.0

// weft-start-collectives: each collective is started and waited for at once.

#include "weft/Analysis/Traffic.h"
#include "weft/Communication/Passes.h"
#include "weft/Communication/Start.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::weft {
#define GEN_PASS_DEF_STARTCOLLECTIVESPASS
#include "weft/Communication/Passes.h.inc"
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
    SmallVector<CollectiveOpInterface> collectives;
    getOperation()->walk([&](CollectiveOpInterface op) {
      if (!op.isStarted())
        collectives.push_back(op);
    });
    for (CollectiveOpInterface op : collectives) {
      if (!op.getChannelAttr()) {
        op->emitOpError("has no channel to be started on");
        return signalPassFailure();
      }
      startCollective(op);
    }
  }
};

} // namespace
