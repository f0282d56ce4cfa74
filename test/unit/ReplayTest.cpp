// SPDX-License-Identifier: Apache-2.0

// Replays against timelines worked out by hand, against a simulator that goes
// through time nanosecond by nanosecond, and with and without classes.

#include "weft/Simulate/Replay.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <random>
#include <set>

using namespace mlir::weft;

namespace {

ReplayStep compute(int64_t ns) { return {ReplayStep::Compute, -1, ns}; }
ReplayStep start(int32_t i) { return {ReplayStep::Start, i, 0}; }
ReplayStep wait(int32_t i) { return {ReplayStep::Wait, i, 0}; }

/// Groups of ranks that agree in everything but digit `digit` of their number
/// in base `base`.
ReplayChannel makeChannel(int64_t numRanks, int64_t base, int digit) {
  ReplayChannel channel;
  int64_t stride = 1;
  for (int i = 0; i < digit; ++i)
    stride *= base;
  std::map<int64_t, int32_t> groups;
  for (int64_t rank = 0; rank < numRanks; ++rank) {
    int64_t origin = rank - rank / stride % base * stride;
    channel.groupOf.push_back(
        groups.try_emplace(origin, int32_t(groups.size())).first->second);
  }
  channel.numGroups = int32_t(groups.size());
  return channel;
}

/// Goes through time in steps of 1 ns; nothing is clever about it.
class TickingSimulator {
public:
  TickingSimulator(const ReplayProgram &program,
                   const std::vector<double> &slowness)
      : program(program), slowness(slowness), ranks(program.numRanks) {}

  std::vector<int64_t> run() {
    std::vector<int64_t> finish(program.numRanks, -1);
    for (int64_t now = 0; now < 100000; ++now) {
      bool isMoving = true;
      while (isMoving) {
        isMoving = endCollectives(now);
        for (int64_t rank = 0; rank < program.numRanks; ++rank)
          isMoving |= moveRank(rank, now, finish[rank]);
        isMoving |= queueReady(now) || beginCollectives(now);
      }
      if (std::find(finish.begin(), finish.end(), -1) == finish.end())
        return finish;
    }
    ADD_FAILURE() << "does not end";
    return finish;
  }

private:
  struct Rank {
    size_t next = 0;
    int64_t busyUntil = 0;
  };
  /// A collective of one group.
  struct Instance {
    std::set<int64_t> started;
    bool isQueued = false, hasBegun = false, isDone = false;
    int64_t end = 0;
  };
  using Key = std::pair<int32_t, int32_t>; // collective, group

  Key keyOf(int32_t collective, int64_t rank) const {
    int32_t channel = program.collectives[collective].channel;
    return {collective, program.channels[channel].groupOf[rank]};
  }

  std::vector<int64_t> membersOf(const Key &key) const {
    std::vector<int64_t> members;
    for (int64_t rank = 0; rank < program.numRanks; ++rank)
      if (keyOf(key.first, rank) == key)
        members.push_back(rank);
    return members;
  }

  bool moveRank(int64_t rank, int64_t now, int64_t &finish) {
    Rank &state = ranks[rank];
    if (state.busyUntil > now)
      return false;
    if (state.next == program.steps.size()) {
      bool isNew = finish < 0;
      if (isNew)
        finish = now;
      return isNew;
    }
    const ReplayStep &step = program.steps[state.next];
    if (step.kind == ReplayStep::Wait &&
        !instances[keyOf(step.collective, rank)].isDone)
      return false;
    if (step.kind == ReplayStep::Start)
      instances[keyOf(step.collective, rank)].started.insert(rank);
    if (step.kind == ReplayStep::Compute)
      state.busyUntil =
          now + std::llround(double(step.ns) *
                             (slowness.empty() ? 1 : slowness[rank]));
    ++state.next;
    return true;
  }

  /// The one before it in its channel and group is done.
  bool isNextOfChannel(const Key &key) {
    for (int32_t i = 0; i < key.first; ++i)
      if (program.collectives[i].channel ==
              program.collectives[key.first].channel &&
          !instances[{i, key.second}].isDone)
        return false;
    return true;
  }

  bool queueReady(int64_t now) {
    bool isMoving = false;
    for (auto &[key, instance] : instances) {
      std::vector<int64_t> members = membersOf(key);
      if (instance.isQueued || instance.started.size() != members.size())
        continue;
      instance.isQueued = isMoving = true;
      int32_t link = program.collectives[key.first].link;
      for (int64_t rank : members)
        if (link >= 0)
          links[{rank, link}].push_back(key);
    }
    return isMoving;
  }

