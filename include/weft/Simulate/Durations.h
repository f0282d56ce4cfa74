// SPDX-License-Identifier: Apache-2.0

// Durations of ops from a trace that a run wrote, to simulate with what was
// measured in place of the cost model's estimates.

#ifndef WEFT_SIMULATE_DURATIONS_H
#define WEFT_SIMULATE_DURATIONS_H

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LogicalResult.h"

#include <cstdint>
#include <string>

namespace mlir::weft {

/// Reads the trace in `text` and returns, for each name of a compute slice, the
/// mean of its durations over steps and ranks, in ns. The first of each rank,
/// which touches memory and code for the first time, counts only where there is
/// no other. What is wrong goes to `error`; `file` is the trace's name there.
llvm::FailureOr<llvm::StringMap<int64_t>>
readDurations(llvm::StringRef text, llvm::StringRef file, std::string &error);

} // namespace mlir::weft

#endif // WEFT_SIMULATE_DURATIONS_H
