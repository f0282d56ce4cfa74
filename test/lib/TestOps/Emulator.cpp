// SPDX-License-Identifier: Apache-2.0

// Runs kernels of a device on the CPU. Each thread of a block is a fiber, which
// runs until it comes to a barrier or ends; blocks run one after the other, and
// so do launches. Threads go on in ascending and in descending order by turns,
// so that what depends on the order gives something else than it should.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <ucontext.h>
#include <vector>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace {

using Thread = void (*)(void *buffers, void *scalars);

constexpr size_t kStackBytes = 256 << 10;
/// What a block may have of shared memory.
constexpr size_t kSharedBytes = 48 << 10;

struct Fiber {
  ucontext_t context;
  std::vector<char> stack;
  bool hasEnded = false;
};

struct Launch {
  Thread thread;
  void *buffers, *scalars;
};

thread_local Launch launch;
thread_local int32_t currentThread, currentBlock;
thread_local std::vector<Fiber> fibers;
thread_local ucontext_t scheduler;
alignas(64) thread_local char shared[kSharedBytes];
thread_local int32_t exchanged[1024];

void runFiber() {
  launch.thread(launch.buffers, launch.scalars);
  fibers[currentThread].hasEnded = true;
}

void startFibers(int64_t count) {
  if (static_cast<int64_t>(fibers.size()) != count)
    fibers = std::vector<Fiber>(count);
  for (Fiber &fiber : fibers) {
    fiber.stack.resize(kStackBytes);
    fiber.hasEnded = false;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.data();
    fiber.context.uc_stack.ss_size = fiber.stack.size();
    fiber.context.uc_link = &scheduler;
    makecontext(&fiber.context, runFiber, 0);
  }
}

/// Runs all threads to the next barrier; gives how many have ended.
int64_t runToBarrier(bool isDescending) {
  int64_t count = fibers.size(), numEnded = 0;
  for (int64_t i = 0; i < count; ++i) {
    currentThread = isDescending ? count - 1 - i : i;
    Fiber &fiber = fibers[currentThread];
    if (!fiber.hasEnded)
      swapcontext(&scheduler, &fiber.context);
    numEnded += fiber.hasEnded;
  }
  return numEnded;
}

void runBlock(int64_t numThreads) {
  // NaN of any type.
  std::memset(shared, 0xff, sizeof(shared));
  startFibers(numThreads);
  for (bool isDescending = false;; isDescending = !isDescending) {
    int64_t numEnded = runToBarrier(isDescending);
    if (numEnded == numThreads)
      return;
    if (numEnded > 0) {
      std::fprintf(stderr, "emulator: some threads of a block ended while "
                           "others wait at a barrier\n");
      std::abort();
    }
  }
}

/// A float of 8 bits: to the nearest, ties to even, within the range; 0x7f of
/// NaN.
uint8_t roundToFloat8(float number, int mantissaBits, int bias,
                      double greatest) {
  if (std::isnan(number))
    return 0x7f;
  double magnitude = std::min(std::fabs(double(number)), greatest);
  int least = 1 - bias;
  int exponent =
      magnitude == 0 ? least : std::max(std::ilogb(magnitude), least);
  // Of a normal number the leading one is counted in the exponent.
  int code = (exponent - least) << mantissaBits;
  code += static_cast<int>(
      std::nearbyint(std::ldexp(magnitude, mantissaBits - exponent)));
  return code | (std::signbit(number) ? 0x80 : 0);
}

/// The bits of a float of 8 bits in f16, whose mantissa has 10 bits and whose
/// exponent 5; of a NaN there is one.
uint32_t widenFloat8(uint8_t code, int mantissaBits, int bias, bool isFinite) {
  uint32_t sign = (code & 0x80) << 8, magnitude = code & 0x7f;
  if (magnitude == 0x7f || (!isFinite && magnitude > 0x7c))
    return 0x7fff;
  uint32_t bits = magnitude << (10 - mantissaBits);
  if (isFinite && magnitude >> mantissaBits)
    return sign | (bits + ((15 - bias) << 10));
  if (!isFinite)
    return sign | bits;
  // Denormals are normal in f16.
  float number = std::ldexp(float(magnitude), 1 - bias - mantissaBits);
  if (number == 0)
    return sign;
  int exponent = std::ilogb(number);
  uint32_t mantissa = std::ldexp(number, 10 - exponent);
  return sign | ((exponent + 15) << 10) | (mantissa & 0x3ff);
}

} // namespace

extern "C" {

int32_t weft_emulated_of_e4m3x2(int16_t both) {
  return widenFloat8(both >> 8, 3, 7, true) << 16 |
         widenFloat8(both, 3, 7, true);
}

int32_t weft_emulated_of_e5m2x2(int16_t both) {
  return widenFloat8(both >> 8, 2, 15, false) << 16 |
         widenFloat8(both, 2, 15, false);
}

int16_t weft_emulated_e4m3x2(float high, float low) {
  return roundToFloat8(high, 3, 7, 448) << 8 | roundToFloat8(low, 3, 7, 448);
}

int16_t weft_emulated_e5m2x2(float high, float low) {
  return roundToFloat8(high, 2, 15, 57344) << 8 |
         roundToFloat8(low, 2, 15, 57344);
}

int32_t weft_emulated_thread() { return currentThread; }
int32_t weft_emulated_block() { return currentBlock; }

void *weft_emulated_shared(int64_t numBytes) {
  if (numBytes > static_cast<int64_t>(sizeof(shared)))
    std::abort();
  return shared;
}

void weft_emulated_barrier() {
  swapcontext(&fibers[currentThread].context, &scheduler);
}

/// Of threads of a warp; all of the block come here, as their code is the same.
void weft_emulated_warp_barrier() { weft_emulated_barrier(); }

int32_t weft_emulated_shuffle(int32_t /*mask*/, int32_t value, int32_t distance,
                              int32_t /*clamp*/) {
  exchanged[currentThread] = value;
  weft_emulated_barrier();
  int32_t other = exchanged[currentThread ^ distance];
  weft_emulated_barrier();
  return other;
}

/// Denormals are taken for zero, and so are those that it gives.
float weft_emulated_exp2(float value) {
  constexpr float kLeast = 0x1p-126f;
  float power = std::exp2(std::fabs(value) < kLeast ? 0 : value);
  return power < kLeast ? 0 : power;
}

/// Between 0 and 1; NaN is 0.
float weft_emulated_saturated_fma(float a, float b, float c) {
  return std::fmin(std::fmax(std::fma(a, b, c), 0.0F), 1.0F);
}

/// Runs a grid. `scalars` and `buffers` are what each thread is called with.
void weft_emulated_launch(Thread thread, void *buffers, void *scalars,
                          int64_t numBlocks, int64_t numThreads,
                          int64_t hasBarriers) {
  static std::mutex one;
  std::lock_guard<std::mutex> lock(one);
  launch = {thread, buffers, scalars};
  for (currentBlock = 0; currentBlock < numBlocks; ++currentBlock) {
    if (hasBarriers) {
      runBlock(numThreads);
      continue;
    }
    for (currentThread = 0; currentThread < numThreads; ++currentThread)
      thread(buffers, scalars);
  }
}

#if defined(__x86_64__)
/// What code calls that rounds to bf16 where the processor has no instruction
/// for it, and the compiler's library no function. The result is in the
/// register of a float.
__m128i __truncsfbf2(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  bool isNan = (bits & 0x7fffffff) > 0x7f800000;
  return _mm_cvtsi32_si128(int(isNan ? bits >> 16 | 0x40 : rounded));
}
#endif

} // extern "C"
