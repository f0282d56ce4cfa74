// SPDX-License-Identifier: Apache-2.0

// Runs passes and proofs for a compilation, and tells how long they take.

#ifndef WEFT_LIB_COMPILE_PASSRUNNER_H
#define WEFT_LIB_COMPILE_PASSRUNNER_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"

namespace mlir::weft {

class PassRunner {
public:
  using Build = llvm::function_ref<void(OpPassManager &)>;

  /// `showsProgress`: the name of the running pass is on standard error.
  PassRunner(MLIRContext &context, bool showsProgress,
             TimingScope timing = TimingScope())
      : context(context), showsProgress(showsProgress),
        timing(std::move(timing)) {}

  /// Calls `run`; how long that takes is told by `name`.
  template <typename Function> auto timed(StringRef name, Function run) {
    TimingScope scope = timing.nest(name);
    return run();
  }

  /// A copy that a later proof compares with.
  OwningOpRef<ModuleOp> keep(ModuleOp kept) {
    return timed("copies for proofs",
                 [&] { return OwningOpRef<ModuleOp>(kept.clone()); });
  }

  /// Runs passes; that their ops are right is not checked.
  LogicalResult runPasses(ModuleOp on, Build build);
  LogicalResult checkOps(ModuleOp on);

  /// Runs passes, then checks the ops.
  LogicalResult runPipeline(ModuleOp on, Build build) {
    return success(succeeded(runPasses(on, build)) && succeeded(checkOps(on)));
  }

private:
  MLIRContext &context;
  bool showsProgress;
  TimingScope timing;
};

} // namespace mlir::weft

#endif // WEFT_LIB_COMPILE_PASSRUNNER_H
