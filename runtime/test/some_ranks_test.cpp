// SPDX-License-Identifier: Apache-2.0

// Sessions that have only some of a program's ranks, or none: which results
// they give, and what they say of ranks.

#include "programs/accumulate.h"
#include "programs/some_ranks.h"
#include "weft-rt/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace weft::rt {
namespace {

struct Close {
  void operator()(weft_rt_session *session) { weft_rt_session_close(session); }
};
using SessionPtr = std::unique_ptr<weft_rt_session, Close>;

Result<std::unique_ptr<Backend>> createNothing(const BackendOptions &) {
  return std::unique_ptr<Backend>();
}

void registerOnce() {
  static const bool done = [] {
    for (const BackendEntry &entry :
         {BackendEntry{"none", createSomeRanks<>},
          BackendEntry{"1", createSomeRanks<1>},
          BackendEntry{"2, 3", createSomeRanks<2, 3>},
          BackendEntry{"0, 1, 2", createSomeRanks<0, 1, 2>},
          BackendEntry{"0, 1, 2, 3", createSomeRanks<0, 1, 2, 3>},
          BackendEntry{"nothing", createNothing},
          BackendEntry{"0, 5", createSomeRanks<0, 5>},
          BackendEntry{"-1", createSomeRanks<-1>},
          BackendEntry{"1, 1", createSomeRanks<1, 1>},
          BackendEntry{"1, 0", createSomeRanks<1, 0>},
          BackendEntry{"too few", createWithPlaces<Places::TooFew>},
          BackendEntry{"null places", createWithPlaces<Places::Null>},
          BackendEntry{"odd places", createWithPlaces<Places::Odd>}})
      EXPECT_TRUE(registerBackend(entry).ok());
    return true;
  }();
  (void)done;
}

weft_rt_options on(const char *backend) {
  registerOnce();
  weft_rt_options options = WEFT_RT_OPTIONS_INIT;
  options.backend = backend;
  return options;
}

/// A session in which one step has run, with 1, 2, ... in each argument.
SessionPtr afterStep(const weft_rt_options &options,
                     const weft_rt_program &program = weft_program) {
  const weft_rt_program *programs[] = {&program};
  weft_rt_session *session = nullptr;
  EXPECT_EQ(weft_rt_session_create(programs, 1, &options, &session), WEFT_RT_OK)
      << weft_rt_last_error();
  std::vector<float> state(27), x(8);
  std::iota(state.begin(), state.end(), 1.f);
  std::iota(x.begin(), x.end(), 1.f);
  int32_t mode = ACCUMULATE_WELL;
  EXPECT_EQ(weft_rt_session_set_argument(session, 0, state.data(), 4 * 27), 0);
  EXPECT_EQ(weft_rt_session_set_argument(session, 1, x.data(), 4 * 8), 0);
  EXPECT_EQ(weft_rt_session_set_argument(session, 2, &mode, 4), 0);
  EXPECT_EQ(weft_rt_session_run(session, 1, nullptr), WEFT_RT_OK);
  return SessionPtr(session);
}

/// A result. Where it is refused, nothing is written.
std::vector<float> result(const SessionPtr &session, int32_t index,
                          size_t count, weft_rt_status expected = WEFT_RT_OK) {
  std::vector<float> values(count, -5);
  EXPECT_EQ(weft_rt_session_get_result(session.get(), index, values.data(),
                                       int64_t(4 * count)),
            expected)
      << weft_rt_last_error();
  if (expected != WEFT_RT_OK) {
    EXPECT_THAT(values, Each(-5.f));
  }
  return values;
}

std::vector<int64_t> ranksOf(const SessionPtr &session) {
  int64_t count = -1;
  const int64_t *ranks = weft_rt_session_ranks(session.get(), &count);
  return std::vector<int64_t>(ranks, ranks + count);
}

TEST(SomeRanks, GiveWhatTheyHold) {
  SessionPtr session = afterStep(on("1"));
  EXPECT_THAT(ranksOf(session), ElementsAre(1));
  // Rank 1 has 3 and 4 of x, and gathers from itself alone.
  EXPECT_THAT(result(session, 1, 1), ElementsAre(7));
  EXPECT_THAT(result(session, 2, 8), ElementsAre(3, 4, 0, 0, 0, 0, 0, 0));
}

TEST(SomeRanks, RefuseWhatTheyDoNotHold) {
  SessionPtr session = afterStep(on("1"));
  result(session, 0, 27, WEFT_RT_INVALID);
  EXPECT_STREQ(weft_rt_last_error(),
               "result 'state' is not whole in this process, which has 1 of 4 "
               "ranks: none of them holds what rank 0 does");
  // That is no failure: the session goes on.
  EXPECT_EQ(weft_rt_session_run(session.get(), 1, nullptr), WEFT_RT_OK);
  EXPECT_THAT(result(session, 1, 1), ElementsAre(7));
}

/// The program with its last result, x on each rank, cut over axes.
struct Recut {
  std::vector<weft_rt_tensor> results{weft_program.results,
                                      weft_program.results + 3};
  weft_rt_program program = weft_program;
  weft_rt_dim_sharding cut;
  int64_t shape, share;

