// SPDX-License-Identifier: Apache-2.0

// Writes the loops of a kernel: from a fused group on buffers and its loop
// structure to a function of scf, arith, math and llvm loads and stores.

#ifndef WEFT_LIB_CONVERSION_WEFTTOHOST_KERNELEMITTER_H
#define WEFT_LIB_CONVERSION_WEFTTOHOST_KERNELEMITTER_H

#include "KernelShape.h"

#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::weft {

/// Finds the loop structure of a fused op, with the strides of its buffers if
/// it is on buffers. Emits an error at the op if there is none.
FailureOr<KernelShape> analyzeFused(rt::FusedOp op);

/// The function of a kernel, before its loops: the addresses of its buffers
/// and the range that it is called for.
struct KernelFunction {
  LLVM::LLVMFuncOp func;
  llvm::SmallVector<Value> buffers;
  Value begin, end;
};

/// Makes `void name(ptr buffers, i64 begin, i64 end)`, which loads the
/// addresses of the buffers and calls the function that is returned.
/// `isPrivate[i]`: no other buffer overlaps buffer i.
KernelFunction createKernelFunction(OpBuilder &builder, Location loc,
                                    llvm::StringRef name,
                                    llvm::ArrayRef<bool> isPrivate);

/// The address of the element at `index` of a buffer.
Value emitAddress(OpBuilder &builder, Location loc, Value buffer, Type element,
                  Value index);
/// Loads and stores; i1 is a byte in memory.
Value emitLoad(OpBuilder &builder, Location loc, Type element, Value address);

/// The element of a buffer at `subscripts`, or zero if one of them that is
/// `checked` is outside; others are null there.
Value emitElement(OpBuilder &builder, Location loc, MemRefType type,
                  Value address, ValueRange subscripts,
                  llvm::ArrayRef<Value> checked);
void emitStore(OpBuilder &builder, Location loc, Value value, Value address);
/// An i64 constant.
Value emitInt(OpBuilder &builder, Location loc, int64_t value);

/// Emits the loops of `op` into `kernel`. `bufferOf` gives the index of the
/// kernel's buffer for each input, then for each output.
LogicalResult emitKernel(rt::FusedOp op, const KernelShape &shape,
                         const KernelFunction &kernel,
                         llvm::ArrayRef<unsigned> bufferOf);

/// The same for the serial loops of a scatter, which are cut along a dim of the
/// slices. Gives that dim's size.
int64_t emitScatterAdd(rt::ScatterAddOp op, const KernelFunction &kernel,
                       llvm::ArrayRef<unsigned> bufferOf);

} // namespace mlir::weft

#endif // WEFT_LIB_CONVERSION_WEFTTOHOST_KERNELEMITTER_H
