// SPDX-License-Identifier: Apache-2.0

// How much of what lies beside a task can be done before it, or put off until
// after it, within a limit of memory.

#ifndef WEFT_LIB_SCHEDULE_CUTMEMORY_H
#define WEFT_LIB_SCHEDULE_CUTMEMORY_H

#include "weft/Schedule/Problem.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace mlir::weft {

/// What a task is to a computation c, the cut.
enum class CutSide : char { Before, At, After, Beside };

/// What tasks beside a cut c hold while c is computed: if they are done before
/// it, and if they are done after it.
class CutMemory {
public:
  /// `alive` bytes are alive beside c in any order; `limit` may be.
  CutMemory(const ScheduleProblem &problem, const std::vector<CutSide> &sides,
            int64_t alive, int64_t limit);

  /// What has to be on one side of c, of some tasks beside it.
  struct Side {
    /// Those of which not all need be there, and how long they take.
    std::vector<int> tasks;
    int64_t duration = 0;
    /// How long those that are there take at least.
    int64_t least = 0;
  };

  /// Adds what comes after c of a resource's tasks that `isCounted` says.
  template <typename Predicate>
  void addAfter(int resource, Predicate isCounted, Side &side) const {
    add(ahead[resource], isCounted, side);
  }
  /// Adds what comes before c.
  template <typename Predicate>
  void addBefore(int resource, Predicate isCounted, Side &side) const {
    add(behind[resource], isCounted, side);
  }

  /// Adds the order of the cut and each task that by itself is too large for
  /// one of its sides.
  void addForced(int cut, std::vector<std::pair<int, int>> &precedences) const;

private:
  class Counting;

  /// A task, and the bytes that it holds more on one side of c than on the
  /// other.
  struct Item {
    int task;
    int64_t duration, bytes;
  };

  template <typename Predicate>
  void add(const std::vector<Item> &items, Predicate isCounted,
           Side &side) const;

  /// What is left if each task is on the side where it holds less.
  int64_t capacity;
  /// Per resource, what takes longest for its bytes first.
  std::vector<std::vector<Item>> ahead, behind;
};

/// What has no place on the one side: what is too large by itself, and of the
/// rest all but those that take longest for their bytes, the last of them in
/// parts.
template <typename Predicate>
void CutMemory::add(const std::vector<Item> &items, Predicate isCounted,
                    Side &side) const {
  int64_t left = capacity;
  for (const Item &item : items) {
    if (!isCounted(item.task))
      continue;
    int64_t part = item.bytes <= capacity ? std::min(left, item.bytes) : 0;
    left -= part;
    side.tasks.push_back(item.task);
    side.duration += item.duration;
    // Rounded down.
    side.least += static_cast<int64_t>(static_cast<double>(item.duration) *
                                       (static_cast<double>(item.bytes - part) /
                                        static_cast<double>(item.bytes)));
  }
}

} // namespace mlir::weft

#endif // WEFT_LIB_SCHEDULE_CUTMEMORY_H
