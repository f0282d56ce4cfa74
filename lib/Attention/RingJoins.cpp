// SPDX-License-Identifier: Apache-2.0

// Elementwise ops of ring attention. Outputs of two sets of keys join by their
// log-sum-exps a and b: with c = log(exp(a) + exp(b)) they weigh exp(a - c) and
// exp(b - c).

#include "RingJoins.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::weft;

linalg::GenericOp RingJoins::map(RankedTensorType type, ArrayRef<Value> inputs,
                                 ArrayRef<AffineMap> inputMaps,
                                 BodyBuilder body) {
  SmallVector<AffineMap> maps(inputMaps);
  maps.push_back(builder.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> parallel(type.getRank(),
                                            utils::IteratorType::parallel);
  Value init = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                       type.getElementType());
  return linalg::GenericOp::create(
      builder, loc, type, inputs, init, maps, parallel,
      [&](OpBuilder &inner, Location loc, ValueRange args) {
        linalg::YieldOp::create(inner, loc, body(inner, loc, args));
      });
}

/// Of inputs of one shape.
linalg::GenericOp RingJoins::map(Type element, ArrayRef<Value> inputs,
                                 BodyBuilder body) {
  auto type = cast<RankedTensorType>(inputs[0].getType());
  SmallVector<AffineMap> maps(inputs.size(),
                              builder.getMultiDimIdentityMap(type.getRank()));
  return map(RankedTensorType::get(type.getShape(), element), inputs, maps,
             body);
}

/// An op that fusion does not put off: what it joins would have to wait.
Value RingJoins::joinNow(linalg::GenericOp op) {
  op->setAttr(WeftDialect::kOrderAttr,
              OrderAttr::get(op.getContext(), /*leaves=*/2, /*lanes=*/1,
                             /*rounded=*/false));
  return op.getResult(0);
}

/// The number, or 0 where it is -inf: what may be taken off of exponents.
static Value makeFinite(OpBuilder &builder, Location loc, Value number) {
  Type type = number.getType();
  Value none = arith::ConstantOp::create(
      builder, loc,
      builder.getFloatAttr(type, -std::numeric_limits<double>::infinity()));
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getFloatAttr(type, 0.0));
  Value isNone = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ,
                                       number, none);
  return arith::SelectOp::create(builder, loc, isNone, zero, number);
}

static Value makeExp(OpBuilder &builder, Location loc, Value number,
                     Value base) {
  return math::ExpOp::create(builder, loc,
                             arith::SubFOp::create(builder, loc, number, base));
}

/// The log-sum-exp of two sets of keys: log(exp(a) + exp(b)).
Value RingJoins::joinSums(Value a, Value b) {
  return map(f32, {a, b},
             [](OpBuilder &inner, Location loc, ValueRange args) -> Value {
               Value base = makeFinite(
                   inner, loc,
                   arith::MaximumFOp::create(inner, loc, args[0], args[1]));
               Value first = makeExp(inner, loc, args[0], base);
               Value second = makeExp(inner, loc, args[1], base);
               Value sum = arith::AddFOp::create(inner, loc, first, second);
               return arith::AddFOp::create(
                   inner, loc, base, math::LogOp::create(inner, loc, sum));
             })
      .getResult(0);
}

Value RingJoins::makeWeight(Value part, Value whole) {
  return map(f32, {part, whole},
             [](OpBuilder &inner, Location loc, ValueRange args) {
               return makeExp(inner, loc, args[0],
                              makeFinite(inner, loc, args[1]));
             })
      .getResult(0);
}

static Value castTo(OpBuilder &builder, Location loc, Value value, Type type) {
  unsigned from = value.getType().getIntOrFloatBitWidth();
  if (value.getType() == type)
    return value;
  if (from < type.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(builder, loc, type, value);
  return arith::TruncFOp::create(builder, loc, type, value);
}

/// From the dims of a tensor with the loops of outputs to those of the
/// log-sum-exp.
AffineMap RingJoins::getRows(AttentionTensor tensor) {
  auto getMap = [&](AttentionTensor tensor) {
    return llvm::find_if(
               shape.parts,
               [&](const AttentionPart &part) { return part.tensor == tensor; })
        ->map;
  };
  AffineMap out = getMap(tensor);
  SmallVector<AffineExpr> places;
  for (AffineExpr loop : getMap(AttentionTensor::Lse).getResults())
    places.push_back(builder.getAffineDimExpr(*out.getResultPosition(loop)));
  return AffineMap::get(out.getNumResults(), 0, places, builder.getContext());
}

Value RingJoins::weigh(Value value, AttentionTensor tensor, Value weight,
                       Type element) {
  auto type = cast<RankedTensorType>(value.getType());
  return map(RankedTensorType::get(type.getShape(), element), {value, weight},
             {builder.getMultiDimIdentityMap(type.getRank()), getRows(tensor)},
             [&](OpBuilder &inner, Location loc, ValueRange args) {
               Value product = arith::MulFOp::create(
                   inner, loc, castTo(inner, loc, args[0], f32), args[1]);
               return castTo(inner, loc, product, element);
             })
      .getResult(0);
}

Value RingJoins::add(Value a, Value b, Type element, bool isLast) {
  linalg::GenericOp sum = map(
      element, {a, b}, [&](OpBuilder &inner, Location loc, ValueRange args) {
        Value first = castTo(inner, loc, args[0], f32);
        Value second = castTo(inner, loc, args[1], f32);
        Value sum = arith::AddFOp::create(inner, loc, first, second);
        return castTo(inner, loc, sum, element);
      });
  return isLast ? sum.getResult(0) : joinNow(sum);
}

AttentionRows RingJoins::join(AttentionRows a, AttentionRows b, Type element,
                              bool isLast) {
  Value lse = joinSums(a.lse, b.lse);
  auto weighOut = [&](AttentionRows part) {
    return weigh(part.out, AttentionTensor::Out, makeWeight(part.lse, lse),
                 f32);
  };
  Value first = weighOut(a), second = weighOut(b);
  return {add(first, second, element, isLast), lse};
}
