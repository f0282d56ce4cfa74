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
#include <vector>

namespace mlir::weft {

/// What a trace tells about kernels and products, by name, in ns. The first
/// step of a run, which touches memory and code for the first time, counts only
/// where there is no other.
struct MeasuredDurations {
  using ByName = llvm::StringMap<int64_t>;

  /// For each step and rank. Of an op that ran several times, the mean.
  std::vector<std::vector<ByName>> steps;
  /// Over steps and ranks.
  ByName means;
};

/// Reads the trace in `text`. What is wrong goes to `error`; `file` is the
/// trace's name there.
llvm::FailureOr<MeasuredDurations>
readDurations(llvm::StringRef text, llvm::StringRef file, std::string &error);

} // namespace mlir::weft

#endif // WEFT_SIMULATE_DURATIONS_H
