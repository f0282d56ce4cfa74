// SPDX-License-Identifier: Apache-2.0

// Makes weft.attention and its gradient of a plan.

#ifndef WEFT_LIB_ATTENTION_BUILDATTENTION_H
#define WEFT_LIB_ATTENTION_BUILDATTENTION_H

#include "AttentionPlan.h"

#include "mlir/IR/Builders.h"

namespace mlir::weft {

/// The loops that a result has, in order.
SmallVector<unsigned> getResultLoops(const AttentionPlan &plan,
                                     WeightsUse *use);

/// Makes ops at the builder's place. What it gives is null where a term cannot
/// be written as ops.
class AttentionBuilder {
public:
  AttentionBuilder(OpBuilder &builder, Location loc, const AttentionPlan &plan,
                   Type element)
      : builder(builder), loc(loc), plan(plan), element(element) {}

  /// The operands that both ops share; false if that is not possible.
  bool makeOperands();
  /// `out` may be null: then its layout does not matter.
  AttentionOp makeForward(const Replaced *out);
  /// The result of the op, times what a sink leaves of it.
  Value makeResult(AttentionOp forward);
  /// The same for the three gradients. `result`: of attention.
  AttentionGradOp makeGradient(AttentionOp forward, Value result,
                               const Replaced *dq, const Replaced *dk,
                               const Replaced *dv);
  /// What the gradient of a sink is computed from, in the layout and type of
  /// `old`: the weight of the sink, the sum of the result times its gradient,
  /// or less the product of both.
  enum class RowValue { SinkWeight, Delta, SinkGradient };
  Value makeRowValue(RowValue which, AttentionOp forward, Value result,
                     const Located &old);
  /// What stands for the old value: in its shape, and of its type.
  Value makeReplacement(Value result, const Replaced &replaced);

private:
  struct Operand {
    Value value;
    AffineMap map;
  };

  /// A layout and the type of its tensor.
  std::pair<AffineMap, RankedTensorType> getLayout(ArrayRef<unsigned> loops,
                                                   Type type) const;
  /// The layout of a value that is replaced, else `loops`.
  std::pair<AffineMap, RankedTensorType>
  getLayout(const Replaced *replaced, ArrayRef<unsigned> loops) const;
  AffineMap getMap(ArrayRef<unsigned> loops) const;
  Value repeat(Value value, ArrayRef<unsigned> loops);
  Value castTo(Value value, Type type);
  /// A dim for each loop.
  Operand makeOperand(const Located &located);
  /// The term as a tensor over the op's loops.
  std::optional<Operand> makeTerm(TermRef term, Type type);
  std::optional<Operand> computeTerm(TermRef term, const LoopPlaces &places);
  /// A linalg.generic over the loops, and sums over that of values: `body` gets
  /// the operands' elements as f32, and gives one.
  Value
  makeElements(ArrayRef<Operand> operands, ArrayRef<unsigned> loops, Type type,
               function_ref<Value(OpBuilder &, Location, ValueRange)> body,
               bool sums = false);
  /// 1 / (1 + exp(sink - lse)) for each query, which is what the keys weigh
  /// together, or what the sink does.
  Operand makeShare(AttentionOp forward, bool ofSink);
  /// The operand times the share of the keys.
  Operand scale(Operand operand, AttentionOp forward);
  static SmallVector<unsigned> getLoops(AffineMap map);
  AffineMap getOutMap(AttentionOp forward) const;
  AffineMap getLseMap(AttentionOp forward) const;
  AttentionAttr makeConfig();
  SmallVector<Attribute> getMaps() const;

  OpBuilder &builder;
  Location loc;
  const AttentionPlan &plan;
  Type element;
  Operand q, k, v, bias, mask, querySegments, keySegments, sink;
};

} // namespace mlir::weft

#endif // WEFT_LIB_ATTENTION_BUILDATTENTION_H