  Recut(int64_t shape, int64_t share, std::vector<weft_rt_axis_ref> given)
      : cut{int32_t(given.size()), nullptr}, shape(shape), share(share),
        axes(std::move(given)) {
    cut.axes = axes.data();
    results[2].shape = &this->shape;
    results[2].local_shape = &this->share;
    results[2].sharding = &cut;
    program.results = results.data();
  }
  Recut(const Recut &) = delete;

private:
  std::vector<weft_rt_axis_ref> axes;
};

TEST(SomeRanks, JoinCopiesThatAreNotTheFirst) {
  // Over tp: ranks 2 and 3 hold what 0 and 1 do. x is 5 6, and 7 8.
  Recut recut(4, 2, {{1, 1, 2}});
  EXPECT_THAT(result(afterStep(on("2, 3"), recut.program), 2, 4),
              ElementsAre(5, 6, 7, 8));
  EXPECT_THAT(result(afterStep(on("0, 1, 2"), recut.program), 2, 4),
              ElementsAre(1, 2, 3, 4));
  result(afterStep(on("1"), recut.program), 2, 4, WEFT_RT_INVALID);
  EXPECT_THAT(weft_rt_last_error(), HasSubstr("what rank 0 does"));
}

TEST(SomeRanks, MissNothingInEmptyParts) {
  // Over all ranks, in chunks of 2: rank 3 has only padding.
  Recut recut(5, 2, {{0, 1, 2}, {1, 1, 2}});
  EXPECT_THAT(result(afterStep(on("0, 1, 2"), recut.program), 2, 5),
              ElementsAre(1, 2, 3, 4, 5));
  result(afterStep(on("2, 3"), recut.program), 2, 5, WEFT_RT_INVALID);
  EXPECT_STREQ(weft_rt_last_error(),
               "result 'gathered' is not whole in this process, which has 2 of "
               "4 ranks: none of them holds what rank 0 does");
}

weft_rt_stats statsOf(const SessionPtr &session) {
  weft_rt_stats stats;
  weft_rt_session_stats(session.get(), &stats);
  return stats;
}

TEST(SomeRanks, ReportOnThemselves) {
  weft_rt_options options = on("1");
  options.profile = 1;
  options.trace_events = 100;
  options.poison = 1;
  SessionPtr session = afterStep(options);
  weft_rt_stats all = statsOf(afterStep(on("0, 1, 2, 3")));
  weft_rt_stats one = statsOf(session);
  EXPECT_EQ(one.argument_bytes, all.argument_bytes);
  EXPECT_EQ(one.result_bytes, all.result_bytes);
  EXPECT_EQ(one.total_bytes * 4, all.total_bytes);
  const weft_rt_profile_row *rows;
  int64_t count = 0;
  ASSERT_EQ(weft_rt_session_profile(session.get(), &rows, &count), WEFT_RT_OK);
  ASSERT_GT(count, 0);
  for (int64_t i = 0; i < count; ++i)
    EXPECT_EQ(rows[i].rank, 1);
  EXPECT_THAT(weft_rt_session_flight_record(session.get()),
              HasSubstr("rank 1:\n"));
}

TEST(SomeRanks, MayBeNone) {
  weft_rt_options options = on("none");
  options.poison = 1;
  SessionPtr session = afterStep(options);
  EXPECT_THAT(ranksOf(session), IsEmpty());
  result(session, 1, 1, WEFT_RT_INVALID);
  EXPECT_STREQ(weft_rt_last_error(),
               "result 'total' is not whole in this process, which has 0 of 4 "
               "ranks: none of them holds what rank 0 does");
  weft_rt_stats stats = statsOf(session);
  EXPECT_EQ(stats.steps, 1);
  EXPECT_EQ(stats.argument_bytes, statsOf(afterStep(on("1"))).argument_bytes);
  EXPECT_EQ(stats.total_bytes, 0);
  EXPECT_STREQ(weft_rt_session_flight_record(session.get()), "");
  EXPECT_STREQ(weft_rt_session_calls(session.get()), "");
  const weft_rt_profile_row *rows;
  int64_t count = -1;
  EXPECT_EQ(weft_rt_session_profile(session.get(), &rows, &count),
            WEFT_RT_INVALID);
  EXPECT_EQ(weft_rt_session_write_trace(session.get(), "/dev/null"),
            WEFT_RT_INVALID);
  options.profile = 1;
  session = afterStep(options);
  EXPECT_EQ(weft_rt_session_profile(session.get(), &rows, &count), WEFT_RT_OK);
  EXPECT_EQ(count, 0);
}

TEST(SomeRanks, WhatABackendGivesIsChecked) {
  auto failureOf = [](const char *name) -> std::string {
    weft_rt_options options = on(name);
    const weft_rt_program *programs[] = {&weft_program};
    weft_rt_session *session = nullptr;
    EXPECT_EQ(weft_rt_session_create(programs, 1, &options, &session),
              WEFT_RT_INVALID);
    EXPECT_EQ(session, nullptr);
    return weft_rt_last_error();
  };
  EXPECT_EQ(failureOf("nothing"), "backend 'nothing' was not created");
  EXPECT_EQ(failureOf("0, 5"), "backend '0, 5' names rank 5 of 4");
  EXPECT_EQ(failureOf("-1"), "backend '-1' names rank -1 of 4");
  EXPECT_EQ(failureOf("1, 1"), "backend '1, 1' names rank 1 after rank 1");
  EXPECT_EQ(failureOf("1, 0"), "backend '1, 0' names rank 0 after rank 1");
  EXPECT_EQ(failureOf("too few"),
            "backend 'too few' gives memory to 1 ranks of 2");
  EXPECT_THAT(failureOf("null places"), HasSubstr("gives rank 0 memory at "));
  EXPECT_THAT(failureOf("odd places"), HasSubstr("gives rank 0 memory at 0x"));
}

} // namespace
} // namespace weft::rt
