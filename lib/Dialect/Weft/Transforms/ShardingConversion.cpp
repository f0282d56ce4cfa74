// SPDX-License-Identifier: Apache-2.0

// Conversion between sharding attributes and the value classes of
// weft/Support.

#include "weft/Dialect/Weft/Transforms/ShardingConversion.h"

using namespace mlir;
using namespace mlir::weft;

Mesh mlir::weft::toMesh(MeshAttr mesh) {
  SmallVector<std::pair<StringRef, int64_t>> axes;
  for (MeshAxisAttr axis : mesh.getAxes())
    axes.push_back({axis.getName(), axis.getSize()});
  return Mesh(axes);
}

AxisRef mlir::weft::toAxisRef(AxisRefAttr axis, const Mesh &mesh) {
  AxisRef whole = mesh.wholeAxis(*mesh.axisIndex(axis.getName()));
  if (axis.isWholeAxis())
    return whole;
  return {whole.axis, axis.getPreSize(), axis.getSize()};
}

AxisList mlir::weft::toAxes(ArrayRef<AxisRefAttr> axes, const Mesh &mesh) {
  AxisList list;
  for (AxisRefAttr axis : axes)
    list.push_back(toAxisRef(axis, mesh));
  return list;
}

Sharding mlir::weft::toSharding(ShardingAttr sharding, const Mesh &mesh) {
  Sharding value = Sharding::replicated(sharding.getRank());
  for (auto [d, dim] : llvm::enumerate(sharding.getDims())) {
    value.dims[d] = toAxes(dim.getAxes(), mesh);
    value.setOpen(d, dim.getIsOpen());
  }
  value.storage = toAxes(sharding.getStorage(), mesh);
  value.partial = toAxes(sharding.getPartial(), mesh);
  value.kind = toReduction(sharding.getPartialKind());
  return value;
}

AxisRefAttr mlir::weft::toAttr(MLIRContext *ctx, const AxisRef &axis,
                               const Mesh &mesh) {
  StringRef name = mesh.axisName(axis.axis);
  if (axis == mesh.wholeAxis(axis.axis))
    return AxisRefAttr::get(ctx, name);
  return AxisRefAttr::get(ctx, name, axis.pre, axis.size);
}

namespace {

SmallVector<AxisRefAttr> toAttrList(MLIRContext *ctx, ArrayRef<AxisRef> axes,
                                    const Mesh &mesh) {
  return llvm::map_to_vector(
      axes, [&](const AxisRef &axis) { return toAttr(ctx, axis, mesh); });
}

} // namespace

AxesAttr mlir::weft::toAttr(MLIRContext *ctx, ArrayRef<AxisRef> axes,
                            const Mesh &mesh) {
  return AxesAttr::get(ctx, toAttrList(ctx, axes, mesh));
}

ShardingAttr mlir::weft::toAttr(const Sharding &sharding,
                                FlatSymbolRefAttr meshName, const Mesh &mesh) {
  MLIRContext *ctx = meshName.getContext();
  SmallVector<DimShardingAttr> dims;
  for (int64_t d = 0; d < sharding.rank(); ++d)
    dims.push_back(DimShardingAttr::get(
        ctx, toAttrList(ctx, sharding.dims[d], mesh), sharding.isOpen(d)));
  return ShardingAttr::get(
      ctx, meshName, dims, toAttrList(ctx, sharding.storage, mesh),
      toReduceKind(sharding.kind), toAttrList(ctx, sharding.partial, mesh));
}
