// SPDX-License-Identifier: Apache-2.0

// Measures weft's host contraction on the shapes of a transformer's training
// step, beside a peer if there is one, or beside itself in a declared order
// (--leaves). Runs alternate between both, so that
// disturbances hit them alike; the median counts. With one thread the time is
// the thread's CPU time, else wall time.

#include "gemm.h"
#include "peer.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

using namespace weft::rt;

namespace {

struct Case {
  std::string name, layout;
  weft_rt_gemm desc;
};

// ---- threads ----------------------------------------------------------------

/// Workers that take the pieces of one loop after the other.
class Pool {
public:
  explicit Pool(int threads) {
    for (int i = 1; i < threads; ++i)
      workers.emplace_back([this] { work(); });
  }
  ~Pool() {
    {
      std::lock_guard<std::mutex> lock(mutex);
      stop = true;
    }
    wake.notify_all();
    for (std::thread &worker : workers)
      worker.join();
  }

  static void run(void *ctx, int64_t n, void (*body)(void *, int64_t),
                  void *bodyCtx) {
    static_cast<Pool *>(ctx)->runLoop(n, body, bodyCtx);
  }

private:
  void runLoop(int64_t n, void (*newBody)(void *, int64_t), void *newCtx) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      body = newBody;
      bodyCtx = newCtx;
      count = n;
      next = 0;
      busy = int(workers.size());
      ++generation;
    }
    wake.notify_all();
    takePieces();
    std::unique_lock<std::mutex> lock(mutex);
    idle.wait(lock, [this] { return busy == 0; });
  }

  void takePieces() {
    for (int64_t i = next++; i < count; i = next++)
      body(bodyCtx, i);
  }

  void work() {
    gemmReserveWorkspace();
    int64_t seen = 0;
    for (;;) {
      std::unique_lock<std::mutex> lock(mutex);
      wake.wait(lock, [&] { return stop || generation != seen; });
      if (stop)
        return;
      seen = generation;
      lock.unlock();
      takePieces();
      lock.lock();
      if (--busy == 0)
        idle.notify_one();
    }
  }

  std::vector<std::thread> workers;
  std::mutex mutex;
  std::condition_variable wake, idle;
  void (*body)(void *, int64_t) = nullptr;
  void *bodyCtx = nullptr;
  int64_t count = 0, generation = 0;
  std::atomic<int64_t> next{0};
  int busy = 0;
  bool stop = false;
};

// ---- cases ------------------------------------------------------------------

weft_rt_gemm contraction(weft_rt_type operands, weft_rt_type result,
                         std::initializer_list<weft_rt_gemm_dim> dims) {
  weft_rt_gemm desc{};
  desc.type_a = desc.type_b = operands;
  desc.type_c = result;
  for (const weft_rt_gemm_dim &dim : dims)
    desc.dims[desc.num_dims++] = dim;
  return desc;
}

/// A matrix product; `layout` has a letter for A and B, n for row-major storage
/// and t for transposed storage.
Case matrix(weft_rt_type type, weft_rt_type typeC, const char *layout,
            int64_t m, int64_t n, int64_t k) {
  bool ta = layout[0] == 't', tb = layout[1] == 't';
  weft_rt_gemm desc =
      contraction(type, typeC,
                  {{WEFT_RT_GEMM_M, m, ta ? 1 : k, 0, n},
                   {WEFT_RT_GEMM_N, n, 0, tb ? k : 1, 1},
                   {WEFT_RT_GEMM_K, k, ta ? m : 1, tb ? 1 : n, 0}});
  return {std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k),
          layout, desc};
}

constexpr int64_t kBatch = 8, kHeads = 8, kLength = 256, kHead = 64;

/// Attention products on activations stored as (batch, position, head, feature)
/// and scores as (batch, head, position, position).
Case scores(weft_rt_type type) {
  const int64_t position = kHeads * kHead, batch = kLength * position;
  const int64_t square = kLength * kLength;
  return {
      "attention q*k", "bshd",
      contraction(type, WEFT_RT_F32,
                  {{WEFT_RT_GEMM_BATCH, kBatch, batch, batch, kHeads * square},
                   {WEFT_RT_GEMM_BATCH, kHeads, kHead, kHead, square},
                   {WEFT_RT_GEMM_M, kLength, position, 0, kLength},
                   {WEFT_RT_GEMM_N, kLength, 0, position, 1},
                   {WEFT_RT_GEMM_K, kHead, 1, 1, 0}})};
}

