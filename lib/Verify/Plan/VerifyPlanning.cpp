// SPDX-License-Identifier: Apache-2.0

// The plan of a scheduled program: what stands around its functions, and what
// the caller gives and gets, is compared here; functions are PlanMatcher's.

#include "PlanMatcher.h"

#include "weft/Dialect/Weft/IR/RoundingErrors.h"
#include "weft/Verify/Plan/Passes.h"
#include "weft/Verify/Plan/Planning.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLExtras.h"

namespace mlir::weft {
#define GEN_PASS_DEF_VERIFYPLANNINGPASS
#include "weft/Verify/Plan/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

namespace {

constexpr StringRef kScheduledName = "scheduled";

/// What the plan has to say of an argument or result of `scheduled`.
FailureOr<rt::TensorAttr> getEntry(func::FuncOp scheduled, Type local,
                                   DictionaryAttr attributes) {
  if (!attributes)
    attributes = DictionaryAttr::get(local.getContext());
  auto whole = attributes.getAs<TypeAttr>(WeftDialect::kGlobalTypeAttr);
  auto part = dyn_cast<RankedTensorType>(local);
  auto global = dyn_cast<RankedTensorType>(whole ? whole.getValue() : local);
  if (!part || !global || !part.hasStaticShape() || !global.hasStaticShape())
    return scheduled.emitOpError("of the scheduled program takes or gives ")
           << local << ", expected tensors of static shape";
  auto alias = attributes.getAs<IntegerAttr>(WeftDialect::kAliasAttr);
  return rt::TensorAttr::get(
      local.getContext(), attributes.getAs<StringAttr>(WeftDialect::kNameAttr),
      part, global, attributes.getAs<ShardingAttr>(WeftDialect::kShardingAttr),
      alias ? std::optional<int64_t>(alias.getInt()) : std::nullopt,
      std::nullopt, rt::PartAttr(),
      attributes.contains(WeftDialect::kHostAttr));
}

LogicalResult checkEntries(func::FuncOp planned, StringRef name,
                           ArrayRef<rt::TensorAttr> entries,
                           ArrayRef<rt::TensorAttr> expected) {
  if (entries.size() != expected.size())
    return planned.emitError("has ")
           << entries.size() << " " << name << "s, the scheduled program "
           << expected.size();
  for (auto [i, entry, want] : llvm::enumerate(entries, expected))
    if (entry.withoutValue() != want)
      return planned.emitError(name)
             << " " << i << " is " << entry.withoutValue()
             << ", in the scheduled program " << want;
  return success();
}

LogicalResult checkFunction(func::FuncOp scheduled, func::FuncOp planned) {
  SmallVector<rt::TensorAttr> args, results;
  auto add = [&](SmallVector<rt::TensorAttr> &list, Type type,
                 DictionaryAttr attributes) {
    FailureOr<rt::TensorAttr> entry = getEntry(scheduled, type, attributes);
    if (succeeded(entry))
      list.push_back(*entry);
    return LogicalResult(entry);
  };
  for (auto [i, type] : llvm::enumerate(scheduled.getArgumentTypes()))
    if (failed(add(args, type, scheduled.getArgAttrDict(i))))
      return failure();
  for (auto [i, type] : llvm::enumerate(scheduled.getResultTypes()))
    if (failed(add(results, type, scheduled.getResultAttrDict(i))))
      return failure();
  if (failed(checkEntries(planned, "argument", rt::getArgs(planned), args)) ||
      failed(checkEntries(planned, "result", rt::getResults(planned), results)))
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
  constexpr StringLiteral kBefore = "the scheduled program";
  if (failed(verifySameInvariance(planned, scheduled, kBefore)) ||
      failed(verifySameProducts(planned, scheduled, kBefore)))
    return failure();
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
  // The program table lists what the plan has.
  SymbolTable known(scheduled);
  for (Operation &op : *planned.getBody())
    if (isa<MeshOp, ChannelOp>(op) &&
        !known.lookup(SymbolTable::getSymbolName(&op)))
      return op.emitError() << "'" << op.getName() << "' op @"
                            << SymbolTable::getSymbolName(&op).getValue()
                            << " is not in the scheduled program";
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
