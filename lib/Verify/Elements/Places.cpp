// SPDX-License-Identifier: Apache-2.0

#include "Places.h"

#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace mlir::weft::proof;

Places::Places(ArrayRef<PlaceUse> assumed) {
  for (const PlaceUse &use : assumed)
    assume(use.place, use.last);
}

/// Of `3 * r` that is at most 7, r is at most 2.
void Places::assume(const Element *place, int64_t last) {
  auto [it, isNew] = known.try_emplace(place, last);
  it->second = std::min(it->second, last);
  bool isScaled = place->kind == ElementKind::Sum &&
                  place->operands.size() == 1 && place->numbers[0] == 0 &&
                  place->numbers[1] > 0;
  if (isScaled)
    assume(place->operands[0], last / place->numbers[1]);
}

Places::Range Places::getRange(const Element *place) const {
  Range range = place->range;
  if (auto it = known.find(place); it != known.end()) {
    int64_t low = range ? std::max<int64_t>(range->first, 0) : 0;
    int64_t high = range ? std::min(range->second, it->second) : it->second;
    return {{low, high}};
  }
  if (place->kind != ElementKind::Sum)
    return range;
  int64_t low = place->numbers[0], high = low;
  for (auto [i, operand] : llvm::enumerate(place->operands)) {
    Range own = getRange(operand);
    int64_t factor = place->numbers[i + 1];
    if (!own)
      return range;
    auto a = llvm::checkedMul(own->first, factor);
    auto b = llvm::checkedMul(own->second, factor);
    auto least =
        a && b ? llvm::checkedAdd(low, std::min(*a, *b)) : std::nullopt;
    auto most =
        a && b ? llvm::checkedAdd(high, std::max(*a, *b)) : std::nullopt;
    if (!least || !most)
      return range;
    low = *least;
    high = *most;
  }
  return {{low, high}};
}

bool Places::areWithin(const Element *place, int64_t last) const {
  Range range = getRange(place);
  return range && range->first >= 0 && range->second <= last;
}
