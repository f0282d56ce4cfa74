// SPDX-License-Identifier: Apache-2.0

// The program before fusion and scheduling and the one behind them are brought
// into one table of expressions. Results are equal if they are one object.

#include "ProgramElements.h"

#include "weft/Verify/Passes.h"

namespace mlir::weft {
#define GEN_PASS_DEF_VERIFYSCHEDULINGPASS
#include "weft/Verify/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

namespace {

/// Where two expressions part, and the ops that they are of.
struct Parting {
  const Element *scheduled, *local;
  Operation *scheduledOp = nullptr, *localOp = nullptr;
};

/// Compares one function with the one that it was made from.
class SchedulingProof {
public:
  SchedulingProof(func::FuncOp local, func::FuncOp scheduled)
      : local(local), scheduled(scheduled), table(local.getContext()),
        before(table, local), after(table, scheduled) {}

  LogicalResult run() {
    if (failed(checkBorder()) || failed(before.run()) || failed(after.run()))
      return failure();
    for (auto [i, element] : llvm::enumerate(after.getResults()))
      if (element != before.getResults()[i])
        return report(i, findParting(element, before.getResults()[i]));
    return success();
  }

private:
  /// Both take and give the same tensors, by the same names.
  LogicalResult checkBorder() {
    if (local.getFunctionType() != scheduled.getFunctionType())
      return scheduled.emitOpError("has type ")
             << scheduled.getFunctionType()
             << ", but was made from one of type " << local.getFunctionType();
    for (unsigned i = 0; i < local.getNumArguments(); ++i)
      if (getAttrs(local.getArgAttrDict(i)) !=
          getAttrs(scheduled.getArgAttrDict(i)))
        return scheduled.emitOpError("has other attributes on argument #")
               << i << " than what it was made from";
    for (unsigned i = 0; i < local.getNumResults(); ++i)
      if (getAttrs(local.getResultAttrDict(i)) !=
          getAttrs(scheduled.getResultAttrDict(i)))
        return scheduled.emitOpError("has other attributes on result #")
               << i << " than what it was made from";
    return success();
  }

  DictionaryAttr getAttrs(DictionaryAttr attrs) {
    return attrs ? attrs : DictionaryAttr::get(local.getContext());
  }

  /// Goes down to where the operands are equal, or cannot be compared.
  Parting findParting(const Element *own, const Element *other) {
    Parting parting{own, other};
    while (true) {
      if (Operation *op = after.getOrigin(parting.scheduled))
        parting.scheduledOp = op;
      if (Operation *op = before.getOrigin(parting.local))
        parting.localOp = op;
      const Element *a = parting.scheduled, *b = parting.local;
      if (a->kind != b->kind || a->name != b->name ||
          a->details != b->details || a->numbers != b->numbers ||
          a->operands.size() != b->operands.size())
        return parting;
      auto pairs = llvm::zip(a->operands, b->operands);
      auto it = llvm::find_if(pairs, [](auto pair) {
        return std::get<0>(pair) != std::get<1>(pair);
      });
      if (it == pairs.end())
        return parting;
      std::tie(parting.scheduled, parting.local) = *it;
    }
  }

  LogicalResult report(unsigned result, Parting parting) {
    Operation *op = parting.scheduledOp
                        ? parting.scheduledOp
                        : scheduled.getBody().front().getTerminator();
    InFlightDiagnostic diag =
        op->emitOpError("makes result #")
        << result
        << " another one than before scheduling: " << parting.scheduled->str()
        << ", expected " << parting.local->str();
    if (parting.localOp)
      diag.attachNote(parting.localOp->getLoc())
          << "this op of the program before makes " << parting.local->str();
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

LogicalResult weft::verifyScheduling(ModuleOp local, ModuleOp scheduled) {
  if (failed(checkMeshes(local, scheduled)))
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
