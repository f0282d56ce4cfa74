// SPDX-License-Identifier: Apache-2.0

// Where two programs that should compute one thing part.

#ifndef WEFT_LIB_VERIFY_SUMS_PARTING_H
#define WEFT_LIB_VERIFY_SUMS_PARTING_H

#include "LocalLifter.h"

namespace mlir::weft::proof {

/// Two forms that differ though their operands are equal, or of two kinds.
struct Parting {
  const Form *own, *reference;
  /// The ops that made them, or what they are part of.
  Operation *ownOp = nullptr, *referenceOp = nullptr;
};

/// Finds the first place at which a program's form differs from another's.
Parting findParting(const LocalLifter &ownProgram, const Form *own,
                    const LocalLifter &referenceProgram, const Form *reference);

/// Says that result `result` of `func` is another one than the global
/// program's, at the op where they part. Fails.
LogicalResult reportParting(func::FuncOp func, unsigned result,
                            const Parting &parting);

} // namespace mlir::weft::proof

#endif // WEFT_LIB_VERIFY_SUMS_PARTING_H
