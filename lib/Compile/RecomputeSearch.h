// SPDX-License-Identifier: Apache-2.0

// The fastest plan within a limit of memory, where values may be computed
// again.

#ifndef WEFT_LIB_COMPILE_RECOMPUTESEARCH_H
#define WEFT_LIB_COMPILE_RECOMPUTESEARCH_H

#include "MemoryLoop.h"
#include "PassRunner.h"

#include "weft/Cost/Machine.h"

#include <deque>

namespace mlir::weft {

class RecomputeSearch {
public:
  using MakeLoop = llvm::function_ref<MemoryLoop(ModuleOp fused)>;

  /// `fused` is what became of `unfused`, as the program says it.
  RecomputeSearch(ModuleOp unfused, ModuleOp fused, StringRef machineName,
                  const Machine &machine, int64_t limit, RemarkLog &remarks,
                  PassRunner &runner, MakeLoop makeLoop)
      : unfused(unfused), fused(fused), machineName(machineName),
        machine(machine), limit(limit), remarks(remarks), runner(runner),
        makeLoop(makeLoop) {}

  /// The plan, whose diagnostics and remarks are told.
  MemoryLoop::Fitted fit();

private:
  /// A program that computes more or less again.
  struct Program {
    OwningOpRef<ModuleOp> module;
    MemoryLoop::Estimate estimate;
    /// What made it of the program without marks; -1: it is as written.
    int64_t price = -1;
  };
  /// One, and the least bytes of a plan of it; 0 if it has none.
  struct Candidate {
    OwningOpRef<ModuleOp> module;
    int64_t bytes = 0;
  };
  /// What came of fitting one, and what was said meanwhile.
  struct Attempt {
    MemoryLoop::Fitted fitted;
    std::vector<Diagnostic> said;
    RemarkLog remarks;
    MemoryLoop::Estimate estimate;
  };

  void add(OwningOpRef<ModuleOp> module, int64_t price);
  OwningOpRef<ModuleOp> choose(int64_t price, int64_t share, int64_t latePrice,
                               bool waists = false);
  std::optional<std::pair<int64_t, int64_t>>
  findLowestThatFits(ArrayRef<int64_t> prices, bool waists);
  OwningOpRef<ModuleOp> mix(int64_t lower, int64_t higher, bool waists);
  LogicalResult makePlain();
  LogicalResult collect();
  void keepUseful();
  Attempt attempt(MemoryLoop loop);
  bool canFit(MemoryLoop &loop) const;
  int64_t getLeast(ModuleOp module) const;
  OwningOpRef<ModuleOp> repeat(ModuleOp module, int64_t bytes);
  Candidate recompute(ModuleOp module, int64_t needed);
  MemoryLoop::Fitted fitLarge(int64_t needed);
  MemoryLoop::Fitted fitLeast(int64_t neededAsWritten);
  MemoryLoop::Fitted tell(Attempt attempt);
  void describe(const MemoryLoop::Estimate &chosen);
  bool takeFaster(Attempt &best, Attempt other) const;

  ModuleOp unfused, fused;
  StringRef machineName;
  const Machine &machine;
  int64_t limit;
  RemarkLog &remarks;
  PassRunner &runner;
  MakeLoop makeLoop;
  /// The unfused program without its marks.
  OwningOpRef<ModuleOp> plain;
  /// From those that compute least to those that compute most.
  std::vector<Program> programs;
};

} // namespace mlir::weft

#endif // WEFT_LIB_COMPILE_RECOMPUTESEARCH_H
