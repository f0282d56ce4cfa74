// SPDX-License-Identifier: Apache-2.0

// A program's copy as one kernel: dims that are dense in both become units of
// up to 16 bytes.

#ifndef WEFT_RT_CUDA_COPY_H
#define WEFT_RT_CUDA_COPY_H

#include "backends/cuda/kernel_args.h"
#include "weft-rt/abi.h"

namespace weft::rt::cuda {

/// Bytes from the source's first element to the end of its last one.
int64_t sourceExtent(const weft_rt_copy &copy);

/// What the kernel is told. One dim or none whose strides are its unit is a
/// plain move of bytes.
CopyArgs copyArgs(const weft_rt_copy &copy, const void *source, void *target);

/// Says whether source and target are one run each.
bool isPlain(const CopyArgs &args);

} // namespace weft::rt::cuda

#endif // WEFT_RT_CUDA_COPY_H
