// SPDX-License-Identifier: Apache-2.0

// The writer of a kernel's loops, in three files: what all kernels share, the
// nests of reductions that have an order, and what is fetched ahead.

#ifndef WEFT_LIB_TARGET_HOST_KERNELLOOPS_H
#define WEFT_LIB_TARGET_HOST_KERNELLOOPS_H

#include "KernelEmitter.h"

namespace mlir::weft {

/// Emits one kernel.
class LoopEmitter : PointEmitter {
public:
  LoopEmitter(rt::FusedOp op, const KernelShape &shape,
              const KernelFunction &kernel, llvm::ArrayRef<unsigned> bufferOf)
      : PointEmitter(op, shape, kernel, bufferOf, OpBuilder(op.getContext())),
        kernel(kernel) {}

  void run();

private:
  friend class OrderedNest;

  void allocateScratch();
  void emitRows();
  void emitPhase(const Phase &phase);
  void emitOrderedPhase(const Phase &phase);
  std::pair<llvm::SmallVector<int>, unsigned> findInnerSums(const Phase &phase);
  void emitInnerSums(const Phase &phase, llvm::ArrayRef<int> parallel,
                     llvm::ArrayRef<int> reduced);
  void joinRows(const Phase &phase, llvm::ArrayRef<int> reduced);
  bool isCarried(Value value) override {
    return innerSums.contains(value) || PointEmitter::isCarried(value);
  }
  void emitInits(const Phase &phase);
  void emitInitNest(const Member &member, OpResult result);
  void emitPoints(llvm::ArrayRef<unsigned> members,
                  llvm::MutableArrayRef<Value> carried,
                  llvm::SmallVectorImpl<Store> &stores);
  void emitNest(llvm::ArrayRef<unsigned> members, llvm::ArrayRef<int> loops,
                llvm::SmallVectorImpl<Value> &carried);
  using LoopBody = llvm::function_ref<void(llvm::SmallVectorImpl<Value> &)>;
  struct Range {
    Value lower, upper;
    int64_t step;
  };
  void emitLoop(int dim, const Range &range, ValueRange carried, LoopBody body,
                llvm::SmallVectorImpl<Value> &results);
  void emitForLoop(int dim, ValueRange carried, LoopBody body,
                   llvm::SmallVectorImpl<Value> &results);
  /// Where row number `row` is, of each row dim.
  void emitRowIndex(Value row, llvm::MutableArrayRef<Value> places);
  /// A tensor, the loops that walk what of it is fetched, and the elements that
  /// lie next to each other within them; the bytes are those of a row.
  struct Fetch {
    Value tensor;
    Access access;
    llvm::SmallVector<int> loops;
    int64_t run;
    int64_t bytes;
  };
  std::optional<Fetch> getFetch(const Member &member, OpOperand &operand);
  llvm::SmallVector<Fetch> getFetches(const Phase &phase);
  llvm::SmallVector<Fetch> getFetches();
  /// Plans what fetches the next row, if `phase`, which walks `loops`, is the
  /// last one.
  void startFetches(const Phase &phase, llvm::ArrayRef<int> loops);
  /// Fetches what of the next row is at this point.
  void emitFetches();
  void emitFetch(const Fetch &fetch, llvm::ArrayRef<int> loops);
  llvm::SmallVector<OpResult> getCarried(const Phase &phase);

  const KernelFunction &kernel;
  /// What is summed up in registers for each point.
  llvm::DenseSet<Value> innerSums;
  /// Where the next row is, if there are several phases.
  llvm::SmallVector<Value> nextRow;
  /// The loops of the last phase at whose points the next row is fetched, of
  /// the last one for so many points at once.
  struct {
    llvm::SmallVector<int> dims;
    int64_t count = 1;
  } ahead;
  /// The loop that is walked several points at once in the current phase.
  struct {
    int dim = -1;
    int64_t count = 1;
  } together;
};

} // namespace mlir::weft

#endif // WEFT_LIB_TARGET_HOST_KERNELLOOPS_H
