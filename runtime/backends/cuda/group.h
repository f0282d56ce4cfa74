// SPDX-License-Identifier: Apache-2.0

// The ranks that communicate over one channel. Each member starts its
// collectives in the same order; `number` counts them. Two forms: members that
// share a GPU, whose buffers kernels of our own read and write (sharing.h), and
// members with a GPU each, which NCCL connects (nccl_group.h).

#ifndef WEFT_RT_CUDA_GROUP_H
#define WEFT_RT_CUDA_GROUP_H

#include "backends/cuda/device.h"

#include <condition_variable>
#include <mutex>

namespace weft::rt::cuda {

/// What a member brings to a collective.
struct Contribution {
  const weft_rt_collective *collective = nullptr;
  const void *const *in = nullptr;
  void *const *out = nullptr;
  CUevent_st *input = nullptr; // recorded: what it may read is written
  CUevent_st *done = nullptr;  // to be recorded at its end
};

/// Members, and the collectives that they have started.
class Group {
public:
  static constexpr int64_t maxInFlight = 1024; // of a member

  /// `locals`: how many of the members are in this process.
  Group(std::vector<int64_t> ranks, std::string channel, int64_t locals);
  virtual ~Group() = default;

  int64_t size() const { return int64_t(ranks.size()); }
  const std::vector<int64_t> &members() const { return ranks; }

  /// Starts member `index`'s next collective and gives its number. Tables of
  /// buffers may be gone after the call. Fails if it is not what the others
  /// have started, or the device refuses it.
  Result<int64_t> start(int64_t index, const Contribution &what);

  /// The same in two halves, for what is captured and then launched again and
  /// again: enqueues what this member does, and counts one more.
  virtual Status capture(int64_t index, const Contribution &what) = 0;
  Result<int64_t> count(int64_t index, const weft_rt_collective &collective);

  /// Returns when `done` of collective `number` of this member is recorded, or,
  /// with false, when the group is broken up.
  bool awaitRecorded(int64_t number);

  /// Says whether it is recorded.
  bool isRecorded(int64_t number);

  /// Says to the connection, before the first step, that a member's buffers lie
  /// in these bytes of its device; and that they are about to be freed.
  virtual Status registerMemory(int64_t index, void *base, int64_t bytes) {
    return Status();
  }
  virtual void deregisterMemory() {}

  /// An error that the connection has met by itself, if any.
  virtual Status health() { return Status(); }

  /// Ends all waits; also what hangs on a device, as far as it can be ended.
  virtual void breakUp();

  /// How many collectives a member of this process has started.
  int64_t startedBy(int64_t index);

protected:
  /// Enqueues what this member can. `isLast`: all others have started it.
  /// Called with the lock held, unless it is recorded at once.
  virtual Status enqueue(int64_t index, int64_t number,
                         const Contribution &what, bool isLast) = 0;

  /// Says from where on `done` events are recorded: by each member for itself,
  /// or when all members have started the collective.
  virtual bool recordsAtOnce() const = 0;

private:
  Status checkSame(int64_t index, int64_t number,
                   const weft_rt_collective &collective);
  void arrive(int64_t index, int64_t number);

  struct Slot {
    const weft_rt_collective *collective = nullptr;
    int64_t starter = 0, arrived = 0;
  };

  const std::vector<int64_t> ranks;
  const std::string channel;
  const int64_t locals;
  std::mutex lock;
  std::condition_variable changed;
  std::vector<int64_t> started; // [member]
  std::vector<Slot> slots;      // [number % maxInFlight]
  int64_t whole = 0;            // collectives that all members have started
  bool isBroken = false;
};

} // namespace weft::rt::cuda

#endif // WEFT_RT_CUDA_GROUP_H
