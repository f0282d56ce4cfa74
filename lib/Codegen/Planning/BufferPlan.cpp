// SPDX-License-Identifier: Apache-2.0

// Positions are numbered in program order, and so are values.

#include "BufferPlan.h"
#include "weft/Codegen/Fusion/KernelShape.h"

#include "weft/Analysis/Traffic.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::weft;

Lifetimes::Lifetimes(Operation *function) {
  int64_t next = 0;
  std::function<void(Operation *)> number = [&](Operation *op) {
    first[op] = last[op] = next++;
    // A fused op happens at one time.
    if (op->getNumRegions() == 0 || isa<rt::FusedOp>(op))
      return;
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Operation &inner : block)
          number(&inner);
    last[op] = next++;
  };
  number(function);
}

int64_t Lifetimes::findLastUse(Value value, Operation *except) const {
  Region *home = value.getParentRegion();
  int64_t lastUse = value.getDefiningOp() ? getPosition(value.getDefiningOp())
                                          : getPosition(home->getParentOp());
  for (Operation *user : value.getUsers()) {
    Operation *outer = home->findAncestorOpInRegion(*user);
    WaitOp wait = outer == except ? WaitOp() : getWait(outer);
    lastUse = std::max(lastUse, getEnd(wait ? wait : outer));
  }
  return lastUse;
}

int64_t Lifetimes::getLastUse(Value value, Operation *except) const {
  if (except && getWait(except))
    return findLastUse(value, except);
  auto [it, isNew] = lastUses.try_emplace(value, 0);
  if (isNew)
    it->second = findLastUse(value, nullptr);
  return it->second;
}

ValueIds::ValueIds(func::FuncOp function) {
  number(function.getBody().front());
}

void ValueIds::number(Value value) {
  if (isa<RankedTensorType>(value.getType()))
    ids[value] = next++;
}

void ValueIds::number(Block &block) {
  for (BlockArgument argument : block.getArguments())
    number(argument);
  for (Operation &op : block) {
    if (isa<tensor::ExtractSliceOp, tensor::ExpandShapeOp,
            tensor::CollapseShapeOp, tensor::CastOp>(op)) {
      ids[op.getResult(0)] = get(op.getOperand(0));
      continue;
    }
    for (Value result : op.getResults())
      number(result);
    if (!isa<rt::FusedOp>(op))
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          number(inner);
  }
}
