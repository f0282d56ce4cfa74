/* SPDX-License-Identifier: Apache-2.0 */

/* A program written by hand, as the compiler would write one, for tests of
 * sessions and of weft-run. Mesh dp=2, tp=2:
 *
 *   total    = sum(x), on all ranks            (all_reduce)
 *   gathered = x, on all ranks                 (all_gather)
 *   state    = state + total, in place         (donated, uneven shards)
 *
 * The argument `mode` makes it misbehave, see the enum. With
 * ACCUMULATE_TWO_CHANNELS it gathers on a channel of its own, and with
 * ACCUMULATE_GATHERS_FIRST also before it reduces; ACCUMULATE_OTHER_PLAN and
 * ACCUMULATE_OTHER_NAME make programs that cannot run beside others.
 * ACCUMULATE_LEAVES=8 gives it a certificate with 8 leaves. */

#include "programs/accumulate.h"

#include <pthread.h>
#include <unistd.h>

#ifdef ACCUMULATE_LEAVES
#define TEXT_OF(value) #value
#define TEXT(macro) TEXT_OF(macro)
#define DIGEST                                                                 \
  "3fd5000000000000000000000000000000000000000000000000000000000000"
#endif

#ifdef ACCUMULATE_TWO_CHANNELS
enum { rankCount = 4, everyone = 0, gatherChannel = 1 };
#else
enum { rankCount = 4, everyone = 0, gatherChannel = 0 };
#endif

static const weft_rt_axis axes[] = {{"dp", 2}, {"tp", 2}};
static const weft_rt_axis_ref both[] = {{0, 1, 2}, {1, 1, 2}};
static const weft_rt_channel channels[] = {{"reduce.all", 2, both},
#ifdef ACCUMULATE_TWO_CHANNELS
                                           {"gather.all", 2, both}};
#else
                                           {"gather.tp", 1, both + 1}};
#endif

static const int64_t stateShape[] = {9, 3}, stateLocal[] = {5, 2};
static const weft_rt_dim_sharding stateCut[] = {{1, both}, {1, both + 1}};
static const int64_t xShape[] = {8}, xLocal[] = {2};
static const weft_rt_dim_sharding xCut[] = {{2, both}};
static const weft_rt_dim_sharding whole[] = {{0, 0}};

static const weft_rt_tensor args[] = {
    {"state", WEFT_RT_F32, 2, stateShape, stateLocal, stateCut, 0, 0},
    {"x", WEFT_RT_F32, 1, xShape, xLocal, xCut, -1, 0},
    {"mode", WEFT_RT_I32, 0, 0, 0, 0, -1, 0},
};
static const weft_rt_tensor results[] = {
    {"state", WEFT_RT_F32, 2, stateShape, stateLocal, stateCut, 0, 0},
    {"total", WEFT_RT_F32, 0, 0, 0, 0, -1, 0},
#ifdef ACCUMULATE_OTHER_NAME
    {"collected", WEFT_RT_F32, 1, xShape, xShape, whole, -1, 0},
#else
    {"gathered", WEFT_RT_F32, 1, xShape, xShape, whole, -1, 0},
#endif
};

static const weft_rt_operand scalar = {WEFT_RT_F32, 1, 1, 1, 0, 0, 0};
static const weft_rt_operand two = {WEFT_RT_F32, 1, 2, 1, 0, 0, 0};
static const weft_rt_operand boolean = {WEFT_RT_I1, 1, 1, 1, 0, 0, 0};
static const weft_rt_collective reduceTotal = {
    WEFT_RT_ALL_REDUCE, WEFT_RT_SUM, everyone, 1, &scalar, 0, "total", 0};
static const weft_rt_collective reduceOther = {
    WEFT_RT_ALL_REDUCE, WEFT_RT_MAX, everyone, 1, &scalar, 0, "other", 0};
static const weft_rt_collective reduceTruth = {
    WEFT_RT_ALL_REDUCE, WEFT_RT_SUM, everyone, 1, &boolean, 0, "truth", 0};
static const weft_rt_collective noChannel = {
    WEFT_RT_ALL_REDUCE, WEFT_RT_SUM, 7, 1, &scalar, 0, "lost", 0};
static const weft_rt_collective gatherX = {
    WEFT_RT_ALL_GATHER, WEFT_RT_SUM, gatherChannel, 1, &two, 0, "x", 0};

static const weft_rt_traffic traffic[] = {
    {WEFT_RT_ALL_GATHER, "reduce.all", 1, 24},
    {WEFT_RT_ALL_REDUCE, "reduce.all", 1, 6},
};

enum { opReduce, opWaitReduce, opGather, opWaitGather, opAdd };
static const weft_rt_op ops[] = {{"all_reduce total"},
                                 {"wait all_reduce total"},
                                 {"all_gather x"},
                                 {"wait all_gather x"},
                                 {"add total to state"}};

static void run(const weft_rt_api *api, weft_rt_rank *rank, int32_t op,
                const weft_rt_collective *collective, const void *in,
                void *out) {
  api->wait(rank, op < 0 ? -1 : op + 1,
            api->start(rank, op, collective, &in, &out));
}

/* buffers: state, total */
static void addTotal(void *const *buffers, const int64_t *scalars,
                     int64_t begin, int64_t end) {
  float *state = buffers[0];
  for (int64_t i = begin; i < end; ++i)
    state[i] += *(const float *)buffers[1];
}

