// SPDX-License-Identifier: Apache-2.0

// From each operand of a gradient back over views and casts to the first value
// that is marked; what is between is made again of what comes back.

#include "KeepOffloads.h"

#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::weft;

/// Views and casts that are followed at most.
static constexpr unsigned kMaxLength = 8;

/// The marked barrier of a value that stands before `op`, or null.
static OptimizationBarrierOp findMark(Value value, Operation *op) {
  for (Operation *user : value.getUsers()) {
    auto barrier = dyn_cast<OptimizationBarrierOp>(user);
    if (barrier && barrier.getOffload() &&
        barrier->getBlock() == op->getBlock() && barrier->isBeforeInBlock(op))
      return barrier;
  }
  return {};
}

/// The operand of an op that does nothing but move or cast it; null otherwise.
static OpOperand *getMoved(Operation *op) {
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, ShardOp>(op))
    return &op->getOpOperand(0);
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic || generic.getNumDpsInputs() != 1 ||
      generic.getNumResults() != 1 || generic.getNumReductionLoops() != 0 ||
      !isMemoryEffectFree(op))
    return nullptr;
  return generic.getDpsInputOperand(0);
}

/// The value as it is after it waited in the host's memory, made before `op`;
/// null if it does not.
static Value bringBack(Value value, Operation *op, unsigned length) {
  if (OptimizationBarrierOp mark = findMark(value, op))
    return mark->getResult(0);
  Operation *def = value.getDefiningOp();
  OpOperand *moved = def && length < kMaxLength ? getMoved(def) : nullptr;
  Value source = moved ? bringBack(moved->get(), op, length + 1) : Value();
  if (!source)
    return {};
  OpBuilder builder(op);
  Operation *copy = builder.clone(*def);
  copy->setOperand(moved->getOperandNumber(), source);
  return copy->getResult(cast<OpResult>(value).getResultNumber());
}

void mlir::weft::keepOffloads(Block &block) {
  for (AttentionGradOp op : block.getOps<AttentionGradOp>())
    for (OpOperand &operand : op->getOpOperands())
      if (Value back = bringBack(operand.get(), op, 0))
        operand.set(back);
}
