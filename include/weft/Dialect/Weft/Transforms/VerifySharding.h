// SPDX-License-Identifier: Apache-2.0

// The check of explicit shardings, for passes that make or need them.

#ifndef WEFT_DIALECT_WEFT_TRANSFORMS_VERIFYSHARDING_H
#define WEFT_DIALECT_WEFT_TRANSFORMS_VERIFYSHARDING_H

#include "weft/Dialect/Weft/Transforms/ShardingConversion.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::weft {

/// Checks that a function is explicit: each tensor has a sharding, each op is
/// consistent with its rule, contributions reach only ops that are linear in
/// them, and the results are what is declared. Emits and fails if not.
LogicalResult verifyExplicitShardings(func::FuncOp func, const NamedMesh &mesh);

} // namespace mlir::weft

#endif // WEFT_DIALECT_WEFT_TRANSFORMS_VERIFYSHARDING_H
