// SPDX-License-Identifier: Apache-2.0

#ifndef WEFT_ANALYSIS_EQUALOPS_H
#define WEFT_ANALYSIS_EQUALOPS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <unordered_map>

namespace mlir::weft {

/// Which ops of a block compute the same: each is added after those that
/// compute its operands, and stays if it is the first one.
class EqualOps {
public:
  /// The first value that is the same: the value itself, if there is none.
  Value getFirst(Value value) const {
    Value first = firsts.lookup(value);
    return first ? first : value;
  }

  /// Takes a value to be the same as another one.
  void setFirst(Value value, Value same) { firsts[value] = getFirst(same); }

  /// Says whether two ops differ in where they are alone.
  bool areEqual(Operation *a, Operation *b) const;

  /// The first op that is equal. Null if there is none, as this one is it.
  Operation *add(Operation *op);

private:
  /// From a value to the first one that is the same, if that is another.
  llvm::DenseMap<Value, Value> firsts;
  /// By their hash.
  std::unordered_map<size_t, SmallVector<Operation *, 1>> added;
};

} // namespace mlir::weft

#endif // WEFT_ANALYSIS_EQUALOPS_H
