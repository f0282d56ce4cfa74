// SPDX-License-Identifier: Apache-2.0

// The parts of registerShardingRuleExternalModels, and what they share with the
// rest of the folder.

#ifndef WEFT_LIB_RULES_MODELS_H
#define WEFT_LIB_RULES_MODELS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::weft {

/// Says whether the order in which result `index` is reduced may be seen:
/// maxnum and minnum leave open which zero, or NaN, they give.
bool isInexact(linalg::LinalgOp op, unsigned index);

void registerLinalgRuleModels(DialectRegistry &registry);
void registerTensorRuleModels(DialectRegistry &registry);

} // namespace mlir::weft

#endif // WEFT_LIB_RULES_MODELS_H
