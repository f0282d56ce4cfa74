// SPDX-License-Identifier: Apache-2.0

// The proofs about one program, in order.

#include "weft/Verify/Plan/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

void weft::buildVerifyPlannedPipeline(OpPassManager &pm) {
  // Buffers are where they say, and no two are in each other's way ...
  pm.addPass(createVerifyPlanPass());
  // ... so that it is known who touches what a collective works on ...
  pm.addPass(createVerifyRacesPass());
  // ... which value lies where, and that each op finds the one it needs ...
  pm.addPass(createVerifyFreshnessPass());
  // ... and that the ranks meet in each of them.
  pm.addPass(createVerifyDeadlockPass());
}

void weft::registerVerifyPipelines() {
  PassPipelineRegistration<> all(
      "weft-verify-planned", "prove that a planned program is right",
      [](OpPassManager &pm) { buildVerifyPlannedPipeline(pm); });
}
