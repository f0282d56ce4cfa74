// SPDX-License-Identifier: Apache-2.0

// Between the attributes of the dialect (MeshAttr, ShardingAttr, ...), which
// the IR holds, and the value classes of weft/Support, which compute.
//
// Conversion to value classes assumes that the attribute was verified
// (verifySharding). The way back gives canonical attributes: whole axes are
// written without their size.

#ifndef WEFT_DIALECT_WEFT_TRANSFORMS_SHARDINGCONVERSION_H
#define WEFT_DIALECT_WEFT_TRANSFORMS_SHARDINGCONVERSION_H

#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Support/Sharding.h"

namespace mlir::weft {

Mesh toMesh(MeshAttr mesh);

AxisRef toAxisRef(AxisRefAttr axis, const Mesh &mesh);
AxisList toAxes(ArrayRef<AxisRefAttr> axes, const Mesh &mesh);
Sharding toSharding(ShardingAttr sharding, const Mesh &mesh);

AxisRefAttr toAttr(MLIRContext *ctx, const AxisRef &axis, const Mesh &mesh);
AxesAttr toAttr(MLIRContext *ctx, ArrayRef<AxisRef> axes, const Mesh &mesh);
ShardingAttr toAttr(const Sharding &sharding, FlatSymbolRefAttr meshName,
                    const Mesh &mesh);

inline Reduction toReduction(ReduceKind kind) {
  return static_cast<Reduction>(kind);
}
inline ReduceKind toReduceKind(Reduction kind) {
  return static_cast<ReduceKind>(kind);
}

} // namespace mlir::weft

#endif // WEFT_DIALECT_WEFT_TRANSFORMS_SHARDINGCONVERSION_H
