// SPDX-License-Identifier: Apache-2.0

// Which values are kept from a forward pass to its backward pass, and which are
// computed again from those that are kept. Plain C++: no IR.

#ifndef WEFT_SCHEDULE_SAVEDVALUES_H
#define WEFT_SCHEDULE_SAVEDVALUES_H

#include <cstdint>
#include <vector>

namespace mlir::weft {

struct SavedProblem {
  struct Value {
    int64_t bytes = 0;
    /// What it costs to keep it, if memory is for nothing: it is written and
    /// read for that alone.
    int64_t nanoseconds = 0;
    /// The task that makes it.
    int task = 0;
    /// Whether the backward pass reads it.
    bool isNeeded = false;
  };
  struct Task {
    int64_t nanoseconds = 0;
    bool mayRepeat = true;
    /// The values that it reads.
    std::vector<int> inputs;
  };
  std::vector<Task> tasks;
  std::vector<Value> values;
};

/// What is done for a backward pass.
struct SavedChoice {
  /// Per task, whether it is done again. What the backward pass or a repeated
  /// task needs, and no repeated task makes, is kept.
  std::vector<bool> repeats;
  /// Bytes that are kept, and the time of what is done again and of what is
  /// kept.
  int64_t bytes = 0, nanoseconds = 0;
};

/// The choice of least time where to keep a mebibyte costs `price` nanoseconds:
/// a least cut. Of equal ones the one that repeats least.
SavedChoice chooseSaved(const SavedProblem &problem, int64_t price);

/// Prices with different choices, ascending: those on the lower hull of bytes
/// and time, as far as a few cuts find them.
std::vector<int64_t> findPrices(const SavedProblem &problem);

} // namespace mlir::weft

#endif // WEFT_SCHEDULE_SAVEDVALUES_H
