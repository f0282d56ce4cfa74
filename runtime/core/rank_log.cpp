// SPDX-License-Identifier: Apache-2.0

// The flight record is a ring of atomics, because a rank that is stuck may
// come back while it is printed.

#include "core/rank_log.h"

#include "core/collective.h"
#include "core/status.h"

#include <algorithm>

namespace weft::rt {

RankLog::RankLog(const weft_rt_program &program, int64_t traceEvents)
    : program(program), numChannels(program.num_channels),
      counts((WEFT_RT_PERMUTE + 1) * size_t(program.num_channels)) {
  spans.reserve(traceEvents);
}

int64_t RankLog::start(const weft_rt_collective &collective) {
  int64_t number = started.load(std::memory_order_relaxed);
  Entry &entry = flight[number % flightLength];
  entry.done.store(false, std::memory_order_relaxed);
  entry.what.store(&collective, std::memory_order_relaxed);
  started.store(number + 1, std::memory_order_release);
  return number;
}

void RankLog::finish(const weft_rt_collective &collective, int64_t bytes) {
  int64_t number = started.load(std::memory_order_relaxed) - 1;
  flight[number % flightLength].done.store(true, std::memory_order_relaxed);
  TrafficCount &count =
      counts[collective.kind * numChannels + collective.channel];
  count.count += collective.num_operands;
  count.bytes += bytes;
}

void RankLog::record(const Span &span) {
  if (spans.size() < spans.capacity())
    spans.push_back(span);
  else if (isTracing())
    ++lostSpans;
}

std::string RankLog::flightRecord() const {
  int64_t end = started.load(std::memory_order_acquire);
  if (end == 0)
    return "  no collective\n";
  std::string text;
  for (int64_t i = std::max<int64_t>(0, end - flightLength); i < end; ++i) {
    const Entry &entry = flight[i % flightLength];
    const weft_rt_collective &what =
        *entry.what.load(std::memory_order_relaxed);
    bool known = what.channel >= 0 && what.channel < numChannels;
    text += format("  #%lld %s on channel %s: %s\n", (long long)i,
                   collectiveName(what).c_str(),
                   known ? quote(program.channels[what.channel].name).c_str()
                         : std::to_string(what.channel).c_str(),
                   entry.done.load(std::memory_order_relaxed) ? "finished"
                                                              : "started");
  }
  return text;
}

} // namespace weft::rt
