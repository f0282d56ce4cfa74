// SPDX-License-Identifier: Apache-2.0

// What the ops of attention have in common, on tensors and on buffers: which
// tensors there are, by which loops they are indexed, and how much work it is.
// For the roles of loops see weft.attention.
//
// Worked example. q 2x128x8x64 with the map (b, h, i, j, d, e) -> (b, i, h, d)
// and k 2x128x8x64 with (b, j, h, d) have two batches b = 2 and h = 8, 128
// queries i and 128 keys j, and the depth d = 64. If k is 2x128x64 with (b, j,
// d) then h is a group: eight heads share the keys.

#ifndef WEFT_DIALECT_WEFT_IR_ATTENTION_H
#define WEFT_DIALECT_WEFT_IR_ATTENTION_H

#include "weft/Dialect/Weft/IR/WeftDialect.h"

namespace mlir::weft {

/// The tensors, in the order of maps.
enum class AttentionTensor {
  Q,
  K,
  V,
  Bias,
  Mask,
  QSegments,
  KSegments,
  LowSeeds,
  HighSeeds,
  Out,
  Lse,
  DOut,
  DQ,
  DK,
  DV
};

/// "q", "k", ..., "dv".
StringRef stringifyAttentionTensor(AttentionTensor tensor);
std::optional<AttentionTensor> symbolizeAttentionTensor(StringRef name);

/// A tensor or buffer of such an op: which it is, and the loops that index it.
struct AttentionPart {
  AttentionTensor tensor;
  Value value;
  AffineMap map;

  ShapedType getType() const { return cast<ShapedType>(value.getType()); }
};

using AttentionValues = ArrayRef<std::pair<AttentionTensor, Value>>;

enum class AttentionRole { Batch, Group, Query, Key, Depth, Value };

/// The parts of an op with its loops.
struct AttentionShape {
  SmallVector<AttentionPart, 9> parts;
  AttentionAttr config;

  unsigned getNumLoops() const { return parts[0].map.getNumDims(); }
  unsigned getQuery() const { return getNumLoops() - 4; }
  unsigned getKey() const { return getNumLoops() - 3; }
  unsigned getDepth() const { return getNumLoops() - 2; }
  unsigned getValue() const { return getNumLoops() - 1; }
  /// Says whether the loop is one of groups: the keys do not have it.
  bool isGroup(unsigned loop) const {
    return loop < getQuery() && !parts[1].map.isFunctionOfDim(loop);
  }
  AttentionRole getRole(unsigned loop) const;
  bool isGradient() const { return parts.back().tensor == AttentionTensor::DV; }
  SmallVector<int64_t> getLoopSizes() const;
  /// The loops that are summed in `dk` and `dv`: groups, then queries.
  SmallVector<int> getSummedLoops() const;
  /// The work of the rank that has most to do, by where its queries begin; they
  /// lie evenly among the keys if that is not computed of indices of ranks.
  /// Without a `start` they begin at the first key.
  OpWork getWork(Value start) const;
};

/// The tensors that an op has, of the fifteen that there may be.
SmallVector<std::pair<AttentionTensor, Value>>
getAttentionValues(Operation *op);

/// Returns the shape of an op of which verifyAttention holds; null values are
/// left out.
AttentionShape makeAttentionShape(ArrayAttr maps, AttentionAttr config,
                                  AttentionValues values);

/// The same for weft.attention or weft.attention_grad.
AttentionShape getAttentionShape(Operation *op);

/// Checks constraints c1 to c5 of weft.attention and weft.attention_grad, on
/// tensors or buffers. `start` may be null, and so may be values. Emits at the
/// op and fails if one does not hold.
LogicalResult verifyAttention(Operation *op, ArrayAttr maps,
                              AttentionAttr config, Value start,
                              AttentionValues values);

} // namespace mlir::weft

#endif // WEFT_DIALECT_WEFT_IR_ATTENTION_H
