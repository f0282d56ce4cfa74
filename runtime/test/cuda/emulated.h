// SPDX-License-Identifier: Apache-2.0

// Stand-ins for the libraries of CUDA, for tests alone: libcuda.so.1,
// libnccl.so.2 and libcublasLt.so.13 with the functions that the backend calls.
// Found by LD_LIBRARY_PATH, so that the backend runs unchanged. Device memory
// is the process's, but starts as NaN bits; a stream is a queue with a thread;
// events order them; nothing else does. Streams are captured as the driver does
// it: what is illegal then fails and spoils the capture; a graph runs as its
// edges say, and each of its launches reads the addresses of the capture.
// Processes that run at once have the same GPUs.
//
// What the environment says when a library is loaded:
//   EMULATED_GPUS=n          GPUs (1)
//   CUDA_VISIBLE_DEVICES=... as many of them as this lists
//   EMULATED_GPU_FIRST=n     the first that this process sees (0)
//   EMULATED_GPU_MEMORY=n    bytes of each (1 GiB)
//   EMULATED_GPU_DELAYS=seed random delays before what streams do (none)
//   EMULATED_GPU_ERROR=function:n:code  the n-th call of a function, from 1,
//                            fails with this code; "function" is as exported
//   EMULATED_GPU_DROP_WAIT=n the n-th cuStreamWaitEvent does nothing
//   EMULATED_GPU_KERNEL=n    each kernel takes n milliseconds more (0)
//   EMULATED_GPU_HANG=n      the n-th kernel does not end
//   EMULATED_GPU_DRIVER=n    what cuDriverGetVersion says (13000)
//   EMULATED_NCCL_VERSION=n  what ncclGetVersion says (22809)
//   EMULATED_NCCL_NOTICES=1  communicators report ranks that are gone; else
//                            what needs them hangs
//   EMULATED_NCCL_REPORT=1   a communicator that is destroyed says how many
//                            buffers it was told of, and to forget
//   WEFT_EMULATED_IMAGES=folder  where code for PTX lies; see image.h

#ifndef WEFT_RT_TEST_CUDA_EMULATED_H
#define WEFT_RT_TEST_CUDA_EMULATED_H

#include "backends/cuda/foreign_api.h"

#include <cstdint>
#include <cstdlib>

extern "C" {

/// Puts work on a stream, or in the graph that it is captured into: it may run
/// more than once. Exported by the stand-in for libcuda, for the others; what
/// is not 0 is an error of the driver.
int emulatedEnqueue(CUstream_st *stream, void (*work)(void *), void *context,
                    void (*destroy)(void *));

/// Says whether what is put on a stream goes into a graph.
bool emulatedIsCaptured(CUstream_st *stream);

/// The 16 bytes that name a GPU.
void emulatedUuid(int device, char *uuid);

/// The GPU of the thread's current context.
int emulatedDevice();

/// The code that a call of a function is to fail with, or 0; counts calls.
int emulatedError(const char *function);
}

namespace emulated {

/// A number from the environment.
inline int64_t setting(const char *name, int64_t otherwise) {
  const char *text = std::getenv(name);
  return text && *text ? std::atoll(text) : otherwise;
}

} // namespace emulated

/// Of an exported function, first: returns what the environment says that this
/// call fails with.
#define FAIL_IF_TOLD()                                                         \
  do {                                                                         \
    if (int told_ = emulatedError(__func__))                                   \
      return told_;                                                            \
  } while (false)

#endif // WEFT_RT_TEST_CUDA_EMULATED_H
