// SPDX-License-Identifier: Apache-2.0

// Sleeping until a word changes. Ranks usually outnumber cores, so a thread
// that waits spins for a moment only when every thread has a core, and then
// gives its core away.

#ifndef WEFT_RT_HOST_FUTEX_H
#define WEFT_RT_HOST_FUTEX_H

#include <atomic>
#include <cstdint>

namespace weft::rt {

/// Nanoseconds on a clock that never goes back.
int64_t now();

/// A point in time that never comes.
constexpr int64_t never = INT64_MAX;

/// Sleeps while `word` holds `value`, until `deadline` (as of now()) at most.
/// May return early: callers look at the word again.
void sleepWhile(const std::atomic<uint32_t> &word, uint32_t value,
                int64_t deadline);

/// Wakes at most `count` threads that sleep on the word, or all.
void wake(const std::atomic<uint32_t> &word, int count);
void wakeAll(const std::atomic<uint32_t> &word);

/// Spins, then sleeps, until the word no longer holds `value`; false when the
/// deadline passed first.
bool waitWhile(const std::atomic<uint32_t> &word, uint32_t value, int spins,
               int64_t deadline);

/// Sleeps while `word` holds `value`, until `moment` at most, and spins for the
/// last stretch, which is as long as waking up takes: for threads that have a
/// core of their own.
void sleepExactly(const std::atomic<uint32_t> &word, uint32_t value,
                  int64_t moment);

/// From now on this thread wakes up at its moments, not up to 50 us later.
void wakeExactly();

/// Sleeps until the moment has come.
void sleepUntil(int64_t moment);

} // namespace weft::rt

#endif // WEFT_RT_HOST_FUTEX_H
