// SPDX-License-Identifier: Apache-2.0

// The interface by which ops say what they cost.

#ifndef WEFT_INTERFACES_COSTOPINTERFACE_H
#define WEFT_INTERFACES_COSTOPINTERFACE_H

#include "weft/Interfaces/Work.h"

#include "mlir/IR/OpDefinition.h"

#include "weft/Interfaces/CostOpInterface.h.inc"

#endif // WEFT_INTERFACES_COSTOPINTERFACE_H
