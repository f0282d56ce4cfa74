// SPDX-License-Identifier: Apache-2.0

// The pass that leaves no op without a defined result.

#ifndef WEFT_DIALECT_WEFT_TRANSFORMS_VALUEPASSES_TD
#define WEFT_DIALECT_WEFT_TRANSFORMS_VALUEPASSES_TD

include "mlir/Pass/PassBase.td"

def CheckValuesPass : Pass<"weft-check-values", "::mlir::ModuleOp"> {
  let summary = "see to it that every value is defined, and none too large";
  let description = [{
    `nsw`, `nuw`, `exact`, `nnan` and `ninf` promise that some operands never
    occur. Without them integers wrap around, and NaN and infinities are what
    IEEE says, so that a result does not depend on what a fold or a CPU makes of
    a promise that does not hold. Passes of a loop are counted, from 0 on, as an
    index where its bounds are unsigned, its extent may not be a signed number of
    its type, or an overflow, or a step that is not positive, would make it go on.
    Casts of indices to fewer than 64 bits truncate i64. A read of an element that
    is not there is 0, and reads of what may become a constant are put between
    comparisons that say so to folds. Runs first, on a module of any phase.

    *Requires* nothing; reports an op that makes poison by itself, a rounding
    other than to the nearest, values of more than 2^48 bytes, loops that never
    end, or have no order, by what they say, and a `linalg.generic` whose loops
    are not what its results' maps say: parallel where a map takes the loop, a
    reduction where it does not.
    *Ensures* that operands alone say what an op gives (see docs/math.md), that
    sums of sizes fit 64 bits, and that each element of a result is written once.
  }];
  let statistics = [Statistic<"numDropped", "dropped", "ops that had flags">];
}

#endif // WEFT_DIALECT_WEFT_TRANSFORMS_VALUEPASSES_TD
