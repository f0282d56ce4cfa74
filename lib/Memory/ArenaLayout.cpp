// SPDX-License-Identifier: Apache-2.0

// The orders that are tried. *From the peak*: what is alive at the peak lies
// side by side, without gaps, which no arena can do with fewer bytes; then time
// runs forward from there, and backward, and each block that comes goes to the
// smallest gap that it fits into. What is left to choose is the order at the
// peak. Activations of a training step are a stack: if those that live longest
// lie lowest, what dies leaves one large gap at the top. *Peak first*: the
// same, but then the others, the largest first, each at the lowest offset that
// is free during its life. *By area*: all blocks like that, by bytes and life.
// In these two, what ends above the bound chooses earlier in the next round.

#include "weft/Memory/ArenaLayout.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <map>
#include <optional>
#include <queue>
#include <set>

using namespace mlir::weft;

namespace {

/// How often an order is changed.
constexpr int kMaxRounds = 200;

using BlockList = std::vector<ArenaBlock *>;

int64_t getSize(const ArenaBlock &block) {
  return llvm::alignTo(block.bytes, kArenaAlignment);
}

int64_t getLife(const ArenaBlock &block) { return block.end - block.begin; }

/// Sorts by the keys that `getKey` gives; equal ones keep their order.
template <typename GetKey> void sortBy(BlockList &list, GetKey getKey) {
  llvm::stable_sort(list, [&](const ArenaBlock *a, const ArenaBlock *b) {
    return getKey(*a) < getKey(*b);
  });
}

//===----------------------------------------------------------------------===//
// Free memory as time goes on
//===----------------------------------------------------------------------===//

/// The gaps of an arena that grows at its end.
class FreeSpace {
public:
  explicit FreeSpace(int64_t top) : top(top) {}

  int64_t getTop() const { return top; }
  int64_t take(int64_t size);
  void give(int64_t offset, int64_t size);

private:
  void add(int64_t offset, int64_t size) {
    sizeOf[offset] = size;
    bySize.insert({size, offset});
  }
  void remove(std::map<int64_t, int64_t>::iterator gap) {
    bySize.erase({gap->second, gap->first});
    sizeOf.erase(gap);
  }

