// SPDX-License-Identifier: Apache-2.0

// Makes a block's order what a schedule says.

#ifndef WEFT_LIB_SCHEDULE_APPLYSCHEDULE_H
#define WEFT_LIB_SCHEDULE_APPLYSCHEDULE_H

#include "BlockProblem.h"

#include "weft/Schedule/Scheduler.h"

namespace mlir::weft {

/// Orders the ops of `block`, starts its collectives and waits for them. Kept
/// gathers are erased.
void applySchedule(Block &block, const BlockProblem &problem,
                   const Schedule &schedule);

} // namespace mlir::weft

#endif // WEFT_LIB_SCHEDULE_APPLYSCHEDULE_H
