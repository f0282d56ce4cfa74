// SPDX-License-Identifier: Apache-2.0

// Each rank runs ahead until it waits for a collective whose end is not known.
// A queue holds the collectives that all members have started, by time: the
// first takes its channel and link, gets its end, and lets the ranks that wait
// for it run on. What they start then is started no earlier, so times come out
// of the queue in order.
//
// All arrays are flat: 16,384 ranks with a thousand collectives each fit.

#include "weft/Simulate/Replay.h"

#include "Classes.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <queue>
#include <set>
#include <tuple>

using namespace mlir::weft;

namespace mlir::weft {

/// The state of a run.
class ReplayRun {
public:
  explicit ReplayRun(Replay &replay);
  void run();

private:
  /// A collective that its group has started: when, program order, group.
  using Ready = std::tuple<int64_t, int32_t, int32_t>;

  void advance(int32_t rank);
  void start(int32_t rank, int32_t collective);
  void visit(const Ready &ready);
  void finish(const Ready &ready);
  int64_t getReadyTime(const Ready &ready) const;
  int64_t takeLink(const ReplayCollective &collective, size_t group,
                   int64_t ready);

  size_t groupIndex(int32_t channel, int32_t group) const {
    return firstGroup[channel] + group;
  }

  Replay &replay;
  const ReplayProgram &program;
  /// Of each simulated rank: the next step, and the time.
  std::vector<size_t> next;
  std::vector<int64_t> &clock;
  /// Of each rank and link: when it is free.
  std::vector<int64_t> linkFree;
  /// Of each instance: members that have not started it, and when the last did.
  std::vector<int32_t> missing;
  std::vector<int64_t> lastStart;
  /// Of each group: when its channel is free.
  std::vector<size_t> firstGroup;
  std::vector<int64_t> channelFree;
  std::vector<std::vector<int32_t>> members;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<Ready>> queue;
  /// Of each group, what its channel is held up by, and what is behind that.
  std::vector<std::deque<Ready>> held;
  /// Groups held up by what is not done; by what is awaited.
  std::set<size_t> stalled;
};

} // namespace mlir::weft

static constexpr int64_t unknown = -1;

ReplayRun::ReplayRun(Replay &replay)
    : replay(replay), program(replay.program),
      next(replay.representative.size(), 0), clock(replay.finish),
      linkFree(replay.representative.size() * program.numLinks, 0),
      missing(replay.ends.size()), lastStart(replay.ends.size(), 0) {
  clock.assign(replay.representative.size(), 0);
  for (size_t c = 0; c < replay.channels.size(); ++c) {
    const ReplayChannel &channel = replay.channels[c];
    firstGroup.push_back(members.size());
    members.resize(members.size() + channel.numGroups);
    for (size_t rank = 0; rank < channel.groupOf.size(); ++rank)
      members[firstGroup[c] + channel.groupOf[rank]].push_back(int32_t(rank));
    for (int32_t group = 0; group < channel.numGroups; ++group) {
      auto first = missing.begin() + replay.firstInstance[c] +
                   size_t(group) * replay.lengths[c];
      std::fill(first, first + replay.lengths[c],
                int32_t(members[firstGroup[c] + group].size()));
    }
  }
  channelFree.resize(members.size(), 0);
  held.resize(members.size());
}

void ReplayRun::start(int32_t rank, int32_t collective) {
  int32_t channel = program.collectives[collective].channel;
  size_t instance = replay.getInstance(collective, rank);
  lastStart[instance] = std::max(lastStart[instance], clock[rank]);
  int32_t group = replay.channels[channel].groupOf[rank];
  if (--missing[instance] == 0)
    queue.emplace(lastStart[instance], collective, group);
}

/// Runs a rank until it has to wait for what is not known yet, or is done.
void ReplayRun::advance(int32_t rank) {
  for (; next[rank] < program.steps.size(); ++next[rank]) {
    const ReplayStep &step = program.steps[next[rank]];
    if (step.kind == ReplayStep::Compute) {
      clock[rank] += replay.getDuration(next[rank], rank);
    } else if (step.kind == ReplayStep::Start) {
      start(rank, step.collective);
    } else {
      int64_t end = replay.ends[replay.getInstance(step.collective, rank)];
      if (end == unknown)
        return;
      clock[rank] = std::max(clock[rank], end);
    }
  }
}

/// When a collective gets its link at all members, from `ready` on; takes it.
int64_t ReplayRun::takeLink(const ReplayCollective &collective, size_t group,
                            int64_t ready) {
  if (collective.link < 0)
    return ready;
  auto freeAt = [&](int32_t rank) -> int64_t & {
    return linkFree[size_t(rank) * program.numLinks + collective.link];
  };
  for (int32_t rank : members[group])
    ready = std::max(ready, freeAt(rank));
  for (int32_t rank : members[group])
    freeAt(rank) = ready + collective.ns;
  return ready;
}

