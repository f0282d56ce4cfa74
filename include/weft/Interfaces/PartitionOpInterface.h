// SPDX-License-Identifier: Apache-2.0

// The interface by which ops make what one rank computes of them.

#ifndef WEFT_INTERFACES_PARTITIONOPINTERFACE_H
#define WEFT_INTERFACES_PARTITIONOPINTERFACE_H

#include "weft/Interfaces/LocalBuilder.h"

#include "mlir/IR/OpDefinition.h"

#include "weft/Interfaces/PartitionOpInterface.h.inc"

#endif // WEFT_INTERFACES_PARTITIONOPINTERFACE_H
