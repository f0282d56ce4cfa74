// SPDX-License-Identifier: Apache-2.0

// The loop structure of a group of linalg ops that run as one kernel.
//
// Loops of different ops that index the same dimension of a tensor which one
// op gives to the other are one *dim* of the kernel. Dims that are parallel in
// all ops are *rows*: the kernel walks over them, and for one row runs
// *phases* one after the other. A phase is one loop nest over its inner dims,
// and computes all ops in it for each point.
//
// Worked example, a softmax over x of 64x256: the ops max(x), exp(x - max),
// sum, and e / sum have the dims (i, j). Row dim: i. Phase 0 loops over j and
// takes the maximum; phase 1 loops over j for exp and sum; phase 2 loops over j
// and divides. max and sum are scalars of a row; what exp gives is needed again
// in phase 2, and waits in a scratch buffer of 256 elements.
//
// Reductions with an order (weft.order) share a phase only with reductions of
// the same order over the same dims, and their dims are joined only where that
// leaves each element in its leaf and lane: what they give does not depend on
// the group.

#ifndef WEFT_CODEGEN_FUSION_KERNELSHAPE_H
#define WEFT_CODEGEN_FUSION_KERNELSHAPE_H

#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/MapVector.h"

#include <vector>

namespace mlir::weft {

/// How an operand of a member is addressed: the element at
/// `offset + sum(strides[d] * index of dim d)`.
struct Access {
  llvm::SmallVector<int64_t> strides;
  int64_t offset = 0;

  bool operator==(const Access &other) const {
    return strides == other.strides && offset == other.offset;
  }
  bool operator!=(const Access &other) const { return !(*this == other); }
};

/// The order in which the reductions of a phase add up.
struct ReductionOrder {
  /// The dims that are reduced, major first.
  llvm::SmallVector<int> dims;
  int64_t leaves = 1, lanes = 1;
  /// One chain that starts from the init, for what is not a plain sum.
  bool isChain = false;

  bool operator==(const ReductionOrder &other) const {
    return dims == other.dims && leaves == other.leaves &&
           lanes == other.lanes && isChain == other.isChain;
  }
};

/// One linalg op of the group.
struct Member {
  linalg::GenericOp op;
  /// Null: any order will do.
  OrderAttr order;
  /// The kernel's dim of each loop of the op, or -1 for a loop of size 1.
  llvm::SmallVector<int> dims;
  /// Bit d: the dim is a loop of this op, or a reduction of it.
  uint64_t loopDims = 0, reductionDims = 0;
  /// One per operand of the op.
  llvm::SmallVector<Access> accesses;
  /// One per output of the op: where the tensor that it starts from lies.
  llvm::SmallVector<Access> initAccesses;
  int phase = 0;

  bool isReduction() const { return reductionDims != 0; }
  /// The dims that it reduces, as its loops have them.
  llvm::SmallVector<int> getReducedDims() const;
  std::optional<ReductionOrder> getReductionOrder() const;
};

/// A loop nest within a row.
struct Phase {
  llvm::SmallVector<unsigned> members;
  /// Of all its reductions; none: any.
  std::optional<ReductionOrder> order;
  /// Inner dims, outermost first.
  llvm::SmallVector<int> loops;
};

struct KernelShape {
  llvm::SmallVector<int64_t> sizes;
  std::vector<Member> members;
  /// The row dims, outermost first; they are walked as one flat range.
  llvm::SmallVector<int> rows;
  std::vector<Phase> phases;
  /// The kernel's range: the flat rows, or this inner dim if it is not -1.
  int cutDim = -1;
  /// The dims of each value that a member computes.
  llvm::MapVector<Value, uint64_t> valueDims;
  /// Dims that are cut: what else than the dim itself, which is the outermost
  /// part, makes up the index, outermost first.
  llvm::DenseMap<int, llvm::SmallVector<int, 2>> innerParts;

  uint64_t rowMask() const;
  /// Number of iterations that may be given to different threads.
  int64_t getExtent() const;
  /// Scalar operations of the whole kernel, roughly.
  int64_t getWork() const;
  /// The member that computes `value`, or -1.
  int findProducer(Value value) const;
  /// Says whether a value of the group is a scalar within a row.
  bool isRowScalar(Value value) const;
  /// Says whether `member` gets the value from the producer's registers.
  bool isForwarded(Value value, const Member &member) const;
  /// Elements of a value that belong to one row.
  int64_t getRowElements(Value value) const;
};

/// Strides of a tensor from outside of the group, in elements.
using GetStrides = llvm::function_ref<llvm::SmallVector<int64_t>(Value)>;

/// Finds the loop structure of `ops`, which are in program order. Fails if they
/// cannot be one kernel: no common rows, or accesses that do not line up.
FailureOr<KernelShape> analyzeKernel(llvm::ArrayRef<linalg::GenericOp> ops,
                                     GetStrides getStrides);

/// Finds the loop structure of a fused op, with the strides of its buffers if
/// it is on buffers. Emits an error at the op if there is none.
FailureOr<KernelShape> analyzeFused(rt::FusedOp op);

/// Says whether `input` of the group may share memory with `output`, which the
/// group computes: docs/memory-plan.md, "Updates in place".
bool canUpdateInPlace(const KernelShape &shape, Value input, Value output);

/// Makes the kernel that copies a tensor as it is.
linalg::GenericOp createCopy(OpBuilder &builder, Location loc, Value source);

} // namespace mlir::weft

#endif // WEFT_CODEGEN_FUSION_KERNELSHAPE_H
