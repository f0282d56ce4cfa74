// SPDX-License-Identifier: Apache-2.0

// The pipeline of the cuda target, with the reason for each step.

#include "weft/Codegen/Kernels/Pipelines.h"
#include "weft/Codegen/Program/Passes.h"
#include "weft/Target/CUDA/Passes.h"

#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace {

struct LowerCUDAOptions : PassPipelineOptions<LowerCUDAOptions> {
  Option<std::string> deviceIR{
      *this, "device-ir",
      llvm::cl::desc("write the LLVM IR from which PTX is made to this file")};
};

void addPasses(OpPassManager &pm, StringRef deviceIR) {
  pm.addPass(weft::createOutlineKernelsPass());
  OpPassManager &formulas = pm.nest<ModuleOp>();
  // Exponentials of narrow floats are computed in f32, too.
  formulas.addPass(math::createMathExtendToSupportedTypes());
  formulas.addPass(weft::createConvertExpPass());
  weft::buildDefineResultsPipeline(pm, "cuda");
  // Rounding to bf16 is the host's, bit for bit: instructions for it are of
  // newer GPUs, and give other NaNs.
  OpPassManager &device = pm.nest<ModuleOp>();
  // Before it is written for all targets.
  device.addPass(weft::createConvertFloat8Pass());
  weft::buildExpandFloatsPipeline(device, /*expandBF16=*/true);
  weft::buildFinishLLVMPipeline(device);
  pm.addPass(weft::createEmitPTXPass({deviceIR.str()}));
  pm.addPass(weft::createAssemblePTXPass());
  pm.addPass(weft::createConvertWeftRTToLLVMPass());
  // What the entry computes itself.
  weft::addFinishEntry(pm, [](OpPassManager &rest) {
    weft::buildExpandFloatsPipeline(rest, /*expandBF16=*/true);
    rest.addPass(createConvertMathToLibmPass());
    weft::buildFinishLLVMPipeline(rest);
  });
}

} // namespace

void weft::buildLowerCUDAPipeline(OpPassManager &pm) { addPasses(pm, ""); }

void weft::registerCUDAPipelines() {
  PassPipelineRegistration<LowerCUDAOptions> lower(
      "weft-lower-cuda", "from the planned to the llvm phase, with PTX",
      [](OpPassManager &pm, const LowerCUDAOptions &options) {
        addPasses(pm, options.deviceIR);
      });
}
