// SPDX-License-Identifier: Apache-2.0

// The fastest plan within a limit of memory, where values may be computed
// again.

#ifndef WEFT_LIB_COMPILE_RECOMPUTESEARCH_H
#define WEFT_LIB_COMPILE_RECOMPUTESEARCH_H

#include "MemoryLoop.h"
#include "PassRunner.h"

#include "weft/Cost/Machine.h"

#include <deque>
#include <limits>
#include <optional>
#include <vector>

namespace mlir::weft {

class RecomputeSearch {
public:
  using MakeLoop = llvm::function_ref<MemoryLoop(ModuleOp fused)>;

  /// The unfused program without what its marks keep apart; null after an
  /// error.
  using MakeUnmarked = llvm::function_ref<OwningOpRef<ModuleOp>()>;

  /// `fused` is what became of `unfused`, as the program says it, and computes
  /// `recomputed` again.
  RecomputeSearch(ModuleOp unfused, ModuleOp fused, ArrayAttr recomputed,
                  StringRef machineName, const Machine &machine, int64_t limit,
                  RemarkLog &remarks, PassRunner &runner, MakeLoop makeLoop,
                  MakeUnmarked makeUnmarked)
      : unfused(unfused), fused(fused), recomputed(recomputed),
        machineName(machineName), machine(machine), limit(limit),
        remarks(remarks), runner(runner), makeLoop(makeLoop),
        makeUnmarked(makeUnmarked) {}

  /// Says whether another program is looked for without a limit as well.
  static bool isSmall(ModuleOp unfused);

  /// The plan, whose diagnostics and remarks are told.
  MemoryLoop::Fitted fit();

  /// A plan of the same programs, if one fits, where `makeLoop` makes another
  /// effort than before.
  MemoryLoop::Fitted fitAgain();

private:
  /// What a limit is if there is none.
  static constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

  /// What weft-choose-saved is asked for: the first `share` percent of the
  /// forward pass at one price, the rest at the other; `kept` at any.
  struct Choice {
    int64_t price = 0, share = 100, latePrice = 0;
    bool waists = false;
    std::vector<int64_t> kept = {};
  };
  /// A program that computes more or less again.
  struct Program {
    OwningOpRef<ModuleOp> module;
    /// What it computes again, for reports.
    ArrayAttr recomputed;
    MemoryLoop::Estimate estimate;
    /// Of an order that needs few, by the estimate if it is not tiny.
    int64_t leanBytes = 0;
    /// What made it of the program without marks, unless it is as written.
    Choice choice;
    bool isChosen = false;
    /// The least bytes of a plan of it; 0: it has none, or nobody asked.
    int64_t bytes = 0;
  };
  /// What came of fitting one, and what was said meanwhile.
  struct Attempt {
    MemoryLoop::Fitted fitted;
    std::vector<Diagnostic> said;
    RemarkLog remarks;
    MemoryLoop::Estimate estimate;
  };

  /// An attempt that has a plan, and what it is a plan of; or neither.
  struct Found {
    Attempt attempt;
    Program program;
    bool isAsWritten = false;
  };

  Program getAsWritten();
  Program getUnmarked();
  void add(Program program);
  Program choose(const Choice &choice);
  Program mix(int64_t lower, int64_t higher);
  static bool hasPrice(const Program &program);
  Program keepMore(const Program &program, int64_t within);
  LogicalResult makePlain(OwningOpRef<ModuleOp> program);
  void addUnmarked();
  void collect();
  void keepUseful();
  Attempt attempt(const Program &program);
  Attempt attempt(const Program &program, int64_t within);
  Attempt attempt(MemoryLoop &loop, ArrayAttr recomputed);
  bool canFit(int64_t least) const;
  bool isLoose(int64_t bytes) const;
  bool mayBeBeaten(const MemoryLoop::Fitted &fitted) const;
  bool isFastEnough(const MemoryLoop::Fitted &fitted, MemoryLoop &loop) const;
  int64_t getLeast(ModuleOp module) const;
  int64_t getLeast(const Program &program) const;
  Program repeat(const Program &program, int64_t bytes);
  void recompute(const Program &program);
  static Program copy(const Program &program);
  MemoryLoop::Fitted fitSmall(MemoryLoop &asWritten, Attempt written);
  void addLeast(std::vector<Program> &sources);
  void keepMoreInSteps(const Program &program);
  int64_t estimateNanoseconds(ModuleOp module, int64_t within);
  Attempt attemptFastest(const std::vector<Program> &given, int64_t within,
                         int64_t below, size_t most);
  Attempt attemptFastest();
  void takeUnmarked(Attempt &best, int64_t within);
  MemoryLoop::Fitted fitLeast(int64_t neededAsWritten);
  MemoryLoop::Fitted fitFastest(Attempt written);
  MemoryLoop::Fitted fitLarge();
  Program chooseWithin(int64_t within, bool waists);
  bool find(Program &program, int64_t within, Found &found);
  bool mayFitAsWritten(int64_t bytes) const;
  Found findWithin(int64_t within);
  Found findAsWritten(int64_t within);
  Found findUnmarked(Found &written);
  Found findChosen(int64_t within, int64_t needed, Program &least);
  Found findRecomputed(int64_t within, int64_t needed);
  void leaveRoom(Found &found);
  Program findLess(const Program &program);
  MemoryLoop::Fitted fitLeastOfLarge();
  Program repeatMore(const Program &program, Program best, int64_t enough);
  Program repeatMost(const Program &program, int64_t enough);
  MemoryLoop::Fitted tell(Attempt attempt);
  void describe(const Attempt &chosen);
  bool takeFaster(Attempt &best, Attempt other) const;

  ModuleOp unfused, fused;
  ArrayAttr recomputed;
  StringRef machineName;
  const Machine &machine;
  int64_t limit;
  RemarkLog &remarks;
  PassRunner &runner;
  MakeLoop makeLoop;
  MakeUnmarked makeUnmarked;
  /// The unfused program without its marks.
  OwningOpRef<ModuleOp> plain;
  /// What was fused of that, of a step with marks.
  std::optional<Program> unmarked;
  bool isTiny = false;
  /// Of a large step: no plan is made, only its least bytes are asked for.
  bool looksForLeast = false;
  /// What a large step as written needs, by the estimate.
  int64_t estimatedAsWritten = 0;
  /// From those that compute least to those that compute most.
  std::vector<Program> programs;
  /// Those of a small step that one is taken of.
  std::vector<Program> candidates;
};

} // namespace mlir::weft

#endif // WEFT_LIB_COMPILE_RECOMPUTESEARCH_H
