// SPDX-License-Identifier: Apache-2.0

// A map's dims are digits of a number with mixed radix, of elements and of
// bytes. What is looked up is taken apart into these digits: its begin, and for
// each of its dims the digit that it counts. As long as no digit is counted
// beyond its size nothing carries over, and strides of elements are strides of
// bytes.

#include "ElementMap.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::weft::proof;

bool Spot::operator==(const Spot &other) const {
  if (root != other.root || begin != other.begin || sizes != other.sizes ||
      elementBytes != other.elementBytes || !(shift == other.shift))
    return false;
  for (auto [size, a, b] : llvm::zip(sizes, strides, other.strides))
    if (size != 1 && a != b)
      return false;
  return true;
}

Elements mlir::weft::proof::getWhole(unsigned value, RankedTensorType type) {
  Elements elements;
  elements.value = value;
  elements.strides.assign(type.getRank(), 1);
  for (int64_t i = type.getRank() - 1; i > 0; --i)
    elements.strides[i - 1] = elements.strides[i] * type.getDimSize(i);
  return elements;
}

std::optional<ElementMap> ElementMap::get(const Elements &elements,
                                          const Spot &spot) {
  ElementMap map;
  map.value = elements.value;
  map.valueBegin = elements.begin;
  map.valueShifts = elements.shifts;
  map.byteBegin = spot.begin + static_cast<int64_t>(spot.shift.constant);
  map.byteShift = spot.shift;
  map.byteShift.constant = 0;
  for (auto [size, inValue, inBytes] :
       llvm::zip(spot.sizes, elements.strides, spot.strides))
    if (size != 1)
      map.dims.push_back({size, inValue, inBytes});
  llvm::stable_sort(map.dims, [](const Dim &a, const Dim &b) {
    return a.inValue > b.inValue;
  });
  // From the innermost on: a step of a dim goes beyond all that is inside.
  int64_t valueSpan = 1, byteSpan = spot.elementBytes;
  for (const Dim &dim : llvm::reverse(map.dims)) {
    if (dim.size <= 0 || dim.inValue < valueSpan || dim.inBytes < byteSpan)
      return std::nullopt;
    valueSpan += (dim.size - 1) * dim.inValue;
    byteSpan += (dim.size - 1) * dim.inBytes;
  }
  // Dims that continue each other are one.
  for (unsigned i = map.dims.size(); i > 1; --i) {
    Dim &outer = map.dims[i - 2], &inner = map.dims[i - 1];
    if (outer.inValue != inner.size * inner.inValue ||
        outer.inBytes != inner.size * inner.inBytes)
      continue;
    outer = {outer.size * inner.size, inner.inValue, inner.inBytes};
    map.dims.erase(map.dims.begin() + (i - 1));
  }
  return map;
}

namespace {

/// Takes numbers apart into digits, and notes how far each of them is counted.
class Digits {
public:
  struct Digit {
    /// How often it may be counted, what one step is, and what that becomes.
    int64_t size, from, to;
  };

  /// Largest first.
  explicit Digits(ArrayRef<Digit> digits)
      : digits(digits), reached(digits.size(), 0) {}

  /// Those of a map's dims, from the one of two numbers to the other.
  template <typename Dim>
  static Digits get(ArrayRef<Dim> dims, int64_t Dim::*from, int64_t Dim::*to) {
    return Digits(llvm::map_to_vector(dims, [&](const Dim &dim) {
      return Digit{dim.size, dim.*from, dim.*to};
    }));
  }

  /// What a number becomes; nullopt if it is none of these digits.
  std::optional<int64_t> convert(int64_t number) {
    if (number < 0)
      return std::nullopt;
    int64_t result = 0;
    for (auto [i, digit] : llvm::enumerate(digits)) {
      int64_t count = std::min(number / digit.from, digit.size);
      reached[i] += count;
      number -= count * digit.from;
      result += count * digit.to;
    }
    return number == 0 ? std::optional<int64_t>(result) : std::nullopt;
  }

  /// What the stride of a dim becomes; nullopt if it counts no digit.
  std::optional<int64_t> convert(int64_t size, int64_t stride) {
    for (auto [i, digit] : llvm::enumerate(digits)) {
      if (stride < digit.from || stride % digit.from != 0)
        continue;
      // What goes beyond the digit is none, however large the numbers are.
      int64_t steps = stride / digit.from;
      if (size > 1 && size - 1 > (digit.size - 1) / steps)
        return std::nullopt;
      reached[i] += (size - 1) * steps;
      return steps * digit.to;
    }
    return std::nullopt;
  }

