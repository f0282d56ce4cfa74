// SPDX-License-Identifier: Apache-2.0

// The interface by which ops say how they may be sharded.

#ifndef WEFT_INTERFACES_SHARDINGRULEOPINTERFACE_H
#define WEFT_INTERFACES_SHARDINGRULEOPINTERFACE_H

#include "weft/Interfaces/ShardingRule.h"

#include "mlir/IR/OpDefinition.h"

#include "weft/Interfaces/ShardingRuleOpInterface.h.inc"

#endif // WEFT_INTERFACES_SHARDINGRULEOPINTERFACE_H
