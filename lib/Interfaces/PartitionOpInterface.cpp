// SPDX-License-Identifier: Apache-2.0

// The code that tablegen makes of the interface for the rank's part of an op.

#include "weft/Interfaces/PartitionOpInterface.h"

using namespace mlir;

#include "weft/Interfaces/PartitionOpInterface.cpp.inc"
