// SPDX-License-Identifier: Apache-2.0

// A shared link serves collectives in the order in which they come to the head
// of their channels.

#include "backends/host/link.h"

#include <algorithm>

namespace weft::rt {

Interval LinkModel::occupy(int32_t channel, const std::vector<int64_t> &members,
                           int64_t ready, int64_t bytes) {
  const ChannelLink &link = channels[channel];
  if (!link.isGiven)
    return {ready, ready};
  int64_t duration =
      link.latency + int64_t(double(bytes) / link.bytesPerNanosecond);
  if (freeAt.empty())
    return {ready, ready + duration};
  std::lock_guard<std::mutex> guard(lock);
  int64_t begin = ready;
  for (int64_t rank : members)
    begin = std::max(begin, freeAt[rank]);
  for (int64_t rank : members)
    freeAt[rank] = begin + duration;
  return {begin, begin + duration};
}

} // namespace weft::rt
