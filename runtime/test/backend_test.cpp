// SPDX-License-Identifier: Apache-2.0

// Which backend runs a program, backends from shared libraries, and what the
// null backend writes down.

#include "programs/accumulate.h"
#include "weft-rt/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

using ::testing::Each;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

namespace {

struct Close {
  void operator()(weft_rt_session *session) { weft_rt_session_close(session); }
};
using SessionPtr = std::unique_ptr<weft_rt_session, Close>;

/// A session on a backend; null, with the last error, where it is refused.
SessionPtr create(const weft_rt_program &program, const char *backend) {
  weft_rt_options options = WEFT_RT_OPTIONS_INIT;
  options.backend = backend;
  const weft_rt_program *programs[] = {&program};
  weft_rt_session *session = nullptr;
  weft_rt_session_create(programs, 1, &options, &session);
  return SessionPtr(session);
}

/// Sets the arguments, of which `mode` is the last, and runs a step.
weft_rt_status runStep(weft_rt_session *session, int32_t mode) {
  std::vector<float> state(27, 7), x(8, 7);
  weft_rt_session_set_argument(session, 0, state.data(), 4 * 27);
  weft_rt_session_set_argument(session, 1, x.data(), 4 * 8);
  weft_rt_session_set_argument(session, 2, &mode, 4);
  return weft_rt_session_run(session, 1, nullptr);
}

std::vector<float> result(weft_rt_session *session, int32_t index,
                          size_t count) {
  std::vector<float> values(count, 5);
  EXPECT_EQ(weft_rt_session_get_result(session, index, values.data(),
                                       int64_t(4 * count)),
            WEFT_RT_OK)
      << weft_rt_last_error();
  return values;
}

constexpr const char *accumulateCalls =
    "  start 0: all_reduce 'total' on 'reduce.all': arena+0 -> result 'total' "
    "; all_reduce total\n"
    "  wait 0 ; wait all_reduce total\n"
    "  start 1: all_gather 'x' on 'reduce.all': argument 'x' -> result "
    "'gathered' ; all_gather x\n"
    "  wait 1 ; wait all_gather x\n"
    "  launch 'addTotal': argument 'state', result 'total' config 10, 4 ; add "
    "total to state\n";

std::string callsOfAllRanks() {
  std::string text;
  for (int rank = 0; rank < 4; ++rank)
    text += "rank " + std::to_string(rank) + ":\n" + accumulateCalls;
  return text;
}

TEST(NullBackend, WritesDownCallsInOrder) {
  SessionPtr session = create(weft_program, "null");
  ASSERT_TRUE(session) << weft_rt_last_error();
  EXPECT_STREQ(weft_rt_session_calls(session.get()),
               "rank 0:\nrank 1:\nrank 2:\nrank 3:\n");
  for (int step = 0; step < 2; ++step) {
    ASSERT_EQ(runStep(session.get(), ACCUMULATE_WELL), WEFT_RT_OK)
        << weft_rt_last_error();
    EXPECT_EQ(weft_rt_session_calls(session.get()), callsOfAllRanks());
  }
  EXPECT_THAT(result(session.get(), 0, 27), Each(0.f));
  EXPECT_THAT(result(session.get(), 2, 8), Each(0.f));
}

TEST(NullBackend, RunsProgramsThatAreForIt) {
  weft_rt_program program = weft_program;
  weft_rt_kernel_entry kernels[] = {{"addTotal", -1, nullptr, 2, 1},
                                    weft_program.kernels[1]};
  program.backend = "null";
  program.kernels = kernels;
  kernels[0].num_scalars = 0;
  SessionPtr session = create(program, nullptr);
  ASSERT_TRUE(session) << weft_rt_last_error();
  ASSERT_EQ(runStep(session.get(), ACCUMULATE_WELL), WEFT_RT_OK)
      << weft_rt_last_error();
  EXPECT_EQ(weft_rt_session_calls(session.get()), callsOfAllRanks());
  // What has no code does not run on the host.
  EXPECT_FALSE(create(program, "host"));
  EXPECT_STREQ(weft_rt_last_error(),
               "program 'accumulate', which is for the backend 'null', cannot "
               "run on the host: its kernel 'addTotal' is no function");
}

weft_rt_attention makeAttention() {
  weft_rt_attention attention = {};
  attention.type = WEFT_RT_BF16;
  attention.leaves = 2;
  attention.num_dims = 5;
  constexpr int32_t roles[] = {WEFT_RT_ATTENTION_BATCH, WEFT_RT_ATTENTION_QUERY,
                               WEFT_RT_ATTENTION_KEY, WEFT_RT_ATTENTION_DEPTH,
                               WEFT_RT_ATTENTION_VALUE};
  for (int i = 0; i < 5; ++i) {
    attention.dims[i].role = roles[i];
    attention.dims[i].size = i + 2;
  }
  return attention;
}

void useUp(const weft_rt_api *api, weft_rt_rank *rank, void *const *args,
           void *const *results, void *arena, void *host) {
  static const weft_rt_gemm gemm = {
      WEFT_RT_F32,
      WEFT_RT_BF16,
      WEFT_RT_F32,
      1,
      2,
      0,
      0,
      2,
      {{WEFT_RT_GEMM_M, 4, 1, 0, 1}, {WEFT_RT_GEMM_K, 2, 4, 1, 0}}};
  static const weft_rt_copy copy = {4, 1, {{3, 2, 1}}};
  static const float constant[] = {1, 2, 3, 4, 5, 6};
  auto *bytes = static_cast<char *>(arena);
  api->copy(rank, -1, &copy, constant, bytes + 16);
  int64_t scalars[] = {api->read_scalar(rank, -1, WEFT_RT_I32, args[2]), -9};
  void *buffers[] = {bytes + 4};
  static const int64_t config[] = {3, 2};
  static const weft_rt_launch launch = {0, 2, config};
  api->launch(rank, -1, &launch, buffers, scalars);
  api->gemm(rank, 4, &gemm, args[1], bytes, results[2]);
  static const weft_rt_attention attention = makeAttention();
  void *tensors[WEFT_RT_ATTENTION_NUM_BUFFERS] = {bytes, bytes, args[1]};
  tensors[WEFT_RT_ATTENTION_OUT] = results[2];
  tensors[WEFT_RT_ATTENTION_LSE] = bytes + 8;
  api->attention(rank, -1, &attention, tensors, -7);
  if (rank->rank == 1)
    api->wait(rank, -1, 0);
}

TEST(NullBackend, WritesDownEachCall) {
  weft_rt_program program = weft_program;
  weft_rt_kernel_entry kernel = {"scale", -1, nullptr, 1, 2};
  program.kernels = &kernel;
  program.num_kernels = 1;
  program.entry = useUp;
  SessionPtr session = create(program, "null");
  ASSERT_TRUE(session) << weft_rt_last_error();
  EXPECT_EQ(runStep(session.get(), 0), WEFT_RT_RANK_FAILED);
  EXPECT_STREQ(weft_rt_last_error(),
               "rank 1 waits for ticket 0, which is not in flight");
  EXPECT_THAT(weft_rt_session_calls(session.get()),
              StartsWith("rank 0:\n"
                         "  copy of 12 bytes: constant -> arena+16\n"
                         "  read_scalar i32: argument 'mode'\n"
                         "  launch 'scale': arena+4 scalars 0, -9 config 3, 2\n"
                         "  gemm 1 x 4 x 1 x 2 f32 bf16 -> f32 in 2 leaves: "
                         "argument 'x', arena+0 +> result 'gathered' ; add "
                         "total to state\n"
                         "  attention 2 x 1 x 3 x 4 x 5 to 6 bf16 causal in 2 "
                         "leaves: arena+0, arena+0, argument 'x', none, none, "
                         "none, none, none, none, result 'gathered', arena+8, "
                         "none, none, none, none query start -7\n"
                         "rank 1:\n"));
  EXPECT_FALSE(weft_rt_session_is_usable(session.get()));
}

/// How a step ends whose ranks do this.
std::string failure(weft_rt_entry entry) {
  weft_rt_program program = weft_program;
  program.entry = entry;
  SessionPtr session = create(program, "null");
  EXPECT_EQ(runStep(session.get(), 0), WEFT_RT_RANK_FAILED);
  return weft_rt_last_error();
}

TEST(NullBackend, RefusesWhatNoBackendTakes) {
  EXPECT_EQ(failure([](const weft_rt_api *api, weft_rt_rank *rank,
                       void *const *, void *const *, void *, void *) {
              static const weft_rt_launch launch = {2, 0, nullptr};
              api->launch(rank, -1, &launch, nullptr, nullptr);
            }),
            "rank 0 launches kernel 2 of 2");
  EXPECT_EQ(failure([](const weft_rt_api *api, weft_rt_rank *rank,
                       void *const *, void *const *, void *,
                       void *) { api->fail(rank, "had enough"); }),
            "rank 0: had enough");
  static const weft_rt_collective lost = {
      WEFT_RT_ALL_REDUCE, WEFT_RT_SUM, 9, 0, nullptr, nullptr, "lost", 0};
  EXPECT_EQ(failure([](const weft_rt_api *api, weft_rt_rank *rank,
                       void *const *, void *const *, void *, void *) {
              api->start(rank, -1, &lost, nullptr, nullptr);
            }),
            "rank 0: collective names channel 9 of 2");
  static const weft_rt_collective nothing = {
      WEFT_RT_ALL_REDUCE, WEFT_RT_SUM, 0, 0, nullptr, nullptr, "nothing", 0};
  EXPECT_EQ(failure([](const weft_rt_api *api, weft_rt_rank *rank,
                       void *const *, void *const *, void *, void *) {
              api->start(rank, -1, &nothing, nullptr, nullptr);
            }),
            "rank 0 ended the step with 1 collectives not waited for");
}

TEST(Backends, AreKnownByName) {
  weft_rt_program program = weft_program;
  program.backend = "abacus";
  EXPECT_FALSE(create(program, nullptr));
  EXPECT_THAT(
      weft_rt_last_error(),
      StartsWith("unknown backend 'abacus': expected cuda, host, null"));
  EXPECT_TRUE(create(program, "host"));
  EXPECT_FALSE(create(weft_program, "abacus"));
  SessionPtr host = create(weft_program, nullptr);
  ASSERT_EQ(runStep(host.get(), ACCUMULATE_WELL), WEFT_RT_OK);
  EXPECT_THAT(result(host.get(), 2, 8), Each(7.f));
  EXPECT_STREQ(weft_rt_session_calls(host.get()), "");
}

TEST(Backends, OfRanksAreTheSame) {
  weft_rt_program other = weft_program;
  other.backend = "null";
  const weft_rt_program *programs[] = {&weft_program, &weft_program, &other,
                                       &weft_program};
  weft_rt_options options = WEFT_RT_OPTIONS_INIT;
  weft_rt_session *session = nullptr;
  EXPECT_NE(weft_rt_session_create(programs, 4, &options, &session),
            WEFT_RT_OK);
  EXPECT_STREQ(weft_rt_last_error(),
               "rank 0 and rank 2 have programs for different backends: 'host' "
               "and 'null'");
}

TEST(BackendLibrary, Runs) {
  EXPECT_FALSE(create(weft_program, "recorder"));
  ASSERT_EQ(weft_rt_load_backend(WEFT_RT_TEST_RECORDER), WEFT_RT_OK)
      << weft_rt_last_error();
  SessionPtr session = create(weft_program, "recorder");
  ASSERT_TRUE(session) << weft_rt_last_error();
  ASSERT_EQ(runStep(session.get(), ACCUMULATE_WELL), WEFT_RT_OK)
      << weft_rt_last_error();
  EXPECT_EQ(weft_rt_session_calls(session.get()), callsOfAllRanks());
  EXPECT_NE(weft_rt_load_backend(WEFT_RT_TEST_RECORDER), WEFT_RT_OK);
  EXPECT_THAT(weft_rt_last_error(),
              EndsWith("': there is a backend 'recorder' already"));
}

TEST(BackendLibrary, IsChecked) {
  auto failureOf = [](const char *path) {
    EXPECT_NE(weft_rt_load_backend(path), WEFT_RT_OK);
    return std::string(weft_rt_last_error());
  };
  EXPECT_THAT(failureOf("/none"), HasSubstr("'/none': no such file"));
  EXPECT_THAT(failureOf("/proc/self/maps"),
              StartsWith("cannot load the backend '/proc/self/maps': "));
  EXPECT_THAT(failureOf(WEFT_RT_TEST_LIBRARY),
              HasSubstr("it does not define weft_rt_backend"));
  EXPECT_THAT(failureOf(WEFT_RT_TEST_OLD),
              HasSubstr("it is made for version 0 of backends and 9 of the "
                        "ABI, and this runtime has 4 and 9: build it again"));
  EXPECT_THAT(failureOf(WEFT_RT_TEST_FOREIGN),
              HasSubstr("it comes from the compiler 'another'"));
  EXPECT_THAT(failureOf(WEFT_RT_TEST_TAKEN),
              EndsWith("': there is a backend 'null' already"));
  EXPECT_THAT(failureOf(WEFT_RT_TEST_NAMELESS),
              EndsWith("': the backend has no name"));
  EXPECT_THAT(failureOf(WEFT_RT_TEST_VOID),
              EndsWith("': the backend 'void' has no function that creates "
                       "it"));
  EXPECT_THAT(failureOf(WEFT_RT_TEST_UNKNOWN),
              HasSubstr("it comes from the compiler unknown, and this"));
}

} // namespace
