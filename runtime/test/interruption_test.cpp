// SPDX-License-Identifier: Apache-2.0

// Who ends a run from outside, and sessions in forked processes.

#include "programs/accumulate.h"
#include "weft-rt/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using ::testing::HasSubstr;

namespace {

/// Says so after it was asked `patience` times.
struct Interrupter {
  int patience = 0, asked = 0;

  static int32_t poll(void *self) {
    auto &one = *static_cast<Interrupter *>(self);
    return ++one.asked > one.patience;
  }
};

class Interrupted : public ::testing::Test {
protected:
  void open(double deadline) {
    weft_rt_options options = WEFT_RT_OPTIONS_INIT;
    options.deadline_seconds = deadline;
    options.poll = Interrupter::poll;
    options.poll_context = &interrupter;
    const weft_rt_program *program = &weft_program;
    interrupter.patience = 1 << 20;
    ASSERT_EQ(weft_rt_session_create(&program, 1, &options, &session),
              WEFT_RT_OK);
  }
  void setArguments(int32_t mode) {
    std::vector<float> state(27), x(8, 1.f);
    ASSERT_EQ(weft_rt_session_set_argument(session, 0, state.data(), 27 * 4),
              WEFT_RT_OK);
    ASSERT_EQ(weft_rt_session_set_argument(session, 1, x.data(), 8 * 4),
              WEFT_RT_OK);
    ASSERT_EQ(weft_rt_session_set_argument(session, 2, &mode, 4), WEFT_RT_OK);
  }
  int64_t stepsDone() const {
    weft_rt_stats stats;
    weft_rt_session_stats(session, &stats);
    return stats.steps;
  }
  float firstOfState() const {
    std::vector<float> state(27);
    EXPECT_EQ(weft_rt_session_get_result(session, 0, state.data(), 27 * 4),
              WEFT_RT_OK);
    return state[0];
  }
  void TearDown() override { weft_rt_session_close(session); }

  Interrupter interrupter;
  weft_rt_session *session = nullptr;
};

TEST_F(Interrupted, BetweenStepsTheSessionGoesOn) {
  open(60);
  setArguments(ACCUMULATE_WELL);
  interrupter = {2, 0};
  EXPECT_EQ(weft_rt_session_run(session, int64_t(1) << 40, nullptr),
            WEFT_RT_INTERRUPTED);
  EXPECT_EQ(interrupter.asked, 3);
  EXPECT_TRUE(weft_rt_session_is_usable(session));
  interrupter = {1 << 20, 0};
  int64_t before = stepsDone();
  EXPECT_EQ(weft_rt_session_run(session, 2, nullptr), WEFT_RT_OK);
  EXPECT_EQ(stepsDone(), before + 2);
}

TEST_F(Interrupted, WhileItIsMadeThereIsNoSession) {
  const weft_rt_program *program = &weft_program;
  weft_rt_options options = WEFT_RT_OPTIONS_INIT;
  options.poll = Interrupter::poll;
  options.poll_context = &interrupter;
  // Ranks that have touched their memory before anybody looks are not asked
  // for.
  while (interrupter.asked == 0) {
    weft_rt_session_close(session);
    weft_rt_status status =
        weft_rt_session_create(&program, 1, &options, &session);
    EXPECT_EQ(status, interrupter.asked ? WEFT_RT_INTERRUPTED : WEFT_RT_OK);
  }
  EXPECT_EQ(session, nullptr);
}

TEST_F(Interrupted, BeforeTheFirstStepNothingRuns) {
  open(60);
  setArguments(ACCUMULATE_WELL);
  usleep(60'000); // it is asked as seldom as when steps run
  interrupter = {0, 0};
  EXPECT_EQ(weft_rt_session_run(session, 1, nullptr), WEFT_RT_INTERRUPTED);
  EXPECT_THAT(weft_rt_last_error(), HasSubstr("after 0 of 1 steps"));
  EXPECT_EQ(stepsDone(), 0);
  EXPECT_TRUE(weft_rt_session_is_usable(session));
}

TEST_F(Interrupted, AStepThatWaitsForARankEnds) {
  open(3600);
  setArguments(ACCUMULATE_ABSENT);
  interrupter = {3, 0};
  EXPECT_EQ(weft_rt_session_run(session, 1, nullptr), WEFT_RT_INTERRUPTED);
  EXPECT_THAT(weft_rt_last_error(), HasSubstr("in the middle of a step"));
  EXPECT_FALSE(weft_rt_session_is_usable(session));
  EXPECT_EQ(weft_rt_session_run(session, 1, nullptr), WEFT_RT_UNUSABLE);
  EXPECT_EQ(stepsDone(), 0);
}

TEST_F(Interrupted, ARankThatNeverReturnsIsLeftBehind) {
  open(3600);
  setArguments(ACCUMULATE_HANG);
  interrupter = {3, 0};
  EXPECT_EQ(weft_rt_session_run(session, 1, nullptr), WEFT_RT_INTERRUPTED);
  EXPECT_THAT(weft_rt_last_error(), HasSubstr("some ranks did not stop"));
  EXPECT_FALSE(weft_rt_session_is_usable(session));
}

/// What a forked process sees, as its exit code.
template <typename Body> int inChild(Body body) {
  pid_t child = fork();
  if (child == 0)
    _exit(body());
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(Interrupted, AForkedProcessIsRefusedAndFreesNothing) {
  open(5);
  setArguments(ACCUMULATE_WELL);
  EXPECT_EQ(weft_rt_session_run(session, 1, nullptr), WEFT_RT_OK);
  float state = firstOfState();
  EXPECT_EQ(inChild([&] { return weft_rt_session_run(session, 1, nullptr); }),
            WEFT_RT_UNUSABLE);
  EXPECT_EQ(inChild([&] {
              float total;
              return weft_rt_session_get_result(session, 1, &total, 4);
            }),
            WEFT_RT_UNUSABLE);
  EXPECT_EQ(inChild([&] {
              std::vector<float> x(8);
              return weft_rt_session_set_argument(session, 1, x.data(), 32);
            }),
            WEFT_RT_UNUSABLE);
  EXPECT_EQ(inChild([&] { return weft_rt_session_is_usable(session); }), 0);
  EXPECT_EQ(inChild([&] {
              weft_rt_session_close(session);
              return 7;
            }),
            7);
  EXPECT_EQ(weft_rt_session_run(session, 1, nullptr), WEFT_RT_OK);
  EXPECT_EQ(firstOfState(), 2 * state);
}

} // namespace
