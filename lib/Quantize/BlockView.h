// SPDX-License-Identifier: Apache-2.0

// Tensors seen in blocks: each dimension that has several of them as two, which
// block and where in it. Then scales are indexed by some of the dimensions, and
// blocks are cut between ranks like any other dimension.

#ifndef WEFT_LIB_QUANTIZE_BLOCKVIEW_H
#define WEFT_LIB_QUANTIZE_BLOCKVIEW_H

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/AffineMap.h"

namespace mlir::weft {

struct BlockView {
  /// `counts`: blocks along each dimension of `shape`, which they divide.
  BlockView(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> counts);

  unsigned getRank() const { return shape.size(); }

  /// The tensor in blocks.
  Value expand(OpBuilder &builder, Location loc, Value whole) const;

  /// The tensor without blocks.
  Value collapse(OpBuilder &builder, Location loc, Value blocked) const;

  /// What has one element for each block, with only the dimensions that have
  /// several blocks.
  Value squeeze(OpBuilder &builder, Location loc, Value scales) const;

  /// The inverse, a tensor of the shape `counts`.
  Value unsqueeze(OpBuilder &builder, Location loc, Value scales) const;

  /// From the blocked tensor's index to that of a squeezed scale.
  AffineMap getScaleMap(MLIRContext *context) const;

  /// The blocked shape, and which of its dimensions each whole one became.
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<ReassociationIndices> groups;
  llvm::SmallVector<int64_t> counts;
  /// The dimensions of the blocked shape that say which block it is.
  llvm::SmallVector<unsigned> scaleDims;

private:
  llvm::SmallVector<ReassociationIndices> getScaleGroups() const;
};

} // namespace mlir::weft

#endif // WEFT_LIB_QUANTIZE_BLOCKVIEW_H
