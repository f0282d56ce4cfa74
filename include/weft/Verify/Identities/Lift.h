// SPDX-License-Identifier: Apache-2.0

// Reads elements of tensors off a global module, as terms. Each op is read here
// by itself: linalg.generic, reshapes, contractions, attention. An element of
// what is not read is a Load, which stands for any number.

#ifndef WEFT_VERIFY_IDENTITIES_LIFT_H
#define WEFT_VERIFY_IDENTITIES_LIFT_H

#include "weft/Verify/Identities/Term.h"

#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::weft {

class Lifter {
public:
  /// Beyond `limit` terms all else is a Load.
  explicit Lifter(size_t limit = 4000) : limit(limit) {}

  TermTable table;

  /// Elements of `value` are Loads.
  void cut(Value value) { cuts.insert(value); }
  /// Of contractions, operands are only followed to where they are moved from.
  void followOperands() { followsOperands = true; }

  /// One loop for each dim.
  SmallVector<DigitIndex> addLoops(ArrayRef<int64_t> shape);
  TermRef lift(Value value, ArrayRef<DigitIndex> indices);
  /// The element as a Load, with casts, of the tensor from which it is moved by
  /// transposes, reshapes, broadcasts and widening casts.
  TermRef follow(Value value, ArrayRef<DigitIndex> indices);
  /// What `follow` reads instead of a value; null if it stops there.
  static Value getMovedFrom(Value value);

private:
  TermRef liftUncached(Value value, ArrayRef<DigitIndex> indices);
  TermRef liftConstant(Value value, ArrayRef<DigitIndex> indices);
  TermRef liftGeneric(linalg::GenericOp op, unsigned result,
                      ArrayRef<DigitIndex> indices);
  TermRef liftMatmul(MatmulOp op, ArrayRef<DigitIndex> indices);
  TermRef load(Value value, ArrayRef<DigitIndex> indices);

  size_t limit;
  bool followsOperands = false;
  llvm::SetVector<Value> cuts;
  llvm::StringMap<TermRef> lifted;
};

/// Where the element of the result of a reshape is in the operand; nullopt if
/// the digits do not fit the dims.
std::optional<SmallVector<DigitIndex>>
getReshapedIndices(Operation *op, ArrayRef<DigitIndex> indices);

/// An index of each of the results of `map`, or nullopt if one is no loop.
std::optional<SmallVector<DigitIndex>>
applyMap(AffineMap map, ArrayRef<DigitIndex> loops, ArrayRef<int64_t> shape);

/// The term of an op in the body of a linalg.generic, but for linalg.index.
TermRef liftScalarOp(TermTable &table, Operation &op,
                     ArrayRef<TermRef> operands);

/// The element of a result of weft.attention or weft.attention_grad, as their
/// documentation says.
TermRef liftAttention(Lifter &lifter, Operation *op, unsigned result,
                      ArrayRef<DigitIndex> indices);

} // namespace mlir::weft

#endif // WEFT_VERIFY_IDENTITIES_LIFT_H
