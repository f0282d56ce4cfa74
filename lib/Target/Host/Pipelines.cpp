// SPDX-License-Identifier: Apache-2.0

// The pipeline of the host target, with the reason for each step.

#include "weft/Codegen/Program/Passes.h"
#include "weft/Target/Host/Passes.h"

#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

using namespace mlir;

/// Adds a pass that computes in f32 what would be computed in `types`.
static void addEmulation(OpPassManager &pm,
                         std::initializer_list<std::string> types) {
  arith::ArithEmulateUnsupportedFloatsOptions emulation;
  emulation.sourceTypeStrs = types;
  emulation.targetTypeStr = "f32";
  pm.addPass(arith::createArithEmulateUnsupportedFloats(emulation));
}

void weft::buildLowerHostPipeline(OpPassManager &pm, bool expandBF16) {
  pm.addPass(createOutlineKernelsPass());
  // No CPU decides what a program computes.
  pm.addPass(createDefineValuesPass());
  // Functions of narrow floats are computed in f32, and round once.
  pm.addPass(math::createMathExtendToSupportedTypes());
  pm.addPass(createLowerMathPass());
  pm.addPass(createCSEPass());
  pm.addPass(createConvertWeftRTToLLVMPass());
  // No CPU computes with floats of 8 bits.
  addEmulation(pm, {"f8E4M3FN", "f8E5M2", "f8E8M0FNU"});
  pm.addPass(createExpandFloat8Pass());
  if (expandBF16) {
    // Without instructions for bf16 LLVM would call functions that the C++
    // compiler's library may not have.
    addEmulation(pm, {"bf16"});
    pm.addPass(createExpandBfloatPass());
  }
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createConvertMathToLibmPass());
  buildFinishLLVMPipeline(pm);
}

void weft::registerHostPipelines() {
  PassPipelineRegistration<> lower(
      "weft-lower-host", "from the planned to the llvm phase",
      [](OpPassManager &pm) { buildLowerHostPipeline(pm); });
}
