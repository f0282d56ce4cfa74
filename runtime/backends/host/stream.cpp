// SPDX-License-Identifier: Apache-2.0

// Stores of 16 bytes, which every processor of the architecture has: four of
// them fill a line, as fast as memory takes it. Sanitizers do not see such
// stores, so that in their builds a copy is a copy.

#include "backends/host/stream.h"

#include <cstring>

#if defined(__SSE2__) && !defined(__SANITIZE_ADDRESS__) &&                     \
    !defined(__SANITIZE_THREAD__)
#define WEFT_RT_STREAMS 1
#include <emmintrin.h>
#endif

namespace weft::rt {
namespace {

constexpr int64_t lineBytes = 64;

/// Less than this may still be in a second-level cache when it is read.
constexpr int64_t muchBytes = int64_t(1) << 17;

} // namespace

bool streams(const void *to, int64_t piece, int64_t total) {
  return total >= muchBytes && piece % lineBytes == 0 &&
         reinterpret_cast<uintptr_t>(to) % lineBytes == 0;
}

void streamCopy(void *to, const void *from, int64_t bytes) {
#ifdef WEFT_RT_STREAMS
  auto *target = static_cast<__m128i *>(to);
  auto *source = static_cast<const __m128i *>(from);
  for (int64_t i = 0; i < bytes / 16; i += 4) {
    __m128i line[4];
    for (int j = 0; j < 4; ++j)
      line[j] = _mm_loadu_si128(source + i + j);
    for (int j = 0; j < 4; ++j)
      _mm_stream_si128(target + i + j, line[j]);
  }
#else
  std::memcpy(to, from, bytes);
#endif
}

void finishStreams() {
#ifdef WEFT_RT_STREAMS
  _mm_sfence();
#endif
}

} // namespace weft::rt
