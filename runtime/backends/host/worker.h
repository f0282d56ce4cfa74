// SPDX-License-Identifier: Apache-2.0

// The thread of a group that does the work of collectives which no member waits
// for. It sleeps until the group rings its bell.

#ifndef WEFT_RT_HOST_WORKER_H
#define WEFT_RT_HOST_WORKER_H

#include "backends/host/group.h"
#include "backends/host/perturb.h"
#include "core/unwind.h"

#include <pthread.h>

namespace weft::rt {

/// A group's worker.
class Worker {
public:
  Worker(Group &group, uint64_t perturbSeed, uint64_t number);
  ~Worker();
  Worker(const Worker &) = delete;
  Worker &operator=(const Worker &) = delete;

  Status start();

  /// Called by the signal handler on the worker's own thread: gives up what it
  /// was doing, and the group breaks. Does not return.
  [[noreturn]] void onKilled(const char *signalName);

  /// The worker whose thread this is, or null.
  static Worker *current();

private:
  static void *threadMain(void *worker);
  void serve();
  void work();

  Group &group;
  Perturbation perturbation;
  Mover mover;
  std::atomic<bool> stopping{false};
  bool isStarted = false;
  pthread_t thread{};
  jmp_buf home;
};

} // namespace weft::rt

#endif // WEFT_RT_HOST_WORKER_H
