// SPDX-License-Identifier: Apache-2.0

// What a choice of an op's sharding means for its tensors.

#include "weft/Rules/OpSharding.h"

using namespace mlir;
using namespace mlir::weft;

int64_t mlir::weft::getElementBits(RankedTensorType type) {
  Type element = type.getElementType();
  return element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 64;
}

Elements mlir::weft::getElements(RankedTensorType type) {
  return {getElementBits(type), !isa<FloatType>(type.getElementType())};
}

Sharding mlir::weft::getNeeded(const OpView &view, const OpSharding &choice,
                               unsigned index) {
  Sharding needed =
      getTensorSharding(*view.operands[index].factors, choice.factors);
  if (!choice.kept.empty() && choice.isPartial[index]) {
    needed.partial = choice.kept;
    needed.kind = choice.kind;
  }
  return needed;
}

Sharding mlir::weft::getMade(const OpView &view, const OpSharding &choice,
                             unsigned index) {
  Sharding made = getResultSharding(*view.rule, index, choice.factors);
  if (choice.kept.empty())
    return made;
  AxisList all = made.partial;
  llvm::append_range(all, choice.kept);
  made.partial = made.partial.empty() ? choice.kept : canonicalAxisSet(all);
  made.kind = choice.kind;
  return made;
}

Sharding mlir::weft::getTarget(const std::optional<Sharding> &wish,
                               const Sharding &made) {
  if (!wish)
    return made.resolved().closed();
  Sharding target = *wish;
  AxisList used = target.usedAxes();
  for (int64_t d = 0; d < target.rank(); ++d)
    if (target.isOpen(d) && target.dims[d].empty() &&
        !anyOverlap(used, made.dims[d]))
      target.dims[d] = made.dims[d];
  return target.closed();
}