  /// Sizes by offset, and both by size.
  std::map<int64_t, int64_t> sizeOf;
  std::set<std::pair<int64_t, int64_t>> bySize;
  int64_t top;
};

/// The lower end of the smallest gap; the end of the arena if there is none.
int64_t FreeSpace::take(int64_t size) {
  auto best = bySize.lower_bound({size, 0});
  if (best != bySize.end()) {
    auto [gapSize, offset] = *best;
    remove(sizeOf.find(offset));
    if (gapSize > size)
      add(offset + size, gapSize - size);
    return offset;
  }
  int64_t offset = top;
  if (!sizeOf.empty()) {
    auto last = std::prev(sizeOf.end());
    if (last->first + last->second == top) {
      offset = last->first;
      remove(last);
    }
  }
  top = offset + size;
  return offset;
}

/// Joins what becomes free with the gaps beside it.
void FreeSpace::give(int64_t offset, int64_t size) {
  auto next = sizeOf.lower_bound(offset);
  if (next != sizeOf.end() && next->first == offset + size) {
    size += next->second;
    remove(next++);
  }
  if (next != sizeOf.begin()) {
    auto previous = std::prev(next);
    if (previous->first + previous->second == offset) {
      offset = previous->first;
      size += previous->second;
      remove(previous);
    }
  }
  add(offset, size);
}

/// Places `blocks` when they come to life, beside what of `alive` is not dead
/// yet. Returns the bytes of the arena, of which `top` are in use at first.
int64_t runForward(BlockList blocks, const BlockList &alive, int64_t top) {
  sortBy(blocks, [](const ArenaBlock &block) {
    return std::make_tuple(block.begin, -block.end, -block.bytes);
  });
  // Ends with offset and size; at equal times in any, but one, order.
  using End = std::tuple<int64_t, int64_t, int64_t>;
  std::priority_queue<End, std::vector<End>, std::greater<End>> ends;
  for (const ArenaBlock *block : alive)
    ends.push({block->end, block->offset, getSize(*block)});
  FreeSpace space(top);
  for (ArenaBlock *block : blocks) {
    while (!ends.empty() && std::get<0>(ends.top()) < block->begin) {
      auto [end, offset, size] = ends.top();
      space.give(offset, size);
      ends.pop();
    }
    block->offset = space.take(getSize(*block));
    ends.push({block->end, block->offset, getSize(*block)});
  }
  return space.getTop();
}

//===----------------------------------------------------------------------===//
// The orders
//===----------------------------------------------------------------------===//

/// Lets time run backward.
void mirror(const BlockList &blocks) {
  for (ArenaBlock *block : blocks) {
    std::swap(block->begin, block->end);
    block->begin = -block->begin;
    block->end = -block->end;
  }
}

/// From the peak on, where the blocks with the smallest keys lie lowest.
template <typename GetKey>
int64_t layOutFromPeak(const BlockList &blocks, int64_t peakTime,
                       GetKey getKey) {
  BlockList alive, before, after;
  for (ArenaBlock *block : blocks) {
    bool isBefore = block->end<peakTime, isAfter = block->begin> peakTime;
    (isBefore ? before : isAfter ? after : alive).push_back(block);
  }
  sortBy(alive, getKey);
  int64_t top = 0;
  for (ArenaBlock *block : alive) {
    block->offset = top;
    top += getSize(*block);
  }
  int64_t afterTop = runForward(after, alive, top);
  mirror(blocks);
  int64_t beforeTop = runForward(before, alive, top);
  mirror(blocks);
  return std::max(afterTop, beforeTop);
}

/// A block that has its place: the bytes from `offset` to before `top`.
struct PlacedBlock {
  int64_t offset, top, begin, end;
};

/// Places the blocks in this order, each at the lowest offset that is free
/// during its life. Returns nothing if that takes more than `steps`, which are
/// counted down.
std::optional<int64_t> layOutInOrder(const BlockList &order, int64_t &steps) {
  // By offset. Most of the time goes into this list.
  std::vector<PlacedBlock> placed;
  placed.reserve(order.size());
  int64_t total = 0;
  for (ArenaBlock *block : order) {
    int64_t offset = 0, size = getSize(*block);
    int64_t begin = block->begin, end = block->end;
    for (const PlacedBlock &other : placed) {
      if (--steps < 0)
        return std::nullopt;
      if (other.end < begin || end < other.begin)
        continue;
      if (offset + size <= other.offset)
        break;
      offset = std::max(offset, other.top);
    }
    block->offset = offset;
    PlacedBlock own{offset, offset + size, begin, end};
    auto where = llvm::upper_bound(
        placed, own, [](const PlacedBlock &a, const PlacedBlock &b) {
          return a.offset < b.offset;
        });
    placed.insert(where, own);
    total = std::max(total, own.top);
  }
  return total;
}

/// Lets blocks that end above `bound` choose earlier.
void advance(BlockList &order, int64_t bound) {
  for (size_t i = 0; i < order.size(); ++i)
    if (order[i]->offset + getSize(*order[i]) > bound)
      std::rotate(order.begin() + i / 2, order.begin() + i,
                  order.begin() + i + 1);
}

/// Tries orders and keeps the best.
class Search {
public:
  Search(const BlockList &blocks, ArenaPeak peak)
      : blocks(blocks), peak(peak), maxSteps(500 * blocks.size() + 4000000) {}

  /// Leaves the best layout.
  void run();

private:
  bool tryAll();
  bool note(std::optional<int64_t> bytes);
  template <typename GetKey> bool tryFromPeak(GetKey getKey);
  template <typename GetKey> bool tryPeakFirst(GetKey getKey);
  bool tryArea();
  bool tryInTurn(BlockList order);

