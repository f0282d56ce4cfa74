// SPDX-License-Identifier: Apache-2.0

// A tensor is looked for from the newest layer down. The first one that has all
// of it ends the search; before that only names of something else may come, and
// what touches none of its bytes. Written layers that a newer one hides
// altogether are dropped, so that a root has few.

#include "Contents.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

Contents::Contents(const PlannedProgram &program, const ScalarNumbers &scalars)
    : scalars(scalars), states(program.getRoots().size()), alive(program) {
  for (auto [state, root] : llvm::zip(states, program.getRoots()))
    state.isAlive = !root.isArena();
}

//===----------------------------------------------------------------------===//
// Changes
//===----------------------------------------------------------------------===//

void Contents::open() { scopes.emplace_back(); }

void Contents::save(unsigned root) {
  if (!scopes.empty())
    scopes.back().insert({root, states[root]});
}

void Contents::set(unsigned root, RootState state) {
  alive.set(root, state.isAlive);
  states[root] = std::move(state);
}

void Contents::restore() {
  Saved saved = std::move(scopes.back());
  scopes.pop_back();
  // Those that die make place for those that live again.
  for (bool isAlive : {false, true})
    for (auto &[root, state] : saved)
      if (state.isAlive == isAlive) {
        save(root);
        set(root, state);
      }
}

/// Gives a root of the arena its bytes, which ends what others held there.
void Contents::claim(unsigned root) {
  if (states[root].isAlive)
    return;
  states[root] = RootState();
  states[root].isAlive = true;
  for (unsigned ended : alive.claim(root)) {
    save(ended);
    states[ended] = RootState();
  }
}

void Contents::write(const Spot &spot, const Elements *elements, Operation *op,
                     Layer::Kind kind) {
  save(spot.root);
  claim(spot.root);
  Layer layer;
  layer.kind = kind;
  layer.spot = spot;
  layer.op = op;
  if (elements)
    layer.map = ElementMap::get(*elements, spot);
  auto &layers = states[spot.root].layers;
  // Where the new layer is, is known only at run time: it hides nothing surely.
  if (!spot.isDynamic())
    llvm::erase_if(layers, [&](const Layer &old) {
      return contains(spot.bytes, old.spot.bytes);
    });
  for (Layer &old : layers)
    old.isPartial |= overlaps(spot.bytes, old.spot.bytes);
  layers.push_back(std::move(layer));
}

/// Drops what is hidden in part, or lies anywhere, below a new name: it would
/// be in the way for ever. It goes only together with all that it hides.
static void dropHidden(SmallVectorImpl<Layer> &layers, const ByteSet &bytes) {
  SmallVector<Layer, 2> kept;
  for (Layer &layer : layers) {
    bool isHidden = (layer.isPartial || layer.spot.isDynamic()) &&
                    layer.kind != Layer::Kind::InFlight &&
                    contains(bytes, layer.spot.bytes);
    bool hidesNothing = llvm::none_of(kept, [&](const Layer &older) {
      return overlaps(older.spot.bytes, layer.spot.bytes);
    });
    if (!isHidden || !hidesNothing)
      kept.push_back(std::move(layer));
  }
  layers = std::move(kept);
}

void Contents::name(const Spot &spot, const Elements &elements, Operation *op) {
  save(spot.root);
  claim(spot.root);
  Layer layer;
  layer.kind = Layer::Kind::Named;
  layer.spot = spot;
  layer.op = op;
  layer.map = ElementMap::get(elements, spot);
  auto &layers = states[spot.root].layers;
  if (!spot.isDynamic())
    dropHidden(layers, spot.bytes);
  layers.push_back(std::move(layer));
}

void Contents::arrive(rt::StartOp start, unsigned root) {
  save(root);
  for (Layer &layer : states[root].layers)
    if (layer.kind == Layer::Kind::InFlight && layer.op == start)
      layer.kind = Layer::Kind::Written;
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

bool Contents::holds(const Layer &layer, const Placed &placed) const {
  return layer.kind != Layer::Kind::InFlight && layer.map &&
         layer.map->places(placed.elements, placed.spot, scalars);
}

std::optional<Obstacle> Contents::find(const Placed &wanted,
                                       ArrayRef<Placed> others) const {
  const RootState &state = states[wanted.spot.root];
  if (!state.isAlive)
    return Obstacle();
  // What might be in the way of a tensor that may lie anywhere in the root.
  SmallVector<const Layer *> newer;
  for (const Layer &layer : llvm::reverse(state.layers)) {
    if (!overlaps(layer.spot.bytes, wanted.spot.bytes))
      continue;
    // Then the tensor lies in the layer's bytes, and nowhere else.
    bool isHidden = llvm::any_of(newer, [&](const Layer *other) {
      return overlaps(other->spot.bytes, layer.spot.bytes);
    });
    if (!isHidden && holds(layer, wanted))
      return std::nullopt;
    if (layer.kind == Layer::Kind::Named)
      continue;
    // All of the layer's bytes are the other's: the rest shows through.
    bool isOther = llvm::any_of(others, [&](const Placed &other) {
      return holds(layer, other) && layer.spot.shift == other.spot.shift &&
             contains(other.spot.unshifted, layer.spot.unshifted);
    });
    if (!isOther)
      newer.push_back(&layer);
    if (!newer.empty() && !wanted.spot.isDynamic())
      break;
  }
  return Obstacle{newer.empty() ? nullptr : newer.front()};
}

SmallVector<Elements> Contents::getAll(const Spot &spot) const {
  SmallVector<Elements> all;
  for (const Layer &layer : llvm::reverse(states[spot.root].layers)) {
    if (!overlaps(layer.spot.bytes, spot.bytes))
      continue;
    if (layer.kind != Layer::Kind::InFlight && layer.map)
      if (std::optional<Elements> elements = layer.map->getElements(spot))
        all.push_back(std::move(*elements));
    if (layer.kind != Layer::Kind::Named)
      break;
  }
  return all;
}
