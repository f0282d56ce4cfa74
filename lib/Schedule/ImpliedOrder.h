// SPDX-License-Identifier: Apache-2.0

// What a schedule must do first to be done in time.

#ifndef WEFT_LIB_SCHEDULE_IMPLIEDORDER_H
#define WEFT_LIB_SCHEDULE_IMPLIEDORDER_H

#include "weft/Schedule/Bound.h"

#include <cstdint>
#include <optional>

namespace mlir::weft {

/// `precedences`, and those that hold besides in each schedule which keeps to
/// them and takes less than `end` ns; nullopt: there is none.
std::optional<Precedences> findImpliedOrder(const TaskGraph &graph,
                                            const Precedences &precedences,
                                            int64_t end);

/// A bound on the time of schedules that keep to `precedences`: `end`, if none
/// is faster than that. Those that hold in faster ones are added.
int64_t getBoundBelow(const TaskGraph &graph, Precedences &precedences,
                      int64_t end);

} // namespace mlir::weft

#endif // WEFT_LIB_SCHEDULE_IMPLIEDORDER_H
