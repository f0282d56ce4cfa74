// SPDX-License-Identifier: Apache-2.0

// What a session asks of a backend: ranks that can run a task at once, their
// memory, and the calls that the task may make. A backend owns threads, memory,
// transfers and communication; the session owns programs. An address in a
// rank's memory means something to the backend and to compiled code alone.

#ifndef WEFT_RT_CORE_BACKEND_H
#define WEFT_RT_CORE_BACKEND_H

#include "core/job.h"
#include "core/rank_log.h"
#include "core/sharding.h"
#include "core/status.h"

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
  int threads = 0;            // all ranks together; 0: as many as are useful
  bool forcesThreads = false; // also more than are useful
  double deadlineSeconds = 60;
  int64_t traceEvents = 0; // room per rank
  bool profile = false;
  std::vector<weft_rt_fault> faults;
  std::vector<ChannelLink> links; // one per channel, or none
  bool sharesLink = false;        // a rank has one link for all channels
  uint64_t perturbSeed = 0;       // 0: no random delays
  bool poisonsFlight = false;  // outputs of collectives in flight hold NaN bits
  bool catchesSignals = false; // faults of compiled code fail its rank
  int32_t (*poll)(void *) = nullptr; // asked while tasks run; not 0: end them
  void *pollContext = nullptr;
  JobPlace place;      // one of several only if the backend spans processes
  bool graphs = false; // steps may be captured and replayed
  bool registersBuffers = false; // with what connects ranks
};

/// What a rank runs: compiled code's entry within a thin wrapper.
using RankTask = void (*)(void *context, weft_rt_rank *rank);

/// The part of a tensor that one rank holds, and where.
struct Shard {
  int64_t rank;
  void *local;
  Region region;
};

/// Bytes in a rank's memory.
struct Block {
  int64_t rank;
  void *data;
  int64_t bytes;
};

/// How the steps that ran were given to the device: what was captured.
struct GraphReport {
  bool canCapture = false;                 // the backend, at all
  std::string reason;                      // why nothing is captured; "": it is
  bool readsScalars = false;               // which end chains
  int64_t graphs = 0, launches = 0;        // of the local rank with most calls
  int64_t capturedCalls = 0, allCalls = 0; // in all steps, of that rank
};

/// How work of all ranks ended.
struct Outcome {
  Status status;       // the first failure that any rank had
  bool isWhole = true; // all ranks have done all of it, whatever the status
};

/// The ranks of one job, as far as they live in this process.
class Backend {
public:
  virtual ~Backend() = default;

  /// The ranks that live in this process, ascending.
  virtual const std::vector<int64_t> &localRanks() const = 0;

  virtual int threadsPerRank() const = 0;

  /// Gives each local rank its memory, zeros at addresses that are multiples of
  /// 64; in the order of localRanks. Called once; it lives as long as this.
  virtual Result<std::vector<void *>>
  allocate(const std::vector<int64_t> &bytes) = 0;

  /// Gives each local rank memory of the host, zeros at addresses that are
  /// multiples of 64, which its collectives in groups of one rank may read and
  /// write; in the order of localRanks. Called once at most, after allocate; it
  /// lives as long as this.
  virtual Result<std::vector<void *>>
  allocateOnHost(const std::vector<int64_t> &bytes);

  /// Copies the shards' parts of a dense tensor of the global shape into ranks'
  /// memory. Like the next two, ordered after all that ran before.
  virtual Outcome upload(weft_rt_type type, const std::vector<Shard> &shards,
                         const void *global) = 0;

  /// The device that has a local rank's memory, by the number that its library
  /// gives it; -1: the CPU has it.
  virtual int32_t deviceNumber(int64_t rank) const { return -1; }

  /// The stream of such a rank, on which uploadOnDevice works where it is the
  /// first of its device.
  virtual void *deviceStream(int64_t rank) const { return nullptr; }

  /// upload from a dense tensor in the memory of the device that all local
  /// ranks are on. Elements have whole bytes. Asked where deviceNumber is not
  /// -1.
  virtual Outcome uploadOnDevice(weft_rt_type type,
                                 const std::vector<Shard> &shards,
                                 const void *global) {
    return {invalid("the backend has no devices"), true};
  }

  /// Copies the shards to their places in the dense tensor; the rest of it
  /// stays.
  virtual Outcome download(weft_rt_type type, const std::vector<Shard> &shards,
                           void *global) = 0;

  /// Sets all bytes of the blocks, of which a rank may have several.
  virtual Outcome fill(const std::vector<Block> &blocks, uint8_t value) = 0;

  /// The calls that compiled code may make within a task.
  virtual const weft_rt_api &api() const = 0;

  /// Runs the task on every local rank at once and waits for all that they have
  /// enqueued. After a failure every call fails.
  virtual Outcome run(RankTask task, void *context) = 0;

  /// A rank's records; its own thread may write to them during a task.
  virtual RankLog &log(int64_t rank) = 0;

  /// The calls of the last task, rank by rank, one a line; "" where they are
  /// not kept.
  virtual std::string calls() const { return ""; }

  /// What is captured; why it is not is known before the first task.
  virtual GraphReport graphs() const { return {}; }

  /// The other processes of the job, or null: all ranks are here.
  virtual JobMember *job() { return nullptr; }

  /// Says whether some rank did not stop after a failure. Memory that it may
  /// still use must then never be freed, nor this object be destroyed.
  virtual bool hasStuckRank() const = 0;

private:
  std::vector<std::unique_ptr<void, void (*)(void *)>> onHost;
};

} // namespace weft::rt

#endif // WEFT_RT_CORE_BACKEND_H
