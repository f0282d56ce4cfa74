// SPDX-License-Identifier: Apache-2.0

// What a collective does to its buffers follows from the collective, its
// attributes and the size of its group.

#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::rt;

namespace {

/// Whether nothing lies between a buffer's elements, which are in row-major
/// order.
bool isDense(MemRefType type) {
  auto layout = dyn_cast<StridedLayoutAttr>(type.getLayout());
  if (!layout)
    return true;
  int64_t expected = 1;
  for (int64_t i = type.getRank() - 1; i >= 0; --i) {
    if (type.getDimSize(i) != 1 && layout.getStrides()[i] != expected)
      return false;
    expected *= type.getDimSize(i);
  }
  return true;
}

/// The dim that `params` has under `name` for buffer `number`; nullopt if there
/// is none.
std::optional<int64_t> getDim(StartOp op, StringRef name, unsigned number) {
  auto dims = op.getParams().getAs<DenseI64ArrayAttr>(name);
  int64_t rank = cast<MemRefType>(op.getIns()[number].getType()).getRank();
  if (!dims || dims.size() != static_cast<int64_t>(op.getIns().size()) ||
      dims[number] < 0 || dims[number] >= rank)
    return std::nullopt;
  return dims[number];
}

/// Multiplies, or divides, the size of the dim under `name` by the group's
/// size; false if that cannot be.
bool resize(StartOp op, StringRef name, unsigned number, int64_t group,
            bool grows, SmallVectorImpl<int64_t> &shape) {
  std::optional<int64_t> dim = getDim(op, name, number);
  if (!dim)
    return false;
  if (grows)
    return !llvm::MulOverflow(shape[*dim], group, shape[*dim]);
  bool divides = shape[*dim] % group == 0;
  shape[*dim] /= group;
  return divides;
}

/// The sizes that the collective makes of those of input `number`.
bool getOutputShape(StartOp op, unsigned number, int64_t group,
                    SmallVectorImpl<int64_t> &shape) {
  StringRef kind = op.getCollective();
  if (kind == "all_gather")
    return resize(op, "dims", number, group, /*grows=*/true, shape);
  if (kind == "reduce_scatter")
    return resize(op, "dims", number, group, /*grows=*/false, shape);
  if (kind == "all_to_all")
    return resize(op, "split_dims", number, group, /*grows=*/false, shape) &&
           resize(op, "concat_dims", number, group, /*grows=*/true, shape);
  return true;
}

} // namespace

LogicalResult StartOp::verify() {
  if (getIns().size() != getOuts().size()) // start_c1
    return emitOpError("has ")
           << getOuts().size() << " outputs, expected " << getIns().size();
  StringRef known[] = {"all_gather", "reduce_scatter", "all_reduce",
                       "all_to_all", "permute"};
  if (!llvm::is_contained(known, getCollective())) // start_c2
    return emitOpError("has unknown collective '") << getCollective() << "'";
  auto axes = getParams().getAs<AxesAttr>("axes");
  auto meshName = getParams().getAs<FlatSymbolRefAttr>("mesh");
  MeshAttr mesh = axes && meshName ? lookupMesh(*this, meshName) : nullptr;
  // That they are there is for the proofs to see.
  if (!mesh)
    return success();
  int64_t group = 1;
  for (AxisRefAttr axis : axes.getAxes()) {
    std::optional<int64_t> size = getAxisRefSize(mesh, axis);
    if (!size || *size < 1) // start_c3
      return emitOpError("has an axis ")
             << axis.getName() << " that its mesh has not";
    group *= *size;
  }
  auto sources = getParams().getAs<DenseI64ArrayAttr>("sources");
  if (getCollective() == "permute" &&
      (!sources || sources.size() != group ||
       llvm::any_of(sources.asArrayRef(), [&](int64_t source) {
         return source < -1 || source >= group;
       }))) // start_c3
    return emitOpError("has no source in its group of ")
           << group << " for each of its members";
  for (auto [i, in, out] : llvm::enumerate(getIns(), getOuts())) {
    auto from = cast<MemRefType>(in.getType());
    auto to = cast<MemRefType>(out.getType());
    SmallVector<int64_t> shape(from.getShape());
    if (!isDense(from) || !isDense(to) ||
        !getOutputShape(*this, i, group, shape) ||
        from.getElementType() != to.getElementType() ||
        to.getShape() != ArrayRef(shape)) // start_c3
      return emitOpError("makes no dense ")
             << to << " of input #" << i << " of type " << from
             << " in groups of " << group;
  }
  return success();
}
