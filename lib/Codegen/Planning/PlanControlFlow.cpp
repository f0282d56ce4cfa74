// SPDX-License-Identifier: Apache-2.0

// Loops and branches keep their scalars in registers. A tensor that a loop
// carries, or that a branch gives, has one place, to which it is copied at the
// end of each pass unless it is there already.

#include "Planner.h"

using namespace mlir;
using namespace mlir::weft;

/// Copies `values` to the places `into`. All are read before the first is
/// overwritten.
void Planner::carry(ValueRange values, ArrayRef<Place> into, Operation *at) {
  struct Move {
    Place from, to;
  };
  SmallVector<Move> moves;
  SmallVector<Value> moved;
  for (auto [value, to] : llvm::zip(values, into)) {
    if (places.isUndefined(value)) {
      emitAssemble(value, to, ValueRange());
      continue;
    }
    if (places.get(value) == to)
      continue;
    moves.push_back({places.get(value), to});
    moved.push_back(value);
  }
  for (auto [move, value] : llvm::zip(moves, moved))
    if (llvm::any_of(moves, [root = move.from.root](const Move &other) {
          return other.to.root == root;
        }))
      move.from = emitDenseCopy(value, at);
  for (auto [move, value] : llvm::zip(moves, moved))
    emitCopy(value, value, move.from, move.to);
}

/// Says that where `first` or `second` lie, depending on the way that was
/// taken, are `values` now.
void Planner::join(ValueRange values, ArrayRef<Place> into, ValueRange first,
                   ValueRange second) {
  const Place *place = into.begin();
  for (auto [value, a, b] : llvm::zip(values, first, second))
    if (isTensor(value))
      emitAssemble(value, *place++, {a, b})
          ->setAttr("weft_rt.join", builder.getUnitAttr());
}

/// The ops of a body, and what its terminator gives, at the end of `to`.
LogicalResult Planner::visitBranch(Block &from, Block &to,
                                   ArrayRef<Place> into) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&to);
  if (failed(visitBlock(from)))
    return failure();
  Operation *yield = from.getTerminator();
  SmallVector<Value> tensorValues, scalarValues;
  for (Value value : yield->getOperands())
    if (isTensor(value))
      tensorValues.push_back(value);
    else
      scalarValues.push_back(scalars.lookup(value));
  carry(tensorValues, into, yield);
  scf::YieldOp::create(builder, yield->getLoc(), scalarValues);
  return success();
}

LogicalResult Planner::visitFor(scf::ForOp op) {
  SmallVector<Value> inits;
  SmallVector<Place> into;
  for (auto [init, argument, result] :
       llvm::zip(op.getInitArgs(), op.getRegionIterArgs(), op->getResults())) {
    if (!isTensor(init)) {
      inits.push_back(scalars.lookup(init));
      continue;
    }
    Place place = places.allocate(result);
    if (places.isUndefined(init))
      emitAssemble(init, place, ValueRange());
    else
      emitCopy(init, place);
    places.set(argument, place);
    into.push_back(place);
  }
  auto loop = scf::ForOp::create(
      builder, op.getLoc(), scalars.lookup(op.getLowerBound()),
      scalars.lookup(op.getUpperBound()), scalars.lookup(op.getStep()), inits,
      /*bodyBuilder=*/nullptr, op.getUnsignedCmp());
  scalars.map(op.getInductionVar(), loop.getInductionVar());
  auto carried = loop.getRegionIterArgs().begin();
  for (Value argument : op.getRegionIterArgs())
    if (!isTensor(argument))
      scalars.map(argument, *carried++);
  loop.getBody()->clear();
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(loop.getBody());
    join(op.getRegionIterArgs(), into, op.getInitArgs(), op.getYieldedValues());
  }
  if (failed(visitBranch(*op.getBody(), *loop.getBody(), into)))
    return failure();
  // Only now: in the body, what lies there is the argument.
  auto scalar = loop.getResults().begin();
  auto place = into.begin();
  for (Value result : op.getResults())
    if (isTensor(result))
      places.set(result, *place++);
    else
      scalars.map(result, *scalar++);
  join(op.getResults(), into, op.getInitArgs(), op.getYieldedValues());
  return success();
}

LogicalResult Planner::visitIf(scf::IfOp op) {
  SmallVector<Type> types;
  SmallVector<Place> into;
  for (OpResult result : op->getResults()) {
    if (!isTensor(result)) {
      types.push_back(result.getType());
      continue;
    }
    into.push_back(places.allocate(result));
    places.set(result, into.back());
  }
  bool hasElse = !op.getElseRegion().empty();
  auto branch = scf::IfOp::create(
      builder, op.getLoc(), types, scalars.lookup(op.getCondition()),
      /*addThenBlock=*/true, /*addElseBlock=*/hasElse);
  auto scalar = branch.getResults().begin();
  for (Value result : op.getResults())
    if (!isTensor(result))
      scalars.map(result, *scalar++);
  branch.thenBlock()->clear();
  if (failed(visitBranch(*op.thenBlock(), *branch.thenBlock(), into)))
    return failure();
  if (!hasElse)
    return success();
  branch.elseBlock()->clear();
  if (failed(visitBranch(*op.elseBlock(), *branch.elseBlock(), into)))
    return failure();
  join(op.getResults(), into, op.thenYield().getResults(),
       op.elseYield().getResults());
  return success();
}

LogicalResult Planner::visitReturn(func::ReturnOp op) {
  SmallVector<Place> into;
  for (unsigned i = 0; i < op.getNumOperands(); ++i)
    into.push_back(places.getResultPlace(i));
  carry(op.getOperands(), into, op);
  func::ReturnOp::create(builder, op.getLoc());
  return success();
}