Case weighted(weft_rt_type type, bool transposed) {
  const int64_t position = kHeads * kHead, batch = kLength * position;
  const int64_t square = kLength * kLength;
  int64_t mA = transposed ? 1 : kLength, kA = transposed ? kLength : 1;
  return {
      transposed ? "attention p^T*dy" : "attention p*v", "bshd",
      contraction(type, type,
                  {{WEFT_RT_GEMM_BATCH, kBatch, kHeads * square, batch, batch},
                   {WEFT_RT_GEMM_BATCH, kHeads, square, kHead, kHead},
                   {WEFT_RT_GEMM_M, kLength, mA, 0, position},
                   {WEFT_RT_GEMM_N, kHead, 0, 1, 1},
                   {WEFT_RT_GEMM_K, kLength, kA, position, 0}})};
}

std::vector<Case> allCases(weft_rt_type type) {
  std::vector<Case> cases;
  constexpr int64_t shapes[][3] = {{1024, 1024, 1024}, {2048, 3072, 1024},
                                   {2048, 1024, 3072}, {2048, 512, 512},
                                   {512, 1536, 2048},  {256, 4096, 512},
                                   {256, 1024, 1024},  {256, 512, 512},
                                   {256, 512, 128},    {64, 64, 64}};
  for (const auto &s : shapes)
    for (const char *layout : {"nn", "nt", "tn", "tt"})
      cases.push_back(matrix(type, type, layout, s[0], s[1], s[2]));
  if (type == WEFT_RT_BF16)
    for (const char *layout : {"nn", "tn"})
      cases.push_back(matrix(type, WEFT_RT_F32, layout, 2048, 1024, 3072));
  constexpr int64_t longK[][3] = {
      {1024, 1024, 2048}, {1024, 3072, 4096}, {4096, 1024, 1024}};
  for (const auto &s : longK)
    for (const char *layout : {"nn", "tn"})
      cases.push_back(matrix(type, WEFT_RT_F32, layout, s[0], s[1], s[2]));
  cases.push_back(scores(type));
  cases.push_back(weighted(type, false));
  cases.push_back(weighted(type, true));
  cases.push_back(matrix(type, type, "nn", 1, 4096, 1024));
  cases.push_back(matrix(type, type, "nt", 1, 4096, 1024));
  cases.push_back(matrix(type, type, "nn", 8, 4096, 1024));
  return cases;
}

// ---- measurement ------------------------------------------------------------

double seconds(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

struct Samples {
  std::function<void()> call;
  std::vector<double> times;

  /// On a thread of its own, as oneDNN remembers per thread which AMX tiles it
  /// has configured and would meet weft's.
  void take(clockid_t clock, int repeats) {
    std::thread([=] {
      call();
      double begin = seconds(clock);
      for (int i = 0; i < repeats; ++i)
        call();
      times.push_back((seconds(clock) - begin) / repeats);
    }).join();
  }
  double median() {
    if (times.empty())
      return 0;
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  }
};

double flops(const weft_rt_gemm &desc) {
  double result = 2;
  for (int i = 0; i < desc.num_dims; ++i)
    result *= double(desc.dims[i].size);
  return result;
}

int64_t elements(const weft_rt_gemm &desc, int64_t weft_rt_gemm_dim::*stride) {
  int64_t last = 0;
  for (int i = 0; i < desc.num_dims; ++i)
    last += (desc.dims[i].size - 1) * (desc.dims[i].*stride);
  return last + 1;
}

/// Values in [-1, 1) for either type.
std::unique_ptr<char, void (*)(void *)> buffer(weft_rt_type type,
                                               int64_t count) {
  int64_t size = type == WEFT_RT_F32 ? 4 : 2;
  char *data = static_cast<char *>(
      std::aligned_alloc(4096, size_t(count * size + 4095) / 4096 * 4096));
  uint32_t state = 1;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    float value = float(int32_t(state)) * 0x1p-31f;
    const char *bytes = reinterpret_cast<const char *>(&value) + 4 - size;
    std::memcpy(data + i * size, bytes, size_t(size));
  }
  return {data, std::free};
}

