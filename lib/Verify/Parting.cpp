// SPDX-License-Identifier: Apache-2.0

// From two results that differ down to the first op that does.

#include "Parting.h"

using namespace mlir;
using namespace mlir::weft::proof;

Parting mlir::weft::proof::findParting(const LocalLifter &ownProgram,
                                       const Form *own,
                                       const LocalLifter &referenceProgram,
                                       const Form *reference) {
  Parting parting{own, reference};
  while (true) {
    if (Operation *op = ownProgram.getOrigin(parting.own))
      parting.ownOp = op;
    if (Operation *op = referenceProgram.getOrigin(parting.reference))
      parting.referenceOp = op;
    const Form *a = parting.own, *b = parting.reference;
    if (a->kind != b->kind || a->name != b->name ||
        a->operands.size() != b->operands.size())
      return parting;
    auto pairs = llvm::zip(a->operands, b->operands);
    auto it = llvm::find_if(pairs, [](auto pair) {
      return std::get<0>(pair) != std::get<1>(pair);
    });
    if (it == pairs.end())
      return parting;
    std::tie(parting.own, parting.reference) = *it;
  }
}
