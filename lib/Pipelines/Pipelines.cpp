// SPDX-License-Identifier: Apache-2.0

// The whole story of compilation, with a reason before each pass.

#include "weft/Pipelines/Pipelines.h"

#include "weft/Accumulation/Passes.h"
#include "weft/Attention/Passes.h"
#include "weft/Canonicalize/Passes.h"
#include "weft/Communication/Passes.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"
#include "weft/Orders/Passes.h"
#include "weft/Partition/Passes.h"
#include "weft/Propagation/Passes.h"
#include "weft/Quantize/Passes.h"
#include "weft/Verify/Sums/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/TypeName.h"

using namespace mlir;
using namespace mlir::weft;

llvm::StringRef weft::stringifyPhase(Phase phase) {
  switch (phase) {
  case Phase::Global:
    return "global";
  case Phase::Local:
    return "local";
  case Phase::Scheduled:
    return "scheduled";
  case Phase::Planned:
    return "planned";
  case Phase::Target:
    return "llvm";
  }
  llvm_unreachable("a phase that is not listed");
}

std::optional<Phase> weft::symbolizePhase(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<Phase>>(name)
      .Case("global", Phase::Global)
      .Case("local", Phase::Local)
      .Case("scheduled", Phase::Scheduled)
      .Case("planned", Phase::Planned)
      .Case("llvm", Phase::Target)
      .Default(std::nullopt);
}

/// The phase that an op by itself tells of.
static Phase getPhaseOfOp(Operation *op) {
  StringRef dialect = op->getName().getDialectNamespace();
  if (dialect == "llvm")
    return Phase::Target;
  if (auto fused = dyn_cast<rt::FusedOp>(op))
    return fused.isOnBuffers() ? Phase::Planned : Phase::Scheduled;
  if ((dialect == "weft_rt" && !isa<rt::YieldOp>(op)) ||
      op->hasAttr("weft_rt.args"))
    return Phase::Planned;
  if (op->hasAttr(WeftDialect::kOpNameAttr) || isa<ChannelOp, WaitOp>(op))
    return Phase::Scheduled;
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  if (dialect == "weft" && effects && effects.hasEffect<MemoryEffects::Write>())
    return Phase::Local; // collectives are the ops of weft with effects
  auto func = dyn_cast<FunctionOpInterface>(op);
  for (unsigned i = 0; func && i < func.getNumArguments(); ++i)
    if (func.getArgAttr(i, WeftDialect::kGlobalTypeAttr))
      return Phase::Local;
  for (unsigned i = 0; func && i < func.getNumResults(); ++i)
    if (func.getResultAttr(i, WeftDialect::kGlobalTypeAttr))
      return Phase::Local;
  return Phase::Global;
}

Phase weft::detectPhase(ModuleOp module) {
  Phase phase = Phase::Global;
  module.walk(
      [&](Operation *op) { phase = std::max(phase, getPhaseOfOp(op)); });
  return phase;
}

void weft::buildRaiseGlobalPipeline(OpPassManager &pm,
                                    const GlobalOptions &options) {
  // No fold is to believe what a program promises.
  pm.addPass(createCheckValuesPass());
  // What users wrote with the ops of quantization.
  pm.addPass(createLowerQuantizationPass());
  // Sizes first: everything that follows counts bytes.
  if (!options.mesh.empty()) {
    ApplyMeshPassOptions mesh;
    mesh.mesh.assign(options.mesh.begin(), options.mesh.end());
    pm.addPass(createApplyMeshPass(mesh));
  }
  // Microbatches of one rank are to lie one after another in its arguments.
  if (!options.accumulate.empty())
    pm.addPass(createOrderSerialAxisPass({options.accumulate}));
  // One form of each computation, so that the partitioner needs to know few.
  pm.addPass(createRaisePass());
  // Along batch axes weights are stored, not computed, in shards: propagation
  // must not carry these axes into compute.
  InferStoragePassOptions storage;
  storage.infer = options.inferStorage;
  pm.addPass(createInferStoragePass(storage));
}

void weft::buildRaiseAttentionPipeline(OpPassManager &pm,
                                       const GlobalOptions &options) {
  // In one form already, and before anything is decided by the square of
  // scores.
  if (options.attention)
    pm.addPass(createRaiseAttentionPass());
}

void weft::buildQuantizePipeline(OpPassManager &pm,
                                 const GlobalOptions &options) {
  if (options.quantize.empty())
    return;
  QuantizePassOptions quantize;
  quantize.formats.assign(options.quantize.begin(), options.quantize.end());
  quantize.accumulate = options.accumulate;
  pm.addPass(createQuantizePass(quantize));
  // As what all passes after know.
  pm.addPass(createLowerQuantizationPass());
}

