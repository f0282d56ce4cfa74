// SPDX-License-Identifier: Apache-2.0

// Parts of all schedules of a step by the places of tasks beside its longest
// path.

#ifndef WEFT_LIB_SCHEDULE_EITHERPLACE_H
#define WEFT_LIB_SCHEDULE_EITHERPLACE_H

#include "weft/Schedule/Bound.h"

#include <cstdint>
#include <vector>

namespace mlir::weft {

/// What holds in each of the places that a task has: every schedule keeps to
/// one of these lists.
using Places = std::vector<Precedences>;

/// The places of tasks that are not on the longest path, up to one of each
/// resource in each list: first of the computation that could hide most of a
/// collective of the path, beside one of those, or between two, and of the
/// collectives that could delay it most, between two of their link; then of
/// those that could do less. None of what could do neither.
std::vector<std::vector<Places>> listPlaces(const TaskGraph &graph);

/// The places of one computation that is not on the longest path.
Places listPlacesOf(const TaskGraph &graph, int computation);

/// A part of all schedules, and a bound on the time of those, in nanoseconds.
struct SchedulePart {
  Precedences precedences;
  int64_t bound;
};

/// Parts, the least bound first: each schedule is in one of them, or takes
/// `enough` ns or longer. None is faster than `bound`. Bounds of as many parts
/// are made as have `effort` tasks, which becomes what is left of it: less than
/// nothing, as what has been begun is finished.
std::vector<SchedulePart> splitSchedules(const TaskGraph &graph, int64_t bound,
                                         int64_t enough, int64_t &effort);

} // namespace mlir::weft

#endif // WEFT_LIB_SCHEDULE_EITHERPLACE_H
