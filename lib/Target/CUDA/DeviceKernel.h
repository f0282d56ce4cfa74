// SPDX-License-Identifier: Apache-2.0

// The functions of kernels on the device: the inner module that they lie in,
// their parameters, and who of the launched threads is who.

#ifndef WEFT_LIB_TARGET_CUDA_DEVICEKERNEL_H
#define WEFT_LIB_TARGET_CUDA_DEVICEKERNEL_H

#include "weft/Codegen/Kernels/PointEmitter.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"
#include "weft/Target/Target.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::weft {

/// The name of the inner module.
inline constexpr llvm::StringLiteral kDeviceModule = "weft_device";

/// Threads of a block, and the most blocks of a grid: more work than that is
/// walked in strides.
inline constexpr int64_t kBlockThreads = 256, kMaxBlocks = 32768;

/// A kernel's function on the device, before its loops.
struct DeviceKernel : KernelArguments {
  LLVM::LLVMFuncOp func;
  /// The global of shared memory, which the parts of launches have together.
  std::string sharedName;
  /// Of a part of a launch: the number of this block among the part's.
  Value block;
  /// As in KernelBuffers.
  std::optional<bool> areAligned;
};

/// Declares `name` in the module that the builder is in, and makes its body's
/// function in the inner module: one pointer to global memory a buffer, one i64
/// a scalar. `isPrivate[i]`: no other buffer overlaps buffer i.
DeviceKernel createDeviceKernel(OpBuilder &builder, Location loc,
                                llvm::StringRef name,
                                llvm::ArrayRef<bool> isPrivate,
                                TypeRange scalars);

/// Makes a function in the inner module that kernels may call: its parameters
/// are a kernel's, and then the number of the block.
DeviceKernel createDevicePart(OpBuilder &builder, Location loc,
                              llvm::StringRef name,
                              llvm::ArrayRef<bool> isPrivate,
                              TypeRange scalars);

/// The thread's number in its block, and its block's among those that run the
/// kernel, as i64.
Value emitThread(OpBuilder &builder, Location loc);
Value emitBlock(OpBuilder &builder, Location loc, const DeviceKernel &kernel);

/// The thread's number in a grid of blocks of kBlockThreads.
Value emitGridThread(OpBuilder &builder, Location loc,
                     const DeviceKernel &kernel);

/// What a block may have of shared memory without asking for it, and the
/// address space of that.
inline constexpr unsigned kSharedMemory = 3;
inline constexpr int64_t kMaxShared = 48 << 10;

/// The first of `bytes` bytes of shared memory, at a multiple of 16. All that
/// asks for it in a kernel, or in parts of launches, gets the same memory.
Value emitSharedMemory(OpBuilder &builder, Location loc,
                       const DeviceKernel &kernel, int64_t bytes);

/// Where all threads of a block wait for each other, and see what the others
/// stored before.
void emitBlockBarrier(OpBuilder &builder, Location loc);

/// Threads that shuffle among themselves.
inline constexpr int64_t kWarp = 32;

/// What the thread of the warp has whose number differs in the bit `distance`.
/// All threads of the warp ask at once.
Value emitShuffle(OpBuilder &builder, Location loc, Value value,
                  int64_t distance);

/// Where all threads of a warp wait for each other, and see what the others
/// stored before.
void emitWarpBarrier(OpBuilder &builder, Location loc);

/// Sets `index` of `dims` from a flattened index, the last one to the first of
/// `width` neighbours. `count` is the number of all flattened ones.
void emitDelinearize(OpBuilder &builder, Location loc, Value flat,
                     int64_t count, llvm::ArrayRef<int> dims,
                     llvm::ArrayRef<int64_t> sizes, int64_t width,
                     llvm::MutableArrayRef<Value> index);

/// The blocks of a grid that has a thread for each of `count` things, if that
/// is not too many.
int64_t getNumBlocks(int64_t count);

/// Says that the kernel, or part, runs on so many blocks of so many threads;
/// gives the numbers of its launches, as the backend `cuda` reads them.
rt::LaunchConfig setLaunch(const DeviceKernel &kernel, int64_t numBlocks,
                           int64_t numThreads);

// Code of kernels. Each ends `kernel`, and says how it is launched.

/// All points of a group of one phase without sums, each by one thread.
rt::LaunchConfig emitPointKernel(rt::FusedOp op, const KernelShape &shape,
                                 const DeviceKernel &kernel,
                                 llvm::ArrayRef<unsigned> bufferOf);

/// Says whether a group of points reads inputs that lie across its outputs, as
/// transposes do.
bool hasTransposedInput(const KernelShape &shape);

/// Such a group, in tiles.
rt::LaunchConfig emitTransposeKernel(rt::FusedOp op, const KernelShape &shape,
                                     const DeviceKernel &kernel,
                                     llvm::ArrayRef<unsigned> bufferOf);

/// Says whether blocks of such a group have kBlockThreads threads and little
/// shared memory, so that it may be one of several in a launch.
bool mayShareRowLaunch(const KernelShape &shape);

/// Any other group, a few rows by each block.
FailureOr<rt::LaunchConfig> emitRowKernel(rt::FusedOp op,
                                          const KernelShape &shape,
                                          const DeviceKernel &kernel,
                                          llvm::ArrayRef<unsigned> bufferOf);

/// Several groups at one time, each by some of the blocks. `emit` writes the
/// code of one.
FailureOr<rt::LaunchConfig> emitSharedLaunch(
    OpBuilder &builder, llvm::ArrayRef<LaunchPart> parts, llvm::StringRef name,
    unsigned numBuffers, TypeRange scalars,
    llvm::function_ref<FailureOr<rt::LaunchConfig>(const LaunchPart &,
                                                   const DeviceKernel &)>
        emit);

/// A scatter, whose updates of one element are one thread's.
rt::LaunchConfig emitScatterKernel(rt::ScatterAddOp op,
                                   const DeviceKernel &kernel,
                                   llvm::ArrayRef<unsigned> bufferOf);

} // namespace mlir::weft

#endif // WEFT_LIB_TARGET_CUDA_DEVICEKERNEL_H
