// SPDX-License-Identifier: Apache-2.0

// Measures what a step is held against: the rate of matrix products in f32 and
// bf16, and the bandwidth of copying, each with all threads at work at once on
// buffers of their own. The best of several rounds counts.
//
//   weft-machine-bench [THREADS]      (default: one per core)
//
// prints one JSON object: GFLOP/s by type, and GB/s read plus GB/s written.

#include "gemm.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

using namespace weft::rt;

namespace {

constexpr int rounds = 5;

double now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Seconds of the round in which all threads were done first.
double bestSeconds(int threads, const std::function<void(int)> &body) {
  double best = 1e30;
  for (int round = 0; round < rounds; ++round) {
    double begin = now();
    std::vector<std::thread> workers;
    for (int i = 1; i < threads; ++i)
      workers.emplace_back(body, i);
    body(0);
    for (std::thread &worker : workers)
      worker.join();
    best = std::min(best, now() - begin);
  }
  return best;
}

/// C = A * B with all matrices row-major.
weft_rt_gemm product(weft_rt_type type, int64_t m, int64_t n, int64_t k) {
  weft_rt_gemm desc = {};
  desc.type_a = desc.type_b = type;
  desc.type_c = WEFT_RT_F32;
  desc.num_dims = 3;
  desc.dims[0] = {WEFT_RT_GEMM_M, m, k, 0, n};
  desc.dims[1] = {WEFT_RT_GEMM_N, n, 0, 1, 1};
  desc.dims[2] = {WEFT_RT_GEMM_K, k, 1, n, 0};
  return desc;
}

double gemmRate(int threads, weft_rt_type type, int64_t m, int64_t n,
                int64_t k) {
  constexpr double work = 2e10; // operations per thread and round
  const int64_t repeats =
      std::max<int64_t>(1, int64_t(work / (2.0 * double(m * n * k))));
  const weft_rt_gemm desc = product(type, m, n, k);
  // Zeros of either type: speed does not depend on values.
  std::vector<std::vector<float>> a(threads), b(threads), c(threads);
  for (int i = 0; i < threads; ++i) {
    a[i].resize(m * k);
    b[i].resize(k * n);
    c[i].resize(m * n);
  }
  double seconds = bestSeconds(threads, [&](int thread) {
    for (int64_t i = 0; i < repeats; ++i)
      gemm(desc, a[thread].data(), b[thread].data(), c[thread].data(), {});
  });
  return 2.0 * double(m * n * k * repeats * threads) / seconds / 1e9;
}

double bestGemmRate(int threads, weft_rt_type type) {
  double best = 0;
  for (auto [m, n, k] : {std::array<int64_t, 3>{1024, 1024, 1024},
                         {512, 1536, 512},
                         {2048, 512, 512}})
    best = std::max(best, gemmRate(threads, type, m, n, k));
  return best;
}

double copyBandwidth(int threads) {
  constexpr int64_t bytes = 64 << 20;
  constexpr int repeats = 8;
  std::vector<std::vector<char>> from(threads), to(threads);
  for (int i = 0; i < threads; ++i) {
    from[i].resize(bytes, 1);
    to[i].resize(bytes, 2);
  }
  double seconds = bestSeconds(threads, [&](int thread) {
    for (int i = 0; i < repeats; ++i)
      std::memcpy(to[thread].data(), from[thread].data(), bytes);
  });
  return 2.0 * double(bytes * repeats * threads) / seconds / 1e9;
}

} // namespace

int main(int argc, char **argv) {
  int threads =
      argc > 1 ? std::atoi(argv[1]) : int(std::thread::hardware_concurrency());
  if (argc > 2 || threads < 1) {
    std::fprintf(stderr, "usage: %s [THREADS]\n", argv[0]);
    return 2;
  }
  std::printf("{\"threads\": %d, \"gflop_per_s\": {\"f32\": %.1f, "
              "\"bf16\": %.1f}, \"copy_gb_per_s\": %.2f}\n",
              threads, bestGemmRate(threads, WEFT_RT_F32),
              bestGemmRate(threads, WEFT_RT_BF16), copyBandwidth(threads));
}