void weft::buildOrderGlobalPipeline(OpPassManager &pm,
                                    const GlobalOptions &options) {
  // Fewer sums that ranks have to join one by one, in declared orders.
  if (!options.invariant.empty()) {
    JoinContractionsPassOptions join;
    join.leaves = options.leaves;
    pm.addPass(createJoinContractionsPass(join));
  }
  // The order of each reduction, while shapes are global; or a check that the
  // new mesh can do with the orders that are there.
  AssignOrdersPassOptions orders;
  orders.axes.assign(options.invariant.begin(), options.invariant.end());
  orders.leaves = options.leaves;
  orders.minLeaf = options.minLeaf;
  orders.partials = options.partials;
  pm.addPass(createAssignOrdersPass(orders));
}

void weft::buildCanonicalizeGlobalPipeline(OpPassManager &pm,
                                           const GlobalOptions &options) {
  buildRaiseGlobalPipeline(pm, options);
  buildRaiseAttentionPipeline(pm, options);
  buildQuantizePipeline(pm, options);
  buildOrderGlobalPipeline(pm, options);
}

/// Canonicalization of straight-line code: no branch is to be simplified. What
/// was expanded stays expanded from what it was: of which dimension of a local
/// type a new one is a part would be lost where sizes are 1, and proofs need
/// it.
static std::unique_ptr<Pass> createCanonicalizeBlockPass() {
  GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  using ComposeReshapes =
      ComposeExpandOfCollapseOp<tensor::ExpandShapeOp, tensor::CollapseShapeOp>;
  return createCanonicalizerPass(config,
                                 {llvm::getTypeName<ComposeReshapes>().str()});
}

void weft::buildPartitionStepsPipeline(OpPassManager &pm,
                                       const PartitionChoices &choices) {
  // From the user's shardings to one for each value ...
  pm.addPass(createPropagateShardingsPass());
  // ... and where two of them meet, the cheapest way from one to the other.
  pm.addPass(createInsertReshardsPass({choices.accumulate}));
  // What partitioning relies on: it would miscompile what this rejects.
  pm.addPass(createVerifyShardingPass());
  // Types become local, reshards become collectives.
  pm.addPass(createPartitionPass({choices.accumulate}));
  // Slices of what was just gathered, constants that became equal.
  pm.addPass(createCanonicalizeBlockPass());
  pm.addPass(createMergeEqualOpsPass());
  // One rank goes through the microbatches: collectives between them are gone.
  if (!choices.accumulate.empty()) {
    pm.addPass(createAccumulatePass({choices.accumulate, choices.regather}));
    pm.addPass(createCanonicalizeBlockPass());
  }
  // Keys that only attention needs whole. Permutes, of which no two merge.
  RingAttentionPassOptions ring;
  ring.when = choices.ringAttention;
  ring.machine = choices.machine;
  ring.memoryLimit = choices.memoryLimit;
  pm.addPass(createRingAttentionPass(ring));
  // Fewer and smaller collectives, now that all are there.
  pm.addPass(createMergeCollectivesPass());
  pm.addPass(createCanonicalizeBlockPass());
  // The phase's gate.
  pm.addPass(createVerifyLocalPass());
}

void weft::registerWeftPipelines() {
  PassPipelineRegistration<GlobalOptions>(
      "weft-canonicalize-global",
      "bring a global module into the form that is partitioned",
      buildCanonicalizeGlobalPipeline);
  PassPipelineRegistration<GlobalOptions>(
      "weft-global-to-local", "from the global to the local phase",
      [](OpPassManager &pm, const GlobalOptions &options) {
        buildCanonicalizeGlobalPipeline(pm, options);
        buildPartitionPipeline(pm, {options.accumulate, /*regather=*/false,
                                    options.ringAttention});
        // Of a program whose bits must not depend on the mesh.
        pm.addPass(createVerifyInvariancePass());
      });
  PassPipelineRegistration<> schedule(
      "weft-local-to-scheduled", "from the local to the scheduled phase",
      [](OpPassManager &pm) { buildSchedulePipeline(pm); });
  PassPipelineRegistration<> plan(
      "weft-scheduled-to-planned", "from the scheduled to the planned phase",
      [](OpPassManager &pm) { buildPlanPipeline(pm); });
  registerMakeOneRankPass();
}
