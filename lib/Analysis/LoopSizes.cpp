// SPDX-License-Identifier: Apache-2.0

// A loop is as long as the first dim that it indexes by itself.

#include "weft/Analysis/LoopSizes.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

SmallVector<int64_t> weft::getLoopSizes(linalg::LinalgOp op,
                                        ArrayRef<AffineMap> maps) {
  SmallVector<int64_t> sizes(maps.empty() ? 0 : maps[0].getNumDims(), -1);
  for (auto [operand, map] : llvm::zip(op->getOperands(), maps))
    if (auto type = dyn_cast<RankedTensorType>(operand.getType()))
      for (auto [expr, size] : llvm::zip(map.getResults(), type.getShape()))
        if (auto dim = dyn_cast<AffineDimExpr>(expr);
            dim && sizes[dim.getPosition()] < 0)
          sizes[dim.getPosition()] = size;
  return llvm::is_contained(sizes, -1) ? op.getStaticLoopRanges() : sizes;
}

unsigned weft::countInputs(linalg::LinalgOp op) {
  auto generic = dyn_cast<linalg::GenericOp>(op.getOperation());
  return generic ? generic.getInputs().size() : op.getNumDpsInputs();
}
