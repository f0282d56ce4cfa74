// SPDX-License-Identifier: Apache-2.0

// What the backend's own kernels take: one struct each, by value, the same on
// the CPU and on the device. kernels.cpp says what they do.

#ifndef WEFT_RT_CUDA_KERNEL_ARGS_H
#define WEFT_RT_CUDA_KERNEL_ARGS_H

#include <stdint.h>

namespace weft::rt::cuda {

/// One more than descriptors have, for the runs of bytes that copies end in.
constexpr int maxDims = 9;

/// Members of a group on one GPU. Parameters of a kernel have 4 KiB.
constexpr int maxSharing = 128;

/// Moves units of 1, 2, 4, 8 or 16 bytes; strides in units, major dim first.
struct CopyArgs {
  const void *source;
  void *target;
  int64_t count; // units
  int64_t sizes[maxDims], sourceStrides[maxDims], targetStrides[maxDims];
  int32_t numDims, unit;
};

/// Moves units that lie in runs, of one length in the source and of another one
/// in the target.
struct MoveArgs {
  const void *source;
  void *target;
  int64_t count; // units
  int64_t sourceRun, sourceStride, targetRun, targetStride;
  int32_t unit;
};

/// Combines runs of `run` elements that lie `stride` apart in the inputs, and
/// writes them densely to each output.
struct ReduceArgs {
  const void *inputs[maxSharing];
  void *outputs[maxSharing];
  int64_t count; // elements
  int64_t run, stride;
  int32_t numInputs, numOutputs;
  int32_t type, reduction, tree; // as in weft_rt_collective
};

} // namespace weft::rt::cuda

#endif // WEFT_RT_CUDA_KERNEL_ARGS_H
