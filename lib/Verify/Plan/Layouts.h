// SPDX-License-Identifier: Apache-2.0

// Which elements of a value a buffer of a planned program has: where it is, as
// its views say, and which part of the value it is, as the op that takes it
// says (`weft_rt.parts`). The two are written down by different ops, so that a
// view of other bytes, or with other strides, contradicts what the op says.
//
// Worked example, with a value of 8x16 f32 in a root of its own:
//   written    all of it at byte 0, with strides 64 and 4
//   read       at byte 128, with sizes 2 and 16; the op says: from element 32
//   agree      byte 128 is element 32 in both
// A view that is shifted to byte 192 is element 48 of what was written.
//
// What is added to a begin at run time is not compared but for whether there is
// any.

#ifndef WEFT_LIB_VERIFY_PLAN_LAYOUTS_H
#define WEFT_LIB_VERIFY_PLAN_LAYOUTS_H

#include "ElementMap.h"
#include "PlannedProgram.h"

#include <memory>

namespace mlir::weft::proof {

/// Where a buffer lies, without its bytes. `addOffset` gets what each view adds
/// at run time.
Spot getSpot(const PlannedProgram &program, Value buffer,
             function_ref<void(Spot &, Value)> addOffset);

struct Layout {
  /// Without what is added at run time.
  Spot spot;
  Elements elements;
  /// Something is added at run time to where the bytes, and the elements,
  /// begin.
  bool bytesMove = false, elementsMove = false;
  /// What is added to the bytes; null if that is not known, or if whatever is
  /// added will do, as long as something is.
  Value shift;
  bool movesAnywhere = false;
  /// All bytes that it may be.
  Place place;

  bool operator==(const Layout &other) const;
};

/// Says whether one contains the other, with the same elements of the value in
/// the same bytes.
bool agree(const Layout &outer, const Layout &inner);

/// Says whether that is so, and none has elements that the other one lacks.
bool isSamePart(const Layout &a, const Layout &b);

class Layouts {
public:
  explicit Layouts(const PlannedProgram &program) : program(program) {}

  /// What a buffer shows of a value: `part`, or all of it if that is null. Null
  /// if the part has other sizes.
  const Layout *get(Value buffer, rt::PartAttr part);
  /// The place in `whole` of its part `into`, or all of it, and which part of
  /// another value that is. Null if the two have different sizes, or it is not
  /// inside.
  const Layout *getInside(Value whole, rt::PartAttr into, rt::PartAttr part);

private:
  using Key = std::pair<const void *, std::pair<const void *, const void *>>;

  /// Without what is added at run time.
  Spot getSpot(Value buffer) const;

  const PlannedProgram &program;
  DenseMap<Key, std::unique_ptr<Layout>> known;
};

/// Says whether a part, or all of a value if it is null, is these elements.
bool isPart(rt::PartAttr part, const Elements &elements,
            ArrayRef<int64_t> sizes);

/// The entry of a list of parts; null if it is all of a value.
rt::PartAttr getPart(Operation *op, StringRef list, unsigned number);

} // namespace mlir::weft::proof

#endif // WEFT_LIB_VERIFY_PLAN_LAYOUTS_H
