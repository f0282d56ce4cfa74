// SPDX-License-Identifier: Apache-2.0

// The policies that keep program order: what there is to compare with, and the
// fallback that needs least memory.

#ifndef WEFT_LIB_SCHEDULE_SIMPLEPOLICIES_H
#define WEFT_LIB_SCHEDULE_SIMPLEPOLICIES_H

#include "weft/Schedule/Problem.h"

namespace mlir::weft {

/// Each collective is waited for where it stands.
std::vector<ScheduleEvent> scheduleSync(const ScheduleProblem &problem);

/// One layer's gathers ahead, one layer's reductions after. Gathers that do
/// not fit into `limit` (0: none) early are started where they stand.
std::vector<ScheduleEvent> scheduleNextLayer(const ScheduleProblem &problem,
                                             int64_t limit);

/// Moves waits to the first task that depends on them: those that free no
/// memory, or if memory `mayHold` longer, all.
std::vector<ScheduleEvent> sinkWaits(const ScheduleProblem &problem,
                                     const std::vector<ScheduleEvent> &events,
                                     bool mayHold = false);

} // namespace mlir::weft

#endif // WEFT_LIB_SCHEDULE_SIMPLEPOLICIES_H