/* A fault of the code: a signal that is sent would end the process. */
static void crash(void) {
  static int *volatile nowhere;
  *nowhere = 1;
}

/* buffers: the rank's thread, which leaves the work to the helpers */
static void crashElsewhere(void *const *buffers, const int64_t *scalars,
                           int64_t begin, int64_t end) {
  if (!pthread_equal(pthread_self(), *(const pthread_t *)buffers[0]))
    crash();
  usleep(100000);
}

static const weft_rt_kernel_entry kernels[] = {
    {"addTotal", -1, addTotal, 2, 0},
    {"crashElsewhere", -1, crashElsewhere, 1, 0}};
static const int64_t tenByFour[] = {10, 4}, eightByOne[] = {8, 1};
static const weft_rt_launch launchAddTotal = {0, 2, tenByFour},
                            launchCrashElsewhere = {1, 2, eightByOne},
                            launchNoKernel = {2, 2, eightByOne},
                            launchNoGrain = {0, 1, tenByFour},
                            launchNoConfig = {0, 2, 0};

static void misbehave(const weft_rt_api *api, weft_rt_rank *rank, int32_t mode,
                      float *scratch) {
  int64_t ticket;
  const void *in = scratch;
  void *out = scratch + 1, *overlapping = (char *)scratch + 2;
  if (mode == ACCUMULATE_FAIL)
    api->fail(rank, "told to fail");
  if (mode == ACCUMULATE_OTHER_COLLECTIVE)
    run(api, rank, -1, &reduceOther, in, out);
  if (mode == ACCUMULATE_TRUTH_SUM)
    run(api, rank, -1, &reduceTruth, in, out);
  if (mode == ACCUMULATE_NO_CHANNEL)
    run(api, rank, -1, &noChannel, in, out);
  if (mode == ACCUMULATE_OVERLAP)
    run(api, rank, -1, &reduceTotal, in, overlapping);
  if (mode == ACCUMULATE_WAIT_TWICE) {
    ticket = api->start(rank, -1, &reduceTotal, &in, &out);
    api->wait(rank, -1, ticket);
    api->wait(rank, -1, ticket);
  }
  if (mode == ACCUMULATE_CRASH)
    crash();
  if (mode == ACCUMULATE_CRASH_HELPER) {
    pthread_t self = pthread_self();
    void *buffers[] = {&self};
    api->launch(rank, -1, &launchCrashElsewhere, buffers, 0);
  }
  if (mode == ACCUMULATE_NO_KERNEL)
    api->launch(rank, -1, &launchNoKernel, &out, 0);
  if (mode == ACCUMULATE_NO_GRAIN)
    api->launch(rank, -1, &launchNoGrain, &out, 0);
  if (mode == ACCUMULATE_NO_CONFIG)
    api->launch(rank, -1, &launchNoConfig, &out, 0);
  if (mode == ACCUMULATE_BAD_BUFFER)
    run(api, rank, -1, &reduceTotal, (const void *)64, out);
  while (mode == ACCUMULATE_HANG)
    usleep(1000);
}

static void entry(const weft_rt_api *api, weft_rt_rank *rank,
                  void *const *arguments, void *const *outputs, void *arena,
                  void *host) {
  const float *x = arguments[1];
  float *total = outputs[1], *partial = arena;
  int32_t mode = *(const int32_t *)arguments[2];
  if (rank->rank == ACCUMULATE_BAD_RANK) {
    if (mode == ACCUMULATE_ABSENT)
      return;
    misbehave(api, rank, mode, partial);
  }
  *partial = x[0] + x[1];
#ifdef ACCUMULATE_GATHERS_FIRST
  run(api, rank, opGather, &gatherX, x, outputs[2]);
#endif
  run(api, rank, opReduce, &reduceTotal, partial, total);
  if (rank->rank == ACCUMULATE_BAD_RANK && mode == ACCUMULATE_NO_WAIT) {
    const void *in = x;
    api->start(rank, opGather, &gatherX, &in, &outputs[2]);
    return;
  }
#ifndef ACCUMULATE_GATHERS_FIRST
  run(api, rank, opGather, &gatherX, x, outputs[2]);
#endif
  void *buffers[] = {outputs[0], total};
  api->launch(rank, opAdd, &launchAddTotal, buffers, 0);
}

const weft_rt_program weft_program = {
    .abi_version = WEFT_RT_ABI_VERSION,
    .struct_size = sizeof(weft_rt_program),
    .name = "accumulate",
    .backend = "host",
    .num_ranks = rankCount,
    .num_axes = 2,
    .axes = axes,
    .num_args = 3,
    .args = args,
    .num_results = 3,
    .results = results,
    .num_channels = 2,
    .channels = channels,
    .num_traffic = 2,
    .traffic = traffic,
    .num_ops = sizeof(ops) / sizeof(ops[0]),
    .ops = ops,
    .num_kernels = sizeof(kernels) / sizeof(kernels[0]),
    .kernels = kernels,
    .max_operands = 1,
    .arena_bytes = 64,
#ifdef ACCUMULATE_OTHER_PLAN
    .plan_hash = {9, 2, 3},
#else
    .plan_hash = {1, 2, 3},
#endif
#ifdef ACCUMULATE_LEAVES
    .certificate =
        "{\"version\": 1, \"axes\": [\"dp\", \"tp\"], \"leaves\": " TEXT(
            ACCUMULATE_LEAVES) ", \"digest\": \"" DIGEST "\"}",
#endif
    .entry = entry,
};
