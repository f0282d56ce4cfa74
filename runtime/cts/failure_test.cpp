// SPDX-License-Identifier: Apache-2.0

// What every backend owes when ranks do not do the same: reductions that do not
// exist, descriptors that do not fit, ranks that fail or never come. Each ends
// all ranks, with the first failure's message.

#include "job.h"
#include "reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace weft::rt;
using namespace weft::rt::cts;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

namespace {

const weft_rt_operand fourFloats = {WEFT_RT_F32, 1, 4, 1, 0, 0, 0};
const weft_rt_operand oddNibbles = {WEFT_RT_F4E2M1FN, 2, 3, 1, 0, 0, 0};

weft_rt_collective describe(weft_rt_collective_kind kind,
                            const weft_rt_operand &operand, const char *name) {
  return {kind, WEFT_RT_SUM, 0, 1, &operand, nullptr, name, 0};
}

class Failure : public testing::TestWithParam<BackendUnderTest> {
protected:
  static BackendOptions quick() {
    BackendOptions options;
    options.deadlineSeconds = 1;
    return options;
  }

  /// A job of `size` ranks in one group.
  Job job(int64_t size, BackendOptions options = quick()) {
    return Job(GetParam(), {{"a", size}}, {{"ring", {{0, 1, size}}}}, options);
  }
};

/// Starts the collective on what lies at the begin of a rank's memory.
void runSmall(Rank rank, const weft_rt_collective &collective) {
  const void *in = rank.at(0);
  void *out = rank.at(128);
  rank.collective(collective, &in, &out);
}

TEST_P(Failure, DeadlineNamesMissingRanks) {
  Job four = job(4);
  weft_rt_collective gather = describe(WEFT_RT_ALL_GATHER, fourFloats, "w");
  Status status = four.run([&](Rank rank) {
    if (rank.id() % 2 == 0)
      runSmall(rank, gather);
  });
  EXPECT_EQ(status.code(), WEFT_RT_RANK_FAILED);
  EXPECT_THAT(status.message(),
              ContainsRegex("all_gather 'w' on channel 'ring': rank [02] "
                            "waited 1 s for ranks 1, 3, in the group of "
                            "ranks 0, 1, 2, 3"));
}

TEST_P(Failure, FailedRankEndsTheOthers) {
  BackendOptions patient;
  patient.deadlineSeconds = 1000;
  Job eight = job(8, patient);
  weft_rt_collective reduce = describe(WEFT_RT_ALL_REDUCE, fourFloats, "g");
  Status status = eight.run([&](Rank rank) {
    if (rank.id() == 5)
      rank.api->fail(rank.self, "out of luck");
    runSmall(rank, reduce);
  });
  EXPECT_EQ(status.code(), WEFT_RT_RANK_FAILED);
  EXPECT_EQ(status.message(), "rank 5: out of luck");
  EXPECT_EQ(eight.run([](Rank) {}).message(), "rank 5: out of luck");
}

TEST_P(Failure, KilledRank) {
  weft_rt_collective reduce = describe(WEFT_RT_ALL_REDUCE, fourFloats, "g");
  for (weft_rt_fault_kind kind : {WEFT_RT_FAULT_FAIL, WEFT_RT_FAULT_VANISH}) {
    BackendOptions options = quick();
    options.faults = {{kind, 1, 2, 0}};
    Job three = job(3, options);
    Status status = three.run([&](Rank rank) {
      for (int i = 0; i < 5; ++i)
        runSmall(rank, reduce);
    });
    EXPECT_EQ(status.code(), WEFT_RT_RANK_FAILED);
    EXPECT_THAT(status.message(), HasSubstr("rank 1"));
    EXPECT_THAT(three.backend().log(1).flightRecord(),
                HasSubstr("#2 all_reduce 'g' on channel 'ring': started"));
    // Others may not have come so far, or be ahead of their devices.
    EXPECT_THAT(three.backend().log(0).flightRecord(),
                Not(HasSubstr("#2 all_reduce 'g' on channel 'ring': "
                              "finished")));
  }
}

/// Rank 1 of 2 starts `other` where rank 0 starts `one`.
std::string disagreement(Job &two, const weft_rt_collective &one,
                         const weft_rt_collective &other) {
  Status status =
      two.run([&](Rank rank) { runSmall(rank, rank.id() == 1 ? other : one); });
  EXPECT_EQ(status.code(), WEFT_RT_RANK_FAILED);
  return status.message();
}

TEST_P(Failure, DescriptorsDiffer) {
  weft_rt_operand two = {WEFT_RT_F32, 1, 2, 1, 0, 0, 0};
  weft_rt_collective gather = describe(WEFT_RT_ALL_GATHER, fourFloats, "w");
  weft_rt_collective smaller = describe(WEFT_RT_ALL_GATHER, two, "v");
  weft_rt_collective reduce = describe(WEFT_RT_ALL_REDUCE, fourFloats, "g");
  Job first = job(2), second = job(2), third = job(2);
  EXPECT_THAT(disagreement(first, gather, reduce), HasSubstr("kinds differ"));
  EXPECT_THAT(disagreement(second, gather, smaller),
              ContainsRegex("operands 0, 1 x . x 1 of f32 and 1 x . x 1 of "
                            "f32, differ"));
  weft_rt_collective none = gather;
  none.num_operands = 0;
  EXPECT_THAT(disagreement(third, gather, none),
              HasSubstr("numbers of operands"));
}

TEST_P(Failure, OrdersDiffer) {
  weft_rt_collective chain = describe(WEFT_RT_ALL_REDUCE, fourFloats, "g");
  weft_rt_collective tree = chain;
  tree.tree = 1;
  Job two = job(2);
  EXPECT_THAT(disagreement(two, chain, tree),
              ContainsRegex("all_reduce 'g'( .tree.)?.*orders (chain and tree|"
                            "tree and chain) differ"));
}

TEST_P(Failure, SourcesDiffer) {
  int32_t left[] = {1, 0}, right[] = {-1, 0};
  weft_rt_collective swap = describe(WEFT_RT_PERMUTE, fourFloats, "s");
  weft_rt_collective shift = swap;
  swap.source_of = left;
  shift.source_of = right;
  Job two = job(2);
  EXPECT_THAT(disagreement(two, swap, shift),
              ContainsRegex("sources -?1 and -?1 of member 0 differ"));
}

/// The failure when all of two ranks start a collective that is wrong by
/// itself.
std::string refusal(Job two, const weft_rt_collective &collective) {
  Status status = two.run([&](Rank rank) { runSmall(rank, collective); });
  EXPECT_EQ(status.code(), WEFT_RT_RANK_FAILED);
  return status.message();
}

TEST_P(Failure, ReductionsThatDoNotExist) {
  for (int type = 0; type < WEFT_RT_NUM_TYPES; ++type) {
    for (int reduction = 0; reduction <= WEFT_RT_OR; ++reduction) {
      if (mayReduce(weft_rt_type(type), weft_rt_reduction(reduction)))
        continue;
      weft_rt_operand operand = {weft_rt_type(type), 1, 2, 1, 0, 0, 0};
      weft_rt_collective reduce = describe(WEFT_RT_ALL_REDUCE, operand, "g");
      reduce.reduction = weft_rt_reduction(reduction);
      EXPECT_THAT(refusal(job(2), reduce), HasSubstr("cannot be combined by"));
    }
  }
}

TEST_P(Failure, SizesThatMakeNoSense) {
  weft_rt_operand negative = {WEFT_RT_F32, 1, -4, 1, 0, 0, 0};
  weft_rt_operand huge = {
      WEFT_RT_F32, int64_t(1) << 40, int64_t(1) << 40, 1, 0, 0, 0};
  weft_rt_operand uneven = {WEFT_RT_F32, 1, 4, 1, 1, 3, 1};
  weft_rt_operand outer = {WEFT_RT_F32, 2, 4, 1, 0, 0, 0};
  weft_rt_operand unknown = {weft_rt_type(40), 1, 4, 1, 0, 0, 0};
  auto refused = [&](weft_rt_collective_kind kind,
                     const weft_rt_operand &operand) {
    return refusal(job(2), describe(kind, operand, "x"));
  };
  EXPECT_THAT(refused(WEFT_RT_ALL_GATHER, negative),
              HasSubstr("has sizes 1, -4, 1"));
  EXPECT_THAT(refused(WEFT_RT_ALL_GATHER, huge), HasSubstr("too large"));
  EXPECT_THAT(refused(WEFT_RT_ALL_TO_ALL, uneven),
              HasSubstr("sends pieces of 4 elements and receives pieces of 3"));
  EXPECT_THAT(refused(WEFT_RT_ALL_REDUCE, outer),
              HasSubstr("has outer 2 and inner 1, expected 1"));
  EXPECT_THAT(refused(WEFT_RT_ALL_GATHER, unknown),
              HasSubstr("has unknown type 40"));
  EXPECT_THAT(refused(WEFT_RT_ALL_GATHER, oddNibbles),
              HasSubstr("rows of 3 elements of f4E2M1FN, which do not fill "
                        "whole bytes"));
}

TEST_P(Failure, TablesThatMakeNoSense) {
  int32_t sources[] = {0, 2};
  weft_rt_collective shift = describe(WEFT_RT_PERMUTE, fourFloats, "s");
  EXPECT_THAT(refusal(job(2), shift), HasSubstr("has no table of sources"));
  shift.source_of = sources;
  EXPECT_THAT(refusal(job(2), shift),
              HasSubstr("member 1 receives from member 2 of 2"));
  weft_rt_collective gather = describe(WEFT_RT_ALL_GATHER, fourFloats, "w");
  gather.kind = weft_rt_collective_kind(9);
  EXPECT_THAT(refusal(job(2), gather), HasSubstr("unknown kind 9"));
  gather.kind = WEFT_RT_ALL_GATHER;
  gather.reduction = weft_rt_reduction(9);
  EXPECT_THAT(refusal(job(2), gather), HasSubstr("unknown reduction 9"));
  gather.reduction = WEFT_RT_SUM;
  gather.num_operands = -1;
  EXPECT_THAT(refusal(job(2), gather), HasSubstr("no table for its -1"));
  weft_rt_collective reduce = describe(WEFT_RT_ALL_REDUCE, fourFloats, "g");
  reduce.tree = 2;
  EXPECT_THAT(refusal(job(2), reduce), HasSubstr("has unknown order 2"));
}

INSTANTIATE_TEST_SUITE_P(All, Failure, testing::ValuesIn(backendsUnderTest),
                         [](const auto &info) { return info.param.name; });

} // namespace
