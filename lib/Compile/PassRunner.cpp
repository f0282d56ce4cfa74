// SPDX-License-Identifier: Apache-2.0

// Ops are verified after a pipeline instead of after each of its passes: that
// is a third of the time otherwise.

#include "PassRunner.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Shows the name of the running pass in one line, which disappears.
class Progress : public PassInstrumentation {
public:
  ~Progress() override { clear(); }
  void runBeforePass(Pass *pass, Operation *) override {
    clear();
    llvm::errs() << "weft-compile: " << pass->getName();
  }

private:
  /// Goes to the start of the line and erases it.
  void clear() { llvm::errs() << "\r\x1b[K"; }
};

} // namespace

LogicalResult PassRunner::runPasses(ModuleOp on, Build build) {
  PassManager pm(&context);
  pm.enableVerifier(false);
  if (showsProgress)
    pm.addInstrumentation(std::make_unique<Progress>());
  pm.enableTiming(timing);
  build(pm);
  return pm.run(on);
}

LogicalResult PassRunner::checkOps(ModuleOp on) {
  return timed("verification of ops", [&] { return verify(on); });
}
