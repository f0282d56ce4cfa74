// SPDX-License-Identifier: Apache-2.0

// Contractions by kernels of our own: any types and strides, in the order that
// runtime/backends/host/gemm/gemm.h declares, and so with the host's bits.

#ifndef WEFT_RT_CUDA_ORDERED_GEMM_H
#define WEFT_RT_CUDA_ORDERED_GEMM_H

#include "backends/cuda/device.h"
#include "backends/cuda/ordered_gemm_args.h"

namespace weft::rt::cuda {

/// Three matrices.
struct Operands {
  const void *a, *b;
  void *c;
};

/// Which kernel computes a contraction, and what it is told.
struct OrderedGemmLaunch {
  OrderedGemmArgs args;
  GemmKernel kernel;
  int64_t blocks;
};

/// An open order is one leaf.
OrderedGemmLaunch orderedGemmLaunch(const weft_rt_gemm &gemm,
                                    const Operands &operands);

/// The kernels of one device.
class OrderedGemm {
public:
  explicit OrderedGemm(Device &device) : device(device) {}

  /// Loads the kernels, the first time. The device's context is the thread's
  /// current one, here and below.
  Status start();

  /// Enqueues a contraction whose C has elements.
  Status run(const weft_rt_gemm &gemm, const Operands &operands,
             CUstream_st *stream) const;

private:
  Device &device;
  CUfunc_st *kernels[numGemmKernels] = {};
};

} // namespace weft::rt::cuda

#endif // WEFT_RT_CUDA_ORDERED_GEMM_H
