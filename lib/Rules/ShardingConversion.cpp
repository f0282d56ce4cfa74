// SPDX-License-Identifier: Apache-2.0

// Conversion between sharding attributes and the value classes of
// weft/Support.

#include "weft/Rules/ShardingConversion.h"

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

std::optional<NamedMesh> mlir::weft::findMesh(ModuleOp module) {
  for (MeshOp op : module.getOps<MeshOp>())
    return NamedMesh{FlatSymbolRefAttr::get(op.getSymNameAttr()),
                     toMesh(op.getMesh())};
  return std::nullopt;
}

LogicalResult mlir::weft::checkOneBlock(FunctionOpInterface func) {
  size_t numBlocks = func.getFunctionBody().getBlocks().size();
  if (numBlocks > 1)
    return func.emitOpError("has ")
           << numBlocks
           << " blocks, expected 1: sharding needs straight-line "
              "code";
  return success();
}

LogicalResult mlir::weft::forEachBody(
    ModuleOp module,
    llvm::function_ref<void(func::FuncOp, const NamedMesh &)> visit) {
  std::optional<NamedMesh> mesh = findMesh(module);
  if (!mesh)
    return success();
  for (auto func : module.getOps<func::FuncOp>()) {
    if (failed(checkOneBlock(func)))
      return failure();
    if (!func.isDeclaration())
      visit(func, *mesh);
  }
  return success();
}

std::optional<Sharding> mlir::weft::getStatedSharding(Value value,
                                                      const Mesh &mesh) {
  ShardingAttr attr;
  if (auto arg = dyn_cast<BlockArgument>(value)) {
    auto func = dyn_cast<FunctionOpInterface>(arg.getOwner()->getParentOp());
    if (func && arg.getOwner()->isEntryBlock())
      attr = func.getArgAttrOfType<ShardingAttr>(arg.getArgNumber(),
                                                 WeftDialect::kShardingAttr);
  } else {
    auto result = cast<OpResult>(value);
    auto list = result.getOwner()->getAttrOfType<ArrayAttr>(
        WeftDialect::kShardingsAttr);
    if (list)
      attr = cast<ShardingAttr>(list[result.getResultNumber()]);
  }
  if (!attr)
    return std::nullopt;
  return toSharding(attr, mesh).canonical();
}

void mlir::weft::setStatedShardings(Operation *op, ArrayRef<Sharding> shardings,
                                    const NamedMesh &mesh) {
  SmallVector<Attribute> attrs;
  for (const Sharding &sharding : shardings)
    attrs.push_back(mesh.toAttr(sharding));
  op->setAttr(WeftDialect::kShardingsAttr,
              ArrayAttr::get(op->getContext(), attrs));
}

static DictionaryAttr withAttr(MLIRContext *ctx, DictionaryAttr dict,
                               StringRef name, Attribute value) {
  NamedAttrList list(dict);
  if (value)
    list.set(name, value);
  return list.getDictionary(ctx);
}

void mlir::weft::setArgAttrs(FunctionOpInterface func, StringRef name,
                             ArrayRef<Attribute> values) {
  SmallVector<DictionaryAttr> dicts;
  for (auto [i, value] : llvm::enumerate(values))
    dicts.push_back(
        withAttr(func->getContext(), func.getArgAttrDict(i), name, value));
  func.setAllArgAttrs(dicts);
}

void mlir::weft::setResultAttrs(FunctionOpInterface func, StringRef name,
                                ArrayRef<Attribute> values) {
  SmallVector<DictionaryAttr> dicts;
  for (auto [i, value] : llvm::enumerate(values))
    dicts.push_back(
        withAttr(func->getContext(), func.getResultAttrDict(i), name, value));
  func.setAllResultAttrs(dicts);
}
