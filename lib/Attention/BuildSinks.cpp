// SPDX-License-Identifier: Apache-2.0

// With L the log-sum-exp of a query's keys, a sink leaves the op's result times
// 1 / (1 + exp(sink - L)), which is the share of the keys, and weighs the rest
// itself. The gradient op gets what is left of the result, and its gradient
// times the same: the weights with the sink are those without times the share.

#include "BuildAttention.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::weft;

static Value toF32(OpBuilder &builder, Location loc, Value in) {
  Type f32 = builder.getF32Type();
  return in.getType() == f32
             ? in
             : arith::ExtFOp::create(builder, loc, f32, in).getResult();
}

static Value makeOne(OpBuilder &builder, Location loc) {
  return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(1));
}

SmallVector<unsigned> AttentionBuilder::getLoops(AffineMap map) {
  SmallVector<unsigned> loops;
  for (AffineExpr expr : map.getResults())
    loops.push_back(cast<AffineDimExpr>(expr).getPosition());
  return loops;
}

/// The maps of a result of the op are its last.
static AffineMap getMapFromEnd(AttentionOp op, int fromEnd) {
  ArrayRef<Attribute> maps = op.getIndexingMaps().getValue();
  return cast<AffineMapAttr>(maps[maps.size() - fromEnd]).getValue();
}

AffineMap AttentionBuilder::getOutMap(AttentionOp forward) const {
  return getMapFromEnd(forward, 2);
}

AffineMap AttentionBuilder::getLseMap(AttentionOp forward) const {
  return getMapFromEnd(forward, 1);
}

Value AttentionBuilder::makeElements(
    ArrayRef<Operand> operands, ArrayRef<unsigned> loops, Type type,
    function_ref<Value(OpBuilder &, Location, ValueRange)> body, bool sums) {
  SmallVector<unsigned> all(loops);
  if (sums)
    all.push_back(plan.getValue());
  SmallVector<AffineMap> maps;
  SmallVector<Value> inputs;
  auto addMap = [&](ArrayRef<unsigned> own) {
    SmallVector<AffineExpr> results;
    for (unsigned loop : own)
      results.push_back(
          builder.getAffineDimExpr(llvm::find(all, loop) - all.begin()));
    maps.push_back(
        AffineMap::get(all.size(), 0, results, builder.getContext()));
  };
  for (const Operand &operand : operands) {
    addMap(getLoops(operand.map));
    inputs.push_back(operand.value);
  }
  addMap(loops);
  SmallVector<utils::IteratorType> iterators(all.size(),
                                             utils::IteratorType::parallel);
  auto [map, result] = getLayout(loops, type);
  Value init = tensor::EmptyOp::create(builder, loc, result.getShape(), type);
  if (sums) {
    iterators.back() = utils::IteratorType::reduction;
    init = makeElements(
        {}, loops, type, [](OpBuilder &inner, Location loc, ValueRange) {
          return arith::ConstantOp::create(inner, loc, inner.getF32FloatAttr(0))
              .getResult();
        });
  }
  auto write = [&](OpBuilder &inner, Location loc, ValueRange args) {
    SmallVector<Value> numbers;
    for (Value arg : args.drop_back())
      numbers.push_back(toF32(inner, loc, arg));
    Value made = body(inner, loc, numbers);
    if (sums)
      made = arith::AddFOp::create(inner, loc, args.back(), made);
    if (!type.isF32())
      made = arith::TruncFOp::create(inner, loc, type, made);
    linalg::YieldOp::create(inner, loc, made);
  };
  return linalg::GenericOp::create(builder, loc, result, inputs, init, maps,
                                   iterators, write)
      .getResult(0);
}

AttentionBuilder::Operand AttentionBuilder::makeShare(AttentionOp forward,
                                                      bool ofSink) {
  AffineMap map = getLseMap(forward);
  auto body = [&](OpBuilder &inner, Location loc, ValueRange args) {
    Value rest = arith::SubFOp::create(inner, loc, args[ofSink ? 0 : 1],
                                       args[ofSink ? 1 : 0]);
    // Constants stand right, as in the form that is partitioned.
    Value one = makeOne(inner, loc),
          both = arith::AddFOp::create(
              inner, loc, math::ExpOp::create(inner, loc, rest), one);
    return arith::DivFOp::create(inner, loc, one, both).getResult();
  };
  return {makeElements({{forward.getLse(), map}, sink}, getLoops(map),
                       builder.getF32Type(), body),
          map};
}

AttentionBuilder::Operand AttentionBuilder::scale(Operand operand,
                                                  AttentionOp forward) {
  auto body = [](OpBuilder &inner, Location loc, ValueRange args) {
    return arith::MulFOp::create(inner, loc, args[0], args[1]).getResult();
  };
  return {makeElements({operand, makeShare(forward, /*ofSink=*/false)},
                       getLoops(operand.map),
                       getElementTypeOrSelf(operand.value), body),
          operand.map};
}

Value AttentionBuilder::makeResult(AttentionOp forward) {
  if (!sink.value)
    return forward.getOut();
  return scale({forward.getOut(), getOutMap(forward)}, forward).value;
}

Value AttentionBuilder::makeRowValue(RowValue which, AttentionOp forward,
                                     Value result, const Located &old) {
  AffineMap map = getLseMap(forward);
  // Loops of one element need not be in the old value.
  SmallVector<unsigned> loops, own = old.getLoops();
  for (unsigned loop : getLoops(map))
    if (!llvm::is_contained(own, loop)) {
      if (plan.sizes[loop] != 1)
        return Value();
      loops.push_back(loop);
    }
  size_t numUnits = loops.size();
  if (numUnits + own.size() != map.getNumResults() ||
      (numUnits != 0 && own.empty()))
    return Value();
  llvm::append_range(loops, own);
  Type f32 = builder.getF32Type();
  SmallVector<Operand> operands;
  if (which != RowValue::SinkWeight) {
    auto multiply = [](OpBuilder &inner, Location loc, ValueRange args) {
      return arith::MulFOp::create(inner, loc, args[0], args[1]).getResult();
    };
    Value delta =
        makeElements({{result, getOutMap(forward)}, makeOperand(plan.dout)},
                     getLoops(map), f32, multiply, /*sums=*/true);
    operands.push_back({delta, map});
  }
  if (which != RowValue::Delta)
    operands.push_back(makeShare(forward, /*ofSink=*/true));
  auto body = [](OpBuilder &inner, Location loc, ValueRange args) {
    if (args.size() == 1)
      return args[0];
    Value both = arith::MulFOp::create(inner, loc, args[0], args[1]);
    return arith::NegFOp::create(inner, loc, both).getResult();
  };
  Value made = makeElements(operands, loops, f32, body);
  if (numUnits != 0) {
    SmallVector<ReassociationIndices> groups(own.size());
    for (size_t i = 0; i < loops.size(); ++i)
      groups[i < numUnits ? 0 : i - numUnits].push_back(i);
    made = tensor::CollapseShapeOp::create(
        builder, loc, getLayout(own, f32).second, made, groups);
  }
  return makeReplacement(made, {old, nullptr});
}
