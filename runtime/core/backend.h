// SPDX-License-Identifier: Apache-2.0

// What a session asks of a backend: ranks that can run a task at once, and the
// calls that the task may make. A backend owns threads and communication; the
// session owns programs and memory.

#ifndef WEFT_RT_CORE_BACKEND_H
#define WEFT_RT_CORE_BACKEND_H

#include "core/rank_log.h"
#include "core/status.h"
#include "core/unwind.h"

#include <memory>
#include <vector>

namespace weft::rt {

/// What the link model says of a channel.
struct ChannelLink {
  bool isGiven = false; // otherwise as fast as the machine is
  int64_t latency = 0;  // nanoseconds
  double bytesPerNanosecond = 0;
};

/// What a backend is created for.
struct BackendOptions {
  std::vector<const weft_rt_program *> programs; // one per rank, checked
  int threads = 1;                               // all ranks together
  double deadlineSeconds = 60;
  int64_t traceEvents = 0; // room per rank
  bool profile = false;
  std::vector<weft_rt_fault> faults;
  std::vector<ChannelLink> links; // one per channel, or none
  bool sharesLink = false;        // a rank has one link for all channels
  uint64_t perturbSeed = 0;       // 0: no random delays
  bool poisonsFlight = false; // outputs of collectives in flight hold NaN bits
  int32_t (*poll)(void *) = nullptr; // asked while tasks run; not 0: end them
  void *pollContext = nullptr;
  bool (*prepareThread)() = nullptr; // done first by each thread; false: there
                                     // is no memory for what it needs
};

/// The ranks of one job, as far as they live in this process.
class Backend {
public:
  virtual ~Backend() = default;

  /// The calls that compiled code may make on a rank's thread.
  virtual const weft_rt_api &api() const = 0;

  virtual int threadsPerRank() const = 0;

  /// Runs the task on every rank at once and waits for all. A failure is the
  /// first that any rank had; from then on every call fails. `isWhole`: all
  /// ranks have done all of the task, also if somebody wished to end it
  /// meanwhile.
  virtual Status run(weft_rt_task task, void *context, bool &isWhole) = 0;

  /// A rank's records; its own thread may write to them during a task.
  virtual RankLog &log(int64_t rank) = 0;

  /// Says whether some rank did not stop after a failure. Memory that it may
  /// still use must then never be freed, nor this object be destroyed.
  virtual bool hasStuckRank() const = 0;
};

/// Creates ranks as threads of this process that share its memory.
Result<std::unique_ptr<Backend>>
createHostBackend(const BackendOptions &options);

/// From now on, a signal that means a fault of a rank's code (SIGSEGV, SIGBUS,
/// SIGFPE, SIGILL) fails the rank, which ends all ranks with a message; on
/// other threads it ends the process as before. For tools: the handlers are
/// the whole process's.
void failRanksOnSignals();

} // namespace weft::rt

#endif // WEFT_RT_CORE_BACKEND_H
