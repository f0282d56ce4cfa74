// SPDX-License-Identifier: Apache-2.0

// Chunks that have the same elements, and what becomes of them when chunks are
// repeated, cut, or put together.
//
// Worked example. Of two heads in two chunks, each repeated for two others, the
// chunks are like 0 0 2 2; both repeated one after the other, like 0 1 0 1. Of
// the latter, two pieces of each are like 0 1 2 3 0 1 2 3, and two neighbours
// together like 0 0.

#include "LocalLifter.h"

#include "weft/Analysis/Traffic.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

/// The first chunk that is like this one.
static int64_t getFirst(Likeness likeness, int64_t chunk) {
  bool isKnown = likeness && chunk >= 0 && chunk < int64_t(likeness->size());
  return isKnown ? (*likeness)[chunk] : chunk;
}

bool mlir::weft::proof::areAlike(Likeness likeness, int64_t a, int64_t b) {
  return getFirst(likeness, a) == getFirst(likeness, b);
}

std::optional<int64_t>
mlir::weft::proof::findNeighbours(Likeness likeness, ArrayRef<int64_t> chunks) {
  int64_t count = chunks.size();
  auto areNeighbours = [&](int64_t first) {
    return llvm::all_of(llvm::enumerate(chunks), [&](auto entry) {
      return areAlike(likeness, entry.value(), first + int64_t(entry.index()));
    });
  };
  int64_t own = chunks[0] - chunks[0] % count;
  if (areNeighbours(own))
    return own;
  int64_t known = likeness ? likeness->size() : 0;
  for (int64_t first = 0; first + count <= known; first += count)
    if (areNeighbours(first))
      return first;
  return std::nullopt;
}

/// Chunks that `describe` says the same of are alike.
Likeness
LocalLifter::getLikeness(int64_t chunks,
                         function_ref<std::vector<int64_t>(int64_t)> describe) {
  constexpr int64_t kMaxChunks = 1 << 16;
  if (chunks > kMaxChunks)
    return nullptr;
  std::map<std::vector<int64_t>, int64_t> known;
  std::vector<int64_t> firsts;
  for (int64_t chunk = 0; chunk < chunks; ++chunk)
    firsts.push_back(known.try_emplace(describe(chunk), chunk).first->second);
  return int64_t(known.size()) == chunks ? nullptr : intern(std::move(firsts));
}

/// Each chunk of `dim` becomes that many neighbours.
Likeness LocalLifter::repeatEach(const LocalDim &dim, int64_t times) {
  return getLikeness(countChunks(dim) * times, [&](int64_t chunk) {
    return std::vector<int64_t>{getFirst(dim.likeness, chunk / times)};
  });
}

/// All chunks of `dim`, and all again.
Likeness LocalLifter::repeatAll(const LocalDim &dim, int64_t times) {
  int64_t period = countChunks(dim);
  return getLikeness(period * times, [&](int64_t chunk) {
    return std::vector<int64_t>{getFirst(dim.likeness, chunk % period)};
  });
}

Likeness LocalLifter::cutChunks(Likeness likeness, int64_t pieces) {
  if (!likeness)
    return nullptr;
  return getLikeness(likeness->size() * pieces, [&](int64_t piece) {
    return std::vector<int64_t>{getFirst(likeness, piece / pieces),
                                piece % pieces};
  });
}

/// Chunks are alike if all that they are made of are, in this order.
Likeness LocalLifter::joinChunks(Likeness likeness, int64_t neighbours) {
  if (!likeness)
    return nullptr;
  return getLikeness(likeness->size() / neighbours, [&](int64_t chunk) {
    std::vector<int64_t> made;
    for (int64_t i = 0; i < neighbours; ++i)
      made.push_back(getFirst(likeness, chunk * neighbours + i));
    return made;
  });
}

/// Of several dimensions that become one: chunks are alike if those of each
/// dimension are.
Likeness LocalLifter::nestLikeness(ArrayRef<LocalDim> dims) {
  if (llvm::none_of(dims, [](const LocalDim &dim) { return dim.likeness; }))
    return nullptr;
  int64_t chunks = 1;
  for (const LocalDim &dim : dims)
    chunks *= countChunks(dim);
  return getLikeness(chunks, [&](int64_t chunk) {
    std::vector<int64_t> made;
    for (const LocalDim &dim : llvm::reverse(dims)) {
      made.push_back(getFirst(dim.likeness, chunk % countChunks(dim)));
      chunk /= countChunks(dim);
    }
    return made;
  });
}

/// Of a dimension that becomes several with `counts` chunks: those of one are
/// alike if they are with whichever chunks of the others.
Likeness LocalLifter::expandLikeness(Likeness likeness,
                                     ArrayRef<int64_t> counts, unsigned dim) {
  if (!likeness || counts[dim] == 1)
    return nullptr;
  int64_t below = 1, all = 1;
  for (auto [i, count] : llvm::enumerate(counts)) {
    all *= count;
    below *= i > dim ? count : 1;
  }
  return getLikeness(counts[dim], [&](int64_t own) {
    std::vector<int64_t> made;
    for (int64_t chunk = 0; chunk < all; ++chunk)
      if (chunk / below % counts[dim] == own)
        made.push_back(getFirst(likeness, chunk));
    return made;
  });
}

/// Of what is made of two: chunks that are alike in both.
Likeness LocalLifter::meetLikeness(Likeness a, Likeness b) {
  if (a == b || !a || !b)
    return a == b ? a : nullptr;
  int64_t chunks = std::min(a->size(), b->size());
  return getLikeness(chunks, [&](int64_t chunk) {
    return std::vector<int64_t>{getFirst(a, chunk), getFirst(b, chunk)};
  });
}

