// SPDX-License-Identifier: Apache-2.0

// The pipelines of the host target, with the reason for each step.

#include "weft/Conversion/WeftToHost/Passes.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

#include "weft/Conversion/WeftToHost/ValuePasses.h"
#include "weft/Dialect/Weft/Transforms/Passes.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"
#include "weft/Schedule/Passes.h"

using namespace mlir;

void weft::buildFuseHostPipeline(OpPassManager &pm, bool mergeChannels) {
  pm.addPass(createPrepareHostPass());
  GreedyRewriteConfig straightLine;
  straightLine.setRegionSimplificationLevel(
      GreedySimplifyRegionLevel::Disabled);
  pm.addPass(createCanonicalizerPass(straightLine));
  pm.addPass(createCSEPass());
  // While dataflow is seen op by op: it says what a collective is for, and what
  // it is called.
  AssignChannelsPassOptions channels;
  channels.merge = mergeChannels;
  pm.addPass(createAssignChannelsPass(channels));
  pm.addPass(createNameOpsPass());
  // What is ordered are kernels, whose times are known.
  pm.addPass(createFuseHostPass());
  // Kernels, which are there only now.
  pm.addPass(createNameOpsPass());
}

void weft::buildScheduleHostPipeline(OpPassManager &pm) {
  buildFuseHostPipeline(pm);
  pm.addPass(createSchedulePass());
  // The phase's gate.
  pm.addPass(createVerifyScheduledPass());
}

void weft::buildPlanHostPipeline(OpPassManager &pm) {
  // What was written or changed by hand may lack names.
  pm.addPass(createNameOpsPass());
  pm.addPass(createVerifyScheduledPass());
  pm.addPass(createPlanBuffersPass());
}

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
  addEmulation(pm, {"f8E4M3FN", "f8E5M2"});
  pm.addPass(createExpandFloat8Pass());
  if (expandBF16) {
    // Without instructions for bf16 LLVM would call functions that the C++
    // compiler's library may not have.
    addEmulation(pm, {"bf16"});
    pm.addPass(createExpandBfloatPass());
  }
  pm.addPass(createLowerAffinePass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createConvertMathToLibmPass());
  // Declarations of the C library's functions.
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
}

void weft::registerHostPipelines() {
  PassPipelineRegistration<> schedule(
      "weft-schedule-host", "from the local to the scheduled phase",
      [](OpPassManager &pm) { buildScheduleHostPipeline(pm); });
  PassPipelineRegistration<> plan(
      "weft-plan-host", "from the scheduled to the planned phase",
      [](OpPassManager &pm) { buildPlanHostPipeline(pm); });
  PassPipelineRegistration<> lower(
      "weft-lower-host", "from the planned to the target phase",
      [](OpPassManager &pm) { buildLowerHostPipeline(pm); });
}
