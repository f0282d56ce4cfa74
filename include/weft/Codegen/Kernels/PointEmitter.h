// SPDX-License-Identifier: Apache-2.0

// Writes what a kernel computes for one point of its loops: the members of a
// phase, one after the other, with loads from buffers and scratch memory. Which
// loops there are, and who runs which part of them, is the target's.

#ifndef WEFT_CODEGEN_KERNELS_POINTEMITTER_H
#define WEFT_CODEGEN_KERNELS_POINTEMITTER_H

#include "weft/Codegen/Fusion/KernelShape.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::weft {

/// What a kernel is launched with: the addresses of its buffers, its scalars.
struct KernelArguments {
  llvm::SmallVector<Value> buffers, scalars;
};

/// Emits points of one kernel. `index[d]` is the current value of dim d's loop.
class PointEmitter {
public:
  /// What is stored at the end of a point.
  struct Store {
    Value value, address;
  };

  /// `bufferOf` gives the index of the kernel's buffer for each input of `op`,
  /// then for each output.
  PointEmitter(rt::FusedOp op, const KernelShape &shape,
               const KernelArguments &arguments,
               llvm::ArrayRef<unsigned> bufferOf, const OpBuilder &builder)
      : op(op), shape(shape), builder(builder), loc(op.getLoc()),
        index(shape.sizes.size()), arguments(arguments), bufferOf(bufferOf) {}
  virtual ~PointEmitter() = default;

protected:
  /// Scalars that the region is given, or computes before its loops.
  void mapEntryOps();
  /// Computes `member`. `carried` are its sums so far, and get the new ones.
  void emitMember(const Member &member, llvm::MutableArrayRef<Value> carried,
                  llvm::SmallVectorImpl<Store> &stores);
  /// The same for all of `members`, where `carried` are the sums of all.
  void emitMembers(llvm::ArrayRef<unsigned> members,
                   llvm::MutableArrayRef<Value> carried,
                   llvm::SmallVectorImpl<Store> &stores);
  void emitStores(llvm::ArrayRef<Store> stores);
  /// Computes what the sums of `member` add at this point.
  void emitTerms(const Member &member, llvm::SmallVectorImpl<Value> &terms);
  /// The value from which an output starts: a constant, or an element of a
  /// tensor.
  Value emitInit(const Member &member, OpResult result);
  /// Visits where the current element of a result is stored: in each buffer for
  /// which it is yielded, or in scratch memory.
  void forEachPlace(const Member &member, OpResult result,
                    llvm::function_ref<void(Value address)> visit);
  /// What a member takes as `operand` at the current point.
  virtual Value emitOperand(const Member &member, OpOperand &operand);
  /// Where the loop of a dim is that may be cut.
  Value emitLoopIndex(int dim);
  /// The place of the current element of `value` among those of its row.
  virtual Value emitScratchIndex(Value value);
  /// Says whether a value waits in scratch memory for a later phase.
  bool needsScratch(Value value);
  /// Says whether a sum ends with the row, so that it needs no memory.
  virtual bool isCarried(Value value);

  /// The buffer of a value that the region yields, or of a block argument.
  Value getPointer(Value tensor);
  Value emitIndex(const Access &access);

  /// Says whether all that a member computes are maxima of magnitudes, which no
  /// order of them changes.
  static bool isMagnitudeMaximum(const Member &member);
  /// The greater one of two numbers that are no less than 0.
  Value emitMagnitudeMaximum(Value a, Value b);

  rt::FusedOp op;
  const KernelShape &shape;
  OpBuilder builder;
  Location loc;
  /// Where a member writes a result, in the memory that is yielded.
  const Access &getWritten(const Member &member, OpResult result) {
    return member.accesses[linalg::GenericOp(member.op).getNumDpsInputs() +
                           result.getResultNumber()];
  }

  llvm::SmallVector<Value> index;
  /// Scalars of the region, and values of the current point or row.
  IRMapping scalars;
  /// The memory of values that need scratch memory.
  llvm::DenseMap<Value, Value> scratch;

private:
  IRMapping mapInputs(const Member &member);
  void cloneBody(const Member &member, IRMapping &mapping,
                 llvm::ArrayRef<Operation *> skipped);
  Value emitLookup(tensor::ExtractOp extract, tensor::ExtractOp source,
                   const IRMapping &mapping);
  const KernelArguments &arguments;
  llvm::ArrayRef<unsigned> bufferOf;
};

} // namespace mlir::weft

#endif // WEFT_CODEGEN_KERNELS_POINTEMITTER_H
