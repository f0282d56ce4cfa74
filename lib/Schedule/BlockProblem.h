// SPDX-License-Identifier: Apache-2.0

// The tasks of a block of the IR: what takes time (kernels, products,
// collectives, loops), what each needs, and the memory of what each makes.
// Views, constants and scalars are no tasks: they stand in front of the first
// op that uses them.

#ifndef WEFT_LIB_SCHEDULE_BLOCKPROBLEM_H
#define WEFT_LIB_SCHEDULE_BLOCKPROBLEM_H

#include "weft/Cost/CostModel.h"
#include "weft/Schedule/Problem.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::weft {

/// What a nested op costs whose blocks were scheduled already: all its rounds.
struct NestedCost {
  int64_t nanoseconds = 0;
  /// Bytes that it needs on top of its operands and results.
  int64_t bytes = 0;
};

struct BlockProblem {
  ScheduleProblem problem;
  /// The op of each task, and the value of each buffer.
  std::vector<Operation *> ops;
  std::vector<Value> values;
};

/// Says whether `op` has no code of its own: it is placed where it is used.
bool isFreeOp(Operation *op);

/// Says what the cost model says of an op's compute, as far as it was asked
/// before.
using ComputeTimes = llvm::function_ref<int64_t(Operation *)>;

/// Collects the tasks of `block`. Fails, with a diagnostic, on a collective
/// without a channel. Tasks are numbered in program order, but casts and
/// gathers of weights stand where their results are needed first, however far
/// ahead fusion has put them.
FailureOr<BlockProblem>
buildBlockProblem(Block &block, const CostModel &cost,
                  const llvm::DenseMap<Operation *, NestedCost> &nested,
                  ComputeTimes times = nullptr);

/// A number for the layer of the model that the op's name tells of: those whose
/// names agree up to their first number. -1: none.
class LayerNames {
public:
  int getLayer(Operation *op);

private:
  llvm::StringMap<int> layers;
};

} // namespace mlir::weft

#endif // WEFT_LIB_SCHEDULE_BLOCKPROBLEM_H
