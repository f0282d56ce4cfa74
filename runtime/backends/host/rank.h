// SPDX-License-Identifier: Apache-2.0

// One rank of the host backend: its thread, its helpers, and the calls that
// compiled code makes on it.

#ifndef WEFT_RT_HOST_RANK_H
#define WEFT_RT_HOST_RANK_H

#include "backends/host/perturb.h"
#include "backends/host/tickets.h"
#include "backends/host/world.h"
#include "core/streams.h"

#include <csignal>

namespace weft::rt {

/// A rank, used by its own thread; calls that fail tell the world and return
/// false (or a negative ticket), after which the caller must unwind.
class HostRank {
public:
  HostRank(HostWorld &world, int64_t rank);

  Status start();
  void join();

  bool gemm(int32_t op, const weft_rt_gemm &desc, const void *a, const void *b,
            void *c);
  bool attention(int32_t op, const weft_rt_attention &desc,
                 void *const *buffers, int64_t queryStart);
  bool launch(int32_t op, const weft_rt_launch &launch, void *const *buffers,
              const int64_t *scalars);
  bool copy(int32_t op, const weft_rt_copy &copy, const void *source,
            void *target);
  bool readScalar(int32_t op, weft_rt_type type, const void *source,
                  int64_t &value);
  int64_t startCollective(int32_t op, const weft_rt_collective &collective,
                          const void *const *in, void *const *out);
  bool wait(int32_t op, int64_t ticket);
  bool setStream(int32_t channel);
  bool record(int32_t event);
  bool await(int32_t event);
  void fail(const char *message);

  /// Leaves the task after a failure; called with no C++ frame in between.
  [[noreturn]] void leave();

  RankLog log;

  /// From now on, a signal that means a fault of a rank's code (SIGSEGV,
  /// SIGBUS, SIGFPE, SIGILL) fails the rank, which ends all ranks with a
  /// message; on other threads, or sent by a process, it ends this process as
  /// before.
  static void failOnSignals();

private:
  static void onFatalSignal(int number, siginfo_t *info, void *context);
  static void *threadMain(void *rank);
  bool prepareThread(int member);
  static bool prepareHelper(void *rank, int member);
  void serve();
  void runTask();
  void onKilled(const char *signalName);

  Status checkStart(const weft_rt_collective &collective, const void *const *in,
                    void *const *out);
  Status tryStart(int32_t op, const weft_rt_collective &collective,
                  const void *const *in, void *const *out, int64_t &ticket);
  Status tryWait(const InFlight &entry);
  bool check(Status status);
  bool catchUp();
  Status injectFault(const weft_rt_collective &collective, int64_t number);
  void poisonOutputs(const InFlight &entry, MemberBuffers buffers) const;
  void failWith(Status status);
  std::string channelName(const weft_rt_collective &collective) const;

  HostWorld &world;
  weft_rt_rank self;
  const weft_rt_program &program;
  std::vector<Seat> seats; // [channel]
  Tickets tickets;
  Streams streams;
  /// The last collective that this step has started on a channel, and the one
  /// that an event is after: those of which `collective` is null are none.
  std::vector<InFlight> lastStarted, recorded; // [channel], [event]
  Mover mover;
  Perturbation perturbation;
  Team team;
  pthread_t thread{};
  bool isStarted = false;
  jmp_buf home;
  static thread_local HostRank *rankOfThread; // while it runs a task
};

} // namespace weft::rt

#endif // WEFT_RT_HOST_RANK_H
