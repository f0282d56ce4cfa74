// SPDX-License-Identifier: Apache-2.0

// All_reduces do not count, since schedules group them, nor what is in loops.

#include "LinkWork.h"

#include "weft/Cost/CostModel.h"

#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <algorithm>
#include <limits>

using namespace mlir;
using namespace mlir::weft;

static int64_t computeLinkWork(Block &block, const CostModel &cost) {
  llvm::DenseMap<int, int64_t> work;
  int64_t most = 0;
  for (Operation &op : block) {
    if (isa<AllReduceOp>(op))
      continue;
    std::optional<CollectiveCost> one = cost.getCollectiveCost(&op);
    if (one && one->link >= 0)
      most = std::max(most, work[one->link] += one->nanoseconds);
  }
  return most;
}

int64_t mlir::weft::computeLinkWork(ModuleOp fused, const Machine &machine) {
  CostModel cost(machine, fused);
  int64_t sum = 0;
  for (auto func : fused.getOps<func::FuncOp>())
    if (!func.isExternal())
      sum += ::computeLinkWork(func.getBody().front(), cost);
  return sum;
}

/// The kernels that take what `scatter` gives, waited for or not.
static SmallVector<rt::FusedOp> getKernels(ReduceScatterOp scatter) {
  SmallVector<rt::FusedOp> kernels;
  auto add = [&](Operation *user) {
    if (auto kernel = dyn_cast<rt::FusedOp>(user))
      kernels.push_back(kernel);
  };
  for (Operation *user : scatter->getUsers()) {
    add(user);
    if (isa<WaitOp>(user))
      llvm::for_each(user->getUsers(), add);
  }
  return kernels;
}

int64_t mlir::weft::computeMostSavedByStreams(ModuleOp fused,
                                              const Machine &machine) {
  CostModel cost(machine, fused);
  int64_t sum = 0;
  bool isInLoop = false;
  fused.walk([&](ReduceScatterOp scatter) {
    SmallVector<rt::FusedOp> kernels = getKernels(scatter);
    if (kernels.empty())
      return;
    isInLoop |= !isa<func::FuncOp>(scatter->getParentOp());
    if (std::optional<CollectiveCost> one = cost.getCollectiveCost(scatter))
      sum += one->nanoseconds;
    for (rt::FusedOp kernel : kernels)
      sum += cost.getComputeNanoseconds(kernel);
  });
  return isInLoop ? std::numeric_limits<int64_t>::max() : sum;
}
