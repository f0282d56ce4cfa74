// SPDX-License-Identifier: Apache-2.0

// From collectives that are done at once to those that are started and waited
// for: what every schedule is made with.

#ifndef WEFT_COMMUNICATION_START_H
#define WEFT_COMMUNICATION_START_H

#include "weft/Dialect/Weft/IR/WeftDialect.h"

namespace mlir::weft {

/// Makes a collective with tensor results and a channel a started one, and
/// returns the weft.wait that gives its results now. It stands after the
/// collective; both may be moved.
WaitOp startCollective(Operation *op);

} // namespace mlir::weft

#endif // WEFT_COMMUNICATION_START_H
