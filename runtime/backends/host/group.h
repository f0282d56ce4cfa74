// SPDX-License-Identifier: Apache-2.0

// The members of one communicator, as threads, and the collectives that they
// have in flight. A member starts a collective by publishing its buffers and
// goes on; the collective is open when all members have started it and the one
// before it is done. Then there is work, one part per member, which any thread
// may do: members that wait for this collective or a later one, or, when nobody
// does, the group's worker.
//
// Where ranks outnumber cores, whoever opens a collective wakes no more members
// than there are cores to help; the others sleep on until all is done. So a
// start that is directly followed by its wait costs one sleep at most, and the
// worker sleeps on.
//
// Example: members A and B start 0 and 1, A computes, B waits for 0. The second
// start of 0 opens it, B does both parts, which opens 1 at once; if B does not
// wait for 1 either, the worker does its parts.

#ifndef WEFT_RT_HOST_GROUP_H
#define WEFT_RT_HOST_GROUP_H

#include "backends/host/link.h"
#include "backends/host/movement.h"

#include <atomic>
#include <functional>
#include <string>
#include <vector>

namespace weft::rt {

class Group;

/// How a wait for a collective ended.
enum class Meeting { Complete, TimedOut, Broken };

/// What a thread needs that moves data.
struct Mover {
  std::vector<const void *> inputs; // room for one pointer per member
  Group *inside = nullptr;          // whose buffers the thread may be using
  bool keepsTime = false;
  int64_t nanoseconds = 0; // of moving data, if it keeps them
};

/// How a group works.
struct GroupOptions {
  std::string channel;              // name, for messages
  int helpers = 0;                  // members to wake when there is work
  bool keepsTimes = false;          // when collectives began and ended
  bool workerOnly = false;          // members never move data
  bool isLazy = false;              // only what somebody waits for is moved
  LinkModel *link = nullptr;        // none: as fast as the machine is
  int32_t channelIndex = 0;         // for the link
  std::function<void(Status)> fail; // when members disagree
};

/// The ranks that communicate over one channel.
class Group {
public:
  /// Collectives that a member may have in flight.
  static constexpr int64_t maxInFlight = 1024;

  Group(std::vector<int64_t> members, GroupOptions options);

  int64_t size() const { return int64_t(ranks.size()); }
  const std::vector<int64_t> &members() const { return ranks; }

  /// Starts member `index`'s next collective and returns its number in the
  /// group, from 0. The tables of `buffers` stay until it is done.
  int64_t start(int64_t index, const weft_rt_collective &collective,
                MemberBuffers buffers);

  /// Waits until collective `number` is done, or `deadline` passes, and
  /// meanwhile helps.
  Meeting wait(int64_t index, int64_t number, Mover &mover, int spins,
               int64_t deadline);

  /// Does parts of collectives up to `last` until none is left.
  void help(Mover &mover, int64_t last);

  /// Breaks this group: what is in flight is never done.
  void breakUp();

  /// After breakUp, returns when no thread uses published buffers any more.
  void awaitQuiet() const;

  /// A thread that was inside has been killed.
  void abandon() { inside.fetch_sub(1, std::memory_order_release); }

  /// The ranks that have not started collective `number`.
  std::vector<int64_t> missing(int64_t number) const;

  /// When collective `number` began and ended. Valid until the member that asks
  /// has waited for it.
  Interval timesOf(int64_t number) const {
    return slots[number % maxInFlight].times;
  }

  // For the worker.

  /// Moves when there is work for the worker, and when the group breaks.
  std::atomic<uint32_t> &bell() { return bellWord; }
  void ringBell();
  const GroupOptions &settings() const { return options; }
  /// Says whether a collective is open and, in a lazy group, waited for.
  bool hasWork() const;
  /// Does the whole open collective, and ends it when the link has carried it.
  void performOpen(Mover &mover);

private:
  struct Entry {
    const weft_rt_collective *collective;
    int64_t startedAt;
  };
  struct Slot {
    /// Counts members that have started the collective, and the end of the one
    /// before.
    std::atomic<int64_t> gate{0};
    /// Only of a shared link: members that have started the collective.
    std::atomic<int64_t> numStarted{0};
    Interval times;
  };

  Entry *entriesOf(int64_t number) {
    return &entries[(number % maxInFlight) * size()];
  }
  MemberBuffers *buffersOf(int64_t number) {
    return &published[(number % maxInFlight) * size()];
  }
  void queueOnLink(int64_t number);
  void passGate(int64_t number);
  void open(int64_t number);
  bool isSame(int64_t number);
  Interval occupyLink(int64_t number);
  int64_t takePart();
  bool movePartsOfOpen(Mover &mover);
  void complete();
  bool isAwaited(int64_t number) const;
  bool isBroken() const {
    return generation.load(std::memory_order_seq_cst) & broken;
  }

  std::vector<int64_t> ranks;
  const GroupOptions options;
  std::vector<Slot> slots;                   // [number % maxInFlight]
  std::vector<Entry> entries;                // [number % maxInFlight][member]
  std::vector<MemberBuffers> published;      // likewise
  std::vector<std::atomic<int64_t>> started; // per member
  std::vector<std::atomic<int64_t>> awaited; // per member: number + 1, or 0

  // The word on which members sleep. It moves whenever a collective opens or
  // is done.
  static constexpr uint32_t broken = 1, moved = 2;
  std::atomic<uint32_t> generation{0};
  std::atomic<uint32_t> bellWord{0};

  std::atomic<int64_t> done{0}; // collectives; the number of the open one
  std::atomic<uint64_t> parts;  // low half: next part of the open collective
  std::atomic<int64_t> unfinished{0};
  std::atomic<int64_t> inside{0}; // threads that may use published buffers
  /// When the open collective ends, once the worker has moved its data; members
  /// that wait need not wait until the worker has ended it then.
  std::atomic<int64_t> endsAt{INT64_MAX};
  int64_t lastEnd = 0; // of the collective before, by the link; when open
};

} // namespace weft::rt

#endif // WEFT_RT_HOST_GROUP_H
