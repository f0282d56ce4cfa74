// SPDX-License-Identifier: Apache-2.0

// List scheduling: walks through time, and at each moment when the compute
// stream is free decides what it does next and which collectives are started.
// Policies differ in the keys that say what goes first.

#ifndef WEFT_LIB_SCHEDULE_LISTSCHEDULER_H
#define WEFT_LIB_SCHEDULE_LISTSCHEDULER_H

#include "weft/Schedule/Problem.h"

#include <vector>

namespace mlir::weft {

struct ListOptions {
  /// Of two tasks that could go first, the one with the lower key does.
  std::vector<int64_t> keys;
  /// Bytes that may be alive at any time; 0: no limit. At least what program
  /// order needs.
  int64_t limit = 0;
  /// Start collectives as soon as they could, instead of just before their link
  /// gets free: simpler, but what turns up later and is urgent has to wait.
  bool startsEarly = false;
  /// Work that fills the wait for something more urgent may take longer than
  /// the wait. It is done if what it takes longer is at most this percentage of
  /// the wait; otherwise the compute stream stands still.
  int64_t overrunPercent = 100;
  /// A schedule whose times foretell when collectives that others wait for turn
  /// up: their link is kept free for them by what can go later as well, as keys
  /// (then the latest begins in that schedule) say. May be null.
  const ScheduleResult *previous = nullptr;
  /// With `previous`: collectives are started at most so many ns before their
  /// latest begin; 0: at any time.
  int64_t lookahead = 0;
  /// Nothing else is started on a link that a collective that others wait for
  /// is going to need before it is done.
  bool keepsLinkFree = false;
  /// While the busiest link has more to do than the compute stream: where it
  /// would stand still meanwhile, compute something else that it waits for, or
  /// wait for that.
  bool keepsLinkBusy = false;
  /// With `keepsLinkBusy` and a limit: what takes memory is computed at most so
  /// many ns, as keys say, ahead of what is most urgent; 0: at any time.
  int64_t ahead = 0;
  /// Also while the busiest link has less left to do than the compute stream.
  bool isAlwaysShort = false;
  /// With `keepsLinkBusy` and a limit: gathers leave so many bytes to what is
  /// computed.
  int64_t spareBytes = 0;
};

/// A line of events that is correct and within the limit.
std::vector<ScheduleEvent> scheduleList(const ScheduleProblem &problem,
                                        const ListOptions &options);

/// The time at which each task would begin if all were done as late as possible
/// for a step of `time` ns: list scheduling with time turned round, where what
/// ends last in `schedule` goes first. Memory is no limit.
std::vector<int64_t> computeLatestBegins(const ScheduleProblem &problem,
                                         const ScheduleResult &schedule);

} // namespace mlir::weft

#endif // WEFT_LIB_SCHEDULE_LISTSCHEDULER_H
