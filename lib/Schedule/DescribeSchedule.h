// SPDX-License-Identifier: Apache-2.0

// What there is to say about a schedule: figures on the function, and a remark
// for each collective that is waited for.

#ifndef WEFT_LIB_SCHEDULE_DESCRIBESCHEDULE_H
#define WEFT_LIB_SCHEDULE_DESCRIBESCHEDULE_H

#include "BlockProblem.h"

#include "weft/Schedule/Scheduler.h"

namespace mlir::weft {

/// The name of an op in reports: its `weft.op`, or the name of its kind.
std::string getOpName(Operation *op);

/// Sets the function's attribute `weft.schedule`, and emits remarks if anybody
/// wants them. `limit` is what a rank may use (0: any number of bytes), of
/// which the schedule's options leave a part to the plan. To be called before
/// the schedule is applied. If `isBrief` and the limit binds, nothing explains
/// the waits: there is no `exposed`, and `bound_within_limit_ns` is the bound
/// without a limit.
void describeSchedule(func::FuncOp func, const BlockProblem &block,
                      const Schedule &schedule, const ScheduleOptions &options,
                      int64_t limit, const CostModel &cost, bool isBrief);

} // namespace mlir::weft

#endif // WEFT_LIB_SCHEDULE_DESCRIBESCHEDULE_H
