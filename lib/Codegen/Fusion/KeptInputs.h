// SPDX-License-Identifier: Apache-2.0

// What an op reads stays in memory for longer if the op is computed where its
// result is read. Where that is far, as for gradients of a weight that all
// layers share, sums are made on the way: one of them waits, not all parts.

#ifndef WEFT_LIB_CODEGEN_FUSION_KEPTINPUTS_H
#define WEFT_LIB_CODEGEN_FUSION_KEPTINPUTS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::weft {

/// Says whether many more bytes would wait for `reader` if `ops` were computed
/// with it, as some of them are far: those of what nothing else reads by then,
/// in place of those of results that `reader` alone reads.
bool keepsMore(ArrayRef<linalg::GenericOp> ops, Operation *reader);

} // namespace mlir::weft

#endif // WEFT_LIB_CODEGEN_FUSION_KEPTINPUTS_H
