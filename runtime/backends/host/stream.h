// SPDX-License-Identifier: Apache-2.0

// Writing past the caches. Ranks that share a machine have far more data than
// its caches hold, so that a large output of a collective is gone from them
// before it is read; written as usual, each of its lines is also read first,
// and evicts something. Ranks whose collectives move much are bound by memory,
// and run a third less of it this way.

#ifndef WEFT_RT_HOST_STREAM_H
#define WEFT_RT_HOST_STREAM_H

#include <cstdint>

namespace weft::rt {

/// Says whether `total` bytes at `to` that are written in pieces of `piece`
/// bytes are to go past the caches: they must be much, and whole cache lines.
bool streams(const void *to, int64_t piece, int64_t total);

/// Copies whole, aligned cache lines past the caches.
void streamCopy(void *to, const void *from, int64_t bytes);

/// Call after the last streamCopy: what it wrote comes before what follows.
void finishStreams();

} // namespace weft::rt

#endif // WEFT_RT_HOST_STREAM_H
