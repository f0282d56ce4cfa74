// SPDX-License-Identifier: Apache-2.0

// The flight record is a ring of atomics, because a rank that is stuck may
// come back while it is printed.

#include "core/rank_log.h"

#include "core/collective.h"
#include "core/status.h"

#include <algorithm>
#include <ctime>

namespace weft::rt {

namespace {

/// Different things that a profile tells apart; many more than a step has.
constexpr size_t profileEntries = 1 << 14;

int64_t clockNanoseconds(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return int64_t(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

size_t hashOf(const void *what) {
  return (reinterpret_cast<uintptr_t>(what) >> 3) * 0x9e3779b97f4a7c15u >> 32;
}

} // namespace

RankLog::RankLog(const weft_rt_program &program, int64_t traceEvents,
                 bool profile)
    : program(program), numChannels(program.num_channels),
      counts((WEFT_RT_PERMUTE + 1) * size_t(program.num_channels)) {
  spans.reserve(traceEvents);
  if (!profile)
    return;
  entries.reserve(profileEntries);
  slots.resize(2 * profileEntries, -1);
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

Moment RankLog::readClocks() const {
  return {clockNanoseconds(CLOCK_MONOTONIC),
          isProfiling() ? clockNanoseconds(CLOCK_THREAD_CPUTIME_ID) : 0};
}

void RankLog::record(weft_rt_activity activity, const void *what, Moment begin,
                     int64_t waited, int64_t bytes) {
  if (!isTracing() && !isProfiling())
    return;
  Span span{activity, what, begin, readClocks(), waited, bytes};
  if (isProfiling())
    addToProfile(span);
  if (spans.size() < spans.capacity())
    spans.push_back(span);
  else if (isTracing())
    ++lostSpans;
}

void RankLog::addToProfile(const Span &span) {
  size_t slot = hashOf(span.what) % slots.size();
  while (slots[slot] >= 0 && entries[slots[slot]].what != span.what)
    slot = (slot + 1) % slots.size();
  if (slots[slot] < 0) {
    if (entries.size() == profileEntries)
      return;
    slots[slot] = int32_t(entries.size());
    entries.push_back({span.activity, span.what, 0, 0, 0, 0, 0});
  }
  ProfileEntry &entry = entries[slots[slot]];
  ++entry.calls;
  entry.wall += span.end.wall - span.begin.wall;
  entry.cpu += span.end.cpu - span.begin.cpu;
  entry.waited += span.waited;
  entry.bytes += span.bytes;
}

void RankLog::clearProfile() {
  entries.clear();
  std::fill(slots.begin(), slots.end(), -1);
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
