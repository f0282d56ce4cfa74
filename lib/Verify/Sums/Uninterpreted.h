// SPDX-License-Identifier: Apache-2.0

// Ops that the proofs cannot look into: functions of their operands and of what
// their regions read, told apart by their text.

#ifndef WEFT_LIB_VERIFY_SUMS_UNINTERPRETED_H
#define WEFT_LIB_VERIFY_SUMS_UNINTERPRETED_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::weft::proof {

/// All that an op is but for its operands: attributes, types, and the ops of
/// its regions, in which values of the outside stand as numbers. `captured`
/// gets these values, in order.
std::string describeOp(Operation *op, llvm::SetVector<Value> &captured);

/// Whether an op, or one in its regions, may do something else on each rank.
bool dependsOnRank(Operation *op);

} // namespace mlir::weft::proof

#endif // WEFT_LIB_VERIFY_SUMS_UNINTERPRETED_H
