// SPDX-License-Identifier: Apache-2.0

// The parts of sums that free axes make, from shardings as propagation finds
// them where nobody is in the way: operands come as they are sharded.

#include "FreeAxes.h"

#include "weft/Propagation/Passes.h"
#include "weft/Rules/ReductionOrder.h"
#include "weft/Rules/ShardingConversion.h"
#include "weft/Rules/ShardingRule.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace mlir::weft;

bool mlir::weft::hasFreeAxes(ModuleOp module, InvarianceAttr invariance) {
  return llvm::any_of(module.getOps<MeshOp>(), [&](MeshOp mesh) {
    return llvm::any_of(mesh.getMesh().getAxes(), [&](MeshAxisAttr axis) {
      return axis.getSize() > 1 && !invariance.hasAxis(axis.getName());
    });
  });
}

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
      dims.push_back(DimShardingAttr::get(dim.getContext(), keep(dim.getAxes()),
                                          dim.getIsOpen()));
    return ShardingAttr::get(sharding.getContext(), sharding.getMesh(), dims,
                             keep(sharding.getStorage()),
                             sharding.getPartialKind(),
                             keep(sharding.getPartial()));
  });
  replacer.recursivelyReplaceElementsIn(module);
}

void mlir::weft::shrinkListedAxes(ModuleOp module, InvarianceAttr invariance) {
  dropSubAxes(module, invariance);
  for (auto mesh : module.getOps<MeshOp>()) {
    SmallVector<MeshAxisAttr> axes;
    for (MeshAxisAttr axis : mesh.getMesh().getAxes())
      axes.push_back(
          invariance.hasAxis(axis.getName())
              ? MeshAxisAttr::get(axis.getContext(), axis.getName(), 1)
              : axis);
    mesh.setMeshAttr(MeshAttr::get(mesh.getContext(), axes));
  }
}

/// In how many parts operands are sharded along a loop.
static int64_t countParts(Operation *op, const ShardingRule &rule, int loop,
                          const Mesh &mesh) {
  int64_t parts = 1;
  for (auto [value, factors] : llvm::zip(op->getOperands(), rule.operands)) {
    if (factors.empty())
      continue;
    if (std::optional<Sharding> stated = getStatedSharding(value, mesh)) {
      FactorSharding own =
          projectToFactors(rule, factors, stated->withoutStorage());
      parts = std::max(parts, numShards(own.axes[loop]));
    }
  }
  return parts;
}

/// In how many equal parts a sum is cut such that each is contiguous.
static int64_t countParts(Operation *op, const Mesh &mesh) {
  std::optional<ShardingRule> rule = getShardingRule(op);
  if (!rule)
    return 1;
  int64_t parts = 1;
  for (int loop : getReductionLoops(op)) {
    int64_t size = rule->factors[loop].size;
    int64_t shards = countParts(op, *rule, loop, mesh);
    if (size % shards == 0)
      parts *= shards;
    if (size != shards)
      break;
  }
  return parts;
}

LogicalResult FreeParts::count(
    ModuleOp module, InvarianceAttr invariance,
    function_ref<LogicalResult(OpPassManager &, Operation *)> run) {
  IRMapping mapping;
  auto clone = cast<ModuleOp>(module->clone(mapping));
  shrinkListedAxes(clone, invariance);
  module.getBody()->push_back(clone);
  auto eraseClone = llvm::scope_exit([&] { clone.erase(); });
  OpPassManager pm(ModuleOp::getOperationName());
  pm.addPass(createPropagateShardingsPass());
  if (failed(run(pm, clone)))
    return failure();
  std::optional<NamedMesh> mesh = findMesh(clone);
  if (!mesh)
    return success();
  for (auto func : module.getOps<func::FuncOp>())
    for (Operation &op : func.getOps())
      if (needsOrder(&op))
        parts[&op] = countParts(mapping.lookup(&op), mesh->mesh);
  return success();
}
