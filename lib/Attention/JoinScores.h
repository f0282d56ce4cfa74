// SPDX-License-Identifier: Apache-2.0

// Scores that are a sum of two products, as latent attention has them (one of
// what has positions, one of what has none), become one product of queries and
// keys that are put side by side.

#ifndef WEFT_LIB_ATTENTION_JOINSCORES_H
#define WEFT_LIB_ATTENTION_JOINSCORES_H

#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallSet.h"

namespace mlir::weft {

/// Sums of two products of which exponentials are made, in the order of the
/// function's ops.
SmallVector<linalg::GenericOp> findScoreSums(func::FuncOp func);

/// The two products of the same dims that an op is a sum of; none if it is not.
SmallVector<MatmulOp> getScoreProducts(linalg::GenericOp op);

/// What a tensor is of that differs from it in its form alone; null if it is
/// made of more.
Value getUnformed(Value value);

/// The op and those of as many elements that are made of it, up to the first
/// with an exponential; none if there is no such.
llvm::SetVector<Operation *> findOpsToExponential(Operation *op);

/// Whether exponentials are made of as many elements as it makes.
bool reachesExponential(Operation *op);

/// Numbers of joins: 0 is that of the sum, the others are those of gradients.
using ScoreJoins = llvm::SmallSet<int64_t, 4>;

/// Replaces such a sum by one product, and pairs of products of one tensor with
/// the same tensors, as gradients are, but for joins that are left out (with 0,
/// all). `note` is told the number of each product that is made.
void joinScores(linalg::GenericOp sum, const ScoreJoins &leftOut,
                function_ref<void(int64_t number, MatmulOp)> note);

} // namespace mlir::weft

#endif // WEFT_LIB_ATTENTION_JOINSCORES_H
