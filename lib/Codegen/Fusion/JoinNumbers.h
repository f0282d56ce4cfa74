// SPDX-License-Identifier: Apache-2.0

// Numbers that one op waits for are made by one kernel.

#ifndef WEFT_LIB_CODEGEN_FUSION_JOINNUMBERS_H
#define WEFT_LIB_CODEGEN_FUSION_JOINNUMBERS_H

#include "GroupGraph.h"

#include "weft/Target/Target.h"

namespace mlir::weft {

/// Makes one group of those that each make one number of a tensor of its own,
/// as the magnitude of a tensor of those of its blocks, for one collective.
void joinNumbers(Block &block, GroupGraph &graph, const FusionLimits &limits);

} // namespace mlir::weft

#endif // WEFT_LIB_CODEGEN_FUSION_JOINNUMBERS_H
