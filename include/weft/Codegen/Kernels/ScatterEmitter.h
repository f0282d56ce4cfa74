// SPDX-License-Identifier: Apache-2.0

// Writes the kernel of a scatter: serial loops over the updates, with the
// table's row by the index of each. Which elements of rows are whose is the
// target's: updates of one element are added in the order of the loops.

#ifndef WEFT_CODEGEN_KERNELS_SCATTEREMITTER_H
#define WEFT_CODEGEN_KERNELS_SCATTEREMITTER_H

#include "weft/Codegen/Kernels/PointEmitter.h"

namespace mlir::weft {

/// The dims of the updates that give different elements of a row.
llvm::SmallVector<int> getScatterDims(rt::ScatterAddOp op);

/// From where to where a dim's loop runs.
using GetRange = llvm::function_ref<std::pair<Value, Value>(int dim)>;

/// Emits the scatter at the builder's place. `given` has the index along each
/// dim of the updates, or null where there is to be a loop.
void emitScatterLoops(OpBuilder &builder, rt::ScatterAddOp op,
                      const KernelArguments &kernel,
                      llvm::ArrayRef<unsigned> bufferOf,
                      llvm::ArrayRef<Value> given, GetRange getRange);

} // namespace mlir::weft

#endif // WEFT_CODEGEN_KERNELS_SCATTEREMITTER_H
