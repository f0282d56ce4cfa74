// SPDX-License-Identifier: Apache-2.0

// Program order that needs little memory, for steps whose own order needs more
// than there is.

#ifndef WEFT_LIB_SCHEDULE_LEANORDER_H
#define WEFT_LIB_SCHEDULE_LEANORDER_H

#include "weft/Schedule/Problem.h"

namespace mlir::weft {

/// An order of the tasks, each collective waited for where it stands, that
/// needs as little memory as was found; program order, if no other needs less.
std::vector<int> findLeanOrder(const ScheduleProblem &problem);

/// A task beside which much must be alive whatever the order, and how many
/// bytes that are.
struct FullTask {
  int task = -1;
  int64_t bytes = 0;
};
/// What must be alive beside a task whatever the order.
int64_t computeBytesBeside(const ScheduleProblem &problem, int task);
FullTask findFullTask(const ScheduleProblem &problem);

} // namespace mlir::weft

#endif // WEFT_LIB_SCHEDULE_LEANORDER_H
