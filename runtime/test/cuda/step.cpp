// SPDX-License-Identifier: Apache-2.0

// A program for the CUDA backend, written by hand as the compiler would write
// one, and a run of it, for tests that kill or bend what is below it:
//
//   y     = x * w + bias    (a contraction, a kernel; bias is constant data)
//   total = y, added over the ranks
//   all   = y of all ranks
//
//   cuda-step RANKS STEPS DEADLINE [no-graphs] [register] [scalar] [streams]
//   [profile] [drop=N] [kill=N] [plan=N]
//
// With "streams" the total goes by a copy on its channel's stream, between two
// events; "drop" leaves out the await of event N.
// x is another one in each step. With "scalar" the step looks at x in between
// and does something else where it is not 0; "kill" ends the process before
// step N; "plan" gives the program another plan hash. With "profile" it prints
// how many whole milliseconds a call of the kernel took. In a job of several
// processes the first one checks results. It ends with 0 and "ok", with 1 or 3
// and one line that begins with "error: ", or with 4 and "wrong", where results
// are not what a plain loop gives.

#include "weft-rt/session.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr int64_t rows = 2, depth = 8, columns = 4, size = rows * columns;
const float bias[columns] = {1, 2, 3, 4};

int64_t ranks;
bool readsScalar = false, hasStreams = false;
int64_t dropped = -1;
int64_t xShape[2], yShape[2], mine[2] = {rows, depth},
                              ours[2] = {rows, columns};
const int64_t wShape[2] = {depth, columns};
weft_rt_axis axis = {"a", 0};
weft_rt_axis_ref everyone = {0, 1, 0};
weft_rt_dim_sharding cut[2], whole[2];
weft_rt_channel channels[2] = {{"reduce.a", 1, &everyone},
                               {"gather.a", 1, &everyone}};

const char ptx[] =
#include "step_ptx.inc"
    ;

weft_rt_gemm product() {
  weft_rt_gemm gemm = {};
  gemm.type_a = gemm.type_b = gemm.type_c = WEFT_RT_F32;
  gemm.num_dims = 3;
  gemm.dims[0] = {WEFT_RT_GEMM_M, rows, depth, 0, columns};
  gemm.dims[1] = {WEFT_RT_GEMM_N, columns, 0, 1, 1};
  gemm.dims[2] = {WEFT_RT_GEMM_K, depth, 1, columns, 0};
  return gemm;
}

const weft_rt_gemm gemm = product();
const weft_rt_copy copyBias = {4, 1, {{columns, 1, 1}}};
weft_rt_copy copyTotal = {4, 1, {{size, 1, 1}}}, copyAll = copyTotal;
const int64_t config[] = {1, 32, 64};
const weft_rt_launch add = {0, 3, config};
const weft_rt_operand operand = {WEFT_RT_F32, 1, size, 1, 0, 0, 0};
const weft_rt_collective sum = {WEFT_RT_ALL_REDUCE, WEFT_RT_SUM, 0,       1,
                                &operand,           nullptr,     "total", 0},
                         gather = {WEFT_RT_ALL_GATHER, WEFT_RT_SUM, 1,     1,
                                   &operand,           nullptr,     "all", 0};

void await(const weft_rt_api *api, weft_rt_rank *rank, int32_t event) {
  if (event != dropped)
    api->await(rank, event);
}

/// Brings the total to `there` on its channel's stream, over something else
/// that is on the stream that computes.
void bring(const weft_rt_api *api, weft_rt_rank *rank, int64_t summing,
           const void *total, const void *other, void *there) {
  const int32_t channel = 0;
  api->copy(rank, -1, &copyTotal, other, there);
  api->record(rank, 1);
  api->set_stream(rank, channel);
  await(api, rank, 1);
  api->wait(rank, -1, summing);
  api->copy(rank, -1, &copyTotal, total, there);
  api->record(rank, 0);
  api->set_stream(rank, -1);
  await(api, rank, 0);
}

