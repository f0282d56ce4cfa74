// SPDX-License-Identifier: Apache-2.0

// Where sums were given orders, the canonical form and the user's module are
// equal over the reals only: how addends are rounded may differ, and an order
// is what weft-assign-orders says it is. weft-compile keeps the module without
// orders to compare with; here it is made again. It is proved to be the user's,
// bit by bit, and what becomes of it with orders to be the canonical form, bit
// by bit and in the same orders.

#include "SourceProof.h"

#include "weft/Canonicalize/Passes.h"
#include "weft/Dialect/Weft/IR/RoundingErrors.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Pipelines/Pipelines.h"
#include "weft/Quantize/Passes.h"
#include "weft/Schedule/Passes.h"
#include "weft/Verify/Elements/Canonicalization.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace mlir::weft;

static LogicalResult runPipeline(ModuleOp module,
                                 function_ref<void(OpPassManager &)> build) {
  PassManager pm(module.getContext());
  build(pm);
  return pm.run(module);
}

/// Gives the module the meshes, and what is said of arguments and results: all
/// that options of weft-compile decide.
static void takeOptions(ModuleOp module, ModuleOp canonical) {
  for (auto mesh : canonical.getOps<MeshOp>())
    if (auto own = module.lookupSymbol<MeshOp>(mesh.getSymName()))
      own->setAttrs(mesh->getAttrs());
  for (auto func : canonical.getOps<func::FuncOp>())
    if (auto own = module.lookupSymbol<func::FuncOp>(func.getSymName());
        own && own.getFunctionType() == func.getFunctionType()) {
      if (ArrayAttr attrs = func.getArgAttrsAttr())
        own.setArgAttrsAttr(attrs);
      if (ArrayAttr attrs = func.getResAttrsAttr())
        own.setResAttrsAttr(attrs);
    }
  if (!hasBarriers(canonical))
    eraseBarriers(module);
}

/// The axes, leaves and partial sums of which the orders of a module tell.
static void setOrderOptions(GlobalOptions &options, ModuleOp canonical,
                            InvarianceAttr invariance) {
  for (auto axis : invariance.getAxes().getAsRange<StringAttr>())
    options.invariant.push_back(axis.str());
  options.leaves = invariance.getLeaves();
  canonical.walk([&](Operation *op) {
    auto order = op->getAttrOfType<OrderAttr>(WeftDialect::kOrderAttr);
    if (order && order.getRounded())
      options.partials = "bf16";
  });
}

/// Proves the form in two steps, as weft-compile makes it.
static LogicalResult verifyOrdered(ModuleOp source, ModuleOp canonical,
                                   InvarianceAttr invariance) {
  GlobalOptions options;
  options.inferStorage = false;
  setOrderOptions(options, canonical, invariance);
  OwningOpRef<ModuleOp> made = source.clone();
  takeOptions(*made, canonical);
  if (failed(runPipeline(
          *made,
          [&](OpPassManager &pm) { buildRaiseGlobalPipeline(pm, options); })) ||
      failed(verifyCanonicalization(source, *made)))
    return failure();
  constexpr StringLiteral kOrdered = "the user's module in declared orders";
  return failure(failed(runPipeline(*made,
                                    [&](OpPassManager &pm) {
                                      buildOrderGlobalPipeline(pm, options);
                                    })) ||
                 failed(verifySameInvariance(canonical, *made, kOrdered)) ||
                 failed(verifyCanonicalization(*made, canonical, kOrdered)));
}

LogicalResult weft::verifyFromSource(ModuleOp source, ModuleOp canonical) {
  // Both say of every value which one it is; what the ops of quantization say
  // is read in ops that proofs know.
  if (failed(runPipeline(source,
                         [](OpPassManager &pm) {
                           pm.addPass(createLowerQuantizationPass());
                         })) ||
      failed(checkValues(source)) ||
      failed(verifyCanonicalization(source, canonical)))
    return failure();
  auto invariance =
      canonical->getAttrOfType<InvarianceAttr>(WeftDialect::kInvarianceAttr);
  if (!invariance || source->hasAttr(WeftDialect::kInvarianceAttr))
    return success();
  return verifyOrdered(source, canonical, invariance);
}
