// SPDX-License-Identifier: Apache-2.0

#include "ElementParting.h"

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
  while (true) {
    if (Operation *op = program.getOrigin(parting.own);
        isSomewhere(op) || !parting.ownOp)
      parting.ownOp = op;
    if (Operation *op = reference.getOrigin(parting.other);
        isSomewhere(op) || !parting.otherOp)
      parting.otherOp = op;
    const Element *a = parting.own, *b = parting.other;
    if (a->kind != b->kind || a->name != b->name || a->details != b->details ||
        a->numbers != b->numbers || a->operands.size() != b->operands.size())
      return parting;
    auto pairs = llvm::zip(a->operands, b->operands);
    auto it = llvm::find_if(pairs, [](auto pair) {
      return std::get<0>(pair) != std::get<1>(pair);
    });
    if (it == pairs.end())
      return parting;
    std::tie(parting.own, parting.other) = *it;
  }
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
