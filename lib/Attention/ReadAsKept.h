// SPDX-License-Identifier: Apache-2.0

// Scores that marks keep, of queries and keys that they have computed again:
// gradients are products with the latter. Attention keeps no scores, so what it
// reads is what they were made of.

#ifndef WEFT_LIB_ATTENTION_READASKEPT_H
#define WEFT_LIB_ATTENTION_READASKEPT_H

#include "mlir/IR/Block.h"

namespace mlir::weft {

/// Whether a barrier keeps scores.
bool keepsScores(Block &block);

/// Has what reads queries, keys and values that are computed again, and sums of
/// kept scores that are added up again, read the first ones. `values`: what
/// exponentials of scores are multiplied by.
void readAsKept(Block &block, ArrayRef<Value> values);

/// Has what still does so read again what it read before. Says whether there
/// was any.
bool readAsMarked(Block &block);

/// Whether an op stands for such a reading.
bool isReadAsKept(Operation *op);

} // namespace mlir::weft

#endif // WEFT_LIB_ATTENTION_READASKEPT_H
