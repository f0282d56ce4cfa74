// SPDX-License-Identifier: Apache-2.0

// Half of the delays are none, most others are shorter than what a wake-up
// costs a few times over, and a few are long enough for others to run ahead.

#include "backends/host/perturb.h"

#include "backends/host/futex.h"

namespace weft::rt {
namespace {

/// A bijection that spreads neighbouring seeds (splitmix64's last steps).
uint64_t spread(uint64_t value) {
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
  value = (value ^ value >> 27) * 0x94d049bb133111ebu;
  return value ^ value >> 31;
}

} // namespace

Perturbation::Perturbation(uint64_t seed, uint64_t thread)
    : state(seed == 0 ? 0 : spread(seed * 0x9e3779b97f4a7c15u + thread) | 1) {}

void Perturbation::sleepSome() {
  state += 0x9e3779b97f4a7c15u;
  state |= state == 0; // never off
  uint64_t random = spread(state);
  uint64_t choice = random % 100, amount = (random >> 32) % 1000;
  if (choice < 50)
    return;
  constexpr int64_t microsecond = 1000;
  int64_t longest = choice < 90   ? 200 * microsecond
                    : choice < 99 ? 1000 * microsecond
                                  : 4000 * microsecond;
  sleepUntil(now() + longest * int64_t(amount) / 1000);
}

} // namespace weft::rt
