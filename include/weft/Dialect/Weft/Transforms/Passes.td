// SPDX-License-Identifier: Apache-2.0

// Every pass from weft to weft, in pipeline order.

#ifndef WEFT_DIALECT_WEFT_TRANSFORMS_PASSES_TD
#define WEFT_DIALECT_WEFT_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

#endif // WEFT_DIALECT_WEFT_TRANSFORMS_PASSES_TD
