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

/// A task of the forward pass that is done again: its number there, the time
/// that takes, and the bytes of what it makes.
struct RepeatedTask {
  int64_t number = 0, nanoseconds = 0, bytes = 0;
};

/// What is done again at a price, and makes a value: first what takes most time
/// for its bytes. None in a module with an error, or with several functions.
SmallVector<RepeatedTask> getRepeatedTasks(ModuleOp module,
                                           const Machine &machine,
                                           int64_t price, bool waists);

/// An estimate of the nanoseconds that are saved by computing again what costs
/// less so than to keep it, beside what fusion has each reader compute anyway,
/// where memory costs nothing. A module with an error has none.
int64_t getCheapGain(ModuleOp module, const Machine &machine);

/// What a module computes again: a list of dictionaries with `what`, how often
/// (`count`), the time that takes (`ns`, without what passes through memory),
/// and the bytes (`bytes`) that would be kept otherwise. What frees most comes
/// first; equal parts of layers are one entry.
ArrayAttr describeRecomputed(ModuleOp module, const Machine &machine);

} // namespace mlir::weft

#endif // WEFT_SCHEDULE_RECOMPUTATION_H
