// SPDX-License-Identifier: Apache-2.0

// What lookups in a part of a table give.

#ifndef WEFT_DIALECT_WEFT_IR_LOOKUPS_H
#define WEFT_DIALECT_WEFT_IR_LOOKUPS_H

#include "mlir/IR/BuiltinAttributes.h"

namespace mlir::weft {

/// Returns what weft.take gives for an index outside the table, an element of
/// type `element`: what no sum changes by, so that the sum over ranks of which
/// one has the row is the row's element, a zero with its sign. That is -0.0,
/// and 0 of types without one.
TypedAttr getMissingElement(Type element);

} // namespace mlir::weft

#endif // WEFT_DIALECT_WEFT_IR_LOOKUPS_H
