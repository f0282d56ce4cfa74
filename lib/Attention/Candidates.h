// SPDX-License-Identifier: Apache-2.0

// Contractions that may use the weights of attention.

#ifndef WEFT_LIB_ATTENTION_CANDIDATES_H
#define WEFT_LIB_ATTENTION_CANDIDATES_H

#include "weft/Dialect/Weft/IR/WeftDialect.h"

namespace mlir::weft {

/// The contractions of a block with an operand that is computed from an
/// exponential, in order, with whether that is the left one.
SmallVector<std::pair<MatmulOp, bool>> findCandidates(Block &block);

/// What is multiplied by what is computed from exponentials.
SmallVector<Value> findValues(Block &block);

/// The contractions of a block with a part of what is computed from
/// exponentials of tensors put together: softmaxes with a column that is no
/// key, which is cut off.
SmallVector<MatmulOp> findSinks(Block &block);

} // namespace mlir::weft

#endif // WEFT_LIB_ATTENTION_CANDIDATES_H
