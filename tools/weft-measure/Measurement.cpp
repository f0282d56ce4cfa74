// SPDX-License-Identifier: Apache-2.0

// The measurement is a program for the runtime, with an entry that calls what
// steps call. Before each round the ranks meet in a collective. The best of
// several rounds counts: noise only makes things slower.

#include "Measurement.h"

#include "weft-rt/session.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>

using namespace weft::rt;

namespace {

constexpr int64_t arenaBytes = 192 << 20;

double now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// What the entry needs beside its parameters: there is one measurement at a
/// time.
struct Job {
  MeasureOptions options;
  Figures figures;
} *job;

const weft_rt_operand oneNumber = {WEFT_RT_F32, 1, 1, 1, 0, 0, 0};
const weft_rt_collective meeting = {
    WEFT_RT_ALL_REDUCE, WEFT_RT_SUM, 0, 1, &oneNumber, nullptr, "meeting", 0};

/// One rank that measures.
class Probe {
public:
  Probe(const weft_rt_api *api, weft_rt_rank *self, char *arena)
      : api(api), self(self), arena(arena) {}

  void measureAll();

private:
  void collective(const weft_rt_collective &what, void *in, void *out) {
    const void *ins[] = {in};
    void *outs[] = {out};
    api->wait(self, -1, api->start(self, -1, &what, ins, outs));
  }

  /// The ranks go on at the same time, as nearly as it can be.
  void meet() {
    if (job->options.ranks > 1)
      collective(meeting, arena, arena);
  }

  /// Seconds of one call, the best of some rounds of calls that take `seconds`.
  double time(const std::function<void()> &call, double seconds = 0.02);

  double productSeconds(weft_rt_type type, int64_t m, int64_t n, int64_t k);
  ProductFigures measureProducts(const char *name, weft_rt_type type);
  void measureMemory(Figures &figures);
  void launch(int32_t kernel, void *const *buffers, int64_t extent,
              int64_t grain);
  void measureKernels(Figures &figures);
  void measureCollectives(Figures &figures);

