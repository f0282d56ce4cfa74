// SPDX-License-Identifier: Apache-2.0

// The ops of the dialect that are formulas on numbers.

#ifndef WEFT_DIALECT_WEFT_IR_FORMULAS_H
#define WEFT_DIALECT_WEFT_IR_FORMULAS_H

#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include <optional>

#define GET_OP_CLASSES
#include "weft/Dialect/Weft/IR/WeftFormulaOps.h.inc"

namespace mlir::weft {

/// How many ops of arith a formula is about where code is made of it, with
/// constants; nullopt of other ops.
std::optional<int> getFormulaSize(Operation *op);

/// How many of the indices of a place are no constants.
int countIndices(PlaceOp op);

/// A place as ops of arith, of `indices`.
Value emitPlace(OpBuilder &builder, PlaceOp op, ValueRange indices);

} // namespace mlir::weft

#endif // WEFT_DIALECT_WEFT_IR_FORMULAS_H