  bool beginCollectives(int64_t now) {
    bool isMoving = false;
    for (auto &[key, instance] : instances) {
      if (!instance.isQueued || instance.hasBegun)
        continue;
      int32_t link = program.collectives[key.first].link;
      bool isFirst = isNextOfChannel(key);
      for (int64_t rank : membersOf(key))
        isFirst &= link < 0 || links[{rank, link}].front() == key;
      if (!isFirst)
        continue;
      instance.hasBegun = isMoving = true;
      instance.end = now + program.collectives[key.first].ns;
    }
    return isMoving;
  }

  bool endCollectives(int64_t now) {
    bool isMoving = false;
    for (auto &[key, instance] : instances) {
      if (!instance.hasBegun || instance.isDone || instance.end > now)
        continue;
      instance.isDone = isMoving = true;
      int32_t link = program.collectives[key.first].link;
      for (int64_t rank : membersOf(key))
        if (link >= 0)
          links[{rank, link}].pop_front();
    }
    return isMoving;
  }

  const ReplayProgram &program;
  const std::vector<double> &slowness;
  std::vector<Rank> ranks;
  std::map<Key, Instance> instances;
  std::map<std::pair<int64_t, int32_t>, std::deque<Key>> links;
};

TEST(Replay, HidesACollectiveBehindCompute) {
  ReplayProgram program;
  program.numRanks = 2;
  program.channels = {makeChannel(2, 2, 0)};
  program.collectives = {{0, -1, 50}};
  program.steps = {compute(10), start(0), compute(30), wait(0), compute(5)};
  Replay replay(program, {});
  EXPECT_EQ(replay.getNumClasses(), 1);
  EXPECT_EQ(replay.getFinishNs(1), 65);
  RankTimes times = replay.getTimes(1);
  EXPECT_EQ(times.startedNs[0], 10);
  EXPECT_EQ(times.beginNs[0], 10);
  EXPECT_EQ(times.endNs[0], 60);
  EXPECT_EQ(times.waitBeginNs[0], 40);
  EXPECT_EQ(times.waitEndNs[0], 60);
  EXPECT_EQ(times.stepNs, (std::vector<int64_t>{0, 10, 10, 40, 60, 65}));
}

TEST(Replay, WaitsForSlowMembers) {
  ReplayProgram program;
  program.numRanks = 4;
  program.channels = {makeChannel(4, 2, 0)};
  program.collectives = {{0, -1, 5}};
  program.steps = {compute(10), start(0), wait(0)};
  ReplayOptions options;
  options.slowness = {1, 2, 1, 1};
  Replay replay(program, options);
  EXPECT_EQ(replay.getNumClasses(), 3);
  EXPECT_EQ(replay.getFinishNs(0), 25);
  EXPECT_EQ(replay.getFinishNs(1), 25);
  EXPECT_EQ(replay.getFinishNs(2), 15);
  EXPECT_EQ(replay.getTimes(0).beginNs[0], 20);
}

TEST(Replay, RunsAChannelInOrder) {
  ReplayProgram program;
  program.numRanks = 2;
  program.channels = {makeChannel(2, 2, 0), makeChannel(2, 2, 0)};
  program.collectives = {{0, -1, 50}, {0, -1, 10}, {1, -1, 10}};
  program.steps = {start(0), start(1), start(2), wait(1), wait(0), wait(2)};
  RankTimes times = Replay(program, {}).getTimes(0);
  EXPECT_EQ(times.endNs, (std::vector<int64_t>{50, 60, 10}));
}

TEST(Replay, TakesTurnsOnASharedLink) {
  ReplayProgram program;
  program.numRanks = 2;
  program.numLinks = 1;
  program.channels = {makeChannel(2, 2, 0), makeChannel(2, 2, 0)};
  program.collectives = {{0, 0, 50}, {1, 0, 10}};
  program.steps = {start(0), compute(5), start(1), wait(1), wait(0)};
  RankTimes times = Replay(program, {}).getTimes(0);
  EXPECT_EQ(times.beginNs[1], 50);
  EXPECT_EQ(times.waitEndNs[1], 60);
}

/// A random program on 8 ranks with three channels.
ReplayProgram makeRandomProgram(std::mt19937 &random) {
  auto upTo = [&](int n) { return int(random() % (n + 1)); };
  ReplayProgram program;
  program.numRanks = 8;
  program.numLinks = 2;
  for (int digit = 0; digit < 3; ++digit)
    program.channels.push_back(makeChannel(8, 2, digit));
  std::vector<int32_t> inFlight;
  for (int i = 0, count = 5 + upTo(25); i < count; ++i) {
    int choice = upTo(3);
    if (choice <= 1) {
      program.steps.push_back(compute(upTo(20)));
    } else if (choice == 2) {
      int32_t index = int32_t(program.collectives.size());
      program.collectives.push_back({upTo(2), upTo(2) - 1, upTo(15)});
      program.steps.push_back(start(index));
      inFlight.push_back(index);
    } else if (!inFlight.empty()) {
      size_t at = upTo(int(inFlight.size()) - 1);
      program.steps.push_back(wait(inFlight[at]));
      inFlight.erase(inFlight.begin() + at);
    }
  }
  for (int32_t index : inFlight)
    program.steps.push_back(wait(index));
  return program;
}

/// Some programs have slow ranks, one or several.
std::vector<double> makeSlowness(std::mt19937 &random) {
  std::vector<double> slowness(8, 1);
  if (random() % 2 == 0)
    return {};
  for (int i = 0, count = int(random() % 3); i < count; ++i)
    slowness[random() % 8] = 1.5 + 0.5 * double(random() % 3);
  return slowness;
}

TEST(Replay, AgreesWithTickingThroughTime) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    ReplayProgram program = makeRandomProgram(random);
    ReplayOptions options;
    options.slowness = makeSlowness(random);
    std::vector<int64_t> expected =
        TickingSimulator(program, options.slowness).run();
    Replay replay(program, options);
    for (int64_t rank = 0; rank < 8; ++rank)
      ASSERT_EQ(replay.getFinishNs(rank), expected[rank])
          << "round " << round << " rank " << rank;
  }
}

