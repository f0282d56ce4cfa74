// SPDX-License-Identifier: Apache-2.0

// Where values lie. A *root* is a block of memory: an argument or result of the
// step, or a temporary in the arena. A *place* is a root with an offset and
// strides; views of a tensor are places in its root.
//
// Time is the position of ops in program order. A root is alive from the first
// op that writes it to the last that uses a value in it; roots of the arena
// whose lives meet do not overlap.

#ifndef WEFT_LIB_CONVERSION_WEFTTOHOST_BUFFERPLAN_H
#define WEFT_LIB_CONVERSION_WEFTTOHOST_BUFFERPLAN_H

#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

#include "llvm/ADT/DenseMap.h"

namespace mlir::weft {

struct Root {
  rt::Space space = rt::Space::Arena;
  /// Index of the argument or result, or byte offset in the arena.
  int64_t position = 0;
  int64_t bytes = 0;
  int64_t begin = 0, end = 0;
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

/// Arena offsets are multiples of this.
constexpr int64_t kArenaAlignment = 64;

/// Bytes of an element in memory: i1 takes one, an index 8.
int64_t getElementBytes(Type element);
/// Strides of a buffer of static layout, in elements.
llvm::SmallVector<int64_t> getBufferStrides(MemRefType type);
/// Bytes that a tensor or buffer of this type takes, without gaps.
int64_t getTensorBytes(ShapedType type);

/// Gives each arena root its offset: largest first, at the lowest offset that
/// is free during its life. Returns the bytes of the arena.
int64_t placeRoots(llvm::MutableArrayRef<Root> roots);

/// Positions of all ops of a function, and the last uses of its values.
class Lifetimes {
public:
  explicit Lifetimes(Operation *function);

  int64_t getPosition(Operation *op) const { return first.lookup(op); }
  int64_t getEnd(Operation *op) const { return last.lookup(op); }
  /// The position of the last op that uses the value itself (not a view of it);
  /// an op in a loop that the value outlives counts as the end of the loop, a
  /// started collective as its wait. What `except` itself uses does not count.
  int64_t getLastUse(Value value, Operation *except = nullptr) const;

private:
  llvm::DenseMap<Operation *, int64_t> first, last;
};

} // namespace mlir::weft

#endif // WEFT_LIB_CONVERSION_WEFTTOHOST_BUFFERPLAN_H
