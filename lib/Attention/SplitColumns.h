// SPDX-License-Identifier: Apache-2.0

// Softmaxes over scores and a column beside them that is no key: the tensor
// that both were put into is taken apart again, and what is computed from it is
// computed for each part.

#ifndef WEFT_LIB_ATTENTION_SPLITCOLUMNS_H
#define WEFT_LIB_ATTENTION_SPLITCOLUMNS_H

#include "mlir/IR/Block.h"

namespace mlir::weft {

/// Whether there are two tensors put together of which exponentials are made,
/// and sums, and of which parts are cut again: nothing else reads the columns
/// of both.
bool hasSplitColumns(Block &block);

/// Computes what is made of such tensors from their parts, in the order of
/// these. The values are the same.
void splitColumns(Block &block);

} // namespace mlir::weft

#endif // WEFT_LIB_ATTENTION_SPLITCOLUMNS_H