void entry(const weft_rt_api *api, weft_rt_rank *rank, void *const *args,
           void *const *results, void *arena, void *host) {
  char *space = static_cast<char *>(arena);
  void *biasHere = space, *sumHere = space + 64, *allHere = space + 128;
  const void *y = results[0];
  api->copy(rank, -1, &copyBias, bias, biasHere);
  api->gemm(rank, -1, &gemm, args[0], args[1], results[0]);
  void *buffers[] = {results[0], biasHere};
  const int64_t count = size;
  api->launch(rank, -1, &add, buffers, &count);
  int64_t summing = api->start(rank, -1, &sum, &y, &sumHere);
  int64_t gathering = api->start(rank, -1, &gather, &y, &allHere);
  // Both are open where this chain ends.
  if (readsScalar && api->read_scalar(rank, -1, WEFT_RT_F32, args[0]) != 0)
    api->copy(rank, -1, &copyBias, bias, biasHere);
  void *total = sumHere;
  if (hasStreams) {
    total = space + 96;
    bring(api, rank, summing, sumHere, y, total);
  } else {
    api->wait(rank, -1, summing);
  }
  api->copy(rank, -1, &copyTotal, total, results[1]);
  api->wait(rank, -1, gathering);
  api->copy(rank, -1, &copyAll, allHere, results[2]);
}

weft_rt_program describe() {
  static const weft_rt_tensor
      args[] = {{"x", WEFT_RT_F32, 2, xShape, mine, cut, -1, 0},
                {"w", WEFT_RT_F32, 2, wShape, wShape, whole, -1, 0}},
      results[] = {{"y", WEFT_RT_F32, 2, yShape, ours, cut, -1, 0},
                   {"total", WEFT_RT_F32, 2, ours, ours, whole, -1, 0},
                   {"all", WEFT_RT_F32, 2, yShape, yShape, whole, -1, 0}};
  static const weft_rt_image image = {
      "step", reinterpret_cast<const uint8_t *>(ptx), sizeof(ptx) - 1};
  static const weft_rt_kernel_entry kernel = {"weft_test_add", 0, nullptr, 2,
                                              1};
  xShape[0] = yShape[0] = rows * ranks;
  xShape[1] = depth;
  yShape[1] = columns;
  axis.size = everyone.size = ranks;
  cut[0] = {1, &everyone};
  copyAll.dims[0].size = size * ranks;
  weft_rt_program program = {};
  program.abi_version = WEFT_RT_ABI_VERSION;
  program.struct_size = sizeof(program);
  program.name = "step";
  program.backend = "cuda";
  program.num_ranks = int32_t(ranks);
  program.num_axes = 1;
  program.axes = &axis;
  program.num_args = 2;
  program.args = args;
  program.num_results = 3;
  program.results = results;
  program.num_channels = 2;
  program.channels = channels;
  program.num_kernels = 1;
  program.kernels = &kernel;
  program.num_images = 1;
  program.images = &image;
  program.max_operands = 1;
  program.num_events = 2;
  program.arena_bytes = 128 + 4 * size * ranks;
  program.entry = entry;
  return program;
}

[[noreturn]] void stop(weft_rt_status status) {
  std::printf("error: %s\n", weft_rt_last_error());
  std::fflush(stdout);
  std::_Exit(status == WEFT_RT_RANK_FAILED ? 3 : 1);
}

void check(weft_rt_status status) {
  if (status != WEFT_RT_OK)
    stop(status);
}

std::vector<float> result(weft_rt_session *session, int32_t index,
                          int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  check(weft_rt_session_get_result(session, index, values.data(), 4 * count));
  return values;
}

