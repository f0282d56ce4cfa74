// SPDX-License-Identifier: Apache-2.0

// weft-make-one-rank: what an invariant program is compared with.
//
// The module is cloned, the axes whose sizes must not matter get size 1, and
// the clone is partitioned by the same passes. What stays is a module inside
// the module, through which an edited local program can be proved again.

#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Pipelines/Pipelines.h"
#include "weft/Rules/ReductionOrder.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

struct MakeOneRankPass
    : public PassWrapper<MakeOneRankPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MakeOneRankPass)

  StringRef getName() const override { return "MakeOneRankPass"; }
  StringRef getArgument() const override { return "weft-make-one-rank"; }
  StringRef getDescription() const override {
    return "partition an invariant module for one rank as well";
  }

  void getDependentDialects(DialectRegistry &registry) const override {
    OpPassManager pm(ModuleOp::getOperationName());
    buildPartitionStepsPipeline(pm);
    pm.getDependentDialects(registry);
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto invariance =
        module->getAttrOfType<InvarianceAttr>(WeftDialect::kInvarianceAttr);
    if (!invariance)
      return;
    ModuleOp clone = module.clone();
    clone.setSymName(kOneRankModule);
    shrinkListedAxes(clone, invariance);
    module.getBody()->push_back(clone);
    OpPassManager pm(ModuleOp::getOperationName());
    buildPartitionStepsPipeline(pm);
    if (failed(runPipeline(pm, clone)))
      signalPassFailure();
  }
};

} // namespace

void weft::buildPartitionPipeline(OpPassManager &pm,
                                  const PartitionChoices &choices) {
  pm.addPass(std::make_unique<MakeOneRankPass>());
  buildPartitionStepsPipeline(pm, choices);
}

void weft::registerMakeOneRankPass() { PassRegistration<MakeOneRankPass>(); }
