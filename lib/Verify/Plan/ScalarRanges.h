// SPDX-License-Identifier: Apache-2.0

// Between which numbers the scalars of a planned program lie, whatever the data
// is. Worked example:
//   %0 = weft_rt.read_scalar ...         any number
//   %1 = arith.maxsi %0, %c0             0 to 2^63 - 1
//   %2 = arith.minsi %1, %c6             0 to 6
//   %3 = arith.muli %2, %c8              0 to 48
//   %4 = arith.addi %3, %huge            0 + huge to 48 + huge, and any number
//                                        where that is beyond 64 bits
// Ranges do not know that two scalars are of the same third: of an axis_index
// %i from 0 to 3, min(%i, 1) - max(%i - 1, 0) is between -2 and 1 by them.
// Where a view would leave its source so, its place is found for each number
// that the indices of ranks and the counters of loops, which it is of, may be:
// -1 to 1.

#ifndef WEFT_LIB_VERIFY_PLAN_SCALARRANGES_H
#define WEFT_LIB_VERIFY_PLAN_SCALARRANGES_H

#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::weft::proof {

class ScalarRanges {
public:
  /// Takes up what `op` computes. Ops come in the order of the program, an op
  /// before those in its regions.
  void add(Operation *op);

  /// Fails with an error if a view that begins at a scalar's place may leave
  /// its source.
  LogicalResult check(rt::ViewOp view);

private:
  ConstantIntRanges get(Value scalar);
  ConstantIntRanges getCounter(scf::ForOp loop);
  ConstantIntRanges getByCases(Value scalar);

  DenseMap<Value, ConstantIntRanges> ranges;
  /// Of those that were looked at by cases.
  DenseMap<Value, ConstantIntRanges> byCases;
};

} // namespace mlir::weft::proof

#endif // WEFT_LIB_VERIFY_PLAN_SCALARRANGES_H
