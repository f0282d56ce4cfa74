// SPDX-License-Identifier: Apache-2.0

// The phases of compilation and the pipelines between them.
//
//   global --> local --> scheduled --> planned --> target
//
// A module in any phase can be printed, edited, and compiled on from there:
// the phase is seen from what the module contains. The pipelines are also
// registered by name, for weft-opt.

#ifndef WEFT_PIPELINES_PIPELINES_H
#define WEFT_PIPELINES_PIPELINES_H

#include "weft/Pipelines/PlanPipelines.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

#include <optional>

namespace mlir::weft {

enum class Phase {
  /// Tensors of the whole job; attributes say how they are sharded.
  Global,
  /// Tensors of one rank; collectives move data.
  Local,
  /// The same, in the order of issue; collectives are started on channels.
  Scheduled,
  /// Slices of one arena.
  Planned,
  /// The LLVM dialect.
  Target
};

/// Returns "global", "local", "scheduled", "planned" or "llvm".
llvm::StringRef stringifyPhase(Phase phase);

/// The phase of that name, or nullopt.
std::optional<Phase> symbolizePhase(llvm::StringRef name);

/// Sees from its ops and attributes in which phase a module is.
Phase detectPhase(ModuleOp module);

struct GlobalOptions : public PassPipelineOptions<GlobalOptions> {
  ListOption<std::string> mesh{
      *this, "mesh", llvm::cl::desc("new sizes of mesh axes, as in dp=2,tp=4")};
  Option<bool> inferStorage{
      *this, "infer-storage",
      llvm::cl::desc("gather weights along the axes that shard the batch"),
      llvm::cl::init(true)};
  ListOption<std::string> invariant{
      *this, "invariant",
      llvm::cl::desc("axes whose sizes must not change bits; mesh: all")};
  Option<int64_t> leaves{*this, "leaves",
                         llvm::cl::desc("leaves of a reduction's tree"),
                         llvm::cl::init(8)};
  Option<int64_t> minLeaf{
      *this, "min-leaf",
      llvm::cl::desc("elements that a leaf of a contraction has at least"),
      llvm::cl::init(32)};
  Option<std::string> partials{
      *this, "partials",
      llvm::cl::desc("type of partial sums of narrow contractions"),
      llvm::cl::init("f32")};
  Option<bool> attention{
      *this, "attention",
      llvm::cl::desc("make weft.attention of attention that is written out"),
      llvm::cl::init(true)};
  Option<std::string> ringAttention{
      *this, "ring-attention",
      llvm::cl::desc("whether keys and values travel: never, auto, always or "
                     "balanced"),
      llvm::cl::init("auto")};
  ListOption<std::string> quantize{
      *this, "quantize",
      llvm::cl::desc("formats of linear layers: FORMAT or FORMAT=PATTERN")};
  Option<std::string> accumulate{
      *this, "accumulate",
      llvm::cl::desc("the mesh axis whose parts each rank computes one after "
                     "the other: microbatches")};
};

/// Stays in `global`: one form of each computation, with shardings completed at
/// the function's border.
void buildRaiseGlobalPipeline(OpPassManager &pm, const GlobalOptions &options);

/// Stays in `global`: attention that is written out becomes weft.attention.
void buildRaiseAttentionPipeline(OpPassManager &pm,
                                 const GlobalOptions &options);

/// Stays in `global`: linear layers take narrow operands.
void buildQuantizePipeline(OpPassManager &pm, const GlobalOptions &options);

/// Stays in `global`: the orders of reductions, where bits are not to depend on
/// the mesh.
void buildOrderGlobalPipeline(OpPassManager &pm, const GlobalOptions &options);

/// All of these: the canonical form.
void buildCanonicalizeGlobalPipeline(OpPassManager &pm,
                                     const GlobalOptions &options);

/// What each rank computes piece by piece.
struct PartitionChoices {
  /// The mesh axis whose parts, the microbatches, each rank computes one after
  /// the other; empty: none.
  std::string accumulate;
  /// Weights are gathered for each microbatch: less memory, more bytes.
  bool regather = false;
  /// Whether keys and values of attention travel instead of being gathered:
  /// never, auto, always or balanced.
  std::string ringAttention = "auto";
  /// On which they are to be fast: a name or a file.
  std::string machine = "host";
  /// Bytes that a rank may use; 0: what the machine has, negative: any number.
  int64_t memoryLimit = 0;
};

/// Canonical `global` to `local`. An invariant module gets its program for one
/// rank as well, as a module inside.
void buildPartitionPipeline(OpPassManager &pm,
                            const PartitionChoices &choices = {});

/// The same without the program for one rank.
void buildPartitionStepsPipeline(OpPassManager &pm,
                                 const PartitionChoices &choices = {});

void registerMakeOneRankPass();

/// Registers `weft-canonicalize-global` and `weft-global-to-local`.
void registerWeftPipelines();

} // namespace mlir::weft

#endif // WEFT_PIPELINES_PIPELINES_H
