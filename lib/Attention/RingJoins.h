// SPDX-License-Identifier: Apache-2.0

// What joins attention over some keys with that over others.

#ifndef WEFT_LIB_ATTENTION_RINGJOINS_H
#define WEFT_LIB_ATTENTION_RINGJOINS_H

#include "weft/Dialect/Weft/IR/Attention.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::weft {

/// What attention over some of the keys makes.
struct AttentionRows {
  Value out, lse;
};

/// Makes elementwise ops where `builder` is.
class RingJoins {
public:
  RingJoins(OpBuilder &builder, Location loc, const AttentionShape &shape)
      : shape(shape), builder(builder), loc(loc), f32(builder.getF32Type()) {}

  /// Over the keys of both; the output is added up in f32, and rounded to
  /// `element`.
  AttentionRows join(AttentionRows a, AttentionRows b, Type element,
                     bool isLast);
  /// What the output of some keys counts in that of more, by their
  /// log-sum-exps.
  Value makeWeight(Value part, Value whole);
  /// A tensor with the loops of outputs, each row times its weight.
  Value weigh(Value value, AttentionTensor tensor, Value weight, Type element);
  /// Adds in f32, and rounds to `element`. The last sum may be put off, as
  /// nothing follows, or another sum.
  Value add(Value a, Value b, Type element, bool isLast = false);

private:
  using BodyBuilder = function_ref<Value(OpBuilder &, Location, ValueRange)>;

  linalg::GenericOp map(RankedTensorType type, ArrayRef<Value> inputs,
                        ArrayRef<AffineMap> maps, BodyBuilder body);
  linalg::GenericOp map(Type element, ArrayRef<Value> inputs, BodyBuilder body);
  Value joinNow(linalg::GenericOp op);
  AffineMap getRows(AttentionTensor tensor);
  Value joinSums(Value a, Value b);

  const AttentionShape &shape;
  OpBuilder &builder;
  Location loc;
  Type f32;
};

} // namespace mlir::weft

#endif // WEFT_LIB_ATTENTION_RINGJOINS_H
