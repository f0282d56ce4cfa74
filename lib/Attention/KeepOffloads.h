// SPDX-License-Identifier: Apache-2.0

// Values that attention's gradient reads, where they wait in the host's memory.

#ifndef WEFT_LIB_ATTENTION_KEEPOFFLOADS_H
#define WEFT_LIB_ATTENTION_KEEPOFFLOADS_H

#include "mlir/IR/Block.h"

namespace mlir::weft {

/// The gradient that an op became reads what the forward pass has. What of it,
/// or what it is a view or cast of, was marked to wait in the host's memory
/// (a barrier with `offload`), it reads as that brings it.
void keepOffloads(Block &block);

} // namespace mlir::weft

#endif // WEFT_LIB_ATTENTION_KEEPOFFLOADS_H
