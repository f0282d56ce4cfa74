// SPDX-License-Identifier: Apache-2.0

// Axes of the mesh whose sizes may change bits: those that an invariant module
// does not list. How they cut sums is decided without the others, whose sizes
// must not matter.

#ifndef WEFT_LIB_ORDERS_FREEAXES_H
#define WEFT_LIB_ORDERS_FREEAXES_H

#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::weft {

/// Says whether the module has an axis of more than one rank that `invariance`
/// does not list.
bool hasFreeAxes(ModuleOp module, InvarianceAttr invariance);

/// In how many parts free axes cut the sums of a module.
class FreeParts {
public:
  /// Propagates shardings over a copy of `module`, in which listed axes have
  /// size 1. `run` runs passes on a module inside of it.
  LogicalResult
  count(ModuleOp module, InvarianceAttr invariance,
        function_ref<LogicalResult(OpPassManager &, Operation *)> run);

  /// Returns the parts of one op's sum: as many as are contiguous and equal.
  int64_t get(Operation *op) const {
    auto it = parts.find(op);
    return it == parts.end() ? 1 : it->second;
  }

private:
  llvm::DenseMap<Operation *, int64_t> parts;
};

} // namespace mlir::weft

#endif // WEFT_LIB_ORDERS_FREEAXES_H
