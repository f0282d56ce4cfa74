// SPDX-License-Identifier: Apache-2.0

// Between the attributes of the dialect (MeshAttr, ShardingAttr, ...), which
// the IR holds, and the value classes of weft/Support, which compute.
//
// Also: the mesh of a module, and the shardings that the IR states for values.
//
// Conversion to value classes assumes that the attribute was verified
// (verifySharding). The way back gives canonical attributes: whole axes are
// written without their size.

#ifndef WEFT_RULES_SHARDINGCONVERSION_H
#define WEFT_RULES_SHARDINGCONVERSION_H

#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Sharding/Sharding.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

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

/// The mesh of a module, under its name.
struct NamedMesh {
  FlatSymbolRefAttr name;
  Mesh mesh;

  ShardingAttr toAttr(const Sharding &sharding) const {
    return weft::toAttr(sharding, name, mesh);
  }
};

/// Finds the mesh of a module: nullopt if it has none, which means one rank.
std::optional<NamedMesh> findMesh(ModuleOp module);

/// Emits and fails if a function has more than one block.
LogicalResult checkOneBlock(FunctionOpInterface func);

/// Calls `visit` for each function that has a body; for none if the module has
/// no mesh. Emits and fails at one of more than one block.
LogicalResult
forEachBody(ModuleOp module,
            llvm::function_ref<void(func::FuncOp, const NamedMesh &)> visit);

/// Returns the canonical sharding that the IR states for a value: of the
/// argument, or in `weft.shardings` of the op. Nullopt if there is none.
std::optional<Sharding> getStatedSharding(Value value, const Mesh &mesh);

/// Sets `weft.shardings` of an op.
void setStatedShardings(Operation *op, ArrayRef<Sharding> shardings,
                        const NamedMesh &mesh);

/// Sets one attribute of all arguments, or results; null leaves one as it is.
/// One after the other would take time quadratic in their number.
void setArgAttrs(FunctionOpInterface func, StringRef name,
                 ArrayRef<Attribute> values);
void setResultAttrs(FunctionOpInterface func, StringRef name,
                    ArrayRef<Attribute> values);

} // namespace mlir::weft

#endif // WEFT_RULES_SHARDINGCONVERSION_H
