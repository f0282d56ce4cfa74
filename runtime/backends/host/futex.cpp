// SPDX-License-Identifier: Apache-2.0

// Linux futexes with absolute deadlines on the monotonic clock. The words are
// atomics with acquire and release order; the futex only puts threads to
// sleep, it orders nothing.

#include "backends/host/futex.h"

#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft::rt {

namespace {

void pauseCore() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

} // namespace

int64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

void sleepWhile(const std::atomic<uint32_t> &word, uint32_t value,
                int64_t deadline) {
  timespec until = {time_t(deadline / 1'000'000'000),
                    long(deadline % 1'000'000'000)};
  // The bitset form takes an absolute time.
  syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, value,
          deadline == never ? nullptr : &until, nullptr,
          FUTEX_BITSET_MATCH_ANY);
}

void wake(const std::atomic<uint32_t> &word, int count) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

void wakeAll(const std::atomic<uint32_t> &word) { wake(word, INT_MAX); }

bool waitWhile(const std::atomic<uint32_t> &word, uint32_t value, int spins,
               int64_t deadline) {
  for (int i = 0; i < spins; ++i) {
    if (word.load(std::memory_order_acquire) != value)
      return true;
    pauseCore();
  }
  while (word.load(std::memory_order_acquire) == value) {
    if (now() >= deadline)
      return false;
    sleepWhile(word, value, deadline);
  }
  return true;
}

void sleepExactly(const std::atomic<uint32_t> &word, uint32_t value,
                  int64_t moment) {
  constexpr int64_t wakeUp = 80'000; // what waking up takes, and a little more
  while (word.load(std::memory_order_acquire) == value &&
         now() < moment - wakeUp)
    sleepWhile(word, value, moment - wakeUp);
  while (word.load(std::memory_order_acquire) == value && now() < moment)
    pauseCore();
}

void wakeExactly() { prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0); }

void sleepUntil(int64_t moment) {
  std::atomic<uint32_t> nap{0};
  while (now() < moment)
    sleepWhile(nap, 0, moment);
}

} // namespace weft::rt
