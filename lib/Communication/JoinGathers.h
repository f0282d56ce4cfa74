// SPDX-License-Identifier: Apache-2.0

// Gathers of what one op reads together.

#ifndef WEFT_LIB_COMMUNICATION_JOINGATHERS_H
#define WEFT_LIB_COMMUNICATION_JOINGATHERS_H

#include "mlir/IR/Block.h"

namespace mlir::weft {

/// Makes one collective of two gathers over the same ranks that one op alone
/// reads, if one of them is small beside the other, as the scales of narrow
/// elements are. Returns the number of collectives that are gone.
unsigned joinGathers(Block &block);

/// Makes one collective of two gathers of which the second takes what the first
/// gives, along the next dimension, where a rank has one index along the first
/// dimension: blocks over some ranks, and elements of a block over others.
/// Returns the number of collectives that are gone.
unsigned joinNestedGathers(Block &block);

} // namespace mlir::weft

#endif // WEFT_LIB_COMMUNICATION_JOINGATHERS_H
