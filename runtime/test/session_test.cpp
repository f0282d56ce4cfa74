// SPDX-License-Identifier: Apache-2.0

// Sessions of the hand-written program `accumulate`: values, state across
// steps, statistics, and every way in which a rank can fail.

#include "programs/accumulate.h"
#include "weft-rt/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <thread>
#include <vector>

using ::testing::ContainsRegex;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

struct Close {
  void operator()(weft_rt_session *session) { weft_rt_session_close(session); }
};
using SessionPtr = std::unique_ptr<weft_rt_session, Close>;

weft_rt_options shortDeadline() {
  weft_rt_options options = WEFT_RT_OPTIONS_INIT;
  options.deadline_seconds = 1;
  return options;
}

SessionPtr create(const weft_rt_options &options) {
  const weft_rt_program *program = &weft_program;
  weft_rt_session *session = nullptr;
  EXPECT_EQ(weft_rt_session_create(&program, 1, &options, &session), WEFT_RT_OK)
      << weft_rt_last_error();
  return SessionPtr(session);
}

void setArguments(weft_rt_session *session, int32_t mode) {
  std::vector<float> state(27), x(8);
  std::iota(state.begin(), state.end(), 0.f);
  std::iota(x.begin(), x.end(), 1.f);
  EXPECT_EQ(weft_rt_session_set_argument(session, 0, state.data(), 27 * 4),
            WEFT_RT_OK);
  EXPECT_EQ(weft_rt_session_set_argument(session, 1, x.data(), 8 * 4),
            WEFT_RT_OK);
  EXPECT_EQ(weft_rt_session_set_argument(session, 2, &mode, 4), WEFT_RT_OK);
}

std::vector<float> result(weft_rt_session *session, const char *name) {
  int32_t index = weft_rt_session_find_result(session, name);
  const weft_rt_tensor &tensor =
      weft_rt_session_program(session)->results[index];
  std::vector<float> values(weft_rt_tensor_bytes(&tensor) / 4);
  EXPECT_EQ(weft_rt_session_get_result(session, index, values.data(),
                                       values.size() * 4),
            WEFT_RT_OK)
      << weft_rt_last_error();
  return values;
}

/// Runs one step in the given mode and returns the failure's message. The
/// deadline matters only where a rank does not come.
std::string failureOf(int32_t mode) {
  bool isAbsent = mode == ACCUMULATE_ABSENT || mode == ACCUMULATE_HANG;
  weft_rt_options options = WEFT_RT_OPTIONS_INIT;
  SessionPtr session = create(isAbsent ? shortDeadline() : options);
  setArguments(session.get(), mode);
  EXPECT_EQ(weft_rt_session_run(session.get(), 1, nullptr),
            WEFT_RT_RANK_FAILED);
  std::string message = weft_rt_last_error();
  EXPECT_EQ(weft_rt_session_run(session.get(), 1, nullptr), WEFT_RT_UNUSABLE);
  return message;
}

