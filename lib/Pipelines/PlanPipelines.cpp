// SPDX-License-Identifier: Apache-2.0

// From a rank's program to its plan, with a reason before each pass.

#include "weft/Pipelines/PlanPipelines.h"

#include "weft/Canonicalize/Passes.h"
#include "weft/Codegen/Fusion/Passes.h"
#include "weft/Codegen/Planning/Passes.h"
#include "weft/Communication/Passes.h"
#include "weft/Schedule/Passes.h"

#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::weft;

void weft::buildUnfusedPipeline(OpPassManager &pm, bool mergeChannels) {
  pm.addPass(createPrepareKernelsPass());
  GreedyRewriteConfig straightLine;
  straightLine.setRegionSimplificationLevel(
      GreedySimplifyRegionLevel::Disabled);
  pm.addPass(createCanonicalizerPass(straightLine));
  pm.addPass(createMergeEqualOpsPass());
  // While dataflow is seen op by op: it says what a collective is for, and what
  // it is called.
  AssignChannelsPassOptions channels;
  channels.merge = mergeChannels;
  pm.addPass(createAssignChannelsPass(channels));
  // On channels of their own, from here on collectives like the others.
  pm.addPass(createOffloadPass());
  pm.addPass(createNameOpsPass());
}

void weft::buildKernelPipeline(OpPassManager &pm) {
  // What is ordered are kernels, whose times are known.
  pm.addPass(createFuseKernelsPass());
  // Kernels, which are there only now.
  pm.addPass(createNameOpsPass());
}

void weft::buildFusePipeline(OpPassManager &pm, bool mergeChannels) {
  buildUnfusedPipeline(pm, mergeChannels);
  buildKernelPipeline(pm);
}

void weft::buildSchedulePipeline(OpPassManager &pm) {
  buildFusePipeline(pm);
  pm.addPass(createSchedulePass());
  // The phase's gate.
  pm.addPass(createVerifyScheduledPass());
}

void weft::buildPlanPipeline(OpPassManager &pm) {
  // What was written or changed by hand may lack names.
  pm.addPass(createNameOpsPass());
  pm.addPass(createVerifyScheduledPass());
  pm.addPass(createPlanBuffersPass());
  // Places are known: what is on which stream, and what may run at one time.
  pm.addPass(createAssignStreamsPass());
  pm.addPass(createShareLaunchesPass());
}
