// SPDX-License-Identifier: Apache-2.0

// All_reduces do not count, since schedules group them, nor what is in loops.

#include "LinkWork.h"

#include "weft/Cost/CostModel.h"

#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <algorithm>

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

bool mlir::weft::mayBeFasterThanOrders(ModuleOp fused) {
  auto takes = [](Value value) {
    return llvm::any_of(value.getUsers(), llvm::IsaPred<rt::FusedOp>);
  };
  WalkResult result = fused.walk([&](ReduceScatterOp scatter) {
    bool isTaken = llvm::any_of(scatter->getResults(), takes);
    for (Operation *user : scatter->getUsers())
      isTaken |= isa<WaitOp>(user) && llvm::any_of(user->getResults(), takes);
    return isTaken ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}
