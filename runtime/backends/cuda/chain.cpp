// SPDX-License-Identifier: Apache-2.0

#include "backends/cuda/chain.h"

namespace weft::rt::cuda {

void Chain::add(CallKind kind, int32_t op, const void *what) {
  calls.push_back({kind, op, what, buffers.size(), 0, scalars.size(), 0});
  numStarts += kind == CallKind::Start ? 1 : 0;
  mix(static_cast<uint64_t>(kind));
  mix(uint64_t(op));
  mix(reinterpret_cast<uintptr_t>(what));
}

void Chain::addBuffer(const void *buffer) {
  buffers.push_back(buffer);
  ++calls.back().numBuffers;
  mix(reinterpret_cast<uintptr_t>(buffer));
}

void Chain::addScalar(int64_t scalar) {
  scalars.push_back(scalar);
  ++calls.back().numScalars;
  mix(uint64_t(scalar));
}

void Chain::clear() {
  calls.clear();
  buffers.clear();
  scalars.clear();
  numStarts = 0;
  digest = 0;
}

} // namespace weft::rt::cuda
