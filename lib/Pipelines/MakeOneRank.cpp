// SPDX-License-Identifier: Apache-2.0

// weft-make-one-rank: what an invariant program is compared with.
//
// The module is cloned, the axes whose sizes must not matter get size 1, and
// the clone is partitioned by the same passes. What stays is a module inside
// the module, through which an edited local program can be proved again.

#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Dialect/Weft/Transforms/Passes.h"
#include "weft/Dialect/Weft/Transforms/ReductionOrder.h"
#include "weft/Pipelines/Pipelines.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

struct MakeOneRankPass
    : public PassWrapper<MakeOneRankPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MakeOneRankPass)

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
    dropSubAxes(clone, invariance);
    module.getBody()->push_back(clone);
    OpPassManager pm(ModuleOp::getOperationName());
    // A program without a mesh has one rank.
    SmallVector<std::string> sizes = getSizes(clone, invariance);
    if (!sizes.empty())
      pm.addPass(createApplyMeshPass({sizes}));
    buildPartitionStepsPipeline(pm);
    if (failed(runPipeline(pm, clone)))
      signalPassFailure();
  }

private:
  /// Parts of axes that get size 1 are no axes any more.
  static void dropSubAxes(ModuleOp module, InvarianceAttr invariance) {
    AttrTypeReplacer replacer;
    auto keep = [&](ArrayRef<AxisRefAttr> axes) {
      return llvm::filter_to_vector(axes, [&](AxisRefAttr axis) {
        return axis.isWholeAxis() || !invariance.hasAxis(axis.getName());
      });
    };
    replacer.addReplacement([&](ShardingAttr sharding) -> Attribute {
      SmallVector<DimShardingAttr> dims;
      for (DimShardingAttr dim : sharding.getDims())
        dims.push_back(DimShardingAttr::get(
            dim.getContext(), keep(dim.getAxes()), dim.getIsOpen()));
      return ShardingAttr::get(sharding.getContext(), sharding.getMesh(), dims,
                               keep(sharding.getStorage()),
                               sharding.getPartialKind(),
                               keep(sharding.getPartial()));
    });
    replacer.recursivelyReplaceElementsIn(module);
  }

  /// Sizes for the axes that must not matter.
  static SmallVector<std::string> getSizes(ModuleOp module,
                                           InvarianceAttr invariance) {
    SmallVector<std::string> sizes;
    for (auto mesh : module.getOps<MeshOp>())
      for (MeshAxisAttr axis : mesh.getMesh().getAxes())
        if (invariance.hasAxis(axis.getName()))
          sizes.push_back((axis.getName() + "=1").str());
    return sizes;
  }
};

} // namespace

void weft::buildPartitionPipeline(OpPassManager &pm, StringRef accumulate) {
  pm.addPass(std::make_unique<MakeOneRankPass>());
  buildPartitionStepsPipeline(pm, accumulate);
}

void weft::registerMakeOneRankPass() { PassRegistration<MakeOneRankPass>(); }
