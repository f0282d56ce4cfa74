// SPDX-License-Identifier: Apache-2.0

// Writes the loops of a kernel: from a fused group on buffers and its loop
// structure to a function of scf, arith, math and llvm loads and stores.

#ifndef WEFT_LIB_TARGET_HOST_KERNELEMITTER_H
#define WEFT_LIB_TARGET_HOST_KERNELEMITTER_H

#include "weft/Codegen/Kernels/PointEmitter.h"
#include "weft/Codegen/Program/EmitMemory.h"

#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::weft {

/// The function of a kernel, before its loops, with the range that it is called
/// for.
struct KernelFunction : KernelArguments {
  LLVM::LLVMFuncOp func;
  Value begin, end;
};

/// Makes `void name(ptr buffers, ptr scalars, i64 begin, i64 end)`, which loads
/// the addresses of the buffers and the scalars, and calls the function that is
/// returned. `isPrivate[i]`: no other buffer overlaps buffer i.
KernelFunction createKernelFunction(OpBuilder &builder, Location loc,
                                    llvm::StringRef name,
                                    llvm::ArrayRef<bool> isPrivate,
                                    TypeRange scalars);

/// Emits the loops of `op` into `kernel`. `bufferOf` gives the index of the
/// kernel's buffer for each input, then for each output.
void emitKernel(rt::FusedOp op, const KernelShape &shape,
                const KernelFunction &kernel,
                llvm::ArrayRef<unsigned> bufferOf);

/// The same for the serial loops of a scatter, which are cut along a dim of the
/// slices. Gives that dim's size.
int64_t emitScatterAdd(rt::ScatterAddOp op, const KernelFunction &kernel,
                       llvm::ArrayRef<unsigned> bufferOf);

} // namespace mlir::weft

#endif // WEFT_LIB_TARGET_HOST_KERNELEMITTER_H
