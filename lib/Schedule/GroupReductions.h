// SPDX-License-Identifier: Apache-2.0

// Small reductions of one channel become one, which pays the latency once.

#ifndef WEFT_LIB_SCHEDULE_GROUPREDUCTIONS_H
#define WEFT_LIB_SCHEDULE_GROUPREDUCTIONS_H

#include "weft/Cost/CostModel.h"

namespace mlir::weft {

/// Groups the all_reduces of `block` on channels of reductions that follow each
/// other with nobody waiting in between, and that take hardly longer than the
/// latency. A group takes at most twice the latency, so that what it delays is
/// less than what it saves. Returns how many ops went into others.
int64_t groupReductions(Block &block, const CostModel &cost);

} // namespace mlir::weft

#endif // WEFT_LIB_SCHEDULE_GROUPREDUCTIONS_H
