// SPDX-License-Identifier: Apache-2.0

// Waiting for a device by asking it again and again.

#ifndef WEFT_RT_CUDA_POLLING_H
#define WEFT_RT_CUDA_POLLING_H

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <sched.h>

namespace weft::rt::cuda {

/// Nanoseconds of a monotonic clock.
inline int64_t nanosecondsNow() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

inline void sleepFor(int64_t nanoseconds) {
  timespec time = {time_t(nanoseconds / 1'000'000'000),
                   long(nanoseconds % 1'000'000'000)};
  nanosleep(&time, nullptr);
}

/// The pauses between questions: short ones first, then longer.
class Pause {
public:
  void sleep() {
    if (++asked < 200)
      sched_yield();
    else
      sleepFor(std::min<int64_t>(asked * 100, 200'000));
  }

private:
  int64_t asked = 0;
};

} // namespace weft::rt::cuda

#endif // WEFT_RT_CUDA_POLLING_H
