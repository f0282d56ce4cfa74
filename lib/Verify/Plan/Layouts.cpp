// SPDX-License-Identifier: Apache-2.0

// Two layouts are compared by the map of one of them (ElementMap.h): a few
// divisions for each dim, however many elements there are.

#include "Layouts.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

/// Says whether two tensors of these sizes have the same elements.
static bool hasSameElements(const Elements &a, const Elements &b,
                            ArrayRef<int64_t> sizes) {
  if (a.begin != b.begin)
    return false;
  for (auto [size, x, y] : llvm::zip(sizes, a.strides, b.strides))
    if (size != 1 && x != y)
      return false;
  return true;
}

bool Layout::operator==(const Layout &other) const {
  return spot == other.spot && bytesMove == other.bytesMove &&
         elementsMove == other.elementsMove && shift == other.shift &&
         hasSameElements(elements, other.elements, spot.sizes);
}

/// Says whether the bytes of `inner` are the elements that `outer` has there.
static bool isPartOf(const Layout &outer, const Layout &inner) {
  if (outer.spot == inner.spot)
    return hasSameElements(outer.elements, inner.elements, inner.spot.sizes);
  std::optional<ElementMap> map = ElementMap::get(outer.elements, outer.spot);
  std::optional<Elements> elements =
      map ? map->getElements(inner.spot) : std::nullopt;
  return elements &&
         hasSameElements(*elements, inner.elements, inner.spot.sizes);
}

bool mlir::weft::proof::agree(const Layout &outer, const Layout &inner) {
  if (&outer == &inner || llvm::is_contained(outer.spot.sizes, 0) ||
      llvm::is_contained(inner.spot.sizes, 0))
    return true;
  // Bytes that move inside of others are elements that move.
  bool movesAlike =
      outer.bytesMove &&
      (inner.movesAnywhere || (inner.shift && inner.shift == outer.shift));
  bool movesInside = inner.bytesMove && !movesAlike;
  if ((outer.bytesMove && !inner.bytesMove) ||
      (inner.movesAnywhere && !outer.bytesMove) ||
      inner.elementsMove != (outer.elementsMove || movesInside))
    return false;
  return isPartOf(outer, inner) || isPartOf(inner, outer);
}

bool mlir::weft::proof::isSamePart(const Layout &a, const Layout &b) {
  return agree(a, b) && isPartOf(a, b) && isPartOf(b, a);
}

//===----------------------------------------------------------------------===//
// What programs say
//===----------------------------------------------------------------------===//

rt::PartAttr mlir::weft::proof::getPart(Operation *op, StringRef name,
                                        unsigned number) {
  auto list = op->getAttrOfType<ArrayAttr>(name);
  return list ? dyn_cast<rt::PartAttr>(list[number]) : rt::PartAttr();
}

/// The elements of a part, or of a whole of these sizes.
static Elements getElements(rt::PartAttr part, ArrayRef<int64_t> sizes) {
  Elements elements;
  if (!part) {
    SmallVector<int64_t> strides = rt::getDenseStrides(sizes);
    elements.strides.assign(strides.begin(), strides.end());
    return elements;
  }
  elements.begin = part.getBegin();
  llvm::append_range(elements.strides, part.getStrides().asArrayRef());
  return elements;
}

bool mlir::weft::proof::isPart(rt::PartAttr part, const Elements &elements,
                               ArrayRef<int64_t> sizes) {
  if (llvm::is_contained(sizes, 0))
    return true;
  bool moves = part && part.getMoves();
  return (!part || part.getSizes().asArrayRef() == sizes) &&
         elements.shifts.empty() != moves &&
         hasSameElements(elements, getElements(part, sizes), sizes);
}

Spot mlir::weft::proof::getSpot(const PlannedProgram &program, Value buffer,
                                function_ref<void(Spot &, Value)> addOffset) {
  auto type = cast<MemRefType>(buffer.getType());
  Spot spot;
  spot.root = program.getPlace(buffer).root;
  spot.elementBytes = rt::getElementBytes(type.getElementType());
  spot.sizes.assign(type.getShape().begin(), type.getShape().end());
  for (int64_t stride : getStrides(type))
    spot.strides.push_back(stride * spot.elementBytes);
  for (auto view = buffer.getDefiningOp<rt::ViewOp>(); view;
       view = view.getSource().getDefiningOp<rt::ViewOp>()) {
    spot.begin += static_cast<int64_t>(view.getOffset()) * spot.elementBytes;
    if (Value offset = view.getDynamicOffset())
      addOffset(spot, offset);
  }
  return spot;
}

Spot Layouts::getSpot(Value buffer) const {
  return proof::getSpot(program, buffer, [](Spot &, Value) {});
}

const Layout *Layouts::get(Value buffer, rt::PartAttr part) {
  ArrayRef<int64_t> sizes = cast<MemRefType>(buffer.getType()).getShape();
  if (part && part.getSizes().asArrayRef() != sizes)
    return nullptr;
  std::unique_ptr<Layout> &layout = known[{
      buffer.getAsOpaquePointer(), {nullptr, part.getAsOpaquePointer()}}];
  if (layout)
    return layout.get();
  layout = std::make_unique<Layout>();
  layout->place = program.getPlace(buffer);
  layout->spot = getSpot(buffer);
  layout->elements = getElements(part, sizes);
  layout->bytesMove = layout->place.isDynamic;
  layout->shift = layout->place.shift;
  layout->elementsMove = part && part.getMoves();
  return layout.get();
}

/// The bytes of a part of `whole`; all that it may be if it moves.
static Place getPartPlace(Place whole, const Spot &spot, bool moves) {
  if (moves) {
    whole.isDynamic = true;
    return whole;
  }
  SmallVector<int64_t> strides;
  for (int64_t stride : spot.strides)
    strides.push_back(stride / spot.elementBytes);
  whole.region =
      ByteSet::get(spot.begin, spot.sizes, strides, spot.elementBytes);
  return whole;
}

const Layout *Layouts::getInside(Value whole, rt::PartAttr into,
                                 rt::PartAttr part) {
  if (!into)
    return get(whole, part);
  std::unique_ptr<Layout> &layout =
      known[{whole.getAsOpaquePointer(),
             {into.getAsOpaquePointer(), part.getAsOpaquePointer()}}];
  if (layout)
    return layout.get();
  if (part && part.getSizes() != into.getSizes())
    return nullptr;
  Spot all = getSpot(whole);
  std::optional<ElementMap> map =
      ElementMap::get(getElements(nullptr, all.sizes), all);
  std::optional<Spot> spot =
      map ? map->getSpot(getElements(into, into.getSizes()), into.getSizes(),
                         all)
          : std::nullopt;
  if (!spot)
    return nullptr;
  layout = std::make_unique<Layout>();
  layout->spot = std::move(*spot);
  layout->elements = getElements(part, into.getSizes());
  layout->bytesMove = layout->movesAnywhere = into.getMoves();
  layout->elementsMove = part && part.getMoves();
  layout->place =
      getPartPlace(program.getPlace(whole), layout->spot, into.getMoves());
  return layout.get();
}
