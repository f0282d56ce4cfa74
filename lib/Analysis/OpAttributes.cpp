// SPDX-License-Identifier: Apache-2.0

#include "weft/Analysis/OpAttributes.h"

using namespace mlir;
using namespace mlir::weft;

DictionaryAttr OpAttributes::get(Operation *op) {
  auto &[last, all] = known[op->getName()];
  bool isSame = last &&
                last->getDiscardableAttrDictionary() ==
                    op->getDiscardableAttrDictionary() &&
                op->getName().compareOpProperties(last->getPropertiesStorage(),
                                                  op->getPropertiesStorage());
  if (!isSame)
    all = op->getAttrDictionary();
  last = op;
  return all;
}
