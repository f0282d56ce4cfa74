// SPDX-License-Identifier: Apache-2.0

// What a rank remembers of its work: a flight record (the last collectives,
// for the report after a failure), traffic counters, and a trace when one was
// asked for. All room is allocated up front; recording allocates nothing and
// takes a few stores.
//
// Only the rank's own thread records. Others read after the rank has stopped;
// the flight record can be read at any time.

#ifndef WEFT_RT_CORE_RANK_LOG_H
#define WEFT_RT_CORE_RANK_LOG_H

#include "weft-rt/abi.h"

#include <array>
#include <atomic>
#include <string>
#include <vector>

namespace weft::rt {

/// What a span of a trace shows.
enum class SpanKind { Step, Collective, Gemm };

/// A span of time in a trace; times as of a monotonic clock, in nanoseconds.
struct Span {
  SpanKind kind;
  const void *what; // weft_rt_collective, weft_rt_gemm, or null
  int64_t begin, end;
  int64_t waited; // collectives: time until all members had come
};

/// Operands and bytes that arrived.
struct TrafficCount {
  int64_t count = 0, bytes = 0;
};

/// One rank's records.
class RankLog {
public:
  static constexpr int flightLength = 32;

  RankLog(const weft_rt_program &program, int64_t traceEvents);

  /// Notes that a collective starts; returns its number, from 0.
  int64_t start(const weft_rt_collective &collective);

  /// Notes that the collective that started last is done.
  void finish(const weft_rt_collective &collective, int64_t bytes);

  /// Keeps a span, if there is a trace with room left.
  void record(const Span &span);

  bool isTracing() const { return spans.capacity() > 0; }
  const std::vector<Span> &trace() const { return spans; }

  /// Spans that found no room.
  int64_t lost() const { return lostSpans; }

  TrafficCount traffic(weft_rt_collective_kind kind, int32_t channel) const {
    return counts[kind * numChannels + channel];
  }

  /// The last collectives, oldest first, one a line.
  std::string flightRecord() const;

private:
  struct Entry {
    std::atomic<const weft_rt_collective *> what{nullptr};
    std::atomic<bool> done{false};
  };

  const weft_rt_program &program;
  int32_t numChannels;
  std::array<Entry, flightLength> flight;
  std::atomic<int64_t> started{0};
  std::vector<TrafficCount> counts; // [kind][channel]
  std::vector<Span> spans;
  int64_t lostSpans = 0;
};

} // namespace weft::rt

#endif // WEFT_RT_CORE_RANK_LOG_H
