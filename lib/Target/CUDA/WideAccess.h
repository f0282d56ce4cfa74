// SPDX-License-Identifier: Apache-2.0

// Neighbouring points that one thread takes at once. It loads all of them, then
// stores all; where every buffer starts at a multiple of 16 bytes, which is
// looked at when the kernel runs, LLVM joins these to accesses of up to 16
// bytes.

#ifndef WEFT_LIB_TARGET_CUDA_WIDEACCESS_H
#define WEFT_LIB_TARGET_CUDA_WIDEACCESS_H

#include "DeviceKernel.h"

#include <vector>

namespace mlir::weft {

/// How many points along the dim `last` one thread takes: as many as fit into
/// an access to what has the largest elements of all that lies there in a row.
int64_t getAccessWidth(const KernelShape &shape,
                       llvm::ArrayRef<unsigned> members, int last);

/// How many inputs a point reads of its own: neither what it only looks up, nor
/// what points along the first of `dims` share.
int64_t countWideInputs(const KernelShape &shape,
                        llvm::ArrayRef<unsigned> members,
                        llvm::ArrayRef<int> dims);

/// Calls `emit` twice, for code that may take such points at once, because all
/// buffers are aligned, and for code that may not.
void emitByAlignment(OpBuilder &builder, Location loc,
                     const DeviceKernel &kernel,
                     llvm::function_ref<void(bool isAligned)> emit);

/// What points store, buffer by buffer: so that stores lie side by side.
llvm::SmallVector<PointEmitter::Store>
sortStores(llvm::ArrayRef<llvm::SmallVector<PointEmitter::Store>> ofPoints);

} // namespace mlir::weft

#endif // WEFT_LIB_TARGET_CUDA_WIDEACCESS_H
