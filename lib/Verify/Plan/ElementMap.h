// SPDX-License-Identifier: Apache-2.0

// Which elements of a value lie in which bytes.
//
// A tensor of the scheduled program is all or a part of a *value*: `Elements`
// says which, as a slice says it. A buffer of the plan is bytes of a root:
// `Spot`. An `ElementMap` is what is known of bytes that were written: element
// numbers and bytes, dim by dim.
//
// Worked example. A value of 8x16 f32 lies in a root of 8x32 from column 16 on:
//   map     8 steps of 16 elements and 128 bytes, 16 of 1 element and 4 bytes,
//           from element 0 and byte 64 on
//   slice   rows 2 and 3: begins at element 32, strides 16 and 1
//   places  the slice lies at byte 64 + 2 * 128, with strides 128 and 4: a
//           buffer of other bytes, or of these in another order, is not it.
//
// Where a slice begins may be known only at run time: a scalar times a stride.
// The slice is inside its tensor, so the scalar has a range, and is one more
// dim: what holds for each of its numbers holds.

#ifndef WEFT_LIB_VERIFY_PLAN_ELEMENTMAP_H
#define WEFT_LIB_VERIFY_PLAN_ELEMENTMAP_H

#include "ByteSet.h"
#include "ScalarNumbers.h"

#include "mlir/IR/BuiltinTypes.h"

#include <optional>

namespace mlir::weft::proof {

/// A scalar, of which there are `range` possible values from 0 on, times a
/// stride.
struct Shift {
  unsigned scalar = 0;
  int64_t range = 1, stride = 0;

  bool operator==(const Shift &other) const {
    return scalar == other.scalar && range == other.range &&
           stride == other.stride;
  }
};

/// The elements of a value that a tensor has, by the tensor's subscripts.
struct Elements {
  unsigned value = 0;
  int64_t begin = 0;
  SmallVector<int64_t, 4> strides;
  SmallVector<Shift, 1> shifts;
};

/// The bytes of a root that a buffer has, by the buffer's subscripts.
struct Spot {
  unsigned root = 0;
  int64_t begin = 0, elementBytes = 1;
  SmallVector<int64_t, 4> sizes, strides;
  /// What is added at run time.
  LinearForm shift;
  /// Without what is added at run time, and all that it may be.
  ByteSet unshifted, bytes;

  bool isDynamic() const { return !shift.terms.empty(); }
  bool operator==(const Spot &other) const;
};

class ElementMap {
public:
  /// The map of a tensor that lies in a buffer of its shape; nullopt if two
  /// elements might share a byte, or their order is not that of the bytes.
  static std::optional<ElementMap> get(const Elements &elements,
                                       const Spot &spot);

  unsigned getValue() const { return value; }
  /// Says whether these elements are all among the map's, and lie at `spot`.
  bool places(const Elements &elements, const Spot &spot,
              const ScalarNumbers &scalars) const;
  /// The elements that lie at `spot`; nullopt if not all of it is the map's.
  std::optional<Elements> getElements(const Spot &spot) const;
  /// Where elements lie that are all among the map's; nullopt if they are not,
  /// or have no strides there. What is added at run time to `like`, whose root
  /// they are in, does not count.
  std::optional<Spot> getSpot(const Elements &elements, ArrayRef<int64_t> sizes,
                              const Spot &like) const;
  /// How many elements a step of so many bytes goes on, wherever it begins;
  /// nullopt if that depends on where it does.
  std::optional<int64_t> getStride(int64_t bytes) const;

private:
  struct Dim {
    int64_t size, inValue, inBytes;
  };

  unsigned value = 0;
  int64_t valueBegin = 0;
  /// The constant part of the shift is in it.
  int64_t byteBegin = 0;
  /// Largest first, in the value as in bytes; no size is 1.
  SmallVector<Dim, 4> dims;
  SmallVector<Shift, 1> valueShifts;
  LinearForm byteShift;
};

/// All elements of a value of this type, in order.
Elements getWhole(unsigned value, RankedTensorType type);

} // namespace mlir::weft::proof

#endif // WEFT_LIB_VERIFY_PLAN_ELEMENTMAP_H
