// SPDX-License-Identifier: Apache-2.0

#include "ReadScalars.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::weft;

static void readAsOperands(linalg::GenericOp op) {
  SmallVector<tensor::ExtractOp> extracts;
  for (auto extract : op.getBody()->getOps<tensor::ExtractOp>())
    if (extract.getTensor().getParentRegion() != &op.getRegion() &&
        extract.getIndices().empty())
      extracts.push_back(extract);
  if (op.getNumLoops() != 0 || extracts.empty())
    return;
  SmallVector<Value> inputs(op.getInputs());
  unsigned numInputs = inputs.size();
  for (auto [i, extract] : llvm::enumerate(extracts)) {
    inputs.push_back(extract.getTensor());
    extract.getResult().replaceAllUsesWith(op.getBody()->insertArgument(
        numInputs + i, extract.getType(), extract.getLoc()));
  }
  OpBuilder builder(op);
  SmallVector<AffineMap> maps(inputs.size() + op.getNumDpsInits(),
                              builder.getEmptyAffineMap());
  auto made = linalg::GenericOp::create(
      builder, op.getLoc(), op.getResultTypes(), inputs, op.getOutputs(), maps,
      op.getIteratorTypesArray(), /*bodyBuilder=*/nullptr,
      llvm::to_vector(op->getDiscardableAttrs()));
  made.getRegion().takeBody(op.getRegion());
  for (tensor::ExtractOp extract : extracts)
    extract.erase();
  op->replaceAllUsesWith(made);
  op.erase();
}

void mlir::weft::readScalarsAsOperands(func::FuncOp func) {
  for (auto op :
       llvm::make_early_inc_range(func.getBody().getOps<linalg::GenericOp>()))
    readAsOperands(op);
}
