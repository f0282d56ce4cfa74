// SPDX-License-Identifier: Apache-2.0

// Which upstream dialects make what one rank computes of their ops.

#include "weft/Partition/ExternalModels.h"

#include "Models.h"

using namespace mlir;
using namespace mlir::weft;

void mlir::weft::registerPartitionExternalModels(DialectRegistry &registry) {
  registerLinalgPartitionModels(registry);
  registerTensorPartitionModels(registry);
}
