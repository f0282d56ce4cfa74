// SPDX-License-Identifier: Apache-2.0

// How many collectives are in flight: the runtime has room for so many.

#ifndef WEFT_LIB_SCHEDULE_INFLIGHT_H
#define WEFT_LIB_SCHEDULE_INFLIGHT_H

#include "weft/Schedule/Problem.h"

#include <vector>

namespace mlir::weft {

/// `events` with at most `most` collectives in flight, at least one. Where
/// there would be more, what is done is waited for, and starts are put off for
/// what their link has to do before them. They need no more memory then, and
/// take no longer unless a link could do its part of `most` during one
/// computation.
std::vector<ScheduleEvent>
limitInFlight(const ScheduleProblem &problem,
              const std::vector<ScheduleEvent> &events, int most);

} // namespace mlir::weft

#endif // WEFT_LIB_SCHEDULE_INFLIGHT_H
