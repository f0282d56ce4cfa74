// SPDX-License-Identifier: Apache-2.0

// Sharding rules of ops that are not weft's.

#ifndef WEFT_RULES_EXTERNALMODELS_H
#define WEFT_RULES_EXTERNALMODELS_H

namespace mlir {
class DialectRegistry;

namespace weft {

/// Lets ops of upstream dialects say how they may be sharded: once their
/// dialects are loaded, they implement ShardingRuleOpInterface.
void registerShardingRuleExternalModels(DialectRegistry &registry);

} // namespace weft
} // namespace mlir

#endif // WEFT_RULES_EXTERNALMODELS_H
