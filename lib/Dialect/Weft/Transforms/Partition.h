// SPDX-License-Identifier: Apache-2.0

// What the parts of weft-partition share: the function under construction, and
// one entry per family of ops.
//
// Every op of the explicit global function is rebuilt in front of itself with
// local types; the global op is erased at the end. Until then a global value
// has its sharding and its local counterpart here.

#ifndef WEFT_LIB_DIALECT_WEFT_TRANSFORMS_PARTITION_H
#define WEFT_LIB_DIALECT_WEFT_TRANSFORMS_PARTITION_H

#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Support/Reshard.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

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
  /// Says whether some rank holds elements that lie behind the end.
  bool isUneven() const { return size % numShards(axes) != 0; }
};

/// Builds the local function in front of the global one.
class LocalBuilder {
public:
  LocalBuilder(ReshardPlanner &planner, FlatSymbolRefAttr meshName)
      : builder(meshName.getContext()), planner(planner), meshName(meshName) {}

  const Mesh &getMesh() const { return planner.getMesh(); }

  /// The sharding of a global value; replicated if it has none.
  Sharding getSharding(Value global) const;
  bool isReplicated(Value global) const {
    return getSharding(global).isReplicated();
  }
  /// How dimension `dim` of a global value is cut.
  DimCut getCut(Value global, int64_t dim) const;

  /// The type that one rank holds of a global value.
  Type getLocalType(Value global) const;
  Value getLocal(Value global) const { return mapping.lookup(global); }
  void setSharding(Value global, Sharding sharding);
  void setLocal(Value global, Value local) { mapping.map(global, local); }

  /// Clones `op` on the local operands and gives the results local types.
  Operation *cloneLocal(Operation *op);

  /// This rank's position along `axes`.
  Value axisIndex(Location loc, ArrayRef<AxisRef> axes);
  /// The global index of the first element that this rank holds.
  Value chunkOffset(Location loc, const DimCut &cut);
  /// How many of the chunk's elements are valid, or a number below or above
  /// what it can hold: compare signed.
  Value validCount(Location loc, const DimCut &cut);

  OpBuilder builder;
  ReshardPlanner &planner;
  FlatSymbolRefAttr meshName;

private:
  IRMapping mapping;
  DenseMap<Value, Sharding> shardings;
};

/// Emits the steps that bring the local part `value` of a tensor of type
/// `global` from one sharding to another.
Value emitReshard(LocalBuilder &local, Location loc, Value value,
                  const Sharding &from, const Sharding &to,
                  RankedTensorType global);

/// Replaces the elements of `value` that lie behind the end of the cut
/// dimensions; cuts are per dimension, and even ones cost nothing.
Value maskPadding(LocalBuilder &local, Location loc, Value value,
                  ArrayRef<DimCut> cuts, TypedAttr replacement);

LogicalResult partitionLinalg(LocalBuilder &local, linalg::LinalgOp op);
LogicalResult partitionMatmul(LocalBuilder &local, MatmulOp op);
LogicalResult partitionTake(LocalBuilder &local, TakeOp op);
LogicalResult partitionScatterAdd(LocalBuilder &local, ScatterAddOp op);
LogicalResult partitionReshard(LocalBuilder &local, ReshardOp op);
/// Ops of the tensor dialect, and constants.
LogicalResult partitionTensorOp(LocalBuilder &local, Operation *op);

} // namespace mlir::weft

#endif // WEFT_LIB_DIALECT_WEFT_TRANSFORMS_PARTITION_H
