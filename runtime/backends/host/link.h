// SPDX-License-Identifier: Apache-2.0

// A model of the links between ranks, so that a run on one machine shows what a
// schedule does on others: a collective occupies its channel for latency +
// received bytes / bandwidth, counted from when all members have started it and
// the channel is free; with a shared link, the links of all its members too.
// Nobody computes meanwhile: threads sleep.

#ifndef WEFT_RT_HOST_LINK_H
#define WEFT_RT_HOST_LINK_H

#include "core/backend.h"

#include <mutex>
#include <vector>

namespace weft::rt {

/// A span of time, in nanoseconds as of now().
struct Interval {
  int64_t begin = 0, end = 0;
};

/// Which moments collectives get on the links.
class LinkModel {
public:
  /// One entry per channel. `isShared`: a rank has one link for all channels.
  LinkModel(std::vector<ChannelLink> channels, bool isShared, int64_t ranks)
      : channels(std::move(channels)), freeAt(isShared ? ranks : 0, 0) {}

  bool isShared() const { return !freeAt.empty(); }

  /// The time that a collective takes which is ready at `ready`, among
  /// `members`, of whom none receives more than `bytes`.
  Interval occupy(int32_t channel, const std::vector<int64_t> &members,
                  int64_t ready, int64_t bytes);

private:
  const std::vector<ChannelLink> channels;
  std::mutex lock;
  std::vector<int64_t> freeAt; // per rank; empty: links are not shared
};

} // namespace weft::rt

#endif // WEFT_RT_HOST_LINK_H
