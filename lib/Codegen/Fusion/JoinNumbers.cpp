// SPDX-License-Identifier: Apache-2.0

// A collective of many magnitudes waits for all of them: that one kernel makes
// them one after the other delays nothing. Each is one thread's by itself, so
// that nothing is lost that threads could share out.

#include "JoinNumbers.h"

#include "weft/Analysis/Traffic.h"
#include "weft/Codegen/Fusion/KernelShape.h"
#include "weft/Codegen/Fusion/Orders.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Loops of one kernel: each is compiled, but for those of kernels that are the
/// same.
constexpr unsigned kMaxNumbers = 4;

unsigned getGroup(Operation *op, const GroupGraph &graph) {
  return graph.getGroup(graph.getPosition(op));
}

/// Says whether the value is a number that only `user` takes, of a kernel of
/// one op.
bool isOwnNumber(Value value, Operation *user, const GroupGraph &graph) {
  auto op = value.getDefiningOp<linalg::GenericOp>();
  return op && op->getBlock() == user->getBlock() && op->hasOneUse() &&
         op->getNumResults() == 1 && op.getNumLoops() > 0 &&
         op.getNumParallelLoops() == 0 && !isJoin(op) &&
         graph.getMembers(getGroup(op, graph)).size() == 1;
}

int64_t getNumPoints(linalg::GenericOp op) {
  return llvm::product_of(op.getStaticLoopRanges());
}

/// Says whether one kernel can make all of them: it has an end of dimensions.
bool canBeOne(ArrayRef<linalg::GenericOp> ops) {
  return succeeded(analyzeKernel(ops, [](Value value) {
    return rt::getDenseStrides(
        cast<RankedTensorType>(value.getType()).getShape());
  }));
}

} // namespace

void mlir::weft::joinNumbers(Block &block, GroupGraph &graph,
                             const FusionLimits &limits) {
  for (Operation &user : block) {
    if (!getCollectiveKind(&user))
      continue;
    SmallVector<linalg::GenericOp> ops;
    for (Value operand : user.getOperands())
      if (isOwnNumber(operand, &user, graph))
        ops.push_back(operand.getDefiningOp<linalg::GenericOp>());
    // Tensors of one size side by side: layers have the same kernels.
    llvm::stable_sort(ops, [](linalg::GenericOp a, linalg::GenericOp b) {
      return getNumPoints(a) < getNumPoints(b);
    });
    SmallVector<linalg::GenericOp> kernel;
    for (linalg::GenericOp op : ops) {
      kernel.push_back(op);
      if (kernel.size() > std::min(kMaxNumbers, limits.numOps) ||
          !canBeOne(kernel))
        kernel = {op};
      else if (kernel.size() > 1)
        graph.merge(getGroup(op, graph), getGroup(kernel.front(), graph));
    }
  }
}
