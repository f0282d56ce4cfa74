// SPDX-License-Identifier: Apache-2.0

// The global program and that of a rank are brought into forms in one table,
// over the reals. Results are equal if their forms are one object.

#include "weft/Dialect/Weft/IR/RoundingErrors.h"
#include "weft/Verify/Sums/Partitioning.h"

#include "LocalLifter.h"
#include "Parting.h"

#include "weft/Rules/ShardingConversion.h"
#include "weft/Verify/Sums/Passes.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

namespace mlir::weft {
#define GEN_PASS_DEF_VERIFYPARTITIONINGPASS
#include "weft/Verify/Sums/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

/// The name of a global module inside of a local one.
static constexpr llvm::StringLiteral kGlobalModule = "global";

namespace {

class PartitioningProof {
public:
  PartitioningProof(ModuleOp global, ModuleOp local)
      : global(global), local(local) {}

  LogicalResult run() {
    std::optional<NamedMesh> named = findMesh(local);
    Mesh mesh = named ? named->mesh : Mesh(), one;
    func::FuncOp func = findFunction(local), reference = findFunction(global);
    if (!func || !reference)
      return (func ? global : local)
          .emitError("has no single public function to prove");
    if (failed(checkOneBlock(func)) || failed(checkOneBlock(reference)) ||
        failed(verifySameProducts(local, global, "the global program")) ||
        failed(checkBorders(func, reference)))
      return failure();
    LocalLifter expected(forms, reference, one, /*isReference=*/true);
    LocalLifter program(forms, func, mesh, /*isReference=*/false);
    if (failed(expected.run()) || failed(program.run()))
      return failure();
    return compare(func, program, expected);
  }

private:
  static func::FuncOp findFunction(ModuleOp module) {
    func::FuncOp found;
    for (auto func : module.getOps<func::FuncOp>()) {
      if (!func.isPublic())
        continue;
      if (found)
        return nullptr;
      found = func;
    }
    return found;
  }

  /// Both take and give the same tensors.
  LogicalResult checkBorders(func::FuncOp func, func::FuncOp reference) {
    if (func.getNumArguments() != reference.getNumArguments() ||
        func.getNumResults() != reference.getNumResults())
      return func.emitOpError("has ")
             << func.getNumArguments() << " arguments and "
             << func.getNumResults() << " results, but the global program has "
             << reference.getNumArguments() << " and "
             << reference.getNumResults();
    auto isSame = [](DictionaryAttr own, Type type, DictionaryAttr other,
                     Type globalType) {
      auto get = [](DictionaryAttr attrs, StringRef name) {
        return attrs ? attrs.get(name) : Attribute();
      };
      if (auto attr = dyn_cast_if_present<TypeAttr>(
              get(own, WeftDialect::kGlobalTypeAttr)))
        type = attr.getValue();
      auto isKept = [&](StringRef name) {
        return get(own, name) == get(other, name);
      };
      // In which memory it lies is for offloading to choose.
      return type == globalType && isKept(WeftDialect::kAliasAttr) &&
             isKept(WeftDialect::kNameAttr);
    };
    for (unsigned i = 0; i < func.getNumArguments(); ++i)
      if (!isSame(func.getArgAttrDict(i), func.getArgumentTypes()[i],
                  reference.getArgAttrDict(i), reference.getArgumentTypes()[i]))
        return func.emitOpError("argument #")
               << i << " is not that of the global program";
    for (unsigned i = 0; i < func.getNumResults(); ++i)
      if (!isSame(func.getResultAttrDict(i), func.getResultTypes()[i],
                  reference.getResultAttrDict(i),
                  reference.getResultTypes()[i]))
        return func.emitOpError("result #")
               << i << " is not that of the global program";
    for (unsigned i = 0; i < func.getNumResults(); ++i)
      if (failed(checkDonated(func, i)))
        return failure();
    return success();
  }

  /// A result in the place of an argument lies as that does.
  LogicalResult checkDonated(func::FuncOp func, unsigned result) {
    auto alias =
        func.getResultAttrOfType<IntegerAttr>(result, WeftDialect::kAliasAttr);
    if (!alias)
      return success();
    auto from = func.getArgAttrOfType<ShardingAttr>(alias.getInt(),
                                                    WeftDialect::kShardingAttr);
    auto to = func.getResultAttrOfType<ShardingAttr>(
        result, WeftDialect::kShardingAttr);
    if (!from || !to || from.getDims() == to.getDims())
      return success();
    return func.emitOpError("result #")
           << result << " is sharded as " << to << ", but argument #"
           << alias.getInt() << ", which is donated to it, as " << from;
  }

  LogicalResult compare(func::FuncOp func, const LocalLifter &program,
                        const LocalLifter &expected) {
    for (auto [i, form] : llvm::enumerate(program.getResults()))
      if (const Form *other = expected.getResults()[i]; form != other)
        return reportParting(func, i,
                             findParting(program, form, expected, other));
    return success();
  }

  ModuleOp global, local;
  FormTable forms{Equality::Reals};
};

struct VerifyPartitioningPass
    : public weft::impl::VerifyPartitioningPassBase<VerifyPartitioningPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    OwningOpRef<ModuleOp> file;
    auto inside = module.lookupSymbol<ModuleOp>(kGlobalModule);
    if (!global.empty()) {
      file = parseSourceFile<ModuleOp>(global, &getContext());
      if (!file)
        return signalPassFailure();
    } else if (!inside) {
      module.emitError("has no module @")
          << kGlobalModule << " to compare with";
      return signalPassFailure();
    }
    markAllAnalysesPreserved();
    if (failed(verifyPartitioning(file ? *file : inside, module)))
      signalPassFailure();
  }
};

} // namespace

LogicalResult mlir::weft::verifyPartitioning(ModuleOp global, ModuleOp local) {
  return PartitioningProof(global, local).run();
}
