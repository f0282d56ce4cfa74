// SPDX-License-Identifier: Apache-2.0

// A root has few patches: a write drops those that it hides altogether, a name
// those below it that were hidden in part. A piece of the program that is
// walked over again is undone root by root, from copies made at the first
// change, so that a loop costs what its body touches.

#include "ValueState.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

ValueState::ValueState(const PlannedProgram &program, Layouts &layouts)
    : states(program.getRoots().size()), alive(program) {
  for (auto [i, root] : llvm::enumerate(program.getRoots())) {
    if (root.isArena())
      continue;
    states[i].isAlive = true;
    states[i].ways.emplace_back();
    if (!root.isArgument())
      continue;
    Patch patch;
    patch.bytes = ByteSet::get(0, {}, {}, root.bytes);
    rt::BufferOp buffer = root.op;
    patch.id = buffer.getPosition();
    patch.layout = layouts.get(buffer.getResult(), rt::PartAttr());
    states[i].ways.front().push_back(patch);
  }
}

//===----------------------------------------------------------------------===//
// Writes
//===----------------------------------------------------------------------===//

void ValueState::save(unsigned root) {
  if (!scopes.empty())
    scopes.back().before.insert({root, states[root]});
}

/// Gives a root of the arena its bytes, which ends what others held there.
void ValueState::claim(unsigned root, Operation *op) {
  if (states[root].isAlive)
    return;
  states[root].isAlive = true;
  states[root].ways.assign(1, Patches());
  for (unsigned other : alive.claim(root)) {
    save(other);
    RootState &ended = states[other];
    ended = RootState();
    ended.takenBy = op;
    ended.takenFor = root;
  }
}

namespace {

/// Drops ways that have become equal.
void dropEqualWays(RootState &state) {
  for (unsigned i = 0; i < state.ways.size(); ++i)
    for (unsigned j = state.ways.size() - 1; j > i; --j)
      if (state.ways[i] == state.ways[j])
        state.ways.erase(state.ways.begin() + j);
}

/// Puts a patch on top of those that are there.
void put(Patches &patches, const Patch &patch) {
  llvm::erase_if(patches, [&](const Patch &old) {
    return patch.isDynamic ? old == patch : contains(patch.bytes, old.bytes);
  });
  for (Patch &old : patches)
    old.isPartial |= overlaps(patch.bytes, old.bytes);
  patches.push_back(patch);
}

/// Puts a name on top: what it covers and can no longer be read goes, together
/// with all that it hides.
void putName(Patches &patches, const Patch &patch) {
  Patches kept;
  for (Patch &old : patches) {
    bool isHidden = old.isPartial || old.kind == Patch::Kind::MayBeWritten;
    bool hidesNothing = llvm::none_of(kept, [&](const Patch &older) {
      return overlaps(older.bytes, old.bytes);
    });
    if (old == patch || (isHidden && hidesNothing && !patch.isDynamic &&
                         contains(patch.bytes, old.bytes)))
      continue;
    kept.push_back(std::move(old));
  }
  patches = std::move(kept);
  patches.push_back(patch);
}

Patch makePatch(Patch::Kind kind, const Wanted &held, Operation *op) {
  const Place &place = held.layout->place;
  Patch patch;
  patch.kind = kind;
  patch.bytes = place.region;
  patch.id = held.id;
  patch.layout = held.layout;
  patch.op = op;
  patch.isDynamic = place.isDynamic;
  patch.shift = place.shift;
  patch.shifted = place.shifted;
  return patch;
}

} // namespace

void ValueState::write(const Wanted &written, Operation *op, Patch::Kind kind) {
  const Place &place = written.layout->place;
  if (place.region.bytes() == 0)
    emptyIds.insert(written.id);
  save(place.root);
  claim(place.root, op);
  if (place.isDynamic && kind == Patch::Kind::Written)
    kind = Patch::Kind::MayBeWritten;
  for (Patches &way : states[place.root].ways)
    put(way, makePatch(kind, written, op));
  dropEqualWays(states[place.root]);
}

void ValueState::name(const Wanted &named, Operation *op) {
  RootState &state = states[named.layout->place.root];
  save(named.layout->place.root);
  for (Patches &way : state.ways)
    putName(way, makePatch(Patch::Kind::Named, named, op));
  dropEqualWays(state);
}

void ValueState::arrive(unsigned root, Operation *start) {
  save(root);
  for (Patches &way : states[root].ways)
    for (Patch &patch : way)
      if (patch.kind == Patch::Kind::InFlight && patch.op == start)
        patch.kind =
            patch.isDynamic ? Patch::Kind::MayBeWritten : Patch::Kind::Written;
}

