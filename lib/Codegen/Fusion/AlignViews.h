// SPDX-License-Identifier: Apache-2.0

// Kernels that read one tensor in blocks of different shapes get loops in
// common, so that one kernel can be made of them.

#ifndef WEFT_LIB_CODEGEN_FUSION_ALIGNVIEWS_H
#define WEFT_LIB_CODEGEN_FUSION_ALIGNVIEWS_H

#include "mlir/IR/Block.h"

namespace mlir::weft {

/// Where generics of the block read one tensor by several tensor.expand_shape,
/// all read it by one that cuts each dimension wherever one of them does, and
/// so do the generics that take what they make.
void alignViews(Block &block);

/// What is computed for each element of a tensor that generics of the block
/// read by tensor.expand_shape to one shape, or to that with its last dimension
/// cut, is computed in that shape, so that both can be one kernel. `inRows`:
/// only where the last dimension is cut, which is walked as far as it was.
void alignProducers(Block &block, bool inRows);

} // namespace mlir::weft

#endif // WEFT_LIB_CODEGEN_FUSION_ALIGNVIEWS_H
