// SPDX-License-Identifier: Apache-2.0

// Scatters without atomics: each thread has an element of the rows, and adds
// all updates of it in their order, which is the host's.

#include "DeviceKernel.h"
#include "weft/Codegen/Kernels/ScatterEmitter.h"
#include "weft/Codegen/Program/EmitMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::weft;

rt::LaunchConfig mlir::weft::emitScatterKernel(rt::ScatterAddOp op,
                                               const DeviceKernel &kernel,
                                               ArrayRef<unsigned> bufferOf) {
  MemRefType updates = op.getUpdates().getType();
  Location loc = op.getLoc();
  LLVM::LLVMFuncOp func = kernel.func;
  auto builder = OpBuilder::atBlockEnd(&func.getBody().front());
  SmallVector<int> dims = getScatterDims(op);
  int64_t numElements = 1;
  for (int dim : dims)
    numElements *= updates.getDimSize(dim);
  int64_t numBlocks = getNumBlocks(numElements);
  auto loop =
      scf::ForOp::create(builder, loc, emitGridThread(builder, loc, kernel),
                         emitInt(builder, loc, numElements),
                         emitInt(builder, loc, numBlocks * kBlockThreads));
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> given(updates.getRank());
  Value rest = loop.getInductionVar();
  for (int dim : llvm::reverse(dims)) {
    Value size = emitInt(builder, loc, updates.getDimSize(dim));
    given[dim] = arith::RemUIOp::create(builder, loc, rest, size);
    rest = arith::DivUIOp::create(builder, loc, rest, size);
  }
  emitScatterLoops(builder, op, kernel, bufferOf, given, [&](int dim) {
    return std::pair(emitInt(builder, loc, 0),
                     emitInt(builder, loc, updates.getDimSize(dim)));
  });
  builder.setInsertionPointToEnd(&func.getBody().front());
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  return setLaunch(kernel, numBlocks, kBlockThreads);
}
