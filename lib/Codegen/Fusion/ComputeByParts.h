// SPDX-License-Identifier: Apache-2.0

// Elementwise ops around what cuts tensors and puts them together.

#ifndef WEFT_LIB_CODEGEN_FUSION_COMPUTEBYPARTS_H
#define WEFT_LIB_CODEGEN_FUSION_COMPUTEBYPARTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::weft {

/// Moves elementwise ops to where they meet those that they can be fused with:
/// below slices and reshapes of what they make, into the parts of a
/// concatenation that they narrow, and into the two parts of a sum of tensors
/// that are padded so that each has elements where the other one has none.
void computeByParts(func::FuncOp func);

} // namespace mlir::weft

#endif // WEFT_LIB_CODEGEN_FUSION_COMPUTEBYPARTS_H