/// Says whether the results are those of a plain loop. Another process than the
/// first gives what it has, and says yes.
bool isRight(weft_rt_session *session, const std::vector<float> &x,
             const std::vector<float> &w) {
  int64_t processes = 1;
  if (weft_rt_session_process(session, &processes) != 0) {
    for (int32_t i = 0; i < 3; ++i)
      check(weft_rt_session_get_result(session, i, nullptr, 0));
    return true;
  }
  std::vector<float> y, total(static_cast<size_t>(size), 0.f);
  for (int64_t row = 0; row < rows * ranks; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      float value = bias[column];
      for (int64_t k = 0; k < depth; ++k)
        value += x[size_t(row * depth + k)] * w[size_t(k * columns + column)];
      y.push_back(value);
      total[size_t(row % rows * columns + column)] += value;
    }
  // All are asked for: others wait to give them.
  bool ofY = result(session, 0, size * ranks) == y;
  bool ofTotal = result(session, 1, size) == total;
  return result(session, 2, size * ranks) == y && ofY && ofTotal;
}

struct Words {
  weft_rt_options options = WEFT_RT_OPTIONS_INIT;
  int64_t steps = 1, killAt = -1, plan = 0;
};

Words readWords(int count, char **words) {
  Words result;
  ranks = count > 1 ? std::atoll(words[1]) : 2;
  result.steps = count > 2 ? std::atoll(words[2]) : 1;
  result.options.deadline_seconds = count > 3 ? std::atof(words[3]) : 20;
  for (int i = 4; i < count; ++i) {
    std::string word = words[i];
    if (word == "no-graphs")
      result.options.no_graphs = 1;
    if (word == "register")
      result.options.register_buffers = 1;
    if (word == "scalar")
      readsScalar = true;
    if (word == "profile")
      result.options.profile = 1;
    if (word == "streams")
      hasStreams = true;
    if (word.compare(0, 5, "drop=") == 0)
      dropped = std::atoll(word.c_str() + 5);
    if (word.compare(0, 5, "kill=") == 0)
      result.killAt = std::atoll(word.c_str() + 5);
    if (word.compare(0, 5, "plan=") == 0)
      result.plan = std::atoll(word.c_str() + 5);
  }
  return result;
}

/// Of rank 0.
void printProfile(weft_rt_session *session) {
  const weft_rt_profile_row *rows;
  int64_t count;
  check(weft_rt_session_profile(session, &rows, &count));
  for (int64_t i = 0; i < count; ++i)
    if (rows[i].rank == 0 && rows[i].activity == WEFT_RT_IN_KERNEL)
      std::printf("%s: %d ms\n", rows[i].name,
                  int(1e3 * rows[i].seconds / double(rows[i].calls)));
}

/// Small whole numbers: sums are exact in any order. x begins with 0 now and
/// then.
std::vector<float> numbers(int64_t count, int64_t first, int64_t range) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(float((i + first) % range - range / 2));
  return values;
}

} // namespace

int main(int count, char **given) {
  Words words = readWords(count, given);
  weft_rt_program program = describe();
  program.plan_hash[0] = uint8_t(words.plan);
  const weft_rt_program *table = &program;
  weft_rt_session *session = nullptr;
  check(weft_rt_session_create(&table, 1, &words.options, &session));
  std::vector<float> w = numbers(depth * columns, 0, 5);
  check(weft_rt_session_set_argument(session, 1, w.data(),
                                     4 * int64_t(w.size())));
  bool right = true;
  for (int64_t step = 0; step < words.steps; ++step) {
    std::vector<float> x = numbers(rows * ranks * depth, step, 7);
    check(weft_rt_session_set_argument(session, 0, x.data(),
                                       4 * int64_t(x.size())));
    if (step == words.killAt)
      raise(SIGKILL);
    check(weft_rt_session_run(session, 1, nullptr));
    right = isRight(session, x, w) && right;
  }
  weft_rt_graphs graphs;
  weft_rt_session_graphs(session, &graphs);
  if (std::getenv("CUDA_STEP_GRAPHS"))
    std::printf("%lld graphs, %lld launches, %lld of %lld calls%s%s\n",
                (long long)graphs.graphs, (long long)graphs.launches,
                (long long)graphs.captured_calls, (long long)graphs.calls,
                *graphs.reason ? ": " : "", graphs.reason);
  if (words.options.profile)
    printProfile(session);
  weft_rt_session_close(session);
  std::puts(right ? "ok" : "wrong");
  return right ? 0 : 4;
}
