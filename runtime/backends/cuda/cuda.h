// SPDX-License-Identifier: Apache-2.0

// The CUDA backend: ranks are threads of one process, each with a part of a
// GPU, or with one of its own. docs/cuda-runtime.md says how it is used.

#ifndef WEFT_RT_CUDA_CUDA_H
#define WEFT_RT_CUDA_CUDA_H

#include "core/backend.h"

namespace weft::rt {

/// Finds the driver and the GPUs, makes streams and events, loads kernels, and
/// starts a thread per rank.
Result<std::unique_ptr<Backend>>
createCudaBackend(const BackendOptions &options);

} // namespace weft::rt

#endif // WEFT_RT_CUDA_CUDA_H
