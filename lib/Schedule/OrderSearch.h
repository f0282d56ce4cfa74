// SPDX-License-Identifier: Apache-2.0

// Improves a schedule by moving single tasks. List scheduling never lets the
// compute stream stand still while it could do something; sometimes waiting a
// little for something more urgent is faster.

#ifndef WEFT_LIB_SCHEDULE_ORDERSEARCH_H
#define WEFT_LIB_SCHEDULE_ORDERSEARCH_H

#include "weft/Schedule/Problem.h"

namespace mlir::weft {

/// A schedule that is at least as fast as `first` and needs no more than
/// `limit` bytes (0: any number); `first` itself, if it is not improved. Ends
/// at a time of `bound`, and after a fixed effort.
ScheduleResult improveOrder(const ScheduleProblem &problem,
                            const ScheduleResult &first, int64_t limit,
                            int64_t bound);

/// The same with a longer search that takes detours through slower orders. Of
/// those between orders that differ in much, if `isWide`; else of less slow
/// ones.
ScheduleResult annealOrder(const ScheduleProblem &problem,
                           const ScheduleResult &first, int64_t limit,
                           int64_t bound, bool isWide = true);

} // namespace mlir::weft

#endif // WEFT_LIB_SCHEDULE_ORDERSEARCH_H
