// SPDX-License-Identifier: Apache-2.0

// First everything gets its form (futures, waits), then its place.

#include "ApplySchedule.h"

#include "weft/Communication/Start.h"

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Puts the ops of a block in order, from the front.
class BlockOrder {
public:
  explicit BlockOrder(Block &block) : block(block) {
    for (Operation &op : block.without_terminator())
      if (isFreeOp(&op))
        waiting.insert(&op);
  }

  void place(Operation *op) {
    placeFreeOps(op);
    order.push_back(op);
  }

  /// The terminator and what only it uses are last.
  void finish() {
    placeFreeOps(block.getTerminator());
    for (Operation *op : order)
      op->moveBefore(block.getTerminator());
    // What is left at the front nobody uses.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (waiting.contains(&op) && op.use_empty())
        op.erase();
  }

private:
  /// Places the views, constants and scalars that `op` is the first to need.
  void placeFreeOps(Operation *op) {
    SmallVector<std::pair<Operation *, bool>> stack;
    auto push = [&](Operation *user) {
      user->walk([&](Operation *inner) {
        for (Value operand : llvm::reverse(inner->getOperands()))
          if (Operation *def = operand.getDefiningOp();
              def && waiting.contains(def))
            stack.emplace_back(def, false);
      });
    };
    push(op);
    while (!stack.empty()) {
      auto [def, isExpanded] = stack.pop_back_val();
      if (!waiting.contains(def))
        continue;
      if (isExpanded) {
        waiting.erase(def);
        order.push_back(def);
        continue;
      }
      stack.emplace_back(def, true);
      push(def);
    }
  }

  Block &block;
  llvm::DenseSet<Operation *> waiting;
  std::vector<Operation *> order;
};

} // namespace

void mlir::weft::applySchedule(Block &block, const BlockProblem &problem,
                               const Schedule &schedule) {
  const std::vector<Operation *> &ops = problem.ops;
  for (int i = 0, e = ops.size(); i < e; ++i)
    if (schedule.kept[i]) {
      Operation *first = ops[problem.problem.task(i).sameAs];
      ops[i]->replaceAllUsesWith(first->getResults());
    }
  std::vector<WaitOp> waits(ops.size());
  for (int i = 0, e = ops.size(); i < e; ++i)
    if (!schedule.kept[i] && problem.problem.task(i).isCollective())
      waits[i] = startCollective(ops[i]);
  BlockOrder order(block);
  for (const ScheduleEvent &event : schedule.result.events) {
    if (schedule.kept[event.task])
      continue;
    bool isWait = event.kind == ScheduleEvent::Wait;
    order.place(isWait ? waits[event.task] : ops[event.task]);
  }
  order.finish();
  for (int i = 0, e = ops.size(); i < e; ++i)
    if (schedule.kept[i])
      ops[i]->erase();
}
