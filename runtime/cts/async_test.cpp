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

/// One collective of one rank: its input and output.
struct Transfer {
  std::vector<float> in, out;
  int64_t ticket = 0;
};

class Async : public testing::TestWithParam<BackendUnderTest> {
protected:
  static constexpr int32_t channels = 3;
  const weft_rt_collective gathers[channels] = {
      describe(WEFT_RT_ALL_GATHER, 0), describe(WEFT_RT_ALL_GATHER, 1),
      describe(WEFT_RT_ALL_GATHER, 2)};
  const weft_rt_collective sums[channels] = {describe(WEFT_RT_ALL_REDUCE, 0),
                                             describe(WEFT_RT_ALL_REDUCE, 1),
                                             describe(WEFT_RT_ALL_REDUCE, 2)};

  /// Four ranks: channels over each axis and over both.
  Job job(const BackendOptions &options = {}) {
    return Job(GetParam(), {{"a", 2}, {"b", 2}},
               {{"a", {{0, 1, 2}}},
                {"b", {{1, 1, 2}}},
                {"all", {{0, 1, 2}, {1, 1, 2}}}},
               options, {{"increment", -1, increment, 1, 0}});
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

  /// Starts a sum a round, in turn on all channels; every other one in place.
  void startSums(Rank rank, std::vector<Transfer> &transfers) {
    for (size_t round = 0; round < transfers.size(); ++round) {
      Transfer &transfer = transfers[round];
      transfer.in.assign(length, inputOf(rank.id(), round));
      transfer.out.assign(length, -1);
      if (round % 2)
        transfer.out = transfer.in;
      const void *in = round % 2 ? transfer.out.data() : transfer.in.data();
      void *out = transfer.out.data();
      transfer.ticket = rank.start(sums[round % channels], &in, &out);
    }
  }

  /// Runs `rounds` sums on each rank, waits in an order of the rank's own, and
  /// checks what comes.
  void runSums(Job &job, int64_t rounds) {
    Status status = job.run([&](Rank rank) {
      std::vector<Transfer> transfers(rounds);
      startSums(rank, transfers);
      // Multiplying by an odd number permutes a power of two.
      for (int64_t i = 0; i < rounds; ++i)
        rank.wait(transfers[i * (2 * rank.id() + 3) % rounds].ticket);
      for (int64_t round = 0; round < rounds; ++round)
        EXPECT_THAT(
            transfers[round].out,
            testing::Each(sumOf(job, round % channels, rank.id(), round)))
            << "rank " << rank.id() << " round " << round;
    });
    EXPECT_TRUE(status.ok()) << status.message();
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
  Job four = job(withLinks(false));
  runSums(four, 8);
  for (int32_t channel = 0; channel < channels; ++channel) {
    EXPECT_FALSE(timesOn(four, channel).empty());
    expectApart(timesOn(four, channel), 200'000 + 384'000);
  }
}

TEST_P(Async, SharedLinkCarriesOneAtATime) {
  Job four = job(withLinks(true));
  runSums(four, 8);
  EXPECT_EQ(timesOn(four, -1).size(), 8u);
  expectApart(timesOn(four, -1), 200'000 + 384'000);
}

TEST_P(Async, RanksComputeWhileDataMoves) {
  Job four = job();
  Status status = four.run([&](Rank rank) {
    for (int64_t step = 0; step < 50; ++step) {
      std::vector<float> in(length, float(rank.id())), out(4 * length), x(64);
      const void *from = in.data();
      void *to = out.data(), *buffers[] = {x.data()};
      int64_t ticket = rank.start(gathers[2], &from, &to);
      rank.launch(0, {64, 8}, buffers, nullptr);
      rank.wait(ticket);
      EXPECT_THAT(x, testing::Each(1.f));
      for (int64_t i = 0; i < 4 * length; ++i)
        EXPECT_EQ(out[i], float(i / length));
    }
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_P(Async, OneStaysInFlightWhileManyPass) {
  Job four = job();
  Status status = four.run([&](Rank rank) {
    Transfer first, other;
    auto start = [&](Transfer &transfer, int32_t channel) {
      transfer.in.assign(length, inputOf(rank.id(), 0));
      transfer.out.assign(length, -1);
      const void *in = transfer.in.data();
      void *out = transfer.out.data();
      return rank.start(sums[channel], &in, &out);
    };
    int64_t ticket = start(first, 0);
    for (int i = 0; i < 3000; ++i)
      rank.wait(start(other, i % channels));
    rank.wait(ticket);
    EXPECT_THAT(first.out, testing::Each(sumOf(four, 0, rank.id(), 0)));
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_P(Async, NumberInFlightIsBounded) {
  Job four = job();
  Status status = four.run([&](Rank rank) {
    // Those in flight on different channels write to different buffers.
    static thread_local float buffers[1 + channels][length];
    const void *in = buffers[0];
    for (int i = 0; i <= 1024; ++i) {
      void *out = buffers[1 + i % channels];
      rank.start(sums[i % channels], &in, &out);
    }
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
    static thread_local float buffers[18][length];
    const void *in[9];
    void *out[9];
    for (int i = 0; i < 9; ++i) {
      in[i] = buffers[i];
      out[i] = buffers[9 + i];
    }
    rank.start(large, in, out);
  });
  EXPECT_THAT(status.message(),
              HasSubstr("all_reduce 'x' has 9 operands, and the program says "
                        "that none has more than 8"));
}

/// Memory that is freed when the task has ended, while some of it may have been
/// in flight when ranks failed.
struct Flight {
  static constexpr int64_t elements = 1 << 20;
  weft_rt_operand operand = {WEFT_RT_F32, 1, elements, 1, 0, 0, 0};
  std::vector<std::vector<float>> in, out;

  Flight() {
    for (int rank = 0; rank < 4; ++rank) {
      in.emplace_back(elements, 1.f);
      out.emplace_back(4 * elements);
    }
  }
  int64_t start(Rank rank, const weft_rt_collective &collective) {
    const void *from = in[rank.id()].data();
    void *to = out[rank.id()].data();
    return rank.start(collective, &from, &to);
  }
};

TEST_P(Async, FailureWhileDataMoves) {
  for (int repeat = 0; repeat < 5; ++repeat) {
    Job four = job();
    auto flight = std::make_unique<Flight>();
    weft_rt_collective gather = gathers[2];
    gather.operands = &flight->operand;
    Status status = four.run([&](Rank rank) {
      int64_t ticket = flight->start(rank, gather);
      if (rank.id() == 2)
        rank.api->fail(rank.self, "out of luck");
      rank.wait(ticket);
    });
    flight.reset();
    EXPECT_EQ(status.message(), "rank 2: out of luck");
  }
}

TEST_P(Async, EndingTheStepWithTicketsOpenFails) {
  Job four = job();
  auto flight = std::make_unique<Flight>();
  weft_rt_collective gather = gathers[2];
  gather.operands = &flight->operand;
  Status status = four.run([&](Rank rank) { flight->start(rank, gather); });
  flight.reset();
  EXPECT_THAT(status.message(), ContainsRegex("rank . ended the step with 1 "
                                              "collectives not waited for"));
}

TEST_P(Async, DeadlineNamesTheChannelThatHangs) {
  BackendOptions options;
  options.deadlineSeconds = 1;
  Job four = job(options);
  Status status = four.run([&](Rank rank) {
    static thread_local float buffers[2][8 * length];
    const void *in = buffers[0];
    void *out = buffers[0] + length, *out2 = buffers[1];
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
    static thread_local float buffer[8 * length];
    const void *in = buffer;
    void *out = buffer + length;
    rank.collective(gathers[rank.id()], &in, &out);
    rank.collective(gathers[1 - rank.id()], &in, &out);
  });
  EXPECT_THAT(status.message(), ContainsRegex("rank . waited 1 s for rank ."));
}

INSTANTIATE_TEST_SUITE_P(All, Async, testing::ValuesIn(backendsUnderTest),
                         [](const auto &info) { return info.param.name; });

} // namespace
