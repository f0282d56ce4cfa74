// SPDX-License-Identifier: Apache-2.0

#include "weft/Analysis/OpAttributes.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::weft;

/// Ops of few kinds take turns.
static constexpr size_t kMaxKnown = 8;

DictionaryAttr OpAttributes::get(Operation *op) {
  auto isSame = [&](const Known &other) {
    return other.op->getDiscardableAttrDictionary() ==
               op->getDiscardableAttrDictionary() &&
           op->getName().compareOpProperties(other.op->getPropertiesStorage(),
                                             op->getPropertiesStorage());
  };
  std::vector<Known> &ofName = known[op->getName()];
  auto it = llvm::find_if(ofName, isSame);
  if (it == ofName.end()) {
    if (ofName.size() == kMaxKnown)
      ofName.pop_back();
    ofName.insert(ofName.begin(), {op, op->getAttrDictionary()});
  } else {
    std::rotate(ofName.begin(), it, it + 1);
  }
  return ofName.front().all;
}
