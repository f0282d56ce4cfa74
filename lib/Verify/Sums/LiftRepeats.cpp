// SPDX-License-Identifier: Apache-2.0

// Chunks that have the same elements, and what becomes of them when chunks are
// repeated, cut, or put together.
//
// Worked example. Of two heads in two chunks, each repeated for two others, the
// chunks are like 0 0 2 2; both repeated one after the other, like 0 1 0 1. Of
// the latter, two pieces of each are like 0 1 2 3 0 1 2 3, and two neighbours
// together like 0 0.

#include "LocalLifter.h"

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
