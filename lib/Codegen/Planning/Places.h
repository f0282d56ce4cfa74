// SPDX-License-Identifier: Apache-2.0

// Which value lies where, and what may be overwritten when.
//
// A value's memory is free at an op if no value that lies in it so far is used
// after that op. A value that comes to lie there later is made from one that
// does already, by an op which uses that one: it needs no rule of its own.
//
// Some values have a wish: to lie in the result, or donated argument, as which
// the step returns them, or to be computed as their part of a concatenation. A
// wish is granted if that memory is free.

#ifndef WEFT_LIB_CODEGEN_PLANNING_PLACES_H
#define WEFT_LIB_CODEGEN_PLANNING_PLACES_H

#include "BufferPlan.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::weft {

/// Says whether memory can be planned for the type: a tensor of static shape of
/// integers, floats or indices.
bool isPlannable(Type type);

/// What a person calls an op, and a result of it.
std::string getName(Operation *op);
std::string getName(OpResult result);

inline bool isTensor(Value value) {
  return isa<RankedTensorType>(value.getType());
}

class Places {
public:
  /// Places the function's arguments and notes wishes. All its types are
  /// plannable.
  explicit Places(func::FuncOp source);

  bool contains(Value value) const { return places.count(value); }
  const Place &get(Value value) const { return places.find(value)->second; }
  void set(Value value, Place place);
  /// Whether `value` is the result of a tensor.empty without memory.
  bool isUndefined(Value value) const;

  /// The dense place at the start of a root.
  Place getDensePlace(int root, Type type) const;
  /// A dense place in an arena root of its own.
  Place allocate(Type type, const Twine &name);
  /// The same, with the name of the result that will lie there.
  Place allocate(OpResult result);
  /// The same, in the host's arena.
  Place allocateOnHost(OpResult result);
  /// Where the step's result `number` must be when it ends.
  Place getResultPlace(unsigned number) const;
  /// Which value it is that lies somewhere.
  ValueIds &getIds() { return ids; }

  /// Decides whether an op may write where it reads an operand.
  using MayShare = llvm::function_ref<bool(OpOperand &)>;
  /// The place that `result` of `op` wishes for, if it is free.
  std::optional<Place> findWished(Value result, Operation *op,
                                  MayShare mayShare);
  /// The same for an op that writes nowhere where it reads.
  std::optional<Place> findWished(Value result, Operation *op);
  /// Says whether `op` may make `result` by writing to the memory of its
  /// operand `input`, which it reads as `mayShare` says.
  bool canOverwrite(OpOperand &input, Value result, MayShare mayShare) const;
  bool isDense(Value value) const;

  const Root &getRoot(const Place &place) const { return roots[place.root]; }
  const Root &getRoot(int root) const { return roots[root]; }
  int getNumRoots() const { return roots.size(); }

private:
  /// A part of a concatenation, from `offset` on; or a root.
  struct Wish {
    Value whole;
    int64_t offset = 0;
    int root = -1;
  };

  int addRoot(Type type, rt::Space space, int64_t position, const Twine &name);
  bool isFree(int root, Operation *op, MayShare mayShare) const;
  void wishResult(OpOperand &returned);
  void wishParts(tensor::ConcatOp concat);
  Place findPart(const Wish &wish, Operation *op);

  func::FuncOp source;
  Lifetimes lifetimes;
  ValueIds ids;
  SmallVector<Root> roots;
  /// The root and type of each result of the step.
  SmallVector<int> resultRoots;
  SmallVector<Type> resultTypes;
  DenseMap<Value, Place> places;
  DenseMap<Value, Wish> wishes;
};

} // namespace mlir::weft

#endif // WEFT_LIB_CODEGEN_PLANNING_PLACES_H
