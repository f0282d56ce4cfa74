// SPDX-License-Identifier: Apache-2.0

// Parts of all schedules of a step by the place that a long computation has.

#ifndef WEFT_LIB_SCHEDULE_EITHERPLACE_H
#define WEFT_LIB_SCHEDULE_EITHERPLACE_H

#include "weft/Schedule/Problem.h"

#include <utility>
#include <vector>

namespace mlir::weft {

/// Pairs of tasks of which the first is done before the second begins.
using Precedences = std::vector<std::pair<int, int>>;

/// What holds in each of the places that the computation has which could hide
/// most of a collective of the longest path: beside one of those, or between
/// two. Every schedule keeps to one of these lists. None if nothing could hide
/// any of them.
std::vector<Precedences> listPlaces(const ScheduleProblem &problem);

/// The tasks in an order in which `precedences` hold too, and program order
/// where nothing is against it.
std::vector<int> orderTasks(const ScheduleProblem &problem,
                            const Precedences &precedences);

/// A place, and a bound on the time of the schedules that have it, in
/// nanoseconds.
struct Place {
  Precedences precedences;
  int64_t bound;
};

/// All places, the least bound first. No schedule is faster than `bound`.
std::vector<Place> boundPlaces(const ScheduleProblem &problem, int64_t bound);

/// The least of those bounds; `bound`, without a look at all of them, if that
/// is no more, or if there are no places.
int64_t computeBoundOfPlaces(const ScheduleProblem &problem, int64_t bound);

} // namespace mlir::weft

#endif // WEFT_LIB_SCHEDULE_EITHERPLACE_H
