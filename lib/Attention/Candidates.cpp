// SPDX-License-Identifier: Apache-2.0

#include "Candidates.h"

#include "weft/Dialect/Weft/IR/OptimizationBarrier.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::weft;

static bool hasExponential(linalg::GenericOp op) {
  return !op.getBody()->getOps<math::ExpOp>().empty();
}

SmallVector<std::pair<MatmulOp, bool>>
mlir::weft::findCandidates(Block &block) {
  llvm::DenseSet<Value> reached;
  SmallVector<std::pair<MatmulOp, bool>> candidates;
  for (Operation &op : block) {
    if (auto matmul = dyn_cast<MatmulOp>(op)) {
      if (reached.contains(matmul.getLhs()))
        candidates.push_back({matmul, true});
      if (reached.contains(matmul.getRhs()))
        candidates.push_back({matmul, false});
      continue;
    }
    if (!isa<linalg::GenericOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp,
             ShardOp, OptimizationBarrierOp>(op))
      continue;
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if ((generic && hasExponential(generic)) ||
        llvm::any_of(op.getOperands(),
                     [&](Value operand) { return reached.contains(operand); }))
      reached.insert(op.result_begin(), op.result_end());
  }
  return candidates;
}

SmallVector<Value> mlir::weft::findValues(Block &block) {
  SmallVector<Value> values;
  for (auto [matmul, isLeft] : findCandidates(block))
    values.push_back(isLeft ? matmul.getRhs() : matmul.getLhs());
  return values;
}

SmallVector<MatmulOp> mlir::weft::findSinks(Block &block) {
  llvm::DenseSet<Value> joined, weights, parts;
  SmallVector<MatmulOp> found;
  for (Operation &op : block) {
    auto reads = [&](const llvm::DenseSet<Value> &values) {
      return llvm::any_of(op.getOperands(), [&](Value operand) {
        return values.contains(operand);
      });
    };
    auto mark = [&](llvm::DenseSet<Value> &values) {
      values.insert(op.result_begin(), op.result_end());
    };
    if (auto matmul = dyn_cast<MatmulOp>(op)) {
      if (reads(parts))
        found.push_back(matmul);
    } else if (isa<tensor::ConcatOp>(op)) {
      mark(joined);
    } else if (isa<tensor::ExtractSliceOp>(op)) {
      if (reads(weights))
        mark(parts);
    } else if (isa<linalg::GenericOp, tensor::ExpandShapeOp,
                   tensor::CollapseShapeOp, ShardOp, OptimizationBarrierOp>(
                   op)) {
      auto generic = dyn_cast<linalg::GenericOp>(op);
      bool isWeight = reads(weights) ||
                      (generic && hasExponential(generic) && reads(joined));
      if (isWeight)
        mark(weights);
      else if (reads(joined))
        mark(joined);
      if (reads(parts))
        mark(parts);
    }
  }
  return found;
}
