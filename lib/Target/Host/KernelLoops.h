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
  int findShortSum(const Phase &phase);
  void emitShortSums(const Phase &phase, int dim);
  bool isCarried(Value value) override {
    return shortSums.contains(value) || PointEmitter::isCarried(value);
  }
  void emitInits(const Phase &phase);
  void emitInitNest(const Member &member, OpResult result);
  void emitNest(const Phase &phase, unsigned depth,
                llvm::SmallVectorImpl<Value> &carried);
  void
  emitForLoop(int dim, ValueRange carried,
              llvm::function_ref<void(llvm::SmallVectorImpl<Value> &)> body,
              llvm::SmallVectorImpl<Value> &results);
  llvm::SmallVector<OpResult> getCarried(const Phase &phase);

  const KernelFunction &kernel;
  /// What is summed up in registers for each point.
  llvm::DenseSet<Value> shortSums;
};

} // namespace mlir::weft

#endif // WEFT_LIB_TARGET_HOST_KERNELLOOPS_H
