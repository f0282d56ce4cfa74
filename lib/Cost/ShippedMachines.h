// SPDX-License-Identifier: Apache-2.0

// The machine descriptions that are part of the compiler: the files of
// machines/, which the build turns into an array.

#ifndef WEFT_COST_SHIPPEDMACHINES_H
#define WEFT_COST_SHIPPEDMACHINES_H

#include "llvm/ADT/ArrayRef.h"

namespace mlir::weft {

struct ShippedMachine {
  const char *name;
  const char *text;
};

/// Sorted by name.
llvm::ArrayRef<ShippedMachine> getShippedMachines();

} // namespace mlir::weft

#endif // WEFT_COST_SHIPPEDMACHINES_H
