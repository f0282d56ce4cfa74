// SPDX-License-Identifier: Apache-2.0

// What an op's partitioning may ask for: the shardings of the global function's
// values, their local counterparts, and the code that every op needs.
//
// Every op of the explicit global function is rebuilt in front of itself with
// local types; the global op is erased at the end. Until then a global value
// has its sharding and its local counterpart here.

#ifndef WEFT_INTERFACES_LOCALBUILDER_H
#define WEFT_INTERFACES_LOCALBUILDER_H

#include "weft/Sharding/Sharding.h"

#include "mlir/IR/Builders.h"

namespace mlir::weft {

/// A dimension of `size` global elements, cut over `axes`.
struct DimCut {
  AxisList axes;
  int64_t size = 1;

  bool isSharded() const { return numShards(axes) > 1; }
  int64_t chunk() const {
    int64_t shards = numShards(axes);
    return (size + shards - 1) / shards;
  }
  /// Says whether some rank holds elements that lie past the end.
  bool isUneven() const { return size % numShards(axes) != 0; }
};

/// Builds the local function in front of the global one.
class LocalBuilder {
public:
  explicit LocalBuilder(MLIRContext *context) : builder(context) {}
  virtual ~LocalBuilder() = default;

  /// How dimension `dim` of a global value is cut.
  virtual DimCut getCut(Value global, int64_t dim) const = 0;
  /// The type that one rank holds of a global value.
  virtual Type getLocalType(Value global) const = 0;
  virtual Value getLocal(Value global) const = 0;
  virtual void setLocal(Value global, Value local) = 0;

  /// Clones `op` on the local operands and gives the results local types.
  virtual Operation *cloneLocal(Operation *op) = 0;

  /// The global index of the first element that this rank holds.
  virtual Value chunkOffset(Location loc, const DimCut &cut) = 0;
  /// How many of the chunk's elements are valid, or a number below or above
  /// what it can hold: compare signed.
  virtual Value validCount(Location loc, const DimCut &cut) = 0;
  /// Replaces the elements of the local `value` that lie past the end of the
  /// cut dimensions; cuts are per dimension, and even ones cost nothing.
  virtual Value maskPadding(Location loc, Value value, ArrayRef<DimCut> cuts,
                            TypedAttr replacement) = 0;
  /// Replaces indices of `size` and above by -1, which is in no table.
  virtual Value dropIndicesFrom(Location loc, Value indices, int64_t size) = 0;
  /// This rank's part of the global value, which `whole` is a local copy of.
  virtual Value cutPart(Location loc, Value whole, Value global) = 0;

  /// Inserts in front of the global op.
  OpBuilder builder;
};

} // namespace mlir::weft

#endif // WEFT_INTERFACES_LOCALBUILDER_H
