// SPDX-License-Identifier: Apache-2.0

#ifndef WEFT_LIB_CODEGEN_FUSION_PROGRAMOPS_H
#define WEFT_LIB_CODEGEN_FUSION_PROGRAMOPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::weft {

/// Visits the ops of a kind, but not those in bodies of linalg ops: most of a
/// program is these, and there is nothing in them that fusion looks for.
template <typename OpTy>
void forEachOp(func::FuncOp func, function_ref<void(OpTy)> visit) {
  func.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto found = dyn_cast<OpTy>(op))
      visit(found);
    return isa<linalg::LinalgOp>(op) ? WalkResult::skip()
                                     : WalkResult::advance();
  });
}

} // namespace mlir::weft

#endif // WEFT_LIB_CODEGEN_FUSION_PROGRAMOPS_H
