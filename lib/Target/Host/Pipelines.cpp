// SPDX-License-Identifier: Apache-2.0

// The pipeline of the host target, with the reason for each step.

#include "weft/Target/Host/Pipelines.h"

#include "weft/Codegen/Kernels/Pipelines.h"
#include "weft/Codegen/Program/Passes.h"

#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

void weft::buildLowerHostPipeline(OpPassManager &pm, bool expandBF16) {
  pm.addPass(createOutlineKernelsPass());
  buildDefineResultsPipeline(pm, "host");
  pm.addPass(createConvertWeftRTToLLVMPass());
  addFinishEntry(pm, [&](OpPassManager &rest) {
    buildExpandFloatsPipeline(rest, expandBF16);
    rest.addPass(createConvertMathToLibmPass());
    buildFinishLLVMPipeline(rest);
  });
}

void weft::registerHostPipelines() {
  PassPipelineRegistration<> lower(
      "weft-lower-host", "from the planned to the llvm phase",
      [](OpPassManager &pm) { buildLowerHostPipeline(pm); });
}
