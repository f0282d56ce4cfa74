// SPDX-License-Identifier: Apache-2.0

// The work of ops that are not weft's.

#ifndef WEFT_COST_EXTERNALMODELS_H
#define WEFT_COST_EXTERNALMODELS_H

namespace mlir {
class DialectRegistry;

namespace weft {

/// Lets ops of upstream dialects say what they cost: once their dialects
/// are loaded, they implement CostOpInterface.
void registerCostExternalModels(DialectRegistry &registry);

} // namespace weft
} // namespace mlir

#endif // WEFT_COST_EXTERNALMODELS_H
