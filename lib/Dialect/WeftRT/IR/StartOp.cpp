// SPDX-License-Identifier: Apache-2.0

// What a collective does to its buffers follows from the collective and the
// size of its group.

#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::rt;

//===----------------------------------------------------------------------===//
// The attribute
//===----------------------------------------------------------------------===//

namespace {

/// Whether a collective has a parameter, must have it, or may.
enum class Need { No, Yes, Maybe };

Need needsIf(bool condition) { return condition ? Need::Yes : Need::No; }

} // namespace

LogicalResult CollectiveAttr::verify(
    function_ref<InFlightDiagnostic()> emitError, CollectiveKind kind,
    FlatSymbolRefAttr, AxesAttr, ReduceKindAttr reduce, OrderAttr order,
    DenseI64ArrayAttr dims, DenseI64ArrayAttr splitDims,
    DenseI64ArrayAttr concatDims, DenseI64ArrayAttr sources) {
  bool reduces = kind == CollectiveKind::AllReduce ||
                 kind == CollectiveKind::ReduceScatter;
  bool isAlongDims = kind == CollectiveKind::AllGather ||
                     kind == CollectiveKind::ReduceScatter;
  struct {
    StringRef name;
    Attribute given;
    Need need;
  } parameters[] = {
      {"reduce", reduce, needsIf(reduces)},
      {"order", order, reduces ? Need::Maybe : Need::No},
      {"dims", dims, needsIf(isAlongDims)},
      {"split_dims", splitDims, needsIf(kind == CollectiveKind::AllToAll)},
      {"concat_dims", concatDims, needsIf(kind == CollectiveKind::AllToAll)},
      {"sources", sources, needsIf(kind == CollectiveKind::Permute)}};
  for (const auto &[name, given, need] : parameters) {
    if (!given && need == Need::Yes) // collective_c1
      return emitError() << stringifyCollectiveKind(kind) << " has no '" << name
                         << "'";
    if (given && need == Need::No) // collective_c1
      return emitError() << stringifyCollectiveKind(kind) << " has '" << name
                         << "', which is not for collectives of its kind";
  }
  return success();
}

CollectiveAttr CollectiveAttr::withMesh(FlatSymbolRefAttr mesh) const {
  return get(getContext(), getKind(), mesh, getAxes(), getReduce(), getOrder(),
             getDims(), getSplitDims(), getConcatDims(), getSources());
}

//===----------------------------------------------------------------------===//
// The op
//===----------------------------------------------------------------------===//

namespace {

/// Multiplies, or divides, the size of the dim that `dims` has for buffer
/// `number` by the group's size; false if that cannot be.
bool resize(DenseI64ArrayAttr dims, unsigned number, int64_t group, bool grows,
            SmallVectorImpl<int64_t> &shape) {
  if (number >= dims.size() || dims[number] < 0 ||
      dims[number] >= static_cast<int64_t>(shape.size()))
    return false;
  int64_t &size = shape[dims[number]];
  if (grows)
    return !llvm::MulOverflow(size, group, size);
  bool divides = size % group == 0;
  size /= group;
  return divides;
}

/// Makes of the sizes of input `number` those that its output has.
bool makeOutputShape(CollectiveAttr collective, unsigned number, int64_t group,
                     SmallVectorImpl<int64_t> &shape) {
  switch (collective.getKind()) {
  case CollectiveKind::AllGather:
    return resize(collective.getDims(), number, group, /*grows=*/true, shape);
  case CollectiveKind::ReduceScatter:
    return resize(collective.getDims(), number, group, /*grows=*/false, shape);
  case CollectiveKind::AllToAll:
    return resize(collective.getSplitDims(), number, group, /*grows=*/false,
                  shape) &&
           resize(collective.getConcatDims(), number, group, /*grows=*/true,
                  shape);
  case CollectiveKind::AllReduce:
  case CollectiveKind::Permute:
    return true;
  }
  llvm_unreachable("a collective that is not listed");
}

/// Whether each list of dims has one for each of so many buffers.
bool hasDims(CollectiveAttr collective, int64_t count) {
  return llvm::all_of(
      ArrayRef<DenseI64ArrayAttr>{collective.getDims(),
                                  collective.getSplitDims(),
                                  collective.getConcatDims()},
      [&](DenseI64ArrayAttr dims) { return !dims || dims.size() == count; });
}

LogicalResult verifySources(StartOp op, int64_t group) {
  if (op.getKind() != CollectiveKind::Permute)
    return success();
  ArrayRef<int64_t> sources = op.getCollective().getSources();
  if (static_cast<int64_t>(sources.size()) == group &&
      llvm::all_of(sources, [&](int64_t source) {
        return source >= -1 && source < group;
      }))
    return success();
  return op.emitOpError("has no source in its group of ")
         << group << " for each of its members"; // start_c4
}

/// Truth values are not added up: 1 + 1 is 0.
LogicalResult verifyReduction(StartOp op) {
  ReduceKindAttr reduce = op.getCollective().getReduce();
  if (!reduce || reduce.getValue() == ReduceKind::And ||
      reduce.getValue() == ReduceKind::Or)
    return success();
  for (Value in : op.getIns())
    if (getElementTypeOrSelf(in.getType()).isInteger(1))
      return op.emitOpError("combines truth values by ")
             << stringifyReduceKind(reduce.getValue())
             << ", expected and or or";
  return success();
}

} // namespace

MeshAttr StartOp::getMesh() {
  return lookupMesh(*this, getCollective().getMesh());
}

LogicalResult StartOp::verifySymbolUses(SymbolTableCollection &) {
  if (getIns().empty() || getIns().size() != getOuts().size()) // start_c1
    return emitOpError("has ") << getIns().size() << " inputs and "
                               << getOuts().size() << " outputs";
  CollectiveAttr collective = getCollective();
  FailureOr<int64_t> group =
      verifyGroup(*this, collective.getMesh(), collective.getAxes());
  if (failed(group) ||
      failed(verifyChannel(*this, getKind(), collective.getAxes(),
                           getChannelAttr())) || // start_c2
      failed(verifySources(*this, *group)) ||
      failed(verifyReduction(*this)))
    return failure();
  for (auto [i, in, out] : llvm::enumerate(getIns(), getOuts())) {
    auto from = cast<MemRefType>(in.getType());
    auto to = cast<MemRefType>(out.getType());
    SmallVector<int64_t> shape(from.getShape());
    if (!isDense(from) || !isDense(to) ||
        !hasDims(collective, getIns().size()) ||
        !makeOutputShape(collective, i, *group, shape) ||
        from.getElementType() != to.getElementType() ||
        to.getShape() != ArrayRef(shape)) // start_c3
      return emitOpError("makes no dense ")
             << to << " of input #" << i << " of type " << from
             << " in groups of " << *group;
  }
  return success();
}
