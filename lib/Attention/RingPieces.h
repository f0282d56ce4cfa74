// SPDX-License-Identifier: Apache-2.0

// Attention by pieces of the keys that travel around a ring of ranks.

#ifndef WEFT_LIB_ATTENTION_RINGPIECES_H
#define WEFT_LIB_ATTENTION_RINGPIECES_H

#include "weft/Dialect/Weft/IR/Attention.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::weft {

/// A local attention, or gradient, whose keys and values are gathered over the
/// ranks of a group, of which each has one piece of them.
///
/// Worked example. On 4 ranks with 8 keys each, the steps 0, 1, 2 and 3 take
/// rank 1 through the pieces 1, 0, 3 and 2: in step t rank r has piece
/// (r - t) mod 4.
///
/// In a balanced ring queries and keys are cut in 2n parts, of which rank r has
/// two: the first one, 2r, is its own, and the second one, 2n - 1 - 2r, comes
/// from rank n - 1 - r. So rank 0 of 4 has the parts 0 and 7, and rank 1 the
/// parts 2 and 5. Of two ranks' parts, two of four pairs are seen if the mask
/// is causal: as much in each step, on each rank.
struct Ring {
  /// weft.attention or weft.attention_grad.
  Operation *op = nullptr;
  AttentionShape shape;
  FlatSymbolRefAttr mesh;
  AxesAttr axes;
  int64_t ranks = 1;
  /// Keys of a piece.
  int64_t pieceKeys = 0;
  /// The rank's own piece.
  Value k, v;
  /// Whether the rank's queries begin where its own piece does.
  bool isAligned = false;
  /// Whether ranks exchange parts, for all to have as much to do.
  bool isBalanced = false;
  /// Ascending, from 0: the steps in which some rank sees a key.
  SmallVector<int64_t> steps;
  /// Of a gradient: the log-sum-exp of each block.
  SmallVector<Value> sums;
  /// What becomes of dk and of dv.
  struct Reduced {
    /// A weft.reduce_scatter or weft.all_reduce; null if there is no use.
    Operation *reduce = nullptr;
    /// What gives it dims of one element before, or null.
    tensor::ExpandShapeOp expand;
    /// The dimension of keys in what is reduced.
    int64_t dim = 0;
  } dk, dv;

  /// Parts of a piece of keys, and of the rank's queries.
  unsigned getNumParts() const { return isBalanced ? 2 : 1; }
  int64_t getPartKeys() const { return pieceKeys / getNumParts(); }
  /// Whether the first step's gradients of keys do not travel. They take memory
  /// all the time then, which counts where all pieces travel.
  bool keepsOwnGradient() const {
    return steps.size() > 1 && int64_t(steps.size()) < ranks;
  }
};

/// Attention of one part of the queries and one part of a piece of keys.
struct RingBlock {
  unsigned queries, keys;
};

/// The blocks of a step that some rank sees a key in.
SmallVector<RingBlock> getBlocks(const Ring &ring, int64_t step);

/// Replaces the op by its blocks, and erases it. Of a gradient, `dk` and `dv`
/// are replaced and erased as well. The gathers stay, perhaps without uses.
/// Of attention, returns the log-sum-exp of each block, then that of all keys.
SmallVector<Value> buildRing(const Ring &ring);

} // namespace mlir::weft

#endif // WEFT_LIB_ATTENTION_RINGPIECES_H
