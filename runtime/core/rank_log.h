// SPDX-License-Identifier: Apache-2.0

// What a rank remembers of its work: a flight record (the last collectives,
// for the report after a failure), traffic counters, and a trace and a profile
// when they were asked for. All room is allocated up front; recording allocates
// nothing and takes a few stores. Without trace and profile no clock is read.
//
// Only the rank's own thread records. Others read after the rank has stopped;
// the flight record can be read at any time.

#ifndef WEFT_RT_CORE_RANK_LOG_H
#define WEFT_RT_CORE_RANK_LOG_H

#include "weft-rt/session.h"

#include <array>
#include <atomic>
#include <string>
#include <vector>

namespace weft::rt {

/// A point in time, in nanoseconds: by a monotonic clock, and as time that the
/// rank's thread has run (0 without a profile).
struct Moment {
  int64_t wall = 0, cpu = 0;
};

/// What a span shows. Start and Wait are the calls of the rank's thread,
/// Collective is what happened on the channel.
enum class SpanKind : uint8_t {
  Step,
  Gemm,
  Attention,
  Kernel,
  Copy,
  Start,
  Wait,
  Collective
};

/// Something that goes on for a while, on a rank's thread or on a channel.
struct Span {
  SpanKind kind;
  int32_t op;       // index in weft_rt_program.ops, or -1
  const void *what; // weft_rt_gemm, weft_rt_attention, weft_rt_kernel_entry,
                    // weft_rt_copy, weft_rt_collective, or null
  int64_t begin, end;
  int64_t ticket; // of Start, Wait and Collective
  int64_t bytes;  // Collective: that arrived
};

/// What a rank's thread spent on one thing.
struct Cost {
  weft_rt_activity activity;
  int32_t op;
  const void *what;
  int64_t wall = 0, cpu = 0;
  int64_t waited = 0; // collectives: time in which this rank moved nothing
  int64_t bytes = 0;  // collectives: that arrived
};

/// Sums of costs of one op.
struct ProfileEntry {
  Cost sum;
  int64_t calls;
};

/// Operands and bytes that arrived.
struct TrafficCount {
  int64_t count = 0, bytes = 0;
};

/// One rank's records.
class RankLog {
public:
  static constexpr int flightLength = 32;

  RankLog(const weft_rt_program &program, int64_t traceEvents, bool profile);

  /// Notes that a collective starts; returns its number, from 0.
  int64_t start(const weft_rt_collective &collective);

  /// Notes that the rank waits for collective `number`, and that it is done.
  void await(int64_t number) { mark(number, State::Awaited); }
  void finish(int64_t number, const weft_rt_collective &collective,
              int64_t bytes);

  /// The time, if somebody wants to know it.
  Moment moment() const {
    return isTracing() || isProfiling() ? readClocks() : Moment();
  }

  /// Keeps a span for the trace, where there is room.
  void trace(const Span &span) {
    if (spans.size() < spans.capacity())
      spans.push_back(span);
    else if (isTracing())
      ++lostSpans;
  }

  /// Adds to the profile.
  void count(const Cost &cost) {
    if (isProfiling())
      addToProfile(cost);
  }

  /// Both, for what the rank's thread did from `begin` to now.
  void record(SpanKind kind, weft_rt_activity activity, int32_t op,
              const void *what, Moment begin);

  bool isTracing() const { return spans.capacity() > 0; }
  const std::vector<Span> &trace() const { return spans; }
  const weft_rt_program &programOf() const { return program; }

  /// Spans that found no room.
  int64_t lost() const { return lostSpans; }

  bool isProfiling() const { return !slots.empty(); }
  const std::vector<ProfileEntry> &profile() const { return entries; }
  void clearProfile();

  TrafficCount traffic(weft_rt_collective_kind kind, int32_t channel) const {
    return counts[kind * numChannels + channel];
  }

  /// The last collectives, oldest first, one a line.
  std::string flightRecord() const;

private:
  Moment readClocks() const;
  void addToProfile(const Cost &cost);

  enum class State : uint8_t { Started, Awaited, Finished };
  struct Entry {
    std::atomic<const weft_rt_collective *> what{nullptr};
    std::atomic<State> state{State::Started};
  };
  void mark(int64_t number, State state);

  const weft_rt_program &program;
  int32_t numChannels;
  std::array<Entry, flightLength> flight;
  std::atomic<int64_t> started{0};
  std::vector<TrafficCount> counts; // [kind][channel]
  std::vector<Span> spans;
  int64_t lostSpans = 0;
  std::vector<ProfileEntry> entries;
  std::vector<int32_t> slots; // hash table of indices in entries; -1: free
};

} // namespace weft::rt

#endif // WEFT_RT_CORE_RANK_LOG_H
