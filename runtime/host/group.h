// SPDX-License-Identifier: Apache-2.0

// The members of one communicator, as threads: what each brought to the
// collective at hand, a rendezvous at which all wait for all, and the work that
// follows it.
//
// The work has one part per member, and any member may do any part. Where
// ranks outnumber cores, the member that comes last wakes no more members than
// there are cores to help it; the others sleep on until all is done. So each
// member sleeps once per collective, and no core waits for a thread that has
// none.
//
// Buffers that members publish live on their stacks. A member therefore may
// not unwind while another may still use them: see enter and leave.

#ifndef WEFT_RT_HOST_GROUP_H
#define WEFT_RT_HOST_GROUP_H

#include "host/movement.h"

#include <atomic>
#include <vector>

namespace weft::rt {

/// How a wait for other members ended.
enum class Meeting { Complete, TimedOut, Broken };

/// The ranks that communicate over one channel.
class Group {
public:
  /// `helpers`: members to wake when the work begins.
  Group(std::vector<int64_t> members, int helpers);

  int64_t size() const { return int64_t(ranks.size()); }
  const std::vector<int64_t> &members() const { return ranks; }

  /// Publishes what member `index` brings. Others may use it after the
  /// meeting, until this member leaves.
  void enter(int64_t index, const weft_rt_collective &collective,
             MemberBuffers buffers);

  /// Ends what `enter` began. After a broken or timed-out meeting, waits until
  /// no member uses published buffers any more.
  void leave(bool broken);

  /// Waits until all members have come here, or `deadline` passes.
  Meeting meet(int64_t index, int spins, int64_t deadline);

  /// After the meeting: a part of the work that nobody has taken, or -1. Who
  /// has a part may use what the members published until finishing it.
  int64_t takePart();
  void finishPart();

  /// Waits until all parts are finished.
  Meeting awaitEnd(int spins, int64_t deadline);

  /// Breaks this meeting and all later ones.
  void breakUp();

  const weft_rt_collective &collectiveOf(int64_t index) const {
    return *collectives[index];
  }
  const MemberBuffers *buffers() const { return published.data(); }

  /// The ranks that have met less often than member `index`.
  std::vector<int64_t> missing(int64_t index) const;

private:
  std::vector<int64_t> ranks;
  std::vector<const weft_rt_collective *> collectives;
  std::vector<MemberBuffers> published;
  std::vector<std::atomic<int64_t>> meetings; // begun, per member

  // The word on which members sleep. It moves by `working` when all have met,
  // and again when the work is done.
  static constexpr uint32_t broken = 1, working = 2;
  std::atomic<uint32_t> generation{0};
  const int helpers;
  std::atomic<uint32_t> arrived{0};
  std::atomic<int64_t> nextPart{0}, unfinished{0};
  std::atomic<int64_t> inside{0};
};

} // namespace weft::rt

#endif // WEFT_RT_HOST_GROUP_H
