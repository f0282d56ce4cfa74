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

/// Ops that a profile tells apart; more than a step has.
constexpr size_t profileEntries = 1 << 16;

int64_t clockNanoseconds(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return int64_t(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

size_t hashOf(const Cost &cost) {
  uint64_t key = (reinterpret_cast<uintptr_t>(cost.what) >> 3) ^
                 uint64_t(uint32_t(cost.op)) << 40;
  return key * 0x9e3779b97f4a7c15u >> 32;
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
  entry.state.store(State::Started, std::memory_order_relaxed);
  entry.what.store(&collective, std::memory_order_relaxed);
  started.store(number + 1, std::memory_order_release);
  return number;
}

/// The ring has forgotten what started long ago.
void RankLog::mark(int64_t number, State state) {
  if (started.load(std::memory_order_relaxed) - number <= flightLength)
    flight[number % flightLength].state.store(state, std::memory_order_relaxed);
}

void RankLog::finish(int64_t number, const weft_rt_collective &collective,
                     int64_t bytes) {
  mark(number, State::Finished);
  TrafficCount &count =
      counts[collective.kind * numChannels + collective.channel];
  count.count += collective.num_operands;
  count.bytes += bytes;
}

Moment RankLog::readClocks() const {
  return {clockNanoseconds(CLOCK_MONOTONIC),
          isProfiling() ? clockNanoseconds(CLOCK_THREAD_CPUTIME_ID) : 0};
}

void RankLog::record(SpanKind kind, weft_rt_activity activity, int32_t op,
                     const void *what, Moment begin) {
  if (!isTracing() && !isProfiling())
    return;
  Moment end = readClocks();
  trace({kind, op, what, begin.wall, end.wall, 0, 0});
  count({activity, op, what, end.wall - begin.wall, end.cpu - begin.cpu});
}

void RankLog::addToProfile(const Cost &cost) {
  size_t slot = hashOf(cost) % slots.size();
  auto isOther = [&](const Cost &sum) {
    return sum.what != cost.what || sum.op != cost.op;
  };
  while (slots[slot] >= 0 && isOther(entries[slots[slot]].sum))
    slot = (slot + 1) % slots.size();
  if (slots[slot] < 0) {
    if (entries.size() == profileEntries)
      return;
    slots[slot] = int32_t(entries.size());
    entries.push_back({{cost.activity, cost.op, cost.what}, 0});
  }
  ProfileEntry &entry = entries[slots[slot]];
  ++entry.calls;
  entry.sum.wall += cost.wall;
  entry.sum.cpu += cost.cpu;
  entry.sum.waited += cost.waited;
  entry.sum.bytes += cost.bytes;
}

void RankLog::clearProfile() {
  entries.clear();
  std::fill(slots.begin(), slots.end(), -1);
}

std::string RankLog::flightRecord() const {
  constexpr const char *states[] = {"started", "started, waited for",
                                    "finished"};
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
                   states[int(entry.state.load(std::memory_order_relaxed))]);
  }
  return text;
}

} // namespace weft::rt
