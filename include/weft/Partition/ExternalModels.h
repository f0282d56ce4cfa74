// SPDX-License-Identifier: Apache-2.0

// Partitioning of ops that are not weft's.

#ifndef WEFT_PARTITION_EXTERNALMODELS_H
#define WEFT_PARTITION_EXTERNALMODELS_H

namespace mlir {
class DialectRegistry;

namespace weft {

/// Lets ops of upstream dialects make their part on one rank: once their
/// dialects are loaded, they implement PartitionOpInterface.
void registerPartitionExternalModels(DialectRegistry &registry);

} // namespace weft
} // namespace mlir

#endif // WEFT_PARTITION_EXTERNALMODELS_H
