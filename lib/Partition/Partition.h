// SPDX-License-Identifier: Apache-2.0

// What the parts of weft-partition share: the function under construction, and
// what makes collectives of reshards.

#ifndef WEFT_LIB_PARTITION_PARTITION_H
#define WEFT_LIB_PARTITION_PARTITION_H

#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Sharding/Reshard.h"

#include "mlir/IR/IRMapping.h"

namespace mlir::weft {

/// The local function, with all that ops ask of it.
class RankBuilder final : public LocalBuilder {
public:
  RankBuilder(ReshardPlanner &planner, FlatSymbolRefAttr meshName)
      : LocalBuilder(meshName.getContext()), planner(planner),
        meshName(meshName) {}

  const Mesh &getMesh() const { return planner.getMesh(); }

  /// The sharding of a global value; replicated if it has none.
  Sharding getSharding(Value global) const;
  bool isReplicated(Value global) const {
    return getSharding(global).isReplicated();
  }
  void setSharding(Value global, Sharding sharding);

  DimCut getCut(Value global, int64_t dim) const override;
  Type getLocalType(Value global) const override;
  Value getLocal(Value global) const override { return mapping.lookup(global); }
  void setLocal(Value global, Value local) override {
    mapping.map(global, local);
  }
  Operation *cloneLocal(Operation *op) override;
  Value chunkOffset(Location loc, const DimCut &cut) override;
  Value validCount(Location loc, const DimCut &cut) override;
  Value maskPadding(Location loc, Value value, ArrayRef<DimCut> cuts,
                    TypedAttr replacement) override;
  Value dropIndicesFrom(Location loc, Value indices, int64_t size) override;
  Value cutPart(Location loc, Value whole, Value global) override;

  ReshardPlanner &planner;
  FlatSymbolRefAttr meshName;

private:
  /// This rank's position along `axes`.
  Value axisIndex(Location loc, ArrayRef<AxisRef> axes);

  IRMapping mapping;
  DenseMap<Value, Sharding> shardings;
};

/// Emits the steps that bring the local part `value` of a tensor of type
/// `global` from one sharding to another.
Value emitReshard(RankBuilder &local, Location loc, Value value,
                  const Sharding &from, const Sharding &to,
                  RankedTensorType global);

LogicalResult partitionReshard(RankBuilder &local, ReshardOp op);

} // namespace mlir::weft

#endif // WEFT_LIB_PARTITION_PARTITION_H
