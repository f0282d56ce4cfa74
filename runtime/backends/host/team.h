// SPDX-License-Identifier: Apache-2.0

// The threads of one rank: its own, and helpers that sleep until there is
// work. Work is a number of independent pieces, taken one by one. The rank's
// thread waits for pieces that were taken, never for a helper to wake up.
//
// Example: a team of 3 runs a loop of 100 iterations with grain 10 as 10
// chunks; whichever thread is free takes the next.

#ifndef WEFT_RT_HOST_TEAM_H
#define WEFT_RT_HOST_TEAM_H

#include "core/status.h"
#include "weft-rt/abi.h"

#include <atomic>
#include <pthread.h>
#include <vector>

namespace weft::rt {

/// Starts a thread, or says why not.
Status startThread(pthread_t *thread, void *(*body)(void *), void *context);

/// A rank's thread and its helpers.
class Team {
public:
  using Body = void (*)(void *context, int64_t piece);
  using Prepare = bool (*)(void *context, int member);

  Team() = default;
  ~Team();
  Team(const Team &) = delete;
  Team &operator=(const Team &) = delete;

  /// Starts the helpers. `prepare` runs once on each, with its number from 1,
  /// and says whether it can help; waits spin `spins` times before they sleep.
  Status start(int helpers, int spins, Prepare prepare, void *prepareContext);

  /// Threads of the team, the caller's included.
  int size() const { return int(threads.size()) + 1; }

  /// Calls body(context, i) for each i in [0, pieces), on all threads; returns
  /// when all are done. Called by the rank's thread only.
  void run(int64_t pieces, Body body, void *context);

  /// Called by the signal handler on a helper's thread: gives up the piece at
  /// hand, as if it were done, and goes on. Does not return.
  [[noreturn]] static void onHelperKilled();

  /// Runs a kernel over [0, extent) in chunks of at least `grain`: the numbers
  /// of a weft_rt_launch for the host.
  void launch(weft_rt_kernel kernel, void *const *buffers,
              const int64_t *scalars, int64_t extent, int64_t grain);

private:
  static void *helperMain(void *team);
  void help();
  void work();
  void finishPiece();

  std::vector<pthread_t> threads;
  Prepare prepare = nullptr;
  void *prepareContext = nullptr;
  int spins = 0;
  std::atomic<int> prepared{0};
  std::atomic<bool> stopping{false};
  std::atomic<uint32_t> epoch{0}; // moves when there is a job

  // The current job; written by the rank's thread while `waiting` is 0, and
  // read by those who have taken a piece.
  Body body = nullptr;
  void *context = nullptr;
  std::atomic<uint32_t> waiting{0};    // pieces that nobody has taken
  std::atomic<uint32_t> unfinished{0}; // pieces that are not done
};

} // namespace weft::rt

#endif // WEFT_RT_HOST_TEAM_H