void ReplayRun::finish(const Ready &ready) {
  auto [time, index, group] = ready;
  const ReplayCollective &collective = program.collectives[index];
  size_t at = groupIndex(collective.channel, group);
  int64_t begin = takeLink(collective, at, std::max(time, channelFree[at]));
  channelFree[at] = begin + collective.ns;
  replay.ends[replay.getInstance(index, members[at].front())] = channelFree[at];
  for (int32_t rank : members[at]) {
    if (next[rank] == program.steps.size())
      continue;
    const ReplayStep &step = program.steps[next[rank]];
    if (step.kind == ReplayStep::Wait && step.collective == index)
      advance(rank);
  }
}

/// When what a collective comes after is done, which may not be known yet.
int64_t ReplayRun::getReadyTime(const Ready &ready) const {
  auto [time, index, group] = ready;
  const ReplayCollective &collective = program.collectives[index];
  for (int32_t rank : members[groupIndex(collective.channel, group)])
    for (int32_t other : collective.after) {
      int64_t end = replay.ends[replay.getInstance(other, rank)];
      if (end == unknown)
        return unknown;
      time = std::max(time, end);
    }
  return time;
}

/// Finishes a collective, unless its channel's stream waits for others first.
/// What is behind it on the channel waits as well.
void ReplayRun::visit(const Ready &ready) {
  auto [time, index, group] = ready;
  size_t at = groupIndex(program.collectives[index].channel, group);
  std::deque<Ready> &line = held[at];
  bool isFirst = line.empty() || std::get<1>(line.front()) == index;
  if (!isFirst)
    return line.push_back(ready);
  int64_t readyTime = getReadyTime(ready);
  if (readyTime != time) {
    if (line.empty())
      line.push_back(ready);
    if (readyTime == unknown)
      stalled.insert(at);
    else
      queue.emplace(readyTime, index, group);
    return;
  }
  if (!line.empty())
    line.pop_front();
  finish(ready);
  if (!line.empty())
    queue.push(line.front());
  for (size_t other : std::exchange(stalled, {}))
    queue.push(held[other].front());
}

void ReplayRun::run() {
  for (size_t rank = 0; rank < next.size(); ++rank)
    advance(int32_t(rank));
  while (!queue.empty()) {
    Ready ready = queue.top();
    queue.pop();
    visit(ready);
  }
}

/// A number in [0, 1) that depends on all three: splitmix64.
static double getNoise(uint64_t seed, uint64_t rank, uint64_t step) {
  uint64_t x = seed + 0x9e3779b97f4a7c15u * (rank * 0x100000001b3u + step + 1);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  x ^= x >> 31;
  return double(x >> 11) / double(uint64_t(1) << 53);
}

int64_t Replay::getDuration(size_t step, int32_t simulated) const {
  double factor = 1;
  int64_t rank = representative[simulated];
  int64_t ns = options.durations.empty() ? program.steps[step].ns
                                         : options.durations[rank][step];
  if (!options.slowness.empty())
    factor = options.slowness[rank];
  if (options.jitter != 0)
    factor *= 1 + options.jitter * (2 * getNoise(options.seed, rank, step) - 1);
  return factor == 1 ? ns : std::llround(double(ns) * factor);
}

size_t Replay::getInstance(int32_t collective, int32_t simulated) const {
  int32_t channel = program.collectives[collective].channel;
  return firstInstance[channel] +
         size_t(channels[channel].groupOf[simulated]) * lengths[channel] +
         sequence[collective];
}

Replay::Replay(const ReplayProgram &program, const ReplayOptions &options)
    : program(program), options(options) {
  bool canMerge =
      options.useClasses && options.jitter == 0 && options.durations.empty();
  RankClasses classes =
      canMerge
          ? refineClasses(program.numRanks, program.channels, options.slowness)
          : makeSingletons(program.numRanks, program.channels);
  classOf = std::move(classes.classOf);
  representative = std::move(classes.representative);
  channels = std::move(classes.channels);
  lengths.resize(channels.size(), 0);
  for (const ReplayCollective &collective : program.collectives)
    sequence.push_back(lengths[collective.channel]++);
  size_t numInstances = 0;
  for (size_t channel = 0; channel < channels.size(); ++channel) {
    firstInstance.push_back(numInstances);
    numInstances += size_t(channels[channel].numGroups) * lengths[channel];
  }
  ends.resize(numInstances, unknown);
  ReplayRun(*this).run();
}

RankTimes Replay::getTimes(int64_t rank) const {
  RankTimes times;
  size_t count = program.collectives.size();
  times.startedNs.resize(count, unknown);
  times.waitBeginNs.resize(count, unknown);
  times.waitEndNs.resize(count, unknown);
  int32_t simulated = classOf[rank];
  for (size_t i = 0; i < count; ++i) {
    times.endNs.push_back(ends[getInstance(int32_t(i), simulated)]);
    times.beginNs.push_back(times.endNs[i] - program.collectives[i].ns);
  }
  int64_t clock = 0;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const ReplayStep &step = program.steps[i];
    times.stepNs.push_back(clock);
    if (step.kind == ReplayStep::Compute) {
      clock += getDuration(i, simulated);
    } else if (step.kind == ReplayStep::Start) {
      times.startedNs[step.collective] = clock;
    } else {
      times.waitBeginNs[step.collective] = clock;
      clock = std::max(clock, times.endNs[step.collective]);
      times.waitEndNs[step.collective] = clock;
    }
  }
  times.stepNs.push_back(clock);
  return times;
}