  const weft_rt_api *api;
  weft_rt_rank *self;
  char *arena;
};

double Probe::time(const std::function<void()> &call, double seconds) {
  call();
  int64_t calls = 1;
  // Equal on all ranks: with collectives inside, all make as many.
  double begin = now();
  call();
  float estimate = float(now() - begin);
  if (job->options.ranks > 1) {
    static const weft_rt_collective agree = {
        WEFT_RT_ALL_REDUCE, WEFT_RT_MAX, 0, 1, &oneNumber, nullptr, "agree", 0};
    std::memcpy(arena, &estimate, sizeof(estimate));
    collective(agree, arena, arena);
    std::memcpy(&estimate, arena, sizeof(estimate));
  }
  calls = std::max<int64_t>(1, int64_t(seconds / std::max(estimate, 1e-8f)));
  if (job->options.isQuick)
    calls = 1;
  double best = 1e30;
  for (int round = 0, rounds = job->options.isQuick ? 1 : 5; round < rounds;
       ++round) {
    meet();
    begin = now();
    for (int64_t i = 0; i < calls; ++i)
      call();
    best = std::min(best, (now() - begin) / double(calls));
  }
  return std::max(best, 1e-9);
}

/// Operands in the arena are zeros or what was there: speed does not depend on
/// values.
double Probe::productSeconds(weft_rt_type type, int64_t m, int64_t n,
                             int64_t k) {
  weft_rt_gemm product = {};
  product.type_a = product.type_b = product.type_c = type;
  product.num_dims = 3;
  product.dims[0] = {WEFT_RT_GEMM_M, m, k, 0, n};
  product.dims[1] = {WEFT_RT_GEMM_N, n, 0, 1, 1};
  product.dims[2] = {WEFT_RT_GEMM_K, k, 1, n, 0};
  char *a = arena + 64, *b = a + (32 << 20), *c = b + (32 << 20);
  return time([&] { api->gemm(self, -1, &product, a, b, c); });
}

ProductFigures Probe::measureProducts(const char *name, weft_rt_type type) {
  bool isQuick = job->options.isQuick;
  std::vector<int64_t> sizes = {16, 32, 64, 128, 256, 512, 1024};
  if (isQuick)
    sizes.resize(2);
  const double side = double(sizes.back());
  ProductFigures figures;
  figures.type = name;
  std::vector<double> square, skinny;
  for (int64_t size : sizes) {
    double flops = 2.0 * double(size) * double(size) * double(size);
    square.push_back(flops / productSeconds(type, size, size, size));
    // One short side, among rows and among what is summed.
    double shortFlops = 2.0 * double(size) * side * side;
    int64_t longSide = sizes.back();
    skinny.push_back(2 * shortFlops /
                     (productSeconds(type, size, longSide, longSide) +
                      productSeconds(type, longSide, longSide, size)));
  }
  figures.flopsPerSecond =
      std::max(*std::max_element(square.begin(), square.end()),
               *std::max_element(skinny.begin(), skinny.end()));
  for (size_t i = 0; i < sizes.size(); ++i) {
    double size = double(sizes[i]);
    double byDim = std::min(1.0, skinny[i] / figures.flopsPerSecond);
    // The factors of both tables multiply.
    double byFlops =
        std::min(1.0, square[i] / (figures.flopsPerSecond * byDim));
    figures.bySmallestDim.push_back({size, byDim});
    figures.byFlops.push_back({2 * size * size * size, byFlops});
  }
  return figures;
}

/// buffers: from, to. An iteration is 4 KiB.
void copyKernel(void *const *buffers, const int64_t *, int64_t begin,
                int64_t end) {
  std::memcpy(static_cast<char *>(buffers[1]) + begin * 4096,
              static_cast<char *>(buffers[0]) + begin * 4096,
              (end - begin) * 4096);
}

void emptyKernel(void *const *, const int64_t *, int64_t, int64_t) {}

constexpr int64_t chainLength = 32, chainElements = 1024;

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&         \
    !defined(__SANITIZE_THREAD__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
void chainOf(float *values) {
  for (int64_t i = 0; i < chainElements; ++i) {
    float x = values[i];
    for (int64_t j = 0; j < chainLength; ++j)
      x = x * 0.999f + 0.001f;
    values[i] = x;
  }
}

/// Multiplications and additions that stay in registers, as those of exp do.
void chainKernel(void *const *buffers, const int64_t *, int64_t begin,
                 int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    chainOf(static_cast<float *>(buffers[0]) + i * chainElements);
}

enum { kCopyKernel, kEmptyKernel, kChainKernel };
const weft_rt_kernel_entry kernels[] = {{"copy", -1, copyKernel, 2, 0},
                                        {"empty", -1, emptyKernel, 2, 0},
                                        {"chain", -1, chainKernel, 2, 0}};

/// Launches a kernel over [0, extent) on the host.
void Probe::launch(int32_t kernel, void *const *buffers, int64_t extent,
                   int64_t grain) {
  const int64_t config[] = {extent, grain};
  weft_rt_launch launch = {kernel, 2, config};
  api->launch(self, -1, &launch, buffers, nullptr);
}

void Probe::measureKernels(Figures &figures) {
  void *buffers[] = {arena + 64, arena + (64 << 20)};
  figures.kernelOverheadNs =
      1e9 * time([&] { launch(kEmptyKernel, buffers, 1, 1); });
  const int64_t pieces = 64;
  std::memset(arena, 0, 64 + pieces * chainElements * sizeof(float));
  double seconds = time([&] { launch(kChainKernel, buffers, pieces, 1); });
  figures.elementwisePerSecond =
      2.0 * double(pieces * chainElements * chainLength) / seconds;
}

void Probe::measureMemory(Figures &figures) {
  std::vector<int64_t> sizes = {64 << 10, 256 << 10, 1 << 20,
                                4 << 20,  16 << 20,  64 << 20};
  if (job->options.isQuick)
    sizes.resize(2);
  void *buffers[] = {arena, arena + (64 << 20)};
  double overhead = figures.kernelOverheadNs / 1e9;
  for (int64_t size : sizes) {
    double seconds =
        time([&] { launch(kCopyKernel, buffers, size / 4096, 4); });
    double rate = 2.0 * double(size) / std::max(seconds - overhead, 1e-9);
    figures.byBytes.push_back({2.0 * double(size), rate});
    figures.bytesPerSecond = rate;
  }
  for (auto &[bytes, rate] : figures.byBytes)
    rate /= figures.bytesPerSecond;
}

void Probe::measureCollectives(Figures &figures) {
  if (job->options.ranks == 1)
    return;
  double latency = time([&] { collective(meeting, arena, arena); });
  const int64_t bytes = job->options.isQuick ? 1 << 16 : 8 << 20;
  const int64_t parts = std::min<int64_t>(job->options.ranks, 8);
  const weft_rt_operand operand = {WEFT_RT_F32, 1, bytes / 4 / parts, 1, 0,
                                   0,           0};
  const weft_rt_collective gather = {
      WEFT_RT_ALL_GATHER, WEFT_RT_SUM, 0, 1, &operand, nullptr, "gather", 0};
  double seconds =
      time([&] { collective(gather, arena + 64, arena + bytes * 2); });
  double received = double(bytes / parts) * double(job->options.ranks - 1);
  figures.latencyNs = latency * 1e9;
  figures.linkBytesPerSecond = received / std::max(seconds - latency, 1e-9);
}

void Probe::measureAll() {
  Figures figures;
  measureKernels(figures);
  measureMemory(figures);
  for (auto [name, type] : {std::pair("f64", WEFT_RT_F64),
                            {"f32", WEFT_RT_F32},
                            {"f16", WEFT_RT_F16},
                            {"bf16", WEFT_RT_BF16}})
    figures.products.push_back(measureProducts(name, type));
  measureCollectives(figures);
  if (self->rank == 0)
    job->figures = figures;
}

void runProbe(const weft_rt_api *api, weft_rt_rank *self, void *const *,
              void *const *, void *arena, void *) {
  Probe(api, self, static_cast<char *>(arena)).measureAll();
}

} // namespace

std::string weft::rt::measure(const MeasureOptions &options, Figures &figures) {
  Job current{options, {}};
  job = &current;
  const weft_rt_axis axis = {"ranks", options.ranks};
  const weft_rt_axis_ref whole = {0, 1, options.ranks};
  const weft_rt_channel channel = {"ranks", 1, &whole};
  weft_rt_program program = {};
  program.abi_version = WEFT_RT_ABI_VERSION;
  program.struct_size = sizeof(program);
  program.name = "measure";
  program.backend = "host";
  program.num_kernels = std::size(kernels);
  program.kernels = kernels;
  program.num_ranks = int32_t(options.ranks);
  program.num_axes = 1;
  program.axes = &axis;
  program.num_channels = 1;
  program.channels = &channel;
  program.max_operands = 1;
  program.arena_bytes = arenaBytes;
  program.entry = runProbe;
  weft_rt_options sessionOptions = WEFT_RT_OPTIONS_INIT;
  sessionOptions.threads = int32_t(options.ranks) * options.threads;
  const weft_rt_program *programs[] = {&program};
  weft_rt_session *session;
  if (weft_rt_session_create(programs, 1, &sessionOptions, &session) !=
      WEFT_RT_OK)
    return weft_rt_last_error();
  weft_rt_status status = weft_rt_session_run(session, 1, nullptr);
  std::string problem = status == WEFT_RT_OK ? "" : weft_rt_last_error();
  weft_rt_session_close(session);
  figures = current.figures;
  return problem;
}
