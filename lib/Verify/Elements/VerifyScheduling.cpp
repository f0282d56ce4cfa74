// SPDX-License-Identifier: Apache-2.0

// The program before fusion and scheduling and the one after them are brought
// into one table of expressions. Results are equal if they are one object.

#include "ElementParting.h"

#include "weft/Verify/Elements/Passes.h"

namespace mlir::weft {
#define GEN_PASS_DEF_VERIFYSCHEDULINGPASS
#include "weft/Verify/Elements/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

namespace {

/// Compares one function with the one that it was made from.
class SchedulingProof {
public:
  SchedulingProof(func::FuncOp local, func::FuncOp scheduled)
      : local(local), scheduled(scheduled), table(local.getContext()),
        before(table, local), after(table, scheduled) {}

  LogicalResult run() {
    if (failed(
            checkBorder(scheduled, local, std::equal_to<DictionaryAttr>())) ||
        failed(before.run()) || failed(after.run()))
      return failure();
    for (auto [i, element] : llvm::enumerate(after.getResults()))
      if (const Element *other = before.getResults()[i]; element != other)
        return report(i, findParting(after, element, before, other));
    return checkPlaces();
  }

private:
  /// Slices are inside of their tensors if those before are.
  LogicalResult checkPlaces() {
    Places known(before.getPlaces());
    for (const PlaceUse &use : after.getPlaces())
      if (!known.areWithin(use.place, use.last))
        return use.op->emitOpError("begins at a place that may be past ")
               << use.last
               << ", the last one that is inside of its tensor: the program "
                  "before does not say that it is not";
    return success();
  }

  LogicalResult report(unsigned result, ElementParting parting) {
    Operation *op = parting.ownOp ? parting.ownOp
                                  : scheduled.getBody().front().getTerminator();
    InFlightDiagnostic diag =
        op->emitOpError("makes result #")
        << result
        << " another one than before scheduling: " << parting.own->str()
        << ", expected " << parting.other->str();
    if (parting.otherOp)
      diag.attachNote(parting.otherOp->getLoc())
          << "this op of the program before makes " << parting.other->str();
    return diag;
  }

  func::FuncOp local, scheduled;
  ElementTable table;
  ProgramElements before, after;
};

} // namespace

/// Both run on the same meshes.
static LogicalResult checkMeshes(ModuleOp local, ModuleOp scheduled) {
  auto meshes = local.getOps<MeshOp>(), others = scheduled.getOps<MeshOp>();
  bool isSame =
      std::equal(meshes.begin(), meshes.end(), others.begin(), others.end(),
                 [](MeshOp a, MeshOp b) {
                   return a->getAttrDictionary() == b->getAttrDictionary();
                 });
  return isSame ? success()
                : scheduled.emitError(
                      "has other meshes than the module that it was made from");
}

static LogicalResult checkTF32(ModuleOp local, ModuleOp scheduled) {
  StringRef tf32 = WeftDialect::kTF32Attr;
  if (local->hasAttr(tf32) == scheduled->hasAttr(tf32))
    return success();
  return scheduled.emitError("'")
         << tf32 << "' is not that of the module that it was made from: it "
         << "decides how products are rounded";
}

LogicalResult weft::verifyScheduling(ModuleOp local, ModuleOp scheduled) {
  if (failed(checkMeshes(local, scheduled)) ||
      failed(checkTF32(local, scheduled)))
    return failure();
  for (auto func : scheduled.getOps<func::FuncOp>()) {
    auto before = local.lookupSymbol<func::FuncOp>(func.getSymName());
    if (!before)
      return func.emitOpError("is not in the module that it was made from");
    if (func.isExternal() && before.isExternal())
      continue;
    if (failed(SchedulingProof(before, func).run()))
      return failure();
  }
  for (auto func : local.getOps<func::FuncOp>())
    if (!scheduled.lookupSymbol<func::FuncOp>(func.getSymName()))
      return scheduled.emitError("has no function @") << func.getSymName();
  return success();
}

namespace {

struct VerifySchedulingPass
    : public weft::impl::VerifySchedulingPassBase<VerifySchedulingPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto local = module.lookupSymbol<ModuleOp>(kLocalModule);
    if (!local) {
      module.emitError("has no module @") << kLocalModule << " to compare with";
      return signalPassFailure();
    }
    if (failed(verifyScheduling(local, module)))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
