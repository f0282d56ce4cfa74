// SPDX-License-Identifier: Apache-2.0

// Whether it pays that ranks exchange parts of queries and keys.

#ifndef WEFT_LIB_ATTENTION_RINGBALANCE_H
#define WEFT_LIB_ATTENTION_RINGBALANCE_H

#include "RingPieces.h"

#include "weft/Cost/CostModel.h"

namespace mlir::weft {

/// What a balanced ring takes and spares of the rank that has most to do.
struct RingBalance {
  /// What a rank gets by the exchange.
  int64_t bytes = 0;
  /// The exchange, with nothing beside it, and blocks that are smaller and
  /// more.
  int64_t exchangeNs = 0, blocksNs = 0;
  int64_t sparedNs = 0;

  bool pays() const { return sparedNs > exchangeNs + blocksNs; }
};

/// Whether a later part of the queries sees more than an earlier one, and
/// parts can be told: they begin with those of keys, and have halves.
bool canBalance(const Ring &ring);

/// Of a ring that can be balanced, before it is built.
RingBalance weighBalance(const Ring &ring, const CostModel &cost);

} // namespace mlir::weft

#endif // WEFT_LIB_ATTENTION_RINGBALANCE_H
