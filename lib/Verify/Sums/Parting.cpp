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

mlir::LogicalResult mlir::weft::proof::reportParting(func::FuncOp func,
                                                     unsigned result,
                                                     const Parting &parting) {
  Operation *op =
      parting.ownOp ? parting.ownOp : func.getBody().front().getTerminator();
  InFlightDiagnostic diag = op->emitOpError("makes result #")
                            << result << " another one: " << parting.own->str()
                            << ", but in the global program "
                            << parting.reference->str();
  if (parting.referenceOp)
    diag.attachNote(parting.referenceOp->getLoc())
        << "this op of the global program makes " << parting.reference->str();
  return diag;
}
