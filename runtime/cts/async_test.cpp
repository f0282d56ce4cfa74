// SPDX-License-Identifier: Apache-2.0

// What every backend owes to programs that have collectives in flight: many at
// once on several channels, waits in any order, buffers in place, delays, slow
// links, and ranks that fail while data moves. Values never depend on timing.

#include "job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

using namespace weft::rt;
using namespace weft::rt::cts;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

namespace {

constexpr int64_t length = 96; // elements that a member brings

const weft_rt_operand floats = {WEFT_RT_F32, 1, length, 1, 0, 0, 0};

weft_rt_collective describe(weft_rt_collective_kind kind, int32_t channel) {
  return {kind, WEFT_RT_SUM, channel, 1, &floats, nullptr, "x", 0};
}

/// One collective of each rank: where its input and output are.
struct Transfer {
  int64_t in, out;
};

class Async : public testing::TestWithParam<BackendUnderTest> {
protected:
  static constexpr int32_t channels = 3;
  static constexpr int64_t memoryBytes = 1 << 20;
  static constexpr int64_t bytes = length * int64_t(sizeof(float));
  const weft_rt_collective gathers[channels] = {
      describe(WEFT_RT_ALL_GATHER, 0), describe(WEFT_RT_ALL_GATHER, 1),
      describe(WEFT_RT_ALL_GATHER, 2)};
  const weft_rt_collective sums[channels] = {describe(WEFT_RT_ALL_REDUCE, 0),
                                             describe(WEFT_RT_ALL_REDUCE, 1),
                                             describe(WEFT_RT_ALL_REDUCE, 2)};

  /// Four ranks: channels over each axis and over both.
  Job job(const BackendOptions &options = {}, int64_t memory = memoryBytes) {
    return Job(GetParam(), {{"a", 2}, {"b", 2}},
               {{"a", {{0, 1, 2}}},
                {"b", {{1, 1, 2}}},
                {"all", {{0, 1, 2}, {1, 1, 2}}}},
               options, {{"increment", -1, increment, 1, 0}}, memory);
  }

  static void increment(void *const *buffers, const int64_t *, int64_t begin,
                        int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      static_cast<float *>(buffers[0])[i] += 1;
  }

  static float inputOf(int64_t rank, int64_t round) {
    return float(1 + rank + 10 * round);
  }

  /// The sum of the inputs of the rank's group on the channel.
  static float sumOf(const Job &job, int32_t channel, int64_t rank,
                     int64_t round) {
    ChannelGroups groups = job.groups(channel);
    float sum = 0;
    for (int64_t member : groups.groups[groups.ofRank[rank].group])
      sum += inputOf(member, round);
    return sum;
  }

  /// Writes the inputs of a sum a round; every other one is in place.
  std::vector<Transfer> writeSums(Job &job, int64_t rounds) {
    std::vector<Transfer> transfers;
    job.clear();
    for (int64_t round = 0; round < rounds; ++round) {
      int64_t in = job.place(bytes);
      transfers.push_back({in, round % 2 ? in : job.place(bytes)});
      for (int64_t rank = 0; rank < 4; ++rank)
        writeFloats(job, rank, in, inputOf(rank, round));
    }
    return transfers;
  }

  static void writeFloats(Job &job, int64_t rank, int64_t place, float value) {
    const std::vector<float> values(length, value);
    job.write(rank, place, values.data(), bytes);
  }

  int64_t startSum(Rank rank, int32_t channel, const Transfer &transfer) {
    const void *in = rank.at(transfer.in);
    void *out = rank.at(transfer.out);
    return rank.start(sums[channel], &in, &out);
  }

  /// Runs `rounds` sums on each rank, in turn on all channels, waits in an
  /// order of the rank's own, and checks what comes.
  void runSums(Job &job, int64_t rounds) {
    std::vector<Transfer> transfers = writeSums(job, rounds);
    Status status = job.run([&](Rank rank) {
      std::vector<int64_t> tickets;
      for (int64_t round = 0; round < rounds; ++round)
        tickets.push_back(
            startSum(rank, int32_t(round % channels), transfers[round]));
      // Multiplying by an odd number permutes a power of two.
      for (int64_t i = 0; i < rounds; ++i)
        rank.wait(tickets[i * (2 * rank.id() + 3) % rounds]);
    });
    EXPECT_TRUE(status.ok()) << status.message();
    for (int64_t rank = 0; rank < 4; ++rank)
      for (int64_t round = 0; round < rounds; ++round)
        EXPECT_THAT(job.values<float>(rank, transfers[round].out, length),
                    testing::Each(sumOf(job, round % channels, rank, round)))
            << "rank " << rank << " round " << round;
  }

