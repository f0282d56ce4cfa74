// SPDX-License-Identifier: Apache-2.0

// From two results that differ down to the first op that does.

#include "Parting.h"

#include "weft/Support/DescendTogether.h"

using namespace mlir;
using namespace mlir::weft::proof;

Parting mlir::weft::proof::findParting(const LocalLifter &ownProgram,
                                       const Form *own,
                                       const LocalLifter &referenceProgram,
                                       const Form *reference) {
  Parting parting{own, reference};
  descendTogether<Form>(
      own, reference,
      [](const Form &a, const Form &b) {
        return a.kind == b.kind && a.name == b.name;
      },
      [&](const Form *a, const Form *b) {
        parting.own = a;
        parting.reference = b;
        if (Operation *op = ownProgram.getOrigin(a))
          parting.ownOp = op;
        if (Operation *op = referenceProgram.getOrigin(b))
          parting.referenceOp = op;
      });
  return parting;
}
