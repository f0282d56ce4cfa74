// SPDX-License-Identifier: Apache-2.0

// Where weights are normalized by more than their own sum: one more score of
// each query, of a key that has no value.

#ifndef WEFT_LIB_ATTENTION_SINKS_H
#define WEFT_LIB_ATTENTION_SINKS_H

#include "WeightsUse.h"

namespace mlir::weft {

/// The score that an exponential beside the sum of those of the scores is of,
/// but for what all scores are shifted by. `root` is made of the weights. Null:
/// there is none, or it cannot be told.
TermRef findSink(WeightsUse &use, TermRef root);

/// Whether there is a sum of exponentials below.
bool hasSum(TermRef root);

} // namespace mlir::weft

#endif // WEFT_LIB_ATTENTION_SINKS_H
