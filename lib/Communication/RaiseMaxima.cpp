// SPDX-License-Identifier: Apache-2.0

// From each maximum upwards, as long as an op has one source: its other
// operands are constants and tensors to write to. Where that ends is the value
// that it is a maximum of. Of one value, what waits for fewer collectives comes
// first: all local maxima, then what is computed from their maxima over ranks.

#include "RaiseMaxima.h"

#include "weft/Analysis/Traffic.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Rules/ShardingRule.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

bool isMaximum(Operation *op) {
  auto reduce = dyn_cast<AllReduceOp>(op);
  return reduce && reduce.getKind() == ReduceKind::Max &&
         reduce.getInputs().size() == 1;
}

/// All values that an op reads, in its regions as well.
llvm::SetVector<Value> getInputs(Operation *op) {
  llvm::SetVector<Value> inputs;
  inputs.insert_range(op->getOperands());
  getUsedValuesDefinedAbove(op->getRegions(), inputs);
  return inputs;
}

/// What depends on nothing, so that it can be anywhere. What fills a tensor may
/// be computed from one of rank 0, which may wait for a collective.
bool isSourceless(Value value) {
  Operation *op = value.getDefiningOp();
  return op && (op->hasTrait<OpTrait::ConstantLike>() ||
                (isRematerializable(op) &&
                 llvm::all_of(getInputs(op), isSourceless)));
}

class MaximaOfBlock {
public:
  MaximaOfBlock(Block &block, int64_t limit) : block(block), limit(limit) {}

  void run() {
    for (Operation &op : block)
      if (isMaximum(&op) && isSmall(&op))
        collect(&op);
    for (auto &[origin, chain] : chains)
      raise(origin, chain);
  }

private:
  bool isSmall(Operation *op) const {
    auto type = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
    return type && getBufferBytes(type) <= limit;
  }

  /// The only value that `op` is computed from; null if it may not move, or
  /// there are several or none.
  Value getSource(Operation *op) const {
    if (op->getBlock() != &block || (!isMaximum(op) && !isMemoryEffectFree(op)))
      return {};
    Value source;
    for (Value input : getInputs(op)) {
      if (isSourceless(input))
        continue;
      if (source)
        return {};
      source = input;
    }
    return source;
  }

  /// Notes what `reduce` reads and has one source, up to where that ends.
  void collect(Operation *reduce) {
    SmallVector<Operation *> upward;
    Value origin = reduce->getOperand(0);
    while (Operation *op = origin.getDefiningOp()) {
      Value source = getSource(op);
      if (!source)
        break;
      upward.push_back(op);
      origin = source;
    }
    // The value of a block argument is there from the beginning.
    llvm::SetVector<Operation *> &chain = chains[origin.getDefiningOp()];
    unsigned waits = 0;
    for (Operation *op : llvm::reverse(upward)) {
      waits += isMaximum(op);
      numWaits[op] = waits;
      chain.insert(op);
    }
  }

  /// Moves the ops of a chain after `origin`, or to the front for null.
  void raise(Operation *origin, const llvm::SetVector<Operation *> &chain) {
    SmallVector<Operation *> ops(chain.begin(), chain.end());
    llvm::stable_sort(ops, [&](Operation *a, Operation *b) {
      // A reduction goes with what it waits for, not with what waits for it.
      return numWaits[a] - isMaximum(a) < numWaits[b] - isMaximum(b);
    });
    last = origin;
    for (Operation *op : ops) {
      for (Value input : getInputs(op))
        if (isSourceless(input))
          moveToFront(input.getDefiningOp());
      place(op);
    }
  }

  void place(Operation *op) {
    if (last)
      op->moveAfter(last);
    else if (lastAtFront)
      op->moveAfter(lastAtFront);
    else
      op->moveBefore(&block, block.begin());
    last = op;
  }

  /// A sourceless op and what it reads go before all else.
  void moveToFront(Operation *op) {
    if (op->getBlock() != &block || !atFront.insert(op).second)
      return;
    for (Value input : getInputs(op))
      if (Operation *def = input.getDefiningOp())
        moveToFront(def);
    if (lastAtFront)
      op->moveAfter(lastAtFront);
    else
      op->moveBefore(&block, block.begin());
    lastAtFront = op;
  }

  Block &block;
  int64_t limit;
  /// By the op that makes what they are maxima of.
  llvm::MapVector<Operation *, llvm::SetVector<Operation *>> chains;
  /// How many maxima over ranks an op is, or waits for.
  DenseMap<Operation *, unsigned> numWaits;
  llvm::DenseSet<Operation *> atFront;
  Operation *last = nullptr, *lastAtFront = nullptr;
};

} // namespace

void weft::raiseMaxima(Block &block, int64_t limit) {
  MaximaOfBlock(block, limit).run();
}
