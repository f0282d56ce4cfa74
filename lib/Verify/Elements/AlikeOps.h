// SPDX-License-Identifier: Apache-2.0

// Most ops of a program stay what they are from one step to the next, and
// those of a model's layers are alike. An op that both programs have equally
// often need not be looked into: it is the same function of its operands,
// whichever that is. Programs that are equal with such functions are equal;
// those that are not may be.

#ifndef WEFT_LIB_VERIFY_ELEMENTS_ALIKEOPS_H
#define WEFT_LIB_VERIFY_ELEMENTS_ALIKEOPS_H

#include "weft/Analysis/OpAttributes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/Support/Allocator.h"

namespace mlir::weft::proof {

class AlikeOps {
public:
  /// Of which ops this is found: where some are fused, just products stay what
  /// they are.
  enum class Kind { All, Products };

  AlikeOps(func::FuncOp one, func::FuncOp other, Kind kind);

  /// Of ops that have to be looked into.
  static constexpr unsigned kNone = ~0u;
  /// Of each op of the body of one of the two functions, in order, but the
  /// last: which function it is.
  ArrayRef<unsigned> getFunctions(func::FuncOp func) const {
    return functions[func != first];
  }
  /// The values from outside that the regions of an op read, in order.
  ArrayRef<Value> getCaptured(Operation *op) const {
    auto it = captured.find(op);
    return it == captured.end() ? ArrayRef<Value>() : ArrayRef(it->second);
  }

private:
  /// All that tells which function an op is: addresses of what is unique, and
  /// numbers.
  using Words = SmallVector<uintptr_t, 64>;

  void number(func::FuncOp func, std::vector<unsigned> &into);
  unsigned getFunction(Operation *op);
  bool tell(Operation *op, Words &words);
  bool tellRegion(Region &region, Words &words, SmallVectorImpl<Value> &outer);
  bool tellStructured(linalg::LinalgOp op, Words &words);
  unsigned getNumber(ArrayRef<uintptr_t> words);

  func::FuncOp first;
  Kind kind;
  std::vector<unsigned> functions[2];
  DenseMap<Operation *, SmallVector<Value>> captured;
  OpAttributes attributes;
  llvm::BumpPtrAllocator allocator;
  DenseMap<ArrayRef<uintptr_t>, unsigned> numbers;
  /// By the number of an op as it is spelled: the function.
  DenseMap<unsigned, unsigned> ofSpelling;
};

} // namespace mlir::weft::proof

#endif // WEFT_LIB_VERIFY_ELEMENTS_ALIKEOPS_H
