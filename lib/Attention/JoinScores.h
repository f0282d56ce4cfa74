// SPDX-License-Identifier: Apache-2.0

// Scores that are a sum of two products, as latent attention has them (one of
// what has positions, one of what has none), become one product of queries and
// keys that are put side by side.

#ifndef WEFT_LIB_ATTENTION_JOINSCORES_H
#define WEFT_LIB_ATTENTION_JOINSCORES_H

#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::weft {

/// Sums of two products of which exponentials are made, in the order of the
/// function's ops.
SmallVector<linalg::GenericOp> findScoreSums(func::FuncOp func);

/// Replaces such a sum by one product, and the products with the same tensors
/// that gradients are made of.
MatmulOp joinScores(linalg::GenericOp sum);

} // namespace mlir::weft

#endif // WEFT_LIB_ATTENTION_JOINSCORES_H
