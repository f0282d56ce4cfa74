// SPDX-License-Identifier: Apache-2.0

// Most of a program is in the LLVM dialect before its last passes: the calls of
// the entry and the table, nine tenths of the ops of a long step. Each of these
// passes walks all ops of a module, so what has nothing to convert leaves it
// for as long as they run.

#include "weft/Codegen/Program/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

bool isFinished(Operation &op) {
  auto isLLVM = [](Operation *inner) {
    return isa_and_present<LLVM::LLVMDialect>(inner->getDialect())
               ? WalkResult::advance()
               : WalkResult::interrupt();
  };
  return isa<LLVM::LLVMFuncOp, LLVM::GlobalOp>(op) &&
         !op.walk(isLLVM).wasInterrupted();
}

/// What is finished, and nothing that is not refers to.
llvm::SetVector<Operation *> findFinished(ModuleOp module) {
  llvm::SetVector<Operation *> finished;
  SmallVector<Operation *> others;
  for (Operation &op : *module.getBody())
    if (isFinished(op))
      finished.insert(&op);
    else
      others.push_back(&op);
  SymbolTable symbols(module);
  while (!others.empty())
    others.pop_back_val()->walk([&](Operation *op) {
      op->getAttrDictionary().walk([&](SymbolRefAttr reference) {
        Operation *named = symbols.lookup(reference.getRootReference());
        if (named && finished.remove(named))
          others.push_back(named);
      });
    });
  return finished;
}

class FinishEntryPass
    : public PassWrapper<FinishEntryPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FinishEntryPass)

  explicit FinishEntryPass(function_ref<void(OpPassManager &)> build) {
    build(passes);
  }

  StringRef getName() const override { return "FinishEntryPass"; }

  void getDependentDialects(DialectRegistry &registry) const override {
    passes.getDependentDialects(registry);
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    OwningOpRef<ModuleOp> aside = ModuleOp::create(module.getLoc());
    for (Operation *op : findFinished(module))
      op->moveBefore(aside->getBody(), aside->getBody()->end());
    if (failed(runPipeline(passes, module)))
      signalPassFailure();
    // Functions first, as they were; data last.
    Operation *first =
        module.getBody()->empty() ? nullptr : &module.getBody()->front();
    for (Operation &op : llvm::make_early_inc_range(*aside->getBody()))
      if (first && isa<LLVM::LLVMFuncOp>(op))
        op.moveBefore(first);
      else
        op.moveBefore(module.getBody(), module.getBody()->end());
  }

private:
  OpPassManager passes{ModuleOp::getOperationName()};
};

} // namespace

void weft::addFinishEntry(OpPassManager &pm,
                          function_ref<void(OpPassManager &)> build) {
  pm.addPass(std::make_unique<FinishEntryPass>(build));
}
