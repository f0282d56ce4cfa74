// SPDX-License-Identifier: Apache-2.0

// From two expressions that differ down to the first place where they do.

#ifndef WEFT_SUPPORT_DESCENDTOGETHER_H
#define WEFT_SUPPORT_DESCENDTOGETHER_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLExtras.h"

namespace mlir::weft::proof {

/// Goes on to the first operands that differ, as long as the expressions are
/// of one kind, and calls `visit` for each pair on the way.
template <typename Node>
void descendTogether(
    const Node *own, const Node *other,
    llvm::function_ref<bool(const Node &, const Node &)> isOfOneKind,
    llvm::function_ref<void(const Node *, const Node *)> visit) {
  while (true) {
    visit(own, other);
    if (!isOfOneKind(*own, *other) ||
        own->operands.size() != other->operands.size())
      return;
    auto pairs = llvm::zip(own->operands, other->operands);
    auto it = llvm::find_if(pairs, [](auto pair) {
      return std::get<0>(pair) != std::get<1>(pair);
    });
    if (it == pairs.end())
      return;
    std::tie(own, other) = *it;
  }
}

} // namespace mlir::weft::proof

#endif // WEFT_SUPPORT_DESCENDTOGETHER_H