  const BlockList &blocks;
  ArenaPeak peak;
  /// For one order, with all its changes.
  int64_t maxSteps;
  int64_t best = -1;
  std::vector<int64_t> offsets;
};

/// Says whether the layout that the blocks have now, if any, is as small as can
/// be.
bool Search::note(std::optional<int64_t> bytes) {
  if (bytes && (offsets.empty() || *bytes < best)) {
    best = *bytes;
    offsets.clear();
    for (const ArenaBlock *block : blocks)
      offsets.push_back(block->offset);
  }
  return best == peak.bytes;
}

template <typename GetKey> bool Search::tryFromPeak(GetKey getKey) {
  return note(layOutFromPeak(blocks, peak.time, getKey));
}

/// Places in this order, which is changed where that did not do.
bool Search::tryInTurn(BlockList order) {
  int64_t steps = maxSteps;
  for (int round = 0; round < kMaxRounds && steps > 0; ++round) {
    if (note(layOutInOrder(order, steps)))
      return true;
    advance(order, peak.bytes);
  }
  return false;
}

template <typename GetKey> bool Search::tryPeakFirst(GetKey getKey) {
  BlockList order, others;
  for (ArenaBlock *block : blocks) {
    bool isAlive = block->begin <= peak.time && peak.time <= block->end;
    (isAlive ? order : others).push_back(block);
  }
  sortBy(order, getKey);
  sortBy(others, [](const ArenaBlock &block) { return -block.bytes; });
  llvm::append_range(order, others);
  return tryInTurn(std::move(order));
}

bool Search::tryArea() {
  BlockList order = blocks;
  sortBy(order, [](const ArenaBlock &block) {
    return -static_cast<double>(block.bytes) * (1 + getLife(block));
  });
  return tryInTurn(std::move(order));
}

bool Search::tryAll() {
  auto byLife = [](const ArenaBlock &block) { return -getLife(block); };
  auto byBegin = [](const ArenaBlock &block) { return block.begin; };
  auto byEnd = [](const ArenaBlock &block) { return -block.end; };
  return tryFromPeak(byLife) || tryFromPeak(byBegin) || tryFromPeak(byEnd) ||
         note(runForward(blocks, {}, 0)) || tryPeakFirst(byLife) ||
         tryPeakFirst(byBegin) || tryPeakFirst(byEnd) || tryArea();
}

void Search::run() {
  if (tryAll())
    return;
  for (auto [block, offset] : llvm::zip(blocks, offsets))
    block->offset = offset;
}

} // namespace

ArenaPeak mlir::weft::findArenaPeak(const std::vector<ArenaBlock> &blocks) {
  // Changes of the bytes that are alive, by time.
  std::vector<std::pair<int64_t, int64_t>> changes;
  for (const ArenaBlock &block : blocks) {
    changes.push_back({block.begin, getSize(block)});
    changes.push_back({block.end + 1, -getSize(block)});
  }
  // What dies goes before what begins at the same time.
  llvm::sort(changes);
  ArenaPeak peak;
  int64_t alive = 0;
  for (auto [time, change] : changes) {
    alive += change;
    if (alive > peak.bytes)
      peak = {alive, time};
  }
  return peak;
}

int64_t mlir::weft::layOutArena(std::vector<ArenaBlock> &all) {
  BlockList blocks;
  for (ArenaBlock &block : all) {
    block.offset = 0;
    if (block.bytes != 0)
      blocks.push_back(&block);
  }
  if (blocks.empty())
    return 0;
  Search(blocks, findArenaPeak(all)).run();
  int64_t bytes = 0;
  for (const ArenaBlock *block : blocks)
    bytes = std::max(bytes, block->offset + getSize(*block));
  return bytes;
}
