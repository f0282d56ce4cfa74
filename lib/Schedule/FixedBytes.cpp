// SPDX-License-Identifier: Apache-2.0

// What is there all the time, from the types of a function.

#include "weft/Schedule/FixedBytes.h"

#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

using namespace mlir;
using namespace mlir::weft;

int64_t mlir::weft::getTensorBytes(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() ? getBufferBytes(tensor) : 0;
}

int64_t mlir::weft::getFixedBytes(func::FuncOp func) {
  int64_t bytes = 0;
  for (auto [i, type] : llvm::enumerate(func.getArgumentTypes()))
    if (!func.getArgAttr(i, WeftDialect::kHostAttr))
      bytes += getTensorBytes(type);
  for (auto [i, type] : llvm::enumerate(func.getResultTypes()))
    if (!func.getResultAttr(i, WeftDialect::kAliasAttr))
      bytes += getTensorBytes(type);
  return bytes;
}
