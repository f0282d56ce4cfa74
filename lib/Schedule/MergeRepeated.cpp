// SPDX-License-Identifier: Apache-2.0

// What a program computes twice, once its marks are gone, is computed once.
// Collectives count as what they compute, which CSE cannot know. Gathers of
// arguments stay: whether one is done again is the scheduler's choice. Yet
// what they bring is the same, so that products of it are merged. So it is with
// what a ring passes on: it is passed again rather than kept. Where
// partitioning would gather once, as no other argument is gathered in between,
// so it is here.

#include "weft/Schedule/Passes.h"

#include "weft/Analysis/EqualOps.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// The ops of one block, each after those that are computed before it.
class RepeatedOps {
public:
  explicit RepeatedOps(bool regathers) : regathers(regathers) {}
  void merge(Block &block);

private:
  Value getArgument(Value value) const;
  Value getGathered(Operation *op) const;
  bool staysApart(Operation *op) const;
  void joinGathers(Block &block);

  /// What is gathered over one axis and then over another is gathered again as
  /// well. The scheduler keeps no such gather, so else it is one.
  bool regathers;
  EqualOps equal;
  /// What gathers of arguments and permutes bring, and what ops with no other
  /// operand make of that.
  llvm::DenseSet<Value> apart;
};

} // namespace

/// The only tensor that an op reads; null if it reads none, or several.
static Value getOnlyTensor(Operation *op) {
  Value only;
  for (Value operand : op->getOperands()) {
    if (!isa<RankedTensorType>(operand.getType()) ||
        operand.getDefiningOp<tensor::EmptyOp>())
      continue;
    if (only)
      return nullptr;
    only = operand;
  }
  return only;
}

/// The argument that single ops make a value of; null if it is of more, or
/// communicated.
Value RepeatedOps::getArgument(Value value) const {
  while (Operation *op = value.getDefiningOp()) {
    bool isLast =
        isa<CollectiveOpInterface>(op) && !(regathers && isa<AllGatherOp>(op));
    value = getOnlyTensor(op);
    if (!value || isLast)
      return nullptr;
  }
  return value;
}

/// The argument that an op gathers; null if it gathers none.
Value RepeatedOps::getGathered(Operation *op) const {
  return isa<AllGatherOp>(op) ? getArgument(op->getOperand(0)) : nullptr;
}

bool RepeatedOps::staysApart(Operation *op) const {
  if (isa<PermuteOp>(op))
    return true;
  if (isa<AllGatherOp>(op))
    return bool(getGathered(op));
  Value only = getOnlyTensor(op);
  return only && apart.contains(only);
}

/// The first op of the block that reads what `op` brings, by itself or inside
/// of it.
static Operation *getFirstUser(Operation *op) {
  Operation *first = nullptr;
  for (Operation *user : op->getUsers()) {
    Operation *outer = op->getBlock()->findAncestorOpInBlock(*user);
    if (!first || outer->isBeforeInBlock(first))
      first = outer;
  }
  return first;
}

/// What was read first may be gone: gathers stand where they are needed now.
void RepeatedOps::joinGathers(Block &block) {
  // Of several gathers after one another the last one moves first.
  llvm::DenseMap<Operation *, Operation *> moved;
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (!getGathered(&op))
      continue;
    Operation *user = getFirstUser(&op);
    Operation *next = moved.lookup(user);
    op.moveBefore(next ? next : user);
    moved[user] = &op;
  }
  Value argument;
  SmallVector<Operation *> gathers;
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    Value gathered = getGathered(&op);
    if (!gathered)
      continue;
    if (gathered != argument)
      gathers.clear();
    argument = gathered;
    auto same = llvm::find_if(
        gathers, [&](Operation *other) { return equal.areEqual(other, &op); });
    if (same == gathers.end()) {
      gathers.push_back(&op);
      continue;
    }
    op.replaceAllUsesWith(*same);
    op.erase();
  }
}

void RepeatedOps::merge(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    if (!isa<CollectiveOpInterface>(op) && !isMemoryEffectFree(&op))
      continue;
    bool stays = staysApart(&op);
    if (stays)
      apart.insert_range(op.getResults());
    Operation *first = equal.add(&op);
    if (!first)
      continue;
    if (!stays) {
      op.replaceAllUsesWith(first);
      op.erase();
      continue;
    }
    for (auto [result, same] :
         llvm::zip_equal(op.getResults(), first->getResults()))
      equal.setFirst(result, same);
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (op.use_empty() && !op.hasTrait<OpTrait::IsTerminator>() &&
        (isa<CollectiveOpInterface>(op) || isMemoryEffectFree(&op)))
      op.erase();
  joinGathers(block);
}

void mlir::weft::mergeRepeated(ModuleOp module, bool regathers) {
  for (auto func : module.getOps<func::FuncOp>())
    if (!func.isExternal())
      RepeatedOps(regathers).merge(func.getBody().front());
}
