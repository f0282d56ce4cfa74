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

} // namespace mlir::weft

#endif // WEFT_LIB_CODEGEN_FUSION_ALIGNVIEWS_H
