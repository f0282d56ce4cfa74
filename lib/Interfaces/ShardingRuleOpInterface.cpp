// SPDX-License-Identifier: Apache-2.0

// The code that tablegen makes of the interface for how an op may be sharded.

#include "weft/Interfaces/ShardingRuleOpInterface.h"

using namespace mlir;

#include "weft/Interfaces/ShardingRuleOpInterface.cpp.inc"
