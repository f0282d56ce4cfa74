// SPDX-License-Identifier: Apache-2.0

// Steps of the way to machine code that all targets share, with the reason for
// each pass.

#include "weft/Codegen/Kernels/Pipelines.h"

#include "weft/Codegen/Kernels/Passes.h"
#include "weft/Quantize/Passes.h"

#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

/// Adds a pass that computes in f32 what would be computed in `types`.
static void addEmulation(OpPassManager &pm,
                         std::initializer_list<std::string> types) {
  arith::ArithEmulateUnsupportedFloatsOptions emulation;
  emulation.sourceTypeStrs = types;
  emulation.targetTypeStr = "f32";
  pm.addPass(arith::createArithEmulateUnsupportedFloats(emulation));
}

void weft::buildDefineResultsPipeline(OpPassManager &pm, StringRef target) {
  pm.addPass(createExpandFormulasPass());
  // No processor decides what a program computes.
  pm.addPass(createDefineValuesPass({target.str()}));
  // Functions of narrow floats are computed in f32, and round once.
  pm.addPass(math::createMathExtendToSupportedTypes());
  pm.addPass(createLowerMathPass());
  pm.addPass(createCSEPass());
}

void weft::buildExpandFloatsPipeline(OpPassManager &pm, bool expandBF16) {
  // Nothing computes with floats of 8 bits.
  addEmulation(pm, {"f8E4M3FN", "f8E5M2", "f8E8M0FNU"});
  pm.addPass(createExpandFloat8Pass());
  // Without instructions for bf16 LLVM would call functions that the C++
  // compiler's library may not have.
  if (expandBF16)
    addEmulation(pm, {"bf16"});
  pm.addPass(createExpandBfloatPass({/*extendOnly=*/!expandBF16}));
  pm.addPass(createConvertMathToLLVMPass());
}
