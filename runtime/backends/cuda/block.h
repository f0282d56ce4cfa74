// SPDX-License-Identifier: Apache-2.0

// Kernels whose threads work together, a block at a time, in phases: what a
// phase writes to shared memory all threads see in the next one. On the device
// a phase is a thread's own part and a barrier; on the CPU, where tests run the
// same source, it is a loop over the block's threads, whose direction changes
// from phase to phase, so that what counts on an order is found.

#ifndef WEFT_RT_CUDA_BLOCK_H
#define WEFT_RT_CUDA_BLOCK_H

#include <stdint.h>

namespace weft::rt::cuda {
namespace {

/// Threads of all blocks of these kernels.
constexpr int blockThreads = 256;

#if defined(__NVPTX__)

class Block {
public:
  int64_t index() const { return __nvvm_read_ptx_sreg_ctaid_x(); }

  template <typename Body> void phase(Body body) {
    body(int(__nvvm_read_ptx_sreg_tid_x()));
    __syncthreads();
  }
};

/// A value for each thread, in its registers.
template <typename T> class PerThread {
public:
  T &operator[](int) { return value; }

private:
  T value;
};

#define WEFT_BLOCK_KERNEL(name, Args, body)                                    \
  extern "C" __attribute__((device_kernel)) void name(Args args) {             \
    Block block;                                                               \
    body(args, block);                                                         \
  }

/// A variable in a block's shared memory.
#define WEFT_SHARED(Type, name)                                                \
  [[clang::loader_uninitialized]] static                                       \
      __attribute__((address_space(3))) Type name##Storage;                    \
  Type &name = *(Type *)&name##Storage

/// The same in the part whose size the launch says: one for all kernels of a
/// file.
#define WEFT_DYNAMIC_SHARED_PLACE                                              \
  extern __attribute__((address_space(3))) char weftDynamicShared[]            \
      __attribute__((aligned(16)))
#define WEFT_DYNAMIC_SHARED(Type, name) Type &name = *(Type *)weftDynamicShared

#else

class Block {
public:
  explicit Block(int64_t place) : place(place) {}
  int64_t index() const { return place; }

  template <typename Body> void phase(Body body) {
    isReversed = !isReversed;
    for (int i = 0; i < blockThreads; ++i)
      body(isReversed ? blockThreads - 1 - i : i);
  }

private:
  int64_t place;
  bool isReversed = false;
};

template <typename T> class PerThread {
public:
  T &operator[](int thread) { return values[thread]; }

private:
  T values[blockThreads];
};

#define WEFT_BLOCK_KERNEL(name, Args, body)                                    \
  extern "C" void name(void **params, const uint32_t *grid, const uint32_t *,  \
                       uint32_t) {                                             \
    for (int64_t i = 0; i < grid[0]; ++i) {                                    \
      Block block(i);                                                          \
      body(*static_cast<const Args *>(params[0]), block);                      \
    }                                                                          \
  }

/// NaN bits, as the device's may hold anything.
#define WEFT_SHARED(Type, name)                                                \
  static Type name;                                                            \
  __builtin_memset(static_cast<void *>(&name), 0xff, sizeof(name))
#define WEFT_DYNAMIC_SHARED_PLACE static_assert(true)
#define WEFT_DYNAMIC_SHARED(Type, name) WEFT_SHARED(Type, name)

#endif

} // namespace
} // namespace weft::rt::cuda

#endif // WEFT_RT_CUDA_BLOCK_H
