// SPDX-License-Identifier: Apache-2.0

#ifndef WEFT_LIB_CODEGEN_FUSION_READSCALARS_H
#define WEFT_LIB_CODEGEN_FUSION_READSCALARS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::weft {

/// What ops without loops take out of scalar tensors they read as operands
/// instead. So it can be seen that such an op may write the result to their
/// memory, and ops that read other scalars are told apart without comparing
/// their bodies.
void readScalarsAsOperands(func::FuncOp func);

} // namespace mlir::weft

#endif // WEFT_LIB_CODEGEN_FUSION_READSCALARS_H
