// SPDX-License-Identifier: Apache-2.0

// Where slices begin. A slice may assume that it is inside of its tensor, and
// what begins anywhere along a dimension along which the tensor does not change
// has the same elements: expressions do not tell. So a program may assume of a
// place only what the program assumes that it is compared with.
//
// Worked example. Before, rows `2 * r` and `2 * r + 1` of four are cut: r is at
// most 1. Then `2 * r` is a place for two of six, but not for two of two.

#ifndef WEFT_LIB_VERIFY_ELEMENTS_PLACES_H
#define WEFT_LIB_VERIFY_ELEMENTS_PLACES_H

#include "Elements.h"

namespace mlir::weft::proof {

/// A slice or an insertion at a place from 0 to `last`.
struct PlaceUse {
  Operation *op;
  const Element *place;
  int64_t last;
};

/// What is known of places.
class Places {
public:
  explicit Places(ArrayRef<PlaceUse> assumed);

  /// Whether the place is from 0 to `last`.
  bool areWithin(const Element *place, int64_t last) const;

private:
  using Range = std::optional<std::pair<int64_t, int64_t>>;

  void assume(const Element *place, int64_t last);
  Range getRange(const Element *place) const;

  /// The last place that each may be.
  llvm::DenseMap<const Element *, int64_t> known;
};

} // namespace mlir::weft::proof

#endif // WEFT_LIB_VERIFY_ELEMENTS_PLACES_H
