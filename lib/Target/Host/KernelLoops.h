// SPDX-License-Identifier: Apache-2.0

// The writer of a kernel's loops, in two files: what all kernels share, and the
// nests of reductions that have an order.

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
  void
  emitForLoop(int dim, ValueRange carried,
              llvm::function_ref<void(llvm::SmallVectorImpl<Value> &)> body,
              llvm::SmallVectorImpl<Value> &results);
  llvm::SmallVector<OpResult> getCarried(const Phase &phase);

  const KernelFunction &kernel;
  /// What is summed up in registers for each point.
  llvm::DenseSet<Value> innerSums;
  /// The loop that is walked several points at once in the current phase.
  struct {
    int dim = -1;
    int64_t count = 1;
  } together;
};

} // namespace mlir::weft

#endif // WEFT_LIB_TARGET_HOST_KERNELLOOPS_H
