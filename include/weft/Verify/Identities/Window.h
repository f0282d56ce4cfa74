// SPDX-License-Identifier: Apache-2.0

// Conditions on two indices alone: which of them say that one index is within a
// window around the other.
//
// Worked example. j <= i, i + 1 > j, and the constant that jnp.tril makes, are
// one condition: j - i is in [-inf, 0].

#ifndef WEFT_VERIFY_IDENTITIES_WINDOW_H
#define WEFT_VERIFY_IDENTITIES_WINDOW_H

#include "weft/Verify/Identities/Term.h"

namespace mlir::weft {

/// Says that `key - query` is in [low, high]; a bound that all indices keep is
/// absent.
struct Window {
  unsigned query = 0, key = 0; // loops
  std::optional<int64_t> low, high;

  bool isAlways() const { return !low && !high; }
};

/// The window that a condition is, looked at for all indices; nullopt if it is
/// none, or reads anything else than the indices `query` and `key` and
/// constants.
std::optional<Window> matchWindow(const TermTable &table, TermRef condition,
                                  unsigned query, unsigned key);

/// Says whether each query sees a key.
bool seesKeys(const TermTable &table, const Window &window);

/// Appends the conditions of which all hold.
void splitConditions(TermRef condition, SmallVectorImpl<TermRef> &all);

} // namespace mlir::weft

#endif // WEFT_VERIFY_IDENTITIES_WINDOW_H