struct Options {
  int threads = 1, rounds = 7, leaves = 0;
  bool json = false;
  std::string only, type;
};

struct Row {
  double ours, other; // GFLOP/s; the peer's or in order, 0 if absent
};

Row measure(const Case &c, const Options &options, Pool &pool) {
  auto a = buffer(c.desc.type_a, elements(c.desc, &weft_rt_gemm_dim::stride_a));
  auto b = buffer(c.desc.type_b, elements(c.desc, &weft_rt_gemm_dim::stride_b));
  auto out =
      buffer(c.desc.type_c, elements(c.desc, &weft_rt_gemm_dim::stride_c));
  ParallelFor parallelFor{options.threads, &pool, Pool::run};
  Samples ours{[&] { gemm(c.desc, a.get(), b.get(), out.get(), parallelFor); },
               {}};
  Samples other{{}, {}};
  weft_rt_gemm ordered = c.desc;
  ordered.leaves = options.leaves;
  if (options.leaves == 0)
    other.call = makePeer(c.desc, a.get(), b.get(), out.get(), options.threads);
  else if (!gemmReason(ordered))
    other.call = [&] {
      gemm(ordered, a.get(), b.get(), out.get(), parallelFor);
    };
  clockid_t clock =
      options.threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
  int repeats = std::max(1, int(2e9 / flops(c.desc)));
  for (int i = 0; i < options.rounds; ++i) {
    ours.take(clock, repeats);
    if (other.call)
      other.take(clock, repeats);
  }
  double giga = flops(c.desc) * 1e-9;
  return {giga / ours.median(), other.call ? giga / other.median() : 0};
}

void print(const Case &c, const char *type, const Row &row,
           const Options &options) {
  constexpr const char *json =
      "{\"shape\": \"%s\", \"layout\": \"%s\", \"type\": \"%s\", "
      "\"gflops\": %.1f, \"%s_gflops\": %.1f, \"ratio\": %.3f}\n";
  double ratio = row.other > 0 ? row.ours / row.other : 0.0;
  if (options.json)
    std::printf(json, c.name.c_str(), c.layout.c_str(), type, row.ours,
                options.leaves ? "ordered" : "onednn", row.other, ratio);
  else
    std::printf("%-18s %-6s %-5s %9.1f %9.1f %7.2f\n", c.name.c_str(),
                c.layout.c_str(), type, row.ours, row.other, ratio);
  std::fflush(stdout);
}

bool parse(int argc, char **argv, Options &options) {
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    const char *value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (argument == "--json") {
      options.json = true;
      continue;
    }
    if (!value)
      return false;
    if (argument == "--threads")
      options.threads = std::max(1, std::atoi(value));
    else if (argument == "--rounds")
      options.rounds = std::max(1, std::atoi(value));
    else if (argument == "--leaves")
      options.leaves = std::max(0, std::atoi(value));
    else if (argument == "--only")
      options.only = value;
    else if (argument == "--type")
      options.type = value;
    else
      return false;
    ++i;
  }
  return true;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::fprintf(stderr, "usage: weft-gemm-bench [--json] [--threads N] "
                         "[--rounds N] [--leaves N] [--type f32|bf16] "
                         "[--only SHAPE]\n");
    return 2;
  }
  if (!options.json)
    std::printf("isa %s, %d thread(s), GFLOP/s\n%-18s %-6s %-5s %9s %9s %7s\n",
                isaName(activeIsa()), options.threads, "shape MxNxK", "layout",
                "type", "weft", options.leaves ? "ordered" : "oneDNN", "ratio");
  Pool pool(options.threads);
  for (const char *type : {"f32", "bf16"}) {
    if (!options.type.empty() && options.type != type)
      continue;
    weft_rt_type code = type[0] == 'f' ? WEFT_RT_F32 : WEFT_RT_BF16;
    for (const Case &c : allCases(code))
      if ((c.name + " " + c.layout).find(options.only) != std::string::npos)
        print(c, type, measure(c, options, pool), options);
  }
  return 0;
}
