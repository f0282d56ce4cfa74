// SPDX-License-Identifier: Apache-2.0

// The kernel of a scatter, which threads cut along a dim of the rows.

#include "KernelEmitter.h"
#include "weft/Codegen/Kernels/ScatterEmitter.h"

using namespace mlir;
using namespace mlir::weft;

int64_t mlir::weft::emitScatterAdd(rt::ScatterAddOp op,
                                   const KernelFunction &kernel,
                                   ArrayRef<unsigned> bufferOf) {
  MemRefType updates = op.getUpdates().getType();
  Location loc = op.getLoc();
  LLVM::LLVMFuncOp func = kernel.func;
  auto builder = OpBuilder::atBlockEnd(&func.getBody().front());
  // The largest; -1 if there is none.
  int cut = -1;
  for (int dim : getScatterDims(op))
    if (cut < 0 || updates.getDimSize(dim) >= updates.getDimSize(cut))
      cut = dim;
  SmallVector<Value> given(updates.getRank());
  emitScatterLoops(builder, op, kernel, bufferOf, given, [&](int dim) {
    return dim == cut
               ? std::pair(kernel.begin, kernel.end)
               : std::pair(emitInt(builder, loc, 0),
                           emitInt(builder, loc, updates.getDimSize(dim)));
  });
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  return cut < 0 ? 1 : updates.getDimSize(cut);
}