//===----------------------------------------------------------------------===//
// Loops over what is repeated
//===----------------------------------------------------------------------===//

/// Adds axes of which others of the same lists may cut another loop.
static void addSome(SmallVector<AxisList> &lists) {
  SmallVector<AxisList> some;
  for (const AxisList &all : lists)
    for (size_t count = 1; count < all.size(); ++count)
      for (size_t first = 0; first + count <= all.size(); ++first)
        some.emplace_back(all.begin() + first, all.begin() + first + count);
  llvm::append_range(lists, some);
}

/// The axes along which collectives after an op combine something: those of the
/// first one, of the first two, and so on, and some of each. What is combined
/// first is minor.
static SmallVector<AxisList>
findCombinedAxes(Operation *op, function_ref<AxisList(AxesAttr)> getAxes) {
  constexpr unsigned kMaxOps = 64;
  SmallVector<AxisList> found;
  llvm::SetVector<Operation *> later;
  later.insert(op);
  for (unsigned i = 0; i < later.size() && i < kMaxOps; ++i) {
    std::optional<CollectiveKind> kind = getCollectiveKind(later[i]);
    if (kind == CollectiveKind::AllReduce ||
        kind == CollectiveKind::ReduceScatter) {
      AxisList axes = getAxes(getCollectiveAxes(later[i]));
      if (!found.empty() && anyOverlap(axes, found.back()))
        continue;
      if (!found.empty())
        llvm::append_range(axes, found.back());
      found.push_back(std::move(axes));
    }
    later.insert_range(later[i]->getUsers());
  }
  addSome(found);
  return found;
}

/// The axes along which collectives combine all that an op makes, before
/// anything but moving it is done with it; null if that is not so.
static AxesAttr findOnlyCombined(Operation *op) {
  AxesAttr axes;
  llvm::SetVector<Operation *> moved;
  moved.insert(op);
  for (unsigned i = 0; i < moved.size(); ++i)
    for (Operation *user : moved[i]->getUsers()) {
      if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
              tensor::ExtractSliceOp, tensor::CastOp>(user)) {
        moved.insert(user);
        continue;
      }
      if (!isa<AllReduceOp, ReduceScatterOp>(user) ||
          (axes && axes != getCollectiveAxes(user)))
        return nullptr;
      axes = getCollectiveAxes(user);
    }
  return axes;
}

/// A loop of which nothing that is read depends on the index: it says how often
/// something is combined, and so any part of it is like any other. Ranks may
/// have different parts, as those have that combine what they made of it. It is
/// taken for one that they share if the one-rank program has a form only then,
/// which `describe` makes of the loops: along axes that cut no other loop, if
/// there are such. In the one-rank program, which may have ranks along other
/// axes, it is one if they do nothing but combine what they made of it.
void LocalLifter::tryShared(MutableArrayRef<LocalDim> loops, unsigned index,
                            Form &form, function_ref<void()> describe) {
  LocalDim &loop = loops[index];
  const LocalDim all = loop;
  auto share = [&](const AxisList &axes) {
    loop.size = all.extent * numShards(axes);
    loop.chunk =
        perRank([&](int64_t rank) { return mesh.groupIndex(rank, axes); });
    describe();
  };
  auto isCutBy = [&](const LocalDim &other, const AxisList &axes) {
    return other.chunk && llvm::any_of(llvm::seq(numRanks), [&](int64_t rank) {
             return (*other.chunk)[rank] !=
                    (*other.chunk)[mesh.groupMember(rank, axes, 0)];
           });
  };
  auto cutsOthers = [&](const AxisList &axes) {
    return llvm::any_of(llvm::enumerate(loops), [&](auto entry) {
      return entry.index() != index && isCutBy(entry.value(), axes);
    });
  };
  if (isReference) {
    AxesAttr axes = findOnlyCombined(form.op);
    if (axes && !cutsOthers(getAxes(axes)))
      share(getAxes(axes));
    return;
  }
  if (forms.find(form))
    return;
  SmallVector<AxisList> found =
      findCombinedAxes(form.op, [&](AxesAttr attr) { return getAxes(attr); });
  std::stable_partition(found.begin(), found.end(), [&](const AxisList &axes) {
    return !cutsOthers(axes);
  });
  for (const AxisList &axes : found) {
    share(axes);
    if (forms.find(form))
      return;
  }
  loop = all;
  describe();
}

/// Chunks that are alike may be taken for each other, where the body sees their
/// elements and nothing of their place. Ranks that say the same chunk of a loop
/// which they share have different ones if their chunks are alike: those by
/// their number in the collective that combines what they make of them. A
/// program to compare with has such ranks along axes that are not invariant.
void LocalLifter::shareAlike(Operation *op, LocalDim &loop) {
  if (!loop.likeness || proof::hasPadding(loop))
    return;
  for (const AxisList &axes :
       findCombinedAxes(op, [&](AxesAttr attr) { return getAxes(attr); })) {
    RankVector chunk =
        perRank([&](int64_t rank) { return mesh.groupIndex(rank, axes); });
    bool isSame = llvm::all_of(llvm::seq(numRanks), [&](int64_t rank) {
      return (*loop.chunk)[rank] ==
             (*loop.chunk)[mesh.groupMember(rank, axes, 0)];
    });
    if (!isSame || countChunks(loop) != numShards(axes) ||
        !proof::holds(loop, chunk))
      continue;
    loop.chunk = chunk;
    return;
  }
}