  static BackendOptions withLinks(bool isShared) {
    BackendOptions options;
    // A sum on a group of 2 brings 384 bytes: 0.384 ms and the latency.
    options.links.assign(channels, {true, 200'000, 1e-3});
    options.sharesLink = isShared;
    options.traceEvents = 1000;
    return options;
  }

  /// When collectives ran on one channel, or on all (-1), of rank 0.
  static std::vector<std::pair<int64_t, int64_t>> timesOn(Job &job,
                                                          int32_t channel) {
    std::vector<std::pair<int64_t, int64_t>> times;
    for (const Span &span : job.backend().log(0).trace()) {
      auto *what = static_cast<const weft_rt_collective *>(span.what);
      if (span.kind == SpanKind::Collective &&
          (channel < 0 || what->channel == channel))
        times.push_back({span.begin, span.end});
    }
    std::sort(times.begin(), times.end());
    return times;
  }

  /// A slow machine may end a collective late, but the next one had its time on
  /// the link after it.
  static void expectApart(const std::vector<std::pair<int64_t, int64_t>> &times,
                          int64_t shortest) {
    for (size_t i = 0; i < times.size(); ++i) {
      EXPECT_GE(times[i].second - times[i].first, shortest);
      if (i > 0) {
        EXPECT_GE(times[i].first - times[i - 1].first, shortest);
      }
    }
  }
};

TEST_P(Async, ManyInFlightAndAnyOrderOfWaits) {
  Job four = job();
  for (int64_t rounds : {1, 2, 16, 64, 1024})
    runSums(four, rounds);
}

TEST_P(Async, DelaysChangeNothing) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    BackendOptions options;
    options.perturbSeed = seed;
    options.poisonsFlight = seed % 2;
    Job four = job(options);
    runSums(four, 16);
  }
}

TEST_P(Async, LinksTakeTimeAndChangeNothing) {
  if (!GetParam().hasLinks)
    GTEST_SKIP() << "the backend has no links";
  Job four = job(withLinks(false));
  runSums(four, 8);
  for (int32_t channel = 0; channel < channels; ++channel) {
    EXPECT_FALSE(timesOn(four, channel).empty());
    expectApart(timesOn(four, channel), 200'000 + 384'000);
  }
}

TEST_P(Async, SharedLinkCarriesOneAtATime) {
  if (!GetParam().hasLinks)
    GTEST_SKIP() << "the backend has no links";
  Job four = job(withLinks(true));
  runSums(four, 8);
  EXPECT_EQ(timesOn(four, -1).size(), 8u);
  expectApart(timesOn(four, -1), 200'000 + 384'000);
}

TEST_P(Async, RanksComputeWhileDataMoves) {
  Job four = job();
  constexpr int64_t steps = 50;
  struct Step {
    int64_t in, out, x;
  };
  std::vector<Step> places;
  const std::vector<float> zeros(64, 0.f);
  for (int64_t step = 0; step < steps; ++step) {
    places.push_back({four.place(bytes), four.place(4 * bytes),
                      four.place(64 * sizeof(float))});
    for (int64_t rank = 0; rank < 4; ++rank) {
      writeFloats(four, rank, places[step].in, float(rank));
      four.write(rank, places[step].x, zeros.data(), 64 * sizeof(float));
    }
  }
  Status status = four.run([&](Rank rank) {
    for (const Step &step : places) {
      const void *from = rank.at(step.in);
      void *to = rank.at(step.out), *buffers[] = {rank.at(step.x)};
      int64_t ticket = rank.start(gathers[2], &from, &to);
      rank.launch(0, 64, buffers, nullptr);
      rank.wait(ticket);
    }
  });
  EXPECT_TRUE(status.ok()) << status.message();
  for (int64_t rank = 0; rank < 4; ++rank)
    for (const Step &step : places) {
      EXPECT_THAT(four.values<float>(rank, step.x, 64), testing::Each(1.f));
      std::vector<float> out = four.values<float>(rank, step.out, 4 * length);
      for (int64_t i = 0; i < 4 * length; ++i)
        EXPECT_EQ(out[i], float(i / length));
    }
}

/// What is enqueued before a start comes before it, and what is enqueued after
/// a wait comes after it.
TEST_P(Async, ComputationIsOrderedAroundCollectives) {
  Job four = job();
  int64_t in = four.place(bytes), out = four.place(bytes);
  constexpr int rounds = 20;
  for (int64_t rank = 0; rank < 4; ++rank)
    writeFloats(four, rank, in, float(rank));
  Status status = four.run([&](Rank rank) {
    void *input[] = {rank.at(in)}, *output[] = {rank.at(out)};
    for (int round = 0; round < rounds; ++round) {
      const void *from = rank.at(in);
      rank.launch(0, length, input, nullptr);
      int64_t ticket = rank.start(sums[2], &from, output);
      rank.wait(ticket);
      rank.launch(0, length, output, nullptr);
    }
  });
  EXPECT_TRUE(status.ok()) << status.message();
  for (int64_t rank = 0; rank < 4; ++rank)
    EXPECT_THAT(four.values<float>(rank, out, length),
                testing::Each(float(0 + 1 + 2 + 3 + 4 * rounds + 1)));
}

TEST_P(Async, OneStaysInFlightWhileManyPass) {
  Job four = job();
  Transfer first = {four.place(bytes), four.place(bytes)};
  Transfer others[channels];
  for (Transfer &other : others)
    other = {first.in, four.place(bytes)};
  for (int64_t rank = 0; rank < 4; ++rank)
    writeFloats(four, rank, first.in, inputOf(rank, 0));
  Status status = four.run([&](Rank rank) {
    int64_t ticket = startSum(rank, 0, first);
    for (int i = 0; i < 3000; ++i)
      rank.wait(startSum(rank, i % channels, others[i % channels]));
    rank.wait(ticket);
  });
  EXPECT_TRUE(status.ok()) << status.message();
  for (int64_t rank = 0; rank < 4; ++rank)
    EXPECT_THAT(four.values<float>(rank, first.out, length),
                testing::Each(sumOf(four, 0, rank, 0)));
}

TEST_P(Async, NumberInFlightIsBounded) {
  Job four = job();
  Status status = four.run([&](Rank rank) {
    // Those in flight on different channels write to different buffers.
    for (int i = 0; i <= 1024; ++i)
      startSum(rank, i % channels, {0, 1024 * (1 + i % channels)});
  });
  EXPECT_THAT(
      status.message(),
      ContainsRegex("rank .: more than 1024 collectives are in flight"));
}

TEST_P(Async, NumberOfOperandsIsBounded) {
  Job four = job();
  std::vector<weft_rt_operand> operands(9, floats);
  weft_rt_collective large = sums[0];
  large.num_operands = int32_t(operands.size());
  large.operands = operands.data();
  Status status = four.run([&](Rank rank) {
    const void *in[9];
    void *out[9];
    for (int i = 0; i < 9; ++i) {
      in[i] = rank.at(1024 * i);
      out[i] = rank.at(1024 * (9 + i));
    }
    rank.start(large, in, out);
  });
  EXPECT_THAT(status.message(),
              HasSubstr("all_reduce 'x' has 9 operands, and the program says "
                        "that none has more than 8"));
}

/// A job whose memory is freed when the task has ended, while some of it may
/// have been in flight when ranks failed.
constexpr int64_t flightElements = 1 << 20;
const weft_rt_operand flightOperand = {WEFT_RT_F32, 1, flightElements, 1, 0,
                                       0,           0};

int64_t startFlight(Rank rank, const weft_rt_collective &collective) {
  const void *from = rank.at(0);
  void *to = rank.at(flightElements * 4);
  return rank.start(collective, &from, &to);
}

TEST_P(Async, FailureWhileDataMoves) {
  for (int repeat = 0; repeat < 5; ++repeat) {
    std::unique_ptr<Job> four(new Job(job({}, 5 * 4 * flightElements)));
    weft_rt_collective gather = gathers[2];
    gather.operands = &flightOperand;
    Status status = four->run([&](Rank rank) {
      int64_t ticket = startFlight(rank, gather);
      if (rank.id() == 2)
        rank.api->fail(rank.self, "out of luck");
      rank.wait(ticket);
    });
    four.reset();
    EXPECT_EQ(status.message(), "rank 2: out of luck");
  }
}

TEST_P(Async, EndingTheStepWithTicketsOpenFails) {
  std::unique_ptr<Job> four(new Job(job({}, 5 * 4 * flightElements)));
  weft_rt_collective gather = gathers[2];
  gather.operands = &flightOperand;
  Status status = four->run([&](Rank rank) { startFlight(rank, gather); });
  four.reset();
  EXPECT_THAT(status.message(), ContainsRegex("rank . ended the step with 1 "
                                              "collectives not waited for"));
}

TEST_P(Async, DeadlineNamesTheChannelThatHangs) {
  BackendOptions options;
  options.deadlineSeconds = 1;
  Job four = job(options);
  Status status = four.run([&](Rank rank) {
    const void *in = rank.at(0);
    void *out = rank.at(1024), *out2 = rank.at(4096);
    int64_t first = rank.start(gathers[0], &in, &out);
    // Rank 3 never starts on channel b, where rank 2 waits for it.
    int64_t second =
        rank.id() == 3 ? first : rank.start(gathers[1], &in, &out2);
    rank.wait(first);
    if (rank.id() != 3)
      rank.wait(second);
  });
  EXPECT_THAT(status.message(),
              ContainsRegex("all_gather 'x' on channel 'b': rank 2 waited 1 s "
                            "for rank 3, in the group of ranks 2, 3"));
}

TEST_P(Async, OppositeOrdersEndAtTheDeadline) {
  BackendOptions options;
  options.deadlineSeconds = 1;
  Job two(GetParam(), {{"a", 2}}, {{"one", {{0, 1, 2}}}, {"two", {{0, 1, 2}}}},
          options);
  Status status = two.run([&](Rank rank) {
    const void *in = rank.at(0);
    void *out = rank.at(1024);
    rank.collective(gathers[rank.id()], &in, &out);
    rank.collective(gathers[1 - rank.id()], &in, &out);
  });
  EXPECT_THAT(status.message(), ContainsRegex("rank . waited 1 s for rank ."));
}

INSTANTIATE_TEST_SUITE_P(All, Async, testing::ValuesIn(backendsUnderTest),
                         [](const auto &info) { return info.param.name; });

} // namespace
