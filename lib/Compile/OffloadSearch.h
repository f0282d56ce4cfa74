// SPDX-License-Identifier: Apache-2.0

// --offload auto: which donated arguments lie in the host's memory, so that a
// step fits, or takes less time than with values that are computed again.

#ifndef WEFT_LIB_COMPILE_OFFLOADSEARCH_H
#define WEFT_LIB_COMPILE_OFFLOADSEARCH_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <optional>
#include <vector>

namespace mlir::weft {

class OffloadSearch {
public:
  /// What the plan of a module takes, in nanoseconds; nothing: it does not fit.
  using Plan = std::function<std::optional<int64_t>(ModuleOp module)>;

  /// Each try marks the module, has it planned, and takes the marks away.
  OffloadSearch(ModuleOp module, Plan plan)
      : module(module), plan(std::move(plan)) {}

  /// Marks the arguments that the fastest plan has in the host's memory: none
  /// if that is as fast. If nothing fits, all that may be there are marked, for
  /// the error to name what is needed then.
  void mark();

private:
  struct Argument {
    func::FuncOp func;
    unsigned number;
    int64_t bytes;
  };

  void findArguments();
  size_t countWithin(int64_t bytes) const;
  void setMarks(size_t count, bool isMarked);
  /// Plans the module with the first of the arguments in the host's memory.
  std::optional<int64_t> tryFirst(size_t count);

  ModuleOp module;
  Plan plan;
  /// Those that may be there, the largest first.
  std::vector<Argument> arguments;
};

} // namespace mlir::weft

#endif // WEFT_LIB_COMPILE_OFFLOADSEARCH_H
