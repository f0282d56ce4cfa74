// SPDX-License-Identifier: Apache-2.0

// What weft-choose-saved can be asked for.

#ifndef WEFT_SCHEDULE_RECOMPUTATION_H
#define WEFT_SCHEDULE_RECOMPUTATION_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace mlir::weft {

struct Machine;

/// Prices of memory, in nanoseconds for a mebibyte and ascending, at which
/// different values are kept; see findPrices. A module with an error has none.
/// `waists` as weft-choose-saved has it.
SmallVector<int64_t> getRecomputePrices(ModuleOp module, const Machine &machine,
                                        bool waists);

} // namespace mlir::weft

#endif // WEFT_SCHEDULE_RECOMPUTATION_H