//===----------------------------------------------------------------------===//
// Reads
//===----------------------------------------------------------------------===//

namespace {

bool isWanted(const Patch &patch, ArrayRef<Wanted> wanted) {
  return patch.kind != Patch::Kind::InFlight &&
         llvm::any_of(wanted,
                      [&](const Wanted &one) { return one.id == patch.id; });
}

/// Says whether a patch has elements that are wanted where they have to be. The
/// bytes of one at a place from data are all that its view could reach: which
/// of them it is does not say where it lies.
bool isInPlace(const Patch &patch, ArrayRef<Wanted> wanted) {
  return llvm::any_of(wanted, [&](const Wanted &one) {
    return one.id == patch.id && agree(*patch.layout, *one.layout) &&
           (!one.isOnlyThere || patch.isDynamic ||
            contains(one.layout->place.region, patch.bytes));
  });
}

std::optional<Mismatch> findBytes(const Patches &patches, const ByteSet &bytes,
                                  ArrayRef<Wanted> ids) {
  int64_t missing = bytes.bytes();
  if (missing == 0)
    return std::nullopt;
  SmallVector<const Patch *, 4> found;
  for (const Patch &patch : llvm::reverse(patches)) {
    bool wanted = isWanted(patch, ids);
    if (!overlaps(patch.bytes, bytes) ||
        (patch.kind == Patch::Kind::Named && (!wanted || patch.isDynamic)) ||
        llvm::any_of(found, [&](const Patch *newer) {
          return contains(newer->bytes, patch.bytes);
        }))
      continue;
    if (!wanted)
      return Mismatch{&patch};
    if (!isInPlace(patch, ids))
      return Mismatch{&patch, /*isOtherPart=*/true};
    if (patch.kind == Patch::Kind::MayBeWritten)
      continue;
    if (contains(patch.bytes, bytes))
      return std::nullopt;
    if (!contains(bytes, patch.bytes) ||
        llvm::any_of(found, [&](const Patch *newer) {
          return overlaps(newer->bytes, patch.bytes);
        }))
      continue;
    missing -= patch.bytes.bytes();
    found.push_back(&patch);
    if (missing == 0)
      return std::nullopt;
  }
  return Mismatch{};
}

/// Says whether all bytes of `place` are `patch`'s: a part at a known distance,
/// or a slice of it at one that is known at run time, which stays inside.
bool isPart(const Patch &patch, const Place &place) {
  if (!patch.shift || !place.shift)
    return false;
  if (patch.shift == place.shift)
    return contains(patch.shifted, place.shifted);
  Value shift = place.shift;
  while (auto sum = shift.getDefiningOp<arith::AddIOp>()) {
    shift = sum.getLhs();
    if (shift == patch.shift)
      return true;
  }
  return false;
}

/// A view whose beginning is not known shows what was written through the same
/// one, or a part of a value that lies in the root: then all of that value must
/// be there.
std::optional<Mismatch> findDynamic(const Patches &patches, const Place &place,
                                    ArrayRef<Wanted> ids) {
  // The first of what was put on it.
  Mismatch newer;
  for (const Patch &patch : llvm::reverse(patches)) {
    bool wanted = isWanted(patch, ids), fits = isInPlace(patch, ids);
    if (wanted && isPart(patch, place)) {
      if (newer.patch)
        return newer;
      return fits ? std::nullopt : std::optional<Mismatch>({&patch, true});
    }
    // The value may lie in the root twice.
    if (fits && !patch.isDynamic)
      return findBytes(patches, patch.bytes, Wanted{patch.id, patch.layout});
    bool isOtherPart = wanted && !patch.isDynamic;
    if ((isOtherPart || (!wanted && patch.kind != Patch::Kind::Named)) &&
        !newer.patch)
      newer = {&patch, isOtherPart};
  }
  return newer;
}

} // namespace

std::optional<Mismatch> ValueState::find(const Place &place,
                                         ArrayRef<Wanted> wanted) const {
  const RootState &state = states[place.root];
  if (!state.isAlive)
    return place.region.bytes() == 0 ? std::nullopt
                                     : std::optional<Mismatch>(Mismatch{});
  for (const Patches &way : state.ways) {
    std::optional<Mismatch> mismatch =
        place.isDynamic ? findDynamic(way, place, wanted)
                        : findBytes(way, place.region, wanted);
    if (mismatch)
      return mismatch;
  }
  return std::nullopt;
}