  /// Says whether all that was converted stays within the digits.
  bool fit() const {
    for (auto [digit, last] : llvm::zip(digits, reached))
      if (last >= digit.size)
        return false;
    return true;
  }

private:
  SmallVector<Digit, 4> digits;
  SmallVector<int64_t, 4> reached;
};

} // namespace

bool ElementMap::places(const Elements &elements, const Spot &spot,
                        const ScalarNumbers &scalars) const {
  if (elements.value != value)
    return false;
  SmallVector<Shift, 1> shifts = elements.shifts;
  for (const Shift &own : valueShifts) {
    auto it = llvm::find(shifts, own);
    if (it == shifts.end())
      return false;
    shifts.erase(it);
  }
  Digits digits = Digits::get(ArrayRef(dims), &Dim::inValue, &Dim::inBytes);
  std::optional<int64_t> begin = digits.convert(elements.begin - valueBegin);
  if (!begin)
    return false;
  LinearForm expected = byteShift;
  expected.constant += static_cast<uint64_t>(byteBegin + *begin);
  for (auto [size, stride, bytes] :
       llvm::zip(spot.sizes, elements.strides, spot.strides)) {
    if (size == 1)
      continue;
    std::optional<int64_t> converted = digits.convert(size, stride);
    if (!converted || *converted != bytes)
      return false;
  }
  for (const Shift &shift : shifts) {
    std::optional<int64_t> converted =
        digits.convert(shift.range, shift.stride);
    // A scalar that is always 0 adds nothing, whatever it is times.
    if (!converted && shift.range == 1)
      converted = shift.stride * spot.elementBytes;
    if (!converted)
      return false;
    expected.add(scalars.getForm(shift.scalar),
                 static_cast<uint64_t>(*converted));
  }
  LinearForm actual = spot.shift;
  actual.constant += static_cast<uint64_t>(spot.begin);
  return digits.fit() && expected == actual;
}

std::optional<Elements> ElementMap::getElements(const Spot &spot) const {
  if (spot.shift.terms != byteShift.terms)
    return std::nullopt;
  Digits digits = Digits::get(ArrayRef(dims), &Dim::inBytes, &Dim::inValue);
  std::optional<int64_t> begin = digits.convert(
      spot.begin + static_cast<int64_t>(spot.shift.constant) - byteBegin);
  if (!begin)
    return std::nullopt;
  Elements elements;
  elements.value = value;
  elements.begin = valueBegin + *begin;
  elements.shifts = valueShifts;
  for (auto [size, stride] : llvm::zip(spot.sizes, spot.strides)) {
    std::optional<int64_t> converted =
        size == 1 ? 0 : digits.convert(size, stride);
    if (!converted)
      return std::nullopt;
    elements.strides.push_back(*converted);
  }
  return digits.fit() ? std::optional<Elements>(std::move(elements))
                      : std::nullopt;
}

std::optional<Spot> ElementMap::getSpot(const Elements &elements,
                                        ArrayRef<int64_t> sizes,
                                        const Spot &like) const {
  Digits digits = Digits::get(ArrayRef(dims), &Dim::inValue, &Dim::inBytes);
  std::optional<int64_t> begin = digits.convert(elements.begin - valueBegin);
  if (!begin)
    return std::nullopt;
  Spot spot;
  spot.root = like.root;
  spot.elementBytes = like.elementBytes;
  spot.begin = byteBegin + *begin;
  spot.sizes.assign(sizes.begin(), sizes.end());
  for (auto [size, stride] : llvm::zip(sizes, elements.strides)) {
    std::optional<int64_t> converted =
        size == 1 ? spot.elementBytes : digits.convert(size, stride);
    if (!converted)
      return std::nullopt;
    spot.strides.push_back(*converted);
  }
  return digits.fit() ? std::optional<Spot>(std::move(spot)) : std::nullopt;
}

std::optional<int64_t> ElementMap::getStride(int64_t bytes) const {
  for (const Dim &dim : dims)
    if (bytes >= dim.inBytes && bytes % dim.inBytes == 0)
      return bytes / dim.inBytes * dim.inValue;
  return std::nullopt;
}
