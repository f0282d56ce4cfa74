// SPDX-License-Identifier: Apache-2.0

#include "ElementParting.h"

#include "weft/Support/DescendTogether.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

/// Bodies of named ops come from nowhere: the op around tells more.
static bool isSomewhere(Operation *op) {
  return op && !isa<UnknownLoc>(op->getLoc());
}

ElementParting proof::findParting(const ProgramElements &program,
                                  const Element *own,
                                  const ProgramElements &reference,
                                  const Element *other) {
  ElementParting parting{own, other};
  descendTogether<Element>(
      own, other,
      [](const Element &a, const Element &b) {
        return a.kind == b.kind && a.name == b.name && a.details == b.details &&
               a.numbers == b.numbers;
      },
      [&](const Element *a, const Element *b) {
        parting.own = a;
        parting.other = b;
        if (Operation *op = program.getOrigin(a);
            isSomewhere(op) || !parting.ownOp)
          parting.ownOp = op;
        if (Operation *op = reference.getOrigin(b);
            isSomewhere(op) || !parting.otherOp)
          parting.otherOp = op;
      });
  return parting;
}

LogicalResult
proof::checkBorder(func::FuncOp func, func::FuncOp reference,
                   function_ref<bool(DictionaryAttr, DictionaryAttr)> isSame) {
  if (func.getFunctionType() != reference.getFunctionType())
    return func.emitOpError("has type ")
           << func.getFunctionType() << ", but was made from one of type "
           << reference.getFunctionType();
  auto get = [&](DictionaryAttr attrs) {
    return attrs ? attrs : DictionaryAttr::get(func.getContext());
  };
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    if (!isSame(get(func.getArgAttrDict(i)), get(reference.getArgAttrDict(i))))
      return func.emitOpError("has other attributes on argument #")
             << i << " than what it was made from";
  for (unsigned i = 0; i < func.getNumResults(); ++i)
    if (!isSame(get(func.getResultAttrDict(i)),
                get(reference.getResultAttrDict(i))))
      return func.emitOpError("has other attributes on result #")
             << i << " than what it was made from";
  return success();
}
