// SPDX-License-Identifier: Apache-2.0

// A place that is a part of a home in the home's own order is said by elements.
// Any other (parts of two homes, dims turned around) is said by bytes, which
// are then those of the homes that it touches: programs that lay these out
// differently are told apart, though they might show the same.

#include "ValueParts.h"
#include "Layouts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"

#include <set>

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

/// Sums of indices, and multiples by a constant, are taken apart, since places
/// differ in what they multiply by.
LinearForm ValueParts::getForm(Value scalar) const {
  LinearForm form;
  APInt constant;
  Operation *op = scalar.getDefiningOp();
  if (matchPattern(scalar, m_ConstantInt(&constant))) {
    form.constant = constant.getSExtValue();
    return form;
  }
  if (isa_and_nonnull<arith::AddIOp>(op)) {
    form.add(getForm(op->getOperand(0)), 1);
    form.add(getForm(op->getOperand(1)), 1);
    return form;
  }
  if (isa_and_nonnull<arith::MulIOp>(op))
    for (unsigned side : {0, 1})
      if (matchPattern(op->getOperand(side), m_ConstantInt(&constant))) {
        form.add(getForm(op->getOperand(1 - side)), constant.getSExtValue());
        return form;
      }
  form.terms[getNumber(scalar)] = 1;
  return form;
}

Spot ValueParts::getSpot(Value buffer) const {
  Spot spot = proof::getSpot(program, buffer, [&](Spot &found, Value offset) {
    found.shift.add(getForm(offset), found.elementBytes);
  });
  spot.begin += static_cast<int64_t>(spot.shift.constant);
  spot.shift.constant = 0;
  spot.unshifted = ByteSet::get(spot.begin, spot.sizes,
                                getStrides(cast<MemRefType>(buffer.getType())),
                                spot.elementBytes);
  spot.bytes =
      spot.isDynamic()
          ? ByteSet::get(0, {}, {}, program.getRoots()[spot.root].bytes)
          : spot.unshifted;
  return spot;
}

/// The elements of a home that lie at `spot`. What is added at run time counts
/// elements as it counts bytes.
std::optional<Elements> ValueParts::find(const Home &home, const Spot &spot) {
  if (home.spot == spot)
    return home.elements;
  std::optional<ElementMap> map = ElementMap::get(home.elements, home.spot);
  if (!map)
    return std::nullopt;
  LinearForm beyond = spot.shift;
  beyond.add(home.spot.shift, -1);
  Spot fixed = spot;
  fixed.shift = home.spot.shift;
  std::optional<Elements> elements = map->getElements(fixed);
  for (auto [scalar, bytes] : beyond.terms) {
    std::optional<int64_t> stride =
        elements ? map->getStride(static_cast<int64_t>(bytes)) : std::nullopt;
    if (!stride)
      return std::nullopt;
    elements->shifts.push_back({scalar, 0, *stride});
  }
  return elements;
}

ValueParts::Key ValueParts::describe(const Elements &elements,
                                     ArrayRef<int64_t> sizes) {
  Key key = {static_cast<uint64_t>(elements.begin)};
  for (auto [size, stride] : llvm::zip(sizes, elements.strides)) {
    key.push_back(size);
    key.push_back(size == 1 ? 0 : stride);
  }
  key.push_back(elements.shifts.size());
  for (const Shift &shift : elements.shifts) {
    key.push_back(shift.scalar);
    key.push_back(shift.stride);
  }
  return key;
}

/// Says where `spot` is, counted in bytes from the beginning of another one.
ValueParts::Key ValueParts::describe(const Spot &spot, const Spot &from) {
  Key key = {static_cast<uint64_t>(spot.begin - from.begin)};
  LinearForm shift = spot.shift;
  shift.add(from.shift, -1);
  for (const Spot *place : {&spot, &from})
    for (auto [size, stride] : llvm::zip(place->sizes, place->strides)) {
      key.push_back(size);
      key.push_back(size == 1 ? 0 : stride);
    }
  for (auto [scalar, bytes] : shift.terms) {
    key.push_back(scalar);
    key.push_back(bytes);
  }
  return key;
}

ArrayRef<ValueParts::Home> ValueParts::getHomes(int64_t id) const {
  auto it = homes.find(id);
  return it == homes.end() ? ArrayRef<Home>() : ArrayRef<Home>(it->second);
}

std::optional<ValueParts::Home> ValueParts::find(int64_t id,
                                                 const Spot &spot) const {
  for (const Home &home : llvm::reverse(getHomes(id))) {
    if (home.spot.root != spot.root || !overlaps(home.spot.bytes, spot.bytes))
      continue;
    std::optional<Elements> elements = find(home, spot);
    if (!elements)
      return std::nullopt;
    return Home{spot, std::move(*elements), home.origin};
  }
  return std::nullopt;
}

namespace {

/// First in each description.
enum DescriptionKind : uint64_t { InElements, InBytes };

void append(std::vector<uint64_t> &key, const std::vector<uint64_t> &part) {
  key.push_back(part.size());
  llvm::append_range(key, part);
}

Elements getAll(ArrayRef<int64_t> sizes) {
  Elements elements;
  elements.strides.assign(sizes.size(), 1);
  for (int64_t i = static_cast<int64_t>(sizes.size()) - 1; i > 0; --i)
    elements.strides[i - 1] = elements.strides[i] * sizes[i];
  return elements;
}

} // namespace

void ValueParts::write(int64_t id, Value buffer) {
  Spot spot = getSpot(buffer);
  Elements elements = getAll(spot.sizes);
  homes[id].push_back({std::move(spot), std::move(elements), Key()});
}

void ValueParts::copy(int64_t id, Value from, Value to) {
  Spot source = getSpot(from), target = getSpot(to);
  std::optional<Home> home = find(id, source);
  if (!home)
    home = Home{source, getAll(target.sizes), describe(id, from)};
  home->spot = std::move(target);
  homes[id].push_back(std::move(*home));
}

ValueParts::Key ValueParts::describe(int64_t id, Value buffer) const {
  Spot spot = getSpot(buffer);
  if (std::optional<Home> home = find(id, spot)) {
    Key key = {InElements};
    append(key, home->origin);
    append(key, describe(home->elements, spot.sizes));
    return key;
  }
  Key key = {InBytes};
  for (const Home &home : llvm::reverse(getHomes(id))) {
    if (home.spot.root != spot.root || !overlaps(home.spot.bytes, spot.bytes))
      continue;
    append(key, home.origin);
    append(key, describe(home.elements, home.spot.sizes));
    append(key, describe(spot, home.spot));
    if (!home.spot.isDynamic() && contains(home.spot.bytes, spot.bytes))
      break;
  }
  return key;
}

ValueParts::Key ValueParts::describeInside(int64_t id, Value buffer) const {
  Spot spot = getSpot(buffer);
  Home whole = {spot, getAll(spot.sizes), Key()};
  // Copies may be made in any order.
  std::set<Key> parts;
  for (const Home &home : getHomes(id)) {
    if (home.spot.root != spot.root || !overlaps(home.spot.bytes, spot.bytes))
      continue;
    Key part;
    std::optional<Elements> place = find(whole, home.spot);
    if (place) {
      part = {InElements};
      append(part, home.origin);
      append(part, describe(home.elements, home.spot.sizes));
      append(part, describe(*place, home.spot.sizes));
    } else {
      part = describe(id, buffer);
    }
    parts.insert(std::move(part));
  }
  Key key;
  for (const Key &part : parts)
    append(key, part);
  return key;
}
