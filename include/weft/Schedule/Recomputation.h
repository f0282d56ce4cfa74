// SPDX-License-Identifier: Apache-2.0

// What recomputation can be asked for, and what there is to say about it.

#ifndef WEFT_SCHEDULE_RECOMPUTATION_H
#define WEFT_SCHEDULE_RECOMPUTATION_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace mlir::weft {

struct Machine;

/// A price of memory, in nanoseconds for a mebibyte, and the bytes that are
/// kept at it.
struct RecomputePrice {
  int64_t price = 0, keptBytes = 0;
};

/// Prices, ascending, at which different values are kept; see findPrices. The
/// first is that of memory that costs nothing. A module with an error has none.
/// `waists` as weft-choose-saved has it.
SmallVector<RecomputePrice>
getRecomputePrices(ModuleOp module, const Machine &machine, bool waists);

/// Nanoseconds that are saved by computing again what costs less so than to
/// keep it, where memory costs nothing. A module with an error has none.
int64_t getCheapGain(ModuleOp module, const Machine &machine);

/// What a module computes again: a list of dictionaries with `what`, how often
/// (`count`), the time that takes (`ns`, without what passes through memory),
/// and the bytes (`bytes`) that would be kept otherwise. What frees most comes
/// first; equal parts of layers are one entry.
ArrayAttr describeRecomputed(ModuleOp module, const Machine &machine);

} // namespace mlir::weft

#endif // WEFT_SCHEDULE_RECOMPUTATION_H
