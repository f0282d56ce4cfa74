// SPDX-License-Identifier: Apache-2.0

// Ops are tried one by one, outer ones first and later ones first among those
// of the same depth: without it, with its results as an operand of the same
// type, or as zeros. Each try is a copy of the module; if the script finds it
// interesting, the module is changed in the same way. It ends when no try is.

#include "ReduceOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Reducer/Tester.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;

namespace {

/// A zero of the type; null if it has none.
TypedAttr getZero(OpBuilder &builder, Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  if (shaped && (!isa<RankedTensorType>(type) || !shaped.hasStaticShape()))
    return nullptr;
  if (!getElementTypeOrSelf(type).isIntOrIndexOrFloat())
    return nullptr;
  return builder.getZeroAttr(type);
}

/// What the result can be instead of what the op computes; null: nothing.
Value findReplacement(OpBuilder &builder, OpResult result) {
  for (Value operand : result.getOwner()->getOperands())
    if (operand.getType() == result.getType())
      return operand;
  TypedAttr zero = getZero(builder, result.getType());
  if (!zero)
    return nullptr;
  return arith::ConstantOp::create(builder, result.getLoc(), zero);
}

/// Takes the op away, if that is possible.
LogicalResult takeAway(Operation *op) {
  if (op->use_empty()) {
    op->erase();
    return success();
  }
  if (op->hasTrait<OpTrait::ConstantLike>())
    return failure();
  OpBuilder builder(op);
  SmallVector<Value> replacements;
  for (OpResult result : op->getResults()) {
    replacements.push_back(findReplacement(builder, result));
    if (!replacements.back())
      return failure();
  }
  op->replaceAllUsesWith(replacements);
  op->erase();
  return success();
}

/// The ops inside the module that can be tried, in the order of the tries.
SmallVector<Operation *> getCandidates(ModuleOp module) {
  std::vector<SmallVector<Operation *>> byDepth;
  module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    size_t depth = 0;
    for (Operation *parent = op; parent != module;
         parent = parent->getParentOp())
      ++depth;
    if (depth == 0 || op->hasTrait<OpTrait::IsTerminator>())
      return;
    byDepth.resize(std::max(byDepth.size(), depth));
    byDepth[depth - 1].push_back(op);
  });
  SmallVector<Operation *> candidates;
  for (auto &ops : byDepth)
    candidates.append(ops.rbegin(), ops.rend());
  return candidates;
}

struct ReduceOps : public PassWrapper<ReduceOps, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ReduceOps)
  ReduceOps() = default;
  ReduceOps(const ReduceOps &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "weft-reduce-ops"; }
  StringRef getDescription() const override {
    return "Take ops away for as long as a script finds the module interesting";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect>();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!llvm::sys::fs::can_execute(script)) {
      module.emitError("cannot run the script '") << script << "'";
      return signalPassFailure();
    }
    Tester tester(script, {});
    if (!isInteresting(tester, module)) {
      module.emitError("'") << script << "' does not find this interesting: it "
                            << "ended with 0, expected another exit code";
      return signalPassFailure();
    }
    for (bool isChanged = true; isChanged;) {
      isChanged = false;
      SmallVector<Operation *> candidates = getCandidates(module);
      for (size_t next = 0; next < candidates.size();) {
        if (!tryToTakeAway(tester, candidates[next])) {
          ++next;
          continue;
        }
        isChanged = true;
        candidates = getCandidates(module); // what was inside is gone as well
      }
    }
  }

private:
  static bool isInteresting(const Tester &tester, ModuleOp module) {
    return tester.isInteresting(module).first == Tester::Interestingness::True;
  }

  /// Takes the op away if the module is interesting without it.
  bool tryToTakeAway(const Tester &tester, Operation *op) {
    // Copies that do not verify say so to nobody.
    ScopedDiagnosticHandler quiet(&getContext(),
                                  [](Diagnostic &) { return success(); });
    IRMapping twins;
    OwningOpRef<ModuleOp> copy(cast<ModuleOp>(getOperation()->clone(twins)));
    if (failed(takeAway(twins.lookup(op))) || failed(verify(*copy)) ||
        !isInteresting(tester, *copy))
      return false;
    return succeeded(takeAway(op));
  }

  Option<std::string> script{
      *this, "test",
      llvm::cl::desc("The script; gets a file, ends with 0 if the file is not "
                     "interesting")};
};

} // namespace

void mlir::weft::registerReduceOps() { PassRegistration<ReduceOps>(); }
