// SPDX-License-Identifier: Apache-2.0

// The writer of a kernel's loops, in two files: what all kernels share, and the
// nests of reductions that have an order.

#ifndef WEFT_LIB_TARGET_HOST_KERNELLOOPS_H
#define WEFT_LIB_TARGET_HOST_KERNELLOOPS_H

#include "KernelEmitter.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::weft {

/// Emits one kernel. `index[d]` is the current value of dim d's loop.
class LoopEmitter {
public:
  LoopEmitter(rt::FusedOp op, const KernelShape &shape,
              const KernelFunction &kernel, llvm::ArrayRef<unsigned> bufferOf)
      : op(op), shape(shape), kernel(kernel), bufferOf(bufferOf),
        builder(op.getContext()), loc(op.getLoc()), index(shape.sizes.size()) {}

  LogicalResult run();

private:
  friend class OrderedNest;

  /// What is stored at the end of an iteration.
  struct Store {
    Value value, address;
  };

  LogicalResult mapEntryOps();
  void allocateScratch();
  void emitRows();
  void emitPhase(const Phase &phase);
  void emitOrderedPhase(const Phase &phase);
  void emitInits(const Phase &phase);
  void emitInitNest(const Member &member, OpResult result);
  void emitNest(const Phase &phase, unsigned depth,
                llvm::SmallVectorImpl<Value> &carried);
  void emitPoint(const Phase &phase, llvm::SmallVectorImpl<Value> &carried);
  void emitMember(const Member &member, llvm::MutableArrayRef<Value> carried,
                  llvm::SmallVectorImpl<Store> &stores);
  void emitTerms(const Member &member, llvm::SmallVectorImpl<Value> &terms);
  IRMapping mapInputs(const Member &member);
  void cloneBody(const Member &member, IRMapping &mapping,
                 llvm::ArrayRef<Operation *> skipped);
  Value emitOperand(const Member &member, OpOperand &operand);
  Value emitInit(const Member &member, OpResult result);
  void
  emitForLoop(int dim, ValueRange carried,
              llvm::function_ref<void(llvm::SmallVectorImpl<Value> &)> body,
              llvm::SmallVectorImpl<Value> &results);
  Value emitLookup(tensor::ExtractOp extract, tensor::ExtractOp source,
                   const IRMapping &mapping);
  Value getPointer(Value tensor);
  Value emitIndex(const Access &access);
  Value emitScratchIndex(Value value);
  void forEachPlace(const Member &member, OpResult result,
                    llvm::function_ref<void(Value address)> visit);
  bool needsScratch(Value value);
  bool isCarried(Value value);
  llvm::SmallVector<OpResult> getCarried(const Phase &phase);
  const Access &getWritten(const Member &member, OpResult result) {
    return member.accesses[linalg::GenericOp(member.op).getNumDpsInputs() +
                           result.getResultNumber()];
  }

  rt::FusedOp op;
  const KernelShape &shape;
  const KernelFunction &kernel;
  llvm::ArrayRef<unsigned> bufferOf;
  OpBuilder builder;
  Location loc;
  llvm::SmallVector<Value> index;
  /// Scalars of the region, and values of the current point or row.
  IRMapping scalars;
  llvm::DenseMap<Value, Value> scratch;
};

} // namespace mlir::weft

#endif // WEFT_LIB_TARGET_HOST_KERNELLOOPS_H