TEST(Session, ComputesAndJoins) {
  SessionPtr session = create(WEFT_RT_OPTIONS_INIT);
  setArguments(session.get(), ACCUMULATE_WELL);
  ASSERT_EQ(weft_rt_session_run(session.get(), 1, nullptr), WEFT_RT_OK)
      << weft_rt_last_error();
  EXPECT_THAT(result(session.get(), "total"), ElementsAre(36.f));
  EXPECT_THAT(result(session.get(), "gathered"),
              ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  std::vector<float> expected(27);
  std::iota(expected.begin(), expected.end(), 36.f);
  EXPECT_EQ(result(session.get(), "state"), expected);
}

TEST(Session, DonatedStateCarriesOver) {
  SessionPtr session = create(WEFT_RT_OPTIONS_INIT);
  setArguments(session.get(), ACCUMULATE_WELL);
  double seconds[3] = {-1, -1, -1};
  ASSERT_EQ(weft_rt_session_run(session.get(), 3, seconds), WEFT_RT_OK);
  std::vector<float> expected(27);
  std::iota(expected.begin(), expected.end(), 3 * 36.f);
  EXPECT_EQ(result(session.get(), "state"), expected);
  EXPECT_THAT(seconds, Each(::testing::Ge(0)));
}

TEST(Session, ThreadsAndPoisonChangeNothing) {
  weft_rt_options options = WEFT_RT_OPTIONS_INIT;
  options.threads = 8;
  options.poison = 1;
  SessionPtr session = create(options);
  setArguments(session.get(), ACCUMULATE_WELL);
  ASSERT_EQ(weft_rt_session_run(session.get(), 2, nullptr), WEFT_RT_OK);
  std::vector<float> expected(27);
  std::iota(expected.begin(), expected.end(), 72.f);
  EXPECT_EQ(result(session.get(), "state"), expected);
  weft_rt_stats stats;
  weft_rt_session_stats(session.get(), &stats);
  EXPECT_EQ(stats.threads_per_rank, 2);
}

TEST(Session, CountsTrafficAndMemory) {
  SessionPtr session = create(WEFT_RT_OPTIONS_INIT);
  setArguments(session.get(), ACCUMULATE_WELL);
  ASSERT_EQ(weft_rt_session_run(session.get(), 2, nullptr), WEFT_RT_OK);
  int64_t count, bytes;
  for (const weft_rt_traffic &planned :
       {weft_program.traffic[0], weft_program.traffic[1]}) {
    weft_rt_session_traffic(session.get(), planned.kind, 0, &count, &bytes);
    EXPECT_EQ(count, 2 * planned.count);
    EXPECT_EQ(bytes, 2 * planned.bytes);
  }
  weft_rt_stats stats;
  weft_rt_session_stats(session.get(), &stats);
  EXPECT_EQ(stats.steps, 2);
  EXPECT_EQ(stats.argument_bytes, 3 * 64);
  EXPECT_EQ(stats.result_bytes, 2 * 64);
  EXPECT_EQ(stats.arena_bytes, 64);
  EXPECT_EQ(stats.total_bytes, 4 * 6 * 64);
}

TEST(Session, ProfilesAllStepsButTheFirst) {
  weft_rt_options options = WEFT_RT_OPTIONS_INIT;
  options.profile = 1;
  SessionPtr session = create(options);
  setArguments(session.get(), ACCUMULATE_WELL);
  ASSERT_EQ(weft_rt_session_run(session.get(), 4, nullptr), WEFT_RT_OK);
  const weft_rt_profile_row *rows;
  int64_t count;
  ASSERT_EQ(weft_rt_session_profile(session.get(), &rows, &count), WEFT_RT_OK);
  ASSERT_EQ(count, 4 * 4); // ranks x (step, two collectives, a kernel)
  for (int64_t i = 0; i < count; ++i) {
    EXPECT_EQ(rows[i].rank, i / 4);
    EXPECT_EQ(rows[i].calls, 3) << rows[i].name;
    EXPECT_GE(rows[i].seconds, rows[i].wait_seconds) << rows[i].name;
  }
  EXPECT_STREQ(rows[0].name, "all_reduce 'total'");
  EXPECT_EQ(rows[0].activity, WEFT_RT_IN_COLLECTIVE);
  EXPECT_STREQ(rows[1].name, "all_gather 'x'");
  EXPECT_EQ(rows[1].work, 3 * 24);
  EXPECT_STREQ(rows[2].name, "addTotal");
  EXPECT_EQ(rows[2].activity, WEFT_RT_IN_KERNEL);
  EXPECT_EQ(rows[3].activity, WEFT_RT_IN_STEP);
}

TEST(Session, KeepsWhatItWasAskedTo) {
  SessionPtr session = create(WEFT_RT_OPTIONS_INIT);
  const weft_rt_profile_row *rows;
  int64_t count;
  EXPECT_EQ(weft_rt_session_profile(session.get(), &rows, &count),
            WEFT_RT_INVALID);
  EXPECT_STREQ(weft_rt_last_error(), "the session keeps no profile");
  EXPECT_EQ(weft_rt_session_write_trace(session.get(), "trace"),
            WEFT_RT_INVALID);
  EXPECT_STREQ(weft_rt_last_error(), "the session keeps no trace");
}

TEST(Session, RefusesWrongCalls) {
  SessionPtr session = create(WEFT_RT_OPTIONS_INIT);
  float value = 0;
  EXPECT_EQ(weft_rt_session_run(session.get(), 1, nullptr), WEFT_RT_INVALID);
  EXPECT_STREQ(weft_rt_last_error(), "argument 'state' is not set");
  EXPECT_EQ(weft_rt_session_set_argument(session.get(), 3, &value, 4),
            WEFT_RT_INVALID);
  EXPECT_STREQ(weft_rt_last_error(), "argument 3 of 3");
  EXPECT_EQ(weft_rt_session_set_argument(session.get(), 1, &value, 4),
            WEFT_RT_INVALID);
  EXPECT_STREQ(weft_rt_last_error(), "argument 'x' has 4 bytes, expected 32");
  EXPECT_EQ(weft_rt_session_get_result(session.get(), 1, &value, 4),
            WEFT_RT_INVALID);
  EXPECT_STREQ(weft_rt_last_error(),
               "result 'total' does not exist before the first step");
  EXPECT_EQ(weft_rt_session_get_result(session.get(), 1, &value, 8),
            WEFT_RT_INVALID);
  EXPECT_STREQ(weft_rt_last_error(),
               "buffer for result 'total' has 8 bytes, expected 4");
  EXPECT_EQ(weft_rt_session_write_trace(session.get(), "trace.json"),
            WEFT_RT_INVALID);
  EXPECT_EQ(weft_rt_session_find_argument(session.get(), "y"), -1);
  EXPECT_EQ(weft_rt_session_find_argument(session.get(), "x"), 1);
}

std::string creationFailure(std::vector<const weft_rt_program *> programs,
                            const weft_rt_options &options) {
  weft_rt_session *session = nullptr;
  EXPECT_NE(weft_rt_session_create(programs.data(), programs.size(), &options,
                                   &session),
            WEFT_RT_OK);
  EXPECT_EQ(session, nullptr);
  return weft_rt_last_error();
}

TEST(Session, RefusesWrongOptions) {
  weft_rt_options options = WEFT_RT_OPTIONS_INIT;
  options.ranks = 8;
  EXPECT_EQ(creationFailure({&weft_program}, options),
            "program 'accumulate' is compiled for 4 ranks, asked for 8");
  options = WEFT_RT_OPTIONS_INIT;
  options.struct_size = 8;
  EXPECT_THAT(creationFailure({&weft_program}, options),
              HasSubstr("options have 8 bytes"));
  options = WEFT_RT_OPTIONS_INIT;
  options.threads = -1;
  EXPECT_THAT(creationFailure({&weft_program}, options),
              HasSubstr("options have -1 threads"));
}

/// Of a caller that was built before options grew nothing after them is read.
TEST(Session, KnowsOptionsOfBefore) {
  weft_rt_options options = WEFT_RT_OPTIONS_INIT;
  options.processes = 7;
  EXPECT_THAT(creationFailure({&weft_program}, options),
              HasSubstr("the job is to have 7"));
  options.struct_size = offsetof(weft_rt_options, processes);
  EXPECT_NE(create(options), nullptr);
}

TEST(Session, ComparesPlans) {
  weft_rt_program other = weft_program;
  other.plan_hash[31] = 9;
  EXPECT_THAT(
      creationFailure({&weft_program, &weft_program, &other, &weft_program},
                      WEFT_RT_OPTIONS_INIT),
      ContainsRegex("rank 0 and rank 2 have different plans: "
                    "010203.*00 and 010203.*09"));
  EXPECT_EQ(creationFailure({&weft_program, &other}, WEFT_RT_OPTIONS_INIT),
            "2 programs for 4 ranks");
}

TEST(Session, OneProgramPerRank) {
  weft_rt_program copy = weft_program;
  const weft_rt_program *programs[] = {&weft_program, &copy, &weft_program,
                                       &copy};
  weft_rt_options options = WEFT_RT_OPTIONS_INIT;
  weft_rt_session *session;
  ASSERT_EQ(weft_rt_session_create(programs, 4, &options, &session),
            WEFT_RT_OK);
  SessionPtr owner(session);
  setArguments(session, ACCUMULATE_WELL);
  ASSERT_EQ(weft_rt_session_run(session, 1, nullptr), WEFT_RT_OK);
  EXPECT_THAT(result(session, "total"), ElementsAre(36.f));
}

TEST(SessionFailure, RankReportsFailure) {
  EXPECT_EQ(failureOf(ACCUMULATE_FAIL), "rank 2: told to fail");
}

TEST(SessionFailure, AbsentRankIsNamed) {
  EXPECT_THAT(
      failureOf(ACCUMULATE_ABSENT),
      ContainsRegex("all_reduce 'total' on channel 'reduce.all': rank [013] "
                    "waited 1 s for rank 2, in the group of ranks 0, 1, 2, "
                    "3"));
}

TEST(SessionFailure, RanksDisagree) {
  EXPECT_THAT(failureOf(ACCUMULATE_OTHER_COLLECTIVE),
              ContainsRegex("ranks disagree on channel 'reduce.all': rank . "
                            "started all_reduce '.*', rank . started "
                            "all_reduce '.*': reductions .* differ"));
}

TEST(SessionFailure, WrongCollectives) {
  EXPECT_EQ(failureOf(ACCUMULATE_TRUTH_SUM),
            "rank 2: all_reduce 'truth': operand 0: values of type i1 cannot "
            "be combined by sum");
  EXPECT_EQ(failureOf(ACCUMULATE_NO_CHANNEL),
            "rank 2: collective names channel 7 of 2");
  EXPECT_EQ(failureOf(ACCUMULATE_NO_KERNEL), "rank 2 launches kernel 2 of 2");
  EXPECT_EQ(failureOf(ACCUMULATE_NO_GRAIN),
            "rank 2 launches 'addTotal' with 1 numbers, not 2");
  EXPECT_THAT(failureOf(ACCUMULATE_NO_CONFIG),
              HasSubstr("rank 2 launches 'addTotal' with 2 numbers at "));
  EXPECT_THAT(failureOf(ACCUMULATE_OVERLAP),
              HasSubstr("operand 0 has overlapping buffers"));
}

TEST(SessionFailure, TicketsAreWaitedForOnce) {
  EXPECT_EQ(failureOf(ACCUMULATE_WAIT_TWICE),
            "rank 2 waits for ticket 1, which is not in flight");
  EXPECT_EQ(failureOf(ACCUMULATE_NO_WAIT),
            "rank 2 ended the step with 1 collectives not waited for");
}

TEST(SessionFailure, StuckRankIsLeftBehind) {
  EXPECT_THAT(failureOf(ACCUMULATE_HANG),
              HasSubstr("; some ranks did not stop after that"));
}

TEST(SessionFailure, FlightRecordShowsWhereRanksAre) {
  SessionPtr session = create(shortDeadline());
  setArguments(session.get(), ACCUMULATE_ABSENT);
  ASSERT_EQ(weft_rt_session_run(session.get(), 1, nullptr),
            WEFT_RT_RANK_FAILED);
  EXPECT_STREQ(
      weft_rt_session_flight_record(session.get()),
      "rank 0:\n  #0 all_reduce 'total' on channel 'reduce.all': started, "
      "waited for\n"
      "rank 1:\n  #0 all_reduce 'total' on channel 'reduce.all': started, "
      "waited for\n"
      "rank 2:\n  no collective\n"
      "rank 3:\n  #0 all_reduce 'total' on channel 'reduce.all': started, "
      "waited for\n");
}

/// Runs three steps with one fault.
weft_rt_status runWithFault(weft_rt_fault fault, double deadline = 0) {
  weft_rt_options options = WEFT_RT_OPTIONS_INIT;
  options.deadline_seconds = deadline;
  options.num_faults = 1;
  options.faults = &fault;
  SessionPtr session = create(options);
  setArguments(session.get(), ACCUMULATE_WELL);
  return weft_rt_session_run(session.get(), 3, nullptr);
}

TEST(SessionFault, Fail) {
  EXPECT_EQ(runWithFault({WEFT_RT_FAULT_FAIL, 1, 3, 0}), WEFT_RT_RANK_FAILED);
  EXPECT_STREQ(weft_rt_last_error(),
               "rank 1 was told to fail at all_gather 'x'");
}

TEST(SessionFault, Vanish) {
  EXPECT_EQ(runWithFault({WEFT_RT_FAULT_VANISH, 3, 2, 0}, 1),
            WEFT_RT_RANK_FAILED);
  EXPECT_THAT(weft_rt_last_error(), HasSubstr("waited 1 s for rank 3"));
}

TEST(SessionFault, DelayWithinTheDeadlineIsHarmless) {
  EXPECT_EQ(runWithFault({WEFT_RT_FAULT_DELAY, 0, 1, 20}), WEFT_RT_OK);
}

TEST(SessionFault, DelayBeyondTheDeadlineIsNot) {
  EXPECT_EQ(runWithFault({WEFT_RT_FAULT_DELAY, 0, 1, 2000}, 1),
            WEFT_RT_RANK_FAILED);
  EXPECT_THAT(weft_rt_last_error(), HasSubstr("waited 1 s for rank 0"));
}

TEST(Session, SessionsAreIndependent) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([] {
      SessionPtr session = create(WEFT_RT_OPTIONS_INIT);
      setArguments(session.get(), ACCUMULATE_WELL);
      EXPECT_EQ(weft_rt_session_run(session.get(), 20, nullptr), WEFT_RT_OK);
      EXPECT_THAT(result(session.get(), "total"), ElementsAre(36.f));
    });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace
