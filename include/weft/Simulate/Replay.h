// SPDX-License-Identifier: Apache-2.0

// Runs one program on all ranks of a machine, in simulated time. Knows no IR.
//
// A rank goes through its steps in order: it computes for a while, starts a
// collective (which takes no time), or waits until one is done. Collectives of
// one channel and group run in the order of their starts, one after another.
// One gets ready when all members have started it and the one before it is
// done; then it takes its turn on its link, after those that got ready before
// it (ties: in program order), at all members at once, and then it takes its
// time.
//
// Ranks that cannot differ are simulated once: ranks with equal slowness, whose
// groups hold ranks that cannot differ either, for each channel. Without slow
// ranks and jitter that is one rank, however many there are.
//
// Worked example. Two ranks, one channel; each computes 10 ns (rank 1 is twice
// as slow), starts a collective of 5 ns and waits. Both are done at 25 ns, and
// rank 0 waited for 15 ns.

#ifndef WEFT_SIMULATE_REPLAY_H
#define WEFT_SIMULATE_REPLAY_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mlir::weft {

struct ReplayStep {
  enum Kind : uint8_t { Compute, Start, Wait };

  Kind kind = Compute;
  /// Start, Wait: index in ReplayProgram::collectives.
  int32_t collective = -1;
  /// Compute: how long.
  int64_t ns = 0;
};

struct ReplayCollective {
  int32_t channel = 0;
  /// Link that it shares with other channels, or -1.
  int32_t link = -1;
  int64_t ns = 0;
  /// Those of other channels that are done before it begins.
  std::vector<int32_t> after = {};
};

/// The groups of a channel, numbered from 0: one for each rank.
struct ReplayChannel {
  std::vector<int32_t> groupOf;
  int32_t numGroups = 0;
};

struct ReplayProgram {
  int64_t numRanks = 1;
  int32_t numLinks = 0;
  std::vector<ReplayStep> steps;
  /// In the order of their starts.
  std::vector<ReplayCollective> collectives;
  std::vector<ReplayChannel> channels;
};

struct ReplayOptions {
  /// Factor on compute of each rank; empty: 1 for all.
  std::vector<double> slowness;
  /// Each compute step takes up to this part less or more, 0.05 for 5 %.
  double jitter = 0;
  uint64_t seed = 0;
  /// How long each rank's compute steps take, if they differ from the
  /// program's: a number for each rank and step.
  std::vector<std::vector<int64_t>> durations;
  /// Simulate ranks that cannot differ once.
  bool useClasses = true;
};

/// What one rank did: for each collective when the rank started it, when it
/// moved data, and when the rank began to wait and was done waiting; and for
/// each step, and for the end, when it began.
struct RankTimes {
  std::vector<int64_t> startedNs, beginNs, endNs;
  std::vector<int64_t> waitBeginNs, waitEndNs;
  std::vector<int64_t> stepNs;
};

/// All ranks, after a step.
class Replay {
public:
  /// Runs the program. It is kept by reference.
  Replay(const ReplayProgram &program, const ReplayOptions &options);

  /// When a rank is done.
  int64_t getFinishNs(int64_t rank) const { return finish[classOf[rank]]; }

  /// Ranks that were simulated for the others.
  int64_t getNumClasses() const { return int64_t(finish.size()); }

  RankTimes getTimes(int64_t rank) const;

private:
  friend class ReplayRun;
  int64_t getDuration(size_t step, int32_t simulated) const;
  size_t getInstance(int32_t collective, int32_t simulated) const;

  const ReplayProgram &program;
  ReplayOptions options;
  /// Which simulated rank stands for each rank, and which rank each stands for.
  std::vector<int32_t> classOf;
  std::vector<int64_t> representative;
  /// Groups of the simulated ranks.
  std::vector<ReplayChannel> channels;
  /// Number of each collective within its channel, and of those of a channel.
  std::vector<int32_t> sequence, lengths;
  /// Where a channel's instances begin: a group's follow one another.
  std::vector<size_t> firstInstance;
  /// When each instance of a collective ended.
  std::vector<int64_t> ends;
  std::vector<int64_t> finish;
};

} // namespace mlir::weft

#endif // WEFT_SIMULATE_REPLAY_H