namespace {

/// The newest patch of a part in some bytes; null if there is none. One at a
/// place from data is all of the part, and nothing else.
const Patch *findNewest(const Patches &patches, const ByteSet &bytes,
                        const Wanted &part) {
  for (const Patch &patch : llvm::reverse(patches))
    if (isWanted(patch, part) && isInPlace(patch, part) &&
        overlaps(patch.bytes, bytes) &&
        (!patch.isDynamic || isSamePart(*patch.layout, *part.layout)))
      return &patch;
  return nullptr;
}

/// The newest patch that gives some bytes, all of them, to a value: a part that
/// is the same value may have been written since, at a place from data.
const Patch *findWhole(const Patches &patches, const ByteSet &bytes,
                       const Wanted &part) {
  for (const Patch &patch : llvm::reverse(patches))
    if (isWanted(patch, part) && isInPlace(patch, part) && !patch.isDynamic &&
        contains(patch.bytes, bytes))
      return &patch;
  return nullptr;
}

/// Says whether, since the whole was there, its part was put into it at one
/// place only, as far as that is known only at run time.
bool isPutOnce(const Patches &patches, const Patch *whole, const Wanted &part) {
  return llvm::count_if(patches, [&](const Patch &patch) {
           return patch.isDynamic && patch.kind != Patch::Kind::Named &&
                  patch.id == part.id && (!whole || &patch > whole);
         }) <= 1;
}

} // namespace

bool ValueState::hasAll(const Place &place, ArrayRef<Wanted> parts) const {
  if (place.region.bytes() == 0)
    return true;
  return llvm::all_of(states[place.root].ways, [&](const Patches &way) {
    const Patch *whole = findWhole(way, place.region, parts.front());
    return llvm::all_of(parts.drop_front(), [&](const Wanted &part) {
      const Patch *patch = findNewest(way, place.region, part);
      return emptyIds.contains(part.id) ||
             (patch && (!whole || patch > whole) &&
              isPutOnce(way, whole, part));
    });
  });
}

//===----------------------------------------------------------------------===//
// Ways that meet
//===----------------------------------------------------------------------===//

namespace {

/// What holds if one or the other does. A root that is alive in one of them
/// only can be read in neither.
RootState join(const RootState &a, const RootState &b) {
  if (!a.isAlive)
    return a;
  if (!b.isAlive)
    return b;
  RootState joined = a;
  llvm::append_range(joined.ways, b.ways);
  dropEqualWays(joined);
  return joined;
}

} // namespace

void ValueState::set(unsigned root, const RootState &state) {
  alive.set(root, state.isAlive);
  states[root] = state;
}

void ValueState::open() { scopes.emplace_back(); }

/// Hands what the innermost scope has saved to the one around it.
void ValueState::popScope() {
  Scope scope = std::move(scopes.back());
  scopes.pop_back();
  if (!scopes.empty())
    for (auto &[root, before] : scope.before)
      scopes.back().before.insert({root, before});
}

bool ValueState::closeLoop(Region &body) {
  bool isMore = false;
  for (auto &[root, before] : scopes.back().before)
    for (Patches &way : states[root].ways)
      for (Patch &patch : way)
        if (patch.shift && body.isAncestor(patch.shift.getParentRegion()))
          patch.shift = nullptr;
  std::vector<std::pair<unsigned, RootState>> joined;
  for (auto &[root, before] : scopes.back().before) {
    joined.push_back({root, join(before, states[root])});
    isMore |= joined.back().second.isAlive != before.isAlive ||
              joined.back().second.ways != before.ways;
  }
  // Those that die make place for those that live again.
  for (auto &[root, state] : joined)
    if (!state.isAlive)
      set(root, state);
  for (auto &[root, state] : joined)
    if (state.isAlive)
      set(root, state);
  popScope();
  return isMore;
}

void ValueState::switchBranch() {
  Scope &scope = scopes.back();
  for (auto &[root, before] : scope.before)
    scope.firstBranch.insert({root, states[root]});
  for (auto &[root, before] : scope.before)
    if (!before.isAlive)
      set(root, before);
  for (auto &[root, before] : scope.before)
    if (before.isAlive)
      set(root, before);
}

void ValueState::closeBranches() {
  Scope &scope = scopes.back();
  std::vector<std::pair<unsigned, RootState>> joined;
  for (auto &[root, before] : scope.before) {
    auto it = scope.firstBranch.find(root);
    const RootState &first =
        it == scope.firstBranch.end() ? before : it->second;
    joined.push_back({root, join(first, states[root])});
  }
  for (auto &[root, state] : joined)
    set(root, state);
  popScope();
}
