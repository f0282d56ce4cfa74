// SPDX-License-Identifier: Apache-2.0

// The program before fusion and scheduling and the one after them are brought
// into one table of expressions. Results are equal if they are one object.

#include "ElementEffort.h"
#include "ElementParting.h"

#include "weft/Dialect/Weft/IR/RoundingErrors.h"
#include "weft/Verify/Elements/Canonicalization.h"
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
  SchedulingProof(ElementTable &table, func::FuncOp local,
                  func::FuncOp scheduled, bool says)
      : scheduled(scheduled), says(says), table(table),
        alike(table.namesAlikeOps()
                  ? std::make_unique<AlikeOps>(local, scheduled,
                                               AlikeOps::Kind::Products)
                  : nullptr),
        before(table, local, ProgramKind::Rank, alike.get()),
        after(table, scheduled, ProgramKind::Rank, alike.get()) {}

  Outcome run() {
    if (failed(before.run()) || failed(after.run()))
      return table.isFull() ? Outcome::Full : Outcome::Failed;
    for (auto [i, element] : llvm::enumerate(after.getResults()))
      if (const Element *other = before.getResults()[i]; element != other) {
        if (says)
          report(i, findParting(after, element, before, other));
        return Outcome::Different;
      }
    return checkPlaces();
  }

private:
  /// Slices are inside of their tensors if those before are.
  Outcome checkPlaces() {
    Places known(before.getPlaces());
    for (const PlaceUse &use : after.getPlaces())
      if (!known.areWithin(use.place, use.last)) {
        if (says)
          use.op->emitOpError("begins at a place that may be past ")
              << use.last
              << ", the last one that is inside of its tensor: the program "
                 "before does not say that it is not";
        return Outcome::Different;
      }
    return Outcome::Equal;
  }

  void report(unsigned result, ElementParting parting) {
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
  }

  func::FuncOp scheduled;
  bool says;
  ElementTable &table;
  std::unique_ptr<AlikeOps> alike;
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

/// The schedule decides in which memory an argument lies; that copies fit is
/// seen where it is read.
static bool isSameBorder(DictionaryAttr attrs, DictionaryAttr before) {
  auto drop = [](DictionaryAttr from) {
    NamedAttrList list(from);
    list.erase(WeftDialect::kHostAttr);
    return list.getDictionary(from.getContext());
  };
  return drop(attrs) == drop(before);
}

LogicalResult weft::verifyScheduling(ModuleOp local, ModuleOp scheduled) {
  constexpr StringLiteral kBefore = "the module that it was made from";
  if (failed(checkMeshes(local, scheduled)) ||
      failed(verifySameInvariance(scheduled, local, kBefore)) ||
      failed(verifySameProducts(scheduled, local, kBefore)) ||
      failed(checkOrders(scheduled)))
    return failure();
  for (auto func : scheduled.getOps<func::FuncOp>()) {
    auto before = local.lookupSymbol<func::FuncOp>(func.getSymName());
    if (!before)
      return func.emitOpError("is not in the module that it was made from");
    if (func.isExternal() && before.isExternal())
      continue;
    if (failed(checkBorder(func, before, isSameBorder)) ||
        failed(compareWithEffort(
            func, countOps(before, func), [&](ElementTable &table, bool says) {
              return SchedulingProof(table, before, func, says).run();
            })))
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
