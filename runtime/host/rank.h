// SPDX-License-Identifier: Apache-2.0

// One rank of the host backend: its thread, its helpers, and the calls that
// compiled code makes on it.

#ifndef WEFT_RT_HOST_RANK_H
#define WEFT_RT_HOST_RANK_H

#include "host/world.h"

#include <array>

namespace weft::rt {

/// A rank's seat in the group of a channel.
struct Seat {
  Group *group;
  int64_t index;
};

/// A rank, used by its own thread; calls that fail tell the world and return
/// false (or a negative ticket), after which the caller must unwind.
class HostRank {
public:
  HostRank(HostWorld &world, int64_t rank);

  Status start();
  void join();

  bool gemm(const weft_rt_gemm &desc, const void *a, const void *b, void *c);
  void launch(weft_rt_kernel kernel, void *const *buffers, int64_t extent,
              int64_t grain);
  int64_t startCollective(const weft_rt_collective &collective,
                          const void *const *in, void *const *out);
  bool wait(int64_t ticket);
  void fail(const char *message);

  /// Leaves the task; called with no C++ frame in between.
  jmp_buf &homeBuffer() { return home; }

  RankLog log;

  /// The signal handler of failRanksOnSignals.
  static void onFatalSignal(int number);

private:
  static void *threadMain(void *rank);
  void prepareThread(int member);
  static void prepareHelper(void *rank, int member);
  void serve();
  void runTask();

  Status perform(const weft_rt_collective &collective, const void *const *in,
                 void *const *out);
  Status exchange(const weft_rt_collective &collective, const Seat &seat,
                  int64_t &moving);
  Status statusOf(Meeting outcome, const weft_rt_collective &collective,
                  const Seat &seat) const;
  Status work(const weft_rt_collective &collective, const Seat &seat);
  Status checkMembers(const weft_rt_collective &collective, const Seat &seat);
  Status injectFault(const weft_rt_collective &collective, int64_t number);
  std::string channelName(const weft_rt_collective &collective) const;

  /// Collectives that may be in flight at once.
  static constexpr int64_t maxTickets = 1024;

  HostWorld &world;
  weft_rt_rank self;
  const weft_rt_program &program;
  std::vector<Seat> seats;                       // [channel]
  std::vector<const void *> inputs;              // room for reductions
  std::array<int64_t, maxTickets> openTickets{}; // 0: free
  int64_t lastTicket = 0, open = 0;
  Team team;
  pthread_t thread{};
  bool isStarted = false;
  Group *entered = nullptr; // the group of the collective at hand
  jmp_buf home;
  static thread_local HostRank *rankOfThread; // while it runs a task
};

} // namespace weft::rt

#endif // WEFT_RT_HOST_RANK_H
