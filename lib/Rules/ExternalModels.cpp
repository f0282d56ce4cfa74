// SPDX-License-Identifier: Apache-2.0

// Which upstream dialects say how their ops may be sharded.

#include "weft/Rules/ExternalModels.h"

#include "Models.h"

using namespace mlir;
using namespace mlir::weft;

void mlir::weft::registerShardingRuleExternalModels(DialectRegistry &registry) {
  registerLinalgRuleModels(registry);
  registerTensorRuleModels(registry);
}
