// SPDX-License-Identifier: Apache-2.0

// The code that tablegen makes of the interface for what an op costs.

#include "weft/Interfaces/CostOpInterface.h"

using namespace mlir;

#include "weft/Interfaces/CostOpInterface.cpp.inc"
