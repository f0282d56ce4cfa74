// SPDX-License-Identifier: Apache-2.0

// Random delays where ranks, helpers and workers meet, to try orders of events
// that a quiet machine never shows. A program that is right computes the same
// under all of them.

#ifndef WEFT_RT_HOST_PERTURB_H
#define WEFT_RT_HOST_PERTURB_H

#include <cstdint>

namespace weft::rt {

/// One thread's delays: a sequence that depends on the seed and the thread.
class Perturbation {
public:
  /// Seed 0: no delays.
  Perturbation(uint64_t seed, uint64_t thread);

  void delay() {
    if (state != 0)
      sleepSome();
  }

private:
  void sleepSome();

  uint64_t state;
};

} // namespace weft::rt

#endif // WEFT_RT_HOST_PERTURB_H
