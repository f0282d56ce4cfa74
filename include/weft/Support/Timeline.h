// SPDX-License-Identifier: Apache-2.0

// What one rank does during a step, over time: the simulator's result, and
// what traces and reports show. Plain data.
//
// Stream 0 is the rank's program: kernels, products, and the waits in which it
// stands still. Each channel is a stream of its own, in the order in which the
// module declares them. A slice on a channel is one collective, from the moment
// when it moves data.
//
// Worked example. A gather is started at 10 ns, all members have started it at
// 30 ns, it takes 50 ns, and the program waits for it from 60 ns on:
//   {"all_gather w", stream 1, 30 to 80, Collective, flow 0, started 10}
//   {"all_gather w", stream 0, 60 to 80, Wait,       flow 0}
// 20 ns of it are exposed.

#ifndef WEFT_SUPPORT_TIMELINE_H
#define WEFT_SUPPORT_TIMELINE_H

#include <cstdint>
#include <string>
#include <vector>

namespace mlir::weft {

/// Something that goes on for a while on a stream.
struct Slice {
  enum Kind { Compute, Collective, Wait };

  std::string name;
  int stream = 0;
  int64_t beginNs = 0, endNs = 0;
  Kind kind = Compute;
  /// Collectives: what the rank receives.
  int64_t bytes = 0;
  /// The same for a collective and its wait; -1: neither.
  int64_t flow = -1;
  /// Collectives: when this rank started it; -1 for other slices.
  int64_t startedNs = -1;
};

/// How many bytes are in use from a time on. Some steps of the program take no
/// time, so that points may be at the same time; `step` tells them apart.
struct MemoryPoint {
  int64_t ns = 0;
  int64_t bytes = 0;
  int64_t step = 0;
};

/// A block of the arena, and when it is in use: from the first write to the
/// last use, in flight included.
struct Owner {
  std::string name;
  int64_t bytes = 0, beginNs = 0, endNs = 0;
  int64_t offset = 0;
  /// The same in steps; the block is in use before `endStep`.
  int64_t firstStep = 0, endStep = 0;
};

struct Timeline {
  std::string title;
  int64_t rank = 0;
  /// Names of streams; stream 0 is "compute".
  std::vector<std::string> streams;
  /// By stream, then by time.
  std::vector<Slice> slices;
  /// Arguments, results and live blocks of the arena. Times do not fall; of
  /// several points of one time the last holds from there on.
  std::vector<MemoryPoint> memory;
  /// By offset, then by time.
  std::vector<Owner> owners;
  /// How long each stream is busy; stream 0 without waits.
  std::vector<int64_t> busyNs;
  /// When the rank is done.
  int64_t stepNs = 0;
  /// No order of issue could be faster: the most of computeNs, the busiest
  /// link, the longest chain of dependent ops, and the bound of the step's
  /// schedule if that was made for the same machine.
  int64_t boundNs = 0;
  /// Of these, the busiest link and the longest chain.
  int64_t linkNs = 0;
  int64_t chainNs = 0;
  int64_t computeNs = 0;
  /// Time in which the program waits for collectives.
  int64_t exposedNs = 0;
  /// Most bytes in use at a time.
  int64_t peakBytes = 0;
  /// Of these, arguments and results, which are in use all the time.
  int64_t fixedBytes = 0;
  /// Bytes of the arena, as planned, and in the host's memory.
  int64_t arenaBytes = 0, hostBytes = 0;
};

} // namespace mlir::weft

#endif // WEFT_SUPPORT_TIMELINE_H
