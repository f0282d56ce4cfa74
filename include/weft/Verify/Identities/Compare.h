// SPDX-License-Identifier: Apache-2.0

// Whether two terms are the same number whatever the tensors hold, up to
// rounding. See docs/attention.md for what is assumed.

#ifndef WEFT_VERIFY_IDENTITIES_COMPARE_H
#define WEFT_VERIFY_IDENTITIES_COMPARE_H

#include "weft/Verify/Identities/Term.h"

namespace mlir::weft {

struct ComparedAttention {
  /// Numbers of which constants are products and quotients, up to rounding.
  SmallVector<double, 2> factors;
  /// A key that a query must not see may weigh exp(-10000) or less instead of
  /// nothing, if the query sees another one: where these are how many there
  /// are.
  int64_t queries = 0, keys = 0;
};

/// Tests the identity at random points. Both terms are of `table`.
bool areEqual(const TermTable &table, TermRef a, TermRef b,
              const ComparedAttention &attention);

} // namespace mlir::weft

#endif // WEFT_VERIFY_IDENTITIES_COMPARE_H
