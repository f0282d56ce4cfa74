// SPDX-License-Identifier: Apache-2.0

// Measures weft's host attention, forward and gradient. Each line of the
// standard input is a case,
//   TYPE HEADS QUERIES KEYS HEAD_SIZE causal|full [LEAVES]
// which runs once more than it is told on the standard output: the seconds of
// the forward pass and of the gradient. With one thread that is the thread's
// CPU time, else wall time. bench/attention/compare.py is on the other end.

#include "attention.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

using namespace weft::rt;

namespace {

/// Starts threads for each loop: its time is small beside a case's.
void runOnThreads(void *threads, int64_t n, void (*body)(void *, int64_t),
                  void *context) {
  std::atomic<int64_t> next{0};
  auto work = [&] {
    for (int64_t i = next++; i < n; i = next++)
      body(context, i);
  };
  std::vector<std::thread> helpers;
  for (int i = 1; i < *static_cast<int *>(threads); ++i)
    helpers.emplace_back(work);
  work();
  for (std::thread &helper : helpers)
    helper.join();
}

struct Case {
  weft_rt_attention desc{};
  std::vector<char> data[WEFT_RT_ATTENTION_NUM_BUFFERS];
  void *buffers[WEFT_RT_ATTENTION_NUM_BUFFERS] = {};
};

/// Values in [-1, 1) for either type.
void fill(std::vector<char> &data, size_t bytes) {
  uint32_t state = 1;
  for (size_t i = 0; i + bytes <= data.size(); i += bytes) {
    state = state * 1664525u + 1013904223u;
    float value = float(int32_t(state)) * 0x1p-31f;
    std::memcpy(&data[i], reinterpret_cast<char *>(&value) + 4 - bytes, bytes);
  }
}

/// Of a dim that no head has: strides of what has queries, and of what has
/// keys.
weft_rt_attention_dim dimension(int32_t role, int64_t size, int64_t ofQueries,
                                int64_t ofKeys) {
  weft_rt_attention_dim dim{};
  dim.role = role;
  dim.size = size;
  dim.stride_q = dim.stride_out = dim.stride_dout = dim.stride_dq = ofQueries;
  dim.stride_k = dim.stride_v = dim.stride_dk = dim.stride_dv = ofKeys;
  return dim;
}

Case makeCase(weft_rt_type type, int64_t heads, int64_t queries, int64_t keys,
              int64_t depth, bool causal, int leaves) {
  Case c;
  weft_rt_attention &desc = c.desc;
  desc.type = desc.type_bias = type;
  desc.type_dq = desc.type_dk = desc.type_dv = type;
  desc.scale = 0.125f;
  desc.left = -1;
  desc.right = causal ? 0 : -1;
  desc.leaves = leaves;
  desc.num_dims = 5;
  const int64_t ofQueries = queries * depth, ofKeys = keys * depth;
  weft_rt_attention_dim *dims = desc.dims;
  dims[0] = dimension(WEFT_RT_ATTENTION_BATCH, heads, ofQueries, ofKeys);
  dims[0].stride_lse = queries;
  dims[1] = dimension(WEFT_RT_ATTENTION_QUERY, queries, depth, 0);
  dims[1].stride_lse = 1;
  dims[2] = dimension(WEFT_RT_ATTENTION_KEY, keys, 0, depth);
  dims[3].role = WEFT_RT_ATTENTION_DEPTH;
  dims[3].size = depth;
  dims[3].stride_q = dims[3].stride_k = dims[3].stride_dq = dims[3].stride_dk =
      1;
  dims[4].role = WEFT_RT_ATTENTION_VALUE;
  dims[4].size = depth;
  dims[4].stride_v = dims[4].stride_out = dims[4].stride_dout =
      dims[4].stride_dv = 1;
  const size_t bytes = type == WEFT_RT_F32 ? 4 : 2;
  for (int tensor : {WEFT_RT_ATTENTION_Q, WEFT_RT_ATTENTION_OUT,
                     WEFT_RT_ATTENTION_DOUT, WEFT_RT_ATTENTION_DQ})
    c.data[tensor].resize(size_t(heads * ofQueries) * bytes);
  for (int tensor : {WEFT_RT_ATTENTION_K, WEFT_RT_ATTENTION_V,
                     WEFT_RT_ATTENTION_DK, WEFT_RT_ATTENTION_DV})
    c.data[tensor].resize(size_t(heads * ofKeys) * bytes);
  c.data[WEFT_RT_ATTENTION_LSE].resize(size_t(heads * queries) * 4);
  for (int tensor = 0; tensor < WEFT_RT_ATTENTION_NUM_BUFFERS; ++tensor) {
    fill(c.data[tensor], bytes);
    c.buffers[tensor] =
        c.data[tensor].empty() ? nullptr : c.data[tensor].data();
  }
  return c;
}

double seconds(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

double timeOf(Case &c, bool backward, int threads) {
  const clockid_t clock =
      threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
  ParallelFor parallelFor{threads, &threads, runOnThreads};
  c.desc.backward = backward;
  double begin = seconds(clock);
  attention(c.desc, c.buffers, 0, parallelFor);
  return seconds(clock) - begin;
}

} // namespace

int main(int argc, char **argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  std::string before;
  Case c;
  char line[200];
  while (std::fgets(line, sizeof line, stdin)) {
    char type[8], mask[8];
    long long heads, queries, keys, depth;
    int leaves = 0;
    if (std::sscanf(line, "%7s %lld %lld %lld %lld %7s %d", type, &heads,
                    &queries, &keys, &depth, mask, &leaves) < 6) {
      std::fprintf(stderr, "not a case: %s", line);
      return 2;
    }
    if (line != before) {
      c = makeCase(type[0] == 'f' ? WEFT_RT_F32 : WEFT_RT_BF16, heads, queries,
                   keys, depth, mask[0] == 'c', leaves);
      before = line;
      timeOf(c, false, threads);
      timeOf(c, true, threads);
    }
    double forward = timeOf(c, false, threads);
    std::printf("%.6f %.6f\n", forward, timeOf(c, true, threads));
    std::fflush(stdout);
  }
  return 0;
}
