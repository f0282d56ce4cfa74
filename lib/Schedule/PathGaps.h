// SPDX-License-Identifier: Apache-2.0

// Paths, and how long the compute stream stands still beside them.

#ifndef WEFT_LIB_SCHEDULE_PATHGAPS_H
#define WEFT_LIB_SCHEDULE_PATHGAPS_H

#include "weft/Schedule/Bound.h"

namespace mlir::weft {

/// Of the paths that end at `task`, the one that takes longest.
std::vector<int> findLongestPathTo(const TaskGraph &graph, int task);

/// How long the compute stream must stand still while tasks of `path` are done
/// that are not its own.
int64_t getIdleOnPath(const TaskGraph &graph, const std::vector<int> &path);

} // namespace mlir::weft

#endif // WEFT_LIB_SCHEDULE_PATHGAPS_H
