// SPDX-License-Identifier: Apache-2.0

// What fusion has each reader compute for itself, whatever is chosen: an
// estimate, without fusing anything.

#ifndef WEFT_LIB_SCHEDULE_REPEATEDBYFUSION_H
#define WEFT_LIB_SCHEDULE_REPEATEDBYFUSION_H

#include "SavedValuesOfBlock.h"

namespace mlir::weft {

/// Per task before the boundary, whether what it makes is not in memory for the
/// backward pass, as what moves elements, or reads no more than it makes.
std::vector<bool> findRepeatedByFusion(ArrayRef<Operation *> tasks,
                                       const SavedValuesOfBlock &saved);

} // namespace mlir::weft

#endif // WEFT_LIB_SCHEDULE_REPEATEDBYFUSION_H
