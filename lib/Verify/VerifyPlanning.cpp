// SPDX-License-Identifier: Apache-2.0

// The plan of a scheduled program: what stands around its functions, and what
// the caller gives and gets, is compared here; functions are PlanMatcher's.

#include "PlanMatcher.h"

#include "weft/Verify/Passes.h"
#include "weft/Verify/Planning.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLExtras.h"

namespace mlir::weft {
#define GEN_PASS_DEF_VERIFYPLANNINGPASS
#include "weft/Verify/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

namespace {

constexpr StringRef kScheduledName = "scheduled";

/// What the plan has to say of an argument or result.
DictionaryAttr getEntry(Type local, DictionaryAttr attributes) {
  NamedAttrList entry;
  auto get = [&](StringRef name) {
    return attributes ? attributes.get(name) : Attribute();
  };
  Attribute global = get(WeftDialect::kGlobalTypeAttr);
  entry.set("local", TypeAttr::get(local));
  entry.set("global", global ? global : TypeAttr::get(local));
  for (auto [name, source] :
       {std::pair<StringRef, StringRef>("name", WeftDialect::kNameAttr),
        {"sharding", WeftDialect::kShardingAttr},
        {"alias", WeftDialect::kAliasAttr}})
    if (Attribute attribute = get(source))
      entry.set(name, attribute);
  return entry.getDictionary(local.getContext());
}

DictionaryAttr withoutValue(Attribute entry) {
  NamedAttrList list(dyn_cast<DictionaryAttr>(entry));
  list.erase("value");
  return list.getDictionary(entry.getContext());
}

LogicalResult checkEntries(func::FuncOp planned, StringRef name,
                           ArrayRef<DictionaryAttr> expected) {
  auto entries = planned->getAttrOfType<ArrayAttr>(
      name == "argument" ? "weft_rt.args" : "weft_rt.results");
  if (!entries || entries.size() != expected.size())
    return planned.emitError("has ")
           << (entries ? entries.size() : 0) << " " << name
           << "s, the scheduled program " << expected.size();
  for (auto [i, entry, want] : llvm::enumerate(entries, expected))
    if (withoutValue(entry) != want)
      return planned.emitError(name)
             << " " << i << " is " << withoutValue(entry)
             << ", in the scheduled program " << want;
  return success();
}

LogicalResult checkFunction(func::FuncOp scheduled, func::FuncOp planned) {
  SmallVector<DictionaryAttr> args, results;
  for (auto [i, type] : llvm::enumerate(scheduled.getArgumentTypes()))
    args.push_back(getEntry(type, scheduled.getArgAttrDict(i)));
  for (auto [i, type] : llvm::enumerate(scheduled.getResultTypes()))
    results.push_back(getEntry(type, scheduled.getResultAttrDict(i)));
  if (failed(checkEntries(planned, "argument", args)) ||
      failed(checkEntries(planned, "result", results)))
    return failure();
  if (!scheduled.getBody().hasOneBlock())
    return scheduled.emitOpError("of the scheduled program has ")
           << scheduled.getBody().getBlocks().size() << " blocks, expected 1";
  PlannedProgram program(planned);
  return success(program.isValid() &&
                 succeeded(PlanMatcher(scheduled, program).run()));
}

/// Meshes, channels and the like are in the plan as they were.
LogicalResult checkSymbols(ModuleOp scheduled, ModuleOp planned) {
  Attribute axes = scheduled->getAttr(WeftDialect::kInvarianceAttr);
  if (axes != planned->getAttr(WeftDialect::kInvarianceAttr))
    return planned.emitError()
           << "'" << WeftDialect::kInvarianceAttr
           << "' is not that of the scheduled program: it decides how narrow "
              "floats are computed";
  SymbolTable symbols(planned);
  for (Operation &op : *scheduled.getBody()) {
    auto name = op.getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName());
    if (isa<func::FuncOp>(op) || !name)
      continue;
    Operation *other = symbols.lookup(name);
    if (!other || other->getName() != op.getName() ||
        other->getAttrDictionary() != op.getAttrDictionary())
      return (other ? other : planned.getOperation())->emitError()
             << "'" << op.getName() << "' op @" << name.getValue()
             << " is not that of the scheduled program";
  }
  return success();
}

struct VerifyPlanningPass
    : public weft::impl::VerifyPlanningPassBase<VerifyPlanningPass> {
  using Base::Base;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    auto scheduled = getOperation().lookupSymbol<ModuleOp>(kScheduledName);
    if (!scheduled) {
      getOperation().emitError()
          << "there is no module @scheduled inside, with which the plan could "
             "be compared";
      return signalPassFailure();
    }
    if (failed(verifyPlanning(scheduled, getOperation())))
      signalPassFailure();
  }
};

} // namespace

LogicalResult mlir::weft::verifyPlanning(ModuleOp scheduled, ModuleOp planned) {
  if (failed(checkSymbols(scheduled, planned)))
    return failure();
  SymbolTable symbols(planned);
  unsigned count = 0;
  for (func::FuncOp from : scheduled.getOps<func::FuncOp>()) {
    auto to = symbols.lookup<func::FuncOp>(from.getSymName());
    if (!to || !to->hasAttr(rt::WeftRTDialect::kArenaBytesAttr))
      return planned.emitError() << "there is no plan of @" << from.getSymName()
                                 << " of the scheduled program";
    if (failed(checkFunction(from, to)))
      return failure();
    ++count;
  }
  for (func::FuncOp to : planned.getOps<func::FuncOp>())
    if (!scheduled.lookupSymbol<func::FuncOp>(to.getSymName()))
      return to.emitError()
             << "the scheduled program has no @" << to.getSymName();
  if (count == 0)
    return planned.emitError() << "the scheduled program has no function";
  return success();
}