TEST(Replay, ClassesChangeNothing) {
  std::mt19937 random(2);
  int64_t saved = 0;
  for (int round = 0; round < 500; ++round) {
    ReplayProgram program = makeRandomProgram(random);
    ReplayOptions options;
    options.slowness = makeSlowness(random);
    Replay merged(program, options);
    options.useClasses = false;
    Replay full(program, options);
    EXPECT_EQ(full.getNumClasses(), 8);
    saved += 8 - merged.getNumClasses();
    for (int64_t rank = 0; rank < 8; ++rank) {
      ASSERT_EQ(merged.getFinishNs(rank), full.getFinishNs(rank));
      ASSERT_EQ(merged.getTimes(rank).beginNs, full.getTimes(rank).beginNs);
    }
  }
  EXPECT_GT(saved, 500 * 3);
}

TEST(Replay, CollectivesThatComeAfterOthers) {
  ReplayProgram program;
  program.numRanks = 4;
  program.channels = {makeChannel(4, 2, 0), makeChannel(4, 2, 1)};
  // The second one's channel waits for the first, and the third is behind it.
  program.collectives = {{0, -1, 100, {}}, {1, -1, 10, {0}}, {1, -1, 5, {}}};
  program.steps = {start(0), start(1), start(2), wait(2)};
  Replay replay(program, {});
  EXPECT_EQ(replay.getTimes(3).beginNs, (std::vector<int64_t>{0, 100, 110}));
  EXPECT_EQ(replay.getFinishNs(3), 115);
  // Ranks 2 and 3 are in another group of the first, which starts later.
  ReplayOptions options;
  options.slowness = {1, 1, 3, 3};
  program.steps.insert(program.steps.begin(), compute(20));
  Replay slow(program, options);
  EXPECT_EQ(slow.getTimes(0).beginNs, (std::vector<int64_t>{20, 160, 170}));
  EXPECT_EQ(slow.getFinishNs(0), 175);
}

TEST(Replay, JitterIsRepeatable) {
  std::mt19937 random(3);
  ReplayProgram program = makeRandomProgram(random);
  program.steps.push_back(compute(100000));
  ReplayOptions options;
  options.jitter = 0.1;
  options.seed = 7;
  int64_t first = Replay(program, options).getFinishNs(3);
  EXPECT_EQ(Replay(program, options).getFinishNs(3), first);
  EXPECT_EQ(Replay(program, options).getNumClasses(), 8);
  options.seed = 8;
  EXPECT_NE(Replay(program, options).getFinishNs(3), first);
}

TEST(Replay, ManyRanks) {
  ReplayProgram program;
  program.numRanks = 16384;
  program.channels = {makeChannel(16384, 2, 0), makeChannel(16384, 128, 1)};
  for (int32_t i = 0; i < 300; ++i) {
    program.collectives.push_back({i % 2, -1, 100});
    for (const ReplayStep &step : {start(i), compute(300), wait(i)})
      program.steps.push_back(step);
  }
  ReplayOptions options;
  EXPECT_EQ(Replay(program, options).getFinishNs(9), 300 * 300);
  options.slowness.assign(16384, 1);
  options.slowness[77] = 2;
  Replay slow(program, options);
  EXPECT_LT(slow.getNumClasses(), 10);
  EXPECT_GT(slow.getFinishNs(76), 300 * 300);
  options = {};
  options.jitter = 0.05;
  Replay jittered(program, options);
  EXPECT_EQ(jittered.getNumClasses(), 16384);
  EXPECT_GT(jittered.getFinishNs(0), 300 * 300);
}

} // namespace
