// SPDX-License-Identifier: Apache-2.0

// Where values lie. A *root* is a block of memory: an argument or result of the
// step, or a temporary in the arena. A *place* is a root with an offset and
// strides; views of a tensor are places in its root.
//
// Time is the position of ops in program order. A root is in use from the first
// op that touches it to the last; roots of the arena whose times meet do not
// overlap.

#ifndef WEFT_LIB_CODEGEN_PLANNING_BUFFERPLAN_H
#define WEFT_LIB_CODEGEN_PLANNING_BUFFERPLAN_H

#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::weft {

struct Root {
  rt::Space space = rt::Space::Arena;
  /// What a person calls it.
  std::string name;
  /// What it was made for; all that lies in it has the same element type.
  RankedTensorType type;
  /// Index of the argument or result.
  int64_t position = 0;
  int64_t bytes = 0;
  /// The values that lie in it so far.
  llvm::SmallVector<Value> values;
};

struct Place {
  int root = -1;
  /// In elements, as are strides.
  int64_t offset = 0;
  llvm::SmallVector<int64_t> strides;
  /// An index value of the planned function that is added to the offset.
  Value dynamicOffset;

  bool operator==(const Place &other) const {
    return root == other.root && offset == other.offset &&
           strides == other.strides && dynamicOffset == other.dynamicOffset;
  }
  bool operator!=(const Place &other) const { return !(*this == other); }
};

/// Positions of all ops of a function, and the last uses of its values.
class Lifetimes {
public:
  explicit Lifetimes(Operation *function);

  int64_t getPosition(Operation *op) const { return first.lookup(op); }
  int64_t getEnd(Operation *op) const { return last.lookup(op); }
  /// The position of the last op that uses the value itself (not a view of it);
  /// an op in a loop that the value outlives counts as the end of the loop, a
  /// started collective as its wait. That `except` is waited for later does not
  /// count.
  int64_t getLastUse(Value value, Operation *except = nullptr) const;

private:
  int64_t findLastUse(Value value, Operation *except) const;

  llvm::DenseMap<Operation *, int64_t> first, last;
  mutable llvm::DenseMap<Value, int64_t> lastUses;
};

/// Which elements of a value a tensor has: as a slice of it has them.
struct Part {
  int64_t begin = 0;
  llvm::SmallVector<int64_t> strides;
  /// A number that is only known at run time is added to `begin`.
  bool moves = false;
};

/// Numbers of the tensors of a function: argument i has id i, the others follow
/// in program order. A view of a tensor has its id, and is a part of it; a
/// reshape that has no strides in it is a value of its own.
class ValueIds {
public:
  explicit ValueIds(func::FuncOp function);

  int64_t get(Value value) const { return ids.find(value)->second; }
  /// The part of its value that a tensor is; null if it has all of its
  /// elements, in order.
  rt::PartAttr getPart(Value value) const;
  /// Says whether a slice or reshape is a part of what it is made of.
  bool isPart(Operation *op) const {
    return get(op->getResult(0)) == get(op->getOperand(0));
  }

private:
  void number(Block &block);
  void number(Value value);
  void numberPart(Operation *op);

  llvm::DenseMap<Value, int64_t> ids;
  /// Of each value.
  llvm::DenseMap<int64_t, int64_t> numElements;
  llvm::DenseMap<Value, Part> parts;
  int64_t next = 0;
};

/// What `op` takes or sets of a tensor that is `whole` of its value, without
/// the dims `dropped`.
Part getSlice(const Part &whole, OffsetSizeAndStrideOpInterface op,
              const llvm::SmallBitVector &dropped);
/// All of a tensor.
Part getWhole(RankedTensorType type);
/// A tensor's part as the plan says it.
rt::PartAttr getPartAttr(const Part &part, RankedTensorType type);

} // namespace mlir::weft

#endif // WEFT_LIB_CODEGEN_PLANNING_BUFFERPLAN_H
