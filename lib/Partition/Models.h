// SPDX-License-Identifier: Apache-2.0

// The parts of registerPartitionExternalModels.

#ifndef WEFT_LIB_PARTITION_MODELS_H
#define WEFT_LIB_PARTITION_MODELS_H

#include "mlir/IR/DialectRegistry.h"

namespace mlir::weft {

void registerLinalgPartitionModels(DialectRegistry &registry);
void registerTensorPartitionModels(DialectRegistry &registry);

} // namespace mlir::weft

#endif // WEFT_LIB_PARTITION_MODELS_H
