// SPDX-License-Identifier: Apache-2.0

// Writes the code of a scatter. Who takes which updates is the target's: those
// of one element are added in the order of loops over the updates' dims.

#ifndef WEFT_CODEGEN_KERNELS_SCATTEREMITTER_H
#define WEFT_CODEGEN_KERNELS_SCATTEREMITTER_H

#include "weft/Codegen/Kernels/PointEmitter.h"

namespace mlir::weft {

/// The dims of the updates that give different elements of a row.
llvm::SmallVector<int> getScatterDims(rt::ScatterAddOp op);

/// Emits what is done for one update, at the builder's place.
class ScatterEmitter {
public:
  ScatterEmitter(OpBuilder &builder, rt::ScatterAddOp op,
                 const KernelArguments &kernel,
                 llvm::ArrayRef<unsigned> bufferOf);

  /// The index along each dim of the updates, which the caller sets.
  llvm::SmallVector<Value> index;

  /// The row of the table that the update goes to, an i64, which may be
  /// outside: it takes the index along the dims of the indices.
  Value emitRow();
  Value emitIsInside(Value row);
  /// Adds one element to the row, which is inside.
  void emitUpdate(Value row);

private:
  Value emitPlace(MemRefType type, AffineMap map, Value row = {});
  Value getAddress(unsigned operand, MemRefType type, Value place);

  OpBuilder &builder;
  rt::ScatterAddOp op;
  const KernelArguments &kernel;
  llvm::ArrayRef<unsigned> bufferOf;
  Location loc;
  MemRefType updates, table, indices;
};

/// From where to where a dim's loop runs.
using GetRange = llvm::function_ref<std::pair<Value, Value>(int dim)>;

/// Emits serial loops over the updates. `given` has the index along each
/// dim of the updates, or null where there is to be a loop.
void emitScatterLoops(OpBuilder &builder, rt::ScatterAddOp op,
                      const KernelArguments &kernel,
                      llvm::ArrayRef<unsigned> bufferOf,
                      llvm::ArrayRef<Value> given, GetRange getRange);

} // namespace mlir::weft

#endif // WEFT_CODEGEN_KERNELS_SCATTEREMITTER_H
