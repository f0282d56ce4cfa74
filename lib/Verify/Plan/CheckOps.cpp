// SPDX-License-Identifier: Apache-2.0

// An index that is known lies in its dim. Others read zero where there is no
// element.

#include "CheckOps.h"
#include "PlannedProgram.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

LogicalResult mlir::weft::proof::checkTouched(Operation *op) {
  auto read = dyn_cast<rt::ReadScalarOp>(op);
  if (!read)
    return success();
  auto type = cast<MemRefType>(read.getBuffer().getType());
  for (auto [dim, index] : llvm::enumerate(read.getIndices())) {
    APInt value;
    if (matchPattern(index, m_ConstantInt(&value)) &&
        (value.isNegative() || value.uge(type.getDimSize(dim))))
      return op->emitError()
             << getOpName(op) << " has subscript " << value.getSExtValue()
             << " in dim " << dim << " of " << type;
  }
  return success();
}
