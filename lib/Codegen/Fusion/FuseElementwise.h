// SPDX-License-Identifier: Apache-2.0

// Elementwise producers move into the ops that read them.

#ifndef WEFT_LIB_CODEGEN_FUSION_FUSEELEMENTWISE_H
#define WEFT_LIB_CODEGEN_FUSION_FUSEELEMENTWISE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::weft {

/// Elements of a tensor; 1 for other values and for tensors of dynamic shape.
int64_t getNumElements(Value value);

/// Bytes of a tensor, or of a scalar.
int64_t getBytes(Value value);

/// A formula, a lookup or a region instead of an instruction. A tensor's only
/// element is read once.
bool isHeavyScalar(Operation &op);

/// Fuses elementwise producers into their consumers. One with several readers
/// gets a copy for each where that does little, and reads no more memory than
/// what it makes would take; so do formulas, if rows of their result have more
/// than `scratchBytes`, which no kernel keeps. Fails if rewriting does not come
/// to an end.
LogicalResult fuseElementwise(func::FuncOp func, int64_t scratchBytes);

} // namespace mlir::weft

#endif // WEFT_LIB_CODEGEN_FUSION_FUSEELEMENTWISE_H
