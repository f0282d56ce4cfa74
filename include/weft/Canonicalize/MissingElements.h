// SPDX-License-Identifier: Apache-2.0

// Reads of elements that are not there.

#ifndef WEFT_CANONICALIZE_MISSINGELEMENTS_H
#define WEFT_CANONICALIZE_MISSINGELEMENTS_H

namespace mlir {
class Operation;

namespace weft {

/// Replaces each tensor.extract inside of `root` by 0 that has an index which
/// is a constant outside of the tensor.
void readMissingAsZero(Operation *root);

} // namespace weft
} // namespace mlir

#endif // WEFT_CANONICALIZE_MISSINGELEMENTS_H
