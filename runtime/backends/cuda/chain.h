// SPDX-License-Identifier: Apache-2.0

// A chain: calls of a step, one after the other, between which nobody looks at
// what they compute. Descriptors are constant data of the program, so that
// equal chains ask for the same.

#ifndef WEFT_RT_CUDA_CHAIN_H
#define WEFT_RT_CUDA_CHAIN_H

#include "weft-rt/abi.h"

#include <cstddef>
#include <vector>

namespace weft::rt::cuda {

enum class CallKind : int32_t {
  Gemm,
  Attention,
  Launch,
  Copy,
  Start,
  Wait,
  SetStream,
  Record,
  Await
};

/// A call. Its buffers and scalars lie in the chain's tables.
struct ChainCall {
  CallKind kind;
  int32_t op;
  const void *what; // its descriptor
  size_t buffers, numBuffers;
  size_t scalars, numScalars;

  bool operator==(const ChainCall &other) const {
    return kind == other.kind && op == other.op && what == other.what &&
           buffers == other.buffers && numBuffers == other.numBuffers &&
           scalars == other.scalars && numScalars == other.numScalars;
  }
};

class Chain {
public:
  /// Adds a call; what it is called with follows by the next two.
  void add(CallKind kind, int32_t op, const void *what);
  void addBuffer(const void *buffer);
  void addScalar(int64_t scalar);

  /// Forgets all, and keeps the memory.
  void clear();

  const std::vector<ChainCall> &all() const { return calls; }
  bool isEmpty() const { return calls.empty(); }
  int64_t starts() const { return numStarts; }

  const void *const *buffersOf(const ChainCall &call) const {
    return buffers.data() + call.buffers;
  }
  /// The same for what a call may write to.
  void *const *writableOf(const ChainCall &call) const {
    return const_cast<void *const *>(buffersOf(call));
  }
  const int64_t *scalarsOf(const ChainCall &call) const {
    return scalars.data() + call.scalars;
  }

  uint64_t hash() const { return digest; }
  bool operator==(const Chain &other) const {
    return digest == other.digest && calls == other.calls &&
           buffers == other.buffers && scalars == other.scalars;
  }

private:
  void mix(uint64_t value) {
    digest = (digest ^ value) * 0x9e3779b97f4a7c15u;
    digest ^= digest >> 29;
  }

  std::vector<ChainCall> calls;
  std::vector<const void *> buffers;
  std::vector<int64_t> scalars;
  int64_t numStarts = 0;
  uint64_t digest = 0;
};

} // namespace weft::rt::cuda

#endif // WEFT_RT_CUDA_CHAIN_H
