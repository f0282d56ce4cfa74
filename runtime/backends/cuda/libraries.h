// SPDX-License-Identifier: Apache-2.0

// Finds the libraries of CUDA when they are needed, and says in a sentence what
// is missing and what to do. Each is loaded once and stays.

#ifndef WEFT_RT_CUDA_LIBRARIES_H
#define WEFT_RT_CUDA_LIBRARIES_H

#include "backends/cuda/foreign_api.h"
#include "core/status.h"

namespace weft::rt::cuda {

Result<const DriverApi *> loadDriver();
Result<const NcclApi *> loadNccl();
Result<const CublasLtApi *> loadCublasLt();
/// Nothing of weft needs it: a failure says why something else is taken.
Result<const CudnnApi *> loadCudnn();

/// What a failed call of the driver means: "cuMemAlloc: out of memory
/// (CUDA_ERROR_OUT_OF_MEMORY)".
Status driverError(const DriverApi &api, const char *function, int result);

/// The same for NCCL. `communicator` may be null.
Status ncclError(const NcclApi &api, const char *function, int result,
                 ncclComm *communicator);

/// The same for libraries that are asked for no text: cuBLASLt and cuDNN.
Status statusError(const char *function, int result);

/// Adds who failed to a failure's message.
Status within(const std::string &who, const Status &status);

} // namespace weft::rt::cuda

/// Calls a function of a table, and returns from the caller if it fails.
#define WEFT_CUDA_CALL(api, function, ...)                                     \
  do {                                                                         \
    if (int result_ = (api).function(__VA_ARGS__))                             \
      return ::weft::rt::cuda::driverError(api, #function, result_);           \
  } while (false)

#endif // WEFT_RT_CUDA_LIBRARIES_H
