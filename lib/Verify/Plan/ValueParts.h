// SPDX-License-Identifier: Apache-2.0

// Which elements of a value a buffer of a planned program shows, said without
// places: by the value's own subscripts. So programs that keep a value at
// different places, or inside of different tensors, can be compared.
//
// Worked example. In one program value 7 of 8x16 f32 is written to a root of
// its own, in another to columns 16 to 32 of a root of 8x32:
//   first    a view at element 32 with strides 16 and 1
//   second   a view at element 80 with strides 32 and 1
//   both     begin at element 32 of value 7, its strides 16 and 1: rows 2 on
//
// A value lies where it was written, or copied to; each such place is a *home*.
// That bytes that are read still hold the value, the proof of freshness shows.

#ifndef WEFT_LIB_VERIFY_PLAN_VALUEPARTS_H
#define WEFT_LIB_VERIFY_PLAN_VALUEPARTS_H

#include "ElementMap.h"
#include "PlannedProgram.h"

#include <functional>

namespace mlir::weft::proof {

class ValueParts {
public:
  using Key = std::vector<uint64_t>;

  /// `getNumber` gives scalars numbers that are equal in programs where the
  /// scalars are.
  ValueParts(const PlannedProgram &program,
             std::function<uint64_t(Value)> getNumber)
      : program(program), getNumber(std::move(getNumber)) {}

  /// All of the value is in the buffer.
  void write(int64_t id, Value buffer);
  /// What one buffer shows of the value, another one has, too.
  void copy(int64_t id, Value from, Value to);
  /// Says what the buffer shows of the value.
  Key describe(int64_t id, Value buffer) const;
  /// Says where in the buffer the value is, and which part of it.
  Key describeInside(int64_t id, Value buffer) const;

private:
  struct Home {
    Spot spot;
    Elements elements;
    /// What the elements are counted in, if that is not the value.
    Key origin;
  };

  Spot getSpot(Value buffer) const;
  LinearForm getForm(Value scalar) const;
  static std::optional<Elements> find(const Home &home, const Spot &spot);
  static Key describe(const Elements &elements, ArrayRef<int64_t> sizes);
  static Key describe(const Spot &spot, const Spot &from);
  ArrayRef<Home> getHomes(int64_t id) const;
  /// The first home, from the newest on, that shows all of a place.
  std::optional<Home> find(int64_t id, const Spot &spot) const;

  const PlannedProgram &program;
  std::function<uint64_t(Value)> getNumber;
  DenseMap<int64_t, SmallVector<Home, 1>> homes;
};

} // namespace mlir::weft::proof

#endif // WEFT_LIB_VERIFY_PLAN_VALUEPARTS_H
