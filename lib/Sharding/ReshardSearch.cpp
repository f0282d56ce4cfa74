// SPDX-License-Identifier: Apache-2.0

// Finds the cheapest path of a reshard: A* over the states of ReshardProblem.h.
// The cost of a path is compared by bytes, then collectives, then local steps,
// then by the order in which states were found, so that the result is the same
// everywhere. The estimate of what is still to be received is, for a few ranks,
// what they need and do not hold: no path is cheaper, and it never drops by
// more than a move costs, so a state is done when it is first taken. A problem
// with many moving axes is searched again in a hurry.

#include "ReshardProblem.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <deque>
#include <queue>
#include <unordered_map>

using namespace mlir::weft;
using namespace mlir::weft::reshard;

//===----------------------------------------------------------------------===//
// States and moves
//===----------------------------------------------------------------------===//

int64_t Problem::sizeOf(llvm::ArrayRef<uint8_t> list) const {
  int64_t product = 1;
  for (uint8_t atom : list)
    product *= atoms[atom].size;
  return product;
}

llvm::SmallVector<int64_t, 3>
Problem::dividedExtents(const State &state, int64_t dim, int64_t parts) const {
  llvm::SmallVector<int64_t, 3> candidates;
  if (!state.dims[dim].empty() || !fixed[dim].empty())
    candidates = {state.extents[dim]};
  else
    candidates = {llvm::divideCeilSigned(whole[dim], parts) * parts,
                  toPadded[dim], fromPadded[dim]};
  llvm::SmallVector<int64_t, 3> result;
  for (int64_t extent : candidates)
    if (extent % parts == 0 && !llvm::is_contained(result, extent))
      result.push_back(extent);
  return result;
}

AtomList Problem::partialAtoms(const State &state) const {
  AtomList list;
  for (uint8_t atom : reduced)
    if ((state.partial >> atom) & 1)
      list.push_back(atom);
  return list;
}

bool Problem::mayCombine(llvm::ArrayRef<uint8_t> suffix,
                         size_t numPartial) const {
  return (suffix.size() == numPartial && keptPartial.empty()) ||
         llvm::isPowerOf2_64(sizeOf(suffix));
}

int64_t Problem::bytesOf(int64_t elements) const {
  return llvm::divideCeilSigned(elements * elementBits, 8);
}

int64_t Move::receivingDim() const {
  switch (kind) {
  case ReshardStepKind::AllToAll:
    return splitDim;
  case ReshardStepKind::Slice:
  case ReshardStepKind::ReduceScatter:
    return dim;
  default:
    return -1;
  }
}

int64_t reshard::numElements(llvm::ArrayRef<int64_t> extents) {
  int64_t product = 1;
  for (int64_t extent : extents)
    product *= extent;
  return product;
}

State reshard::applyMove(const Problem &problem, const State &before,
                         const Move &move) {
  State state = before;
  int64_t parts = problem.sizeOf(move.atoms);
  if (int64_t to = move.receivingDim(); to >= 0) {
    state.dims[to].append(move.atoms);
    state.extents[to] = move.padded / parts;
  }
  if (move.kind == ReshardStepKind::AllGather ||
      move.kind == ReshardStepKind::AllToAll) {
    AtomList &atoms = state.dims[move.dim];
    atoms.pop_back_n(move.atoms.size());
    state.extents[move.dim] = atoms.empty() ? problem.whole[move.dim]
                                            : state.extents[move.dim] * parts;
  }
  if (move.kind == ReshardStepKind::ReduceScatter ||
      move.kind == ReshardStepKind::AllReduce)
    for (uint8_t atom : move.atoms)
      state.partial &= ~(uint64_t(1) << atom);
  return state;
}

int64_t reshard::moveBytes(const Problem &problem, const State &before,
                           const Move &move) {
  Extents extents = before.extents;
  if (int64_t to = move.receivingDim(); to >= 0)
    extents[to] = move.padded;
  int64_t elements = numElements(extents);
  int64_t parts = problem.sizeOf(move.atoms);
  switch (move.kind) {
  case ReshardStepKind::AllGather:
    return problem.bytesOf((parts - 1) * elements);
  case ReshardStepKind::AllToAll:
  case ReshardStepKind::ReduceScatter:
    return problem.bytesOf((parts - 1) * (elements / parts));
  case ReshardStepKind::AllReduce:
    return llvm::divideCeilSigned(2 * (parts - 1) * problem.bytesOf(elements),
                                  parts);
  case ReshardStepKind::Permute:
    return problem.bytesOf(elements);
  case ReshardStepKind::Slice:
  case ReshardStepKind::Pad:
  case ReshardStepKind::Unpad:
    return 0;
  }
  llvm_unreachable("all kinds are handled");
}

Path reshard::simplePath(const Problem &problem) {
  Path path;
  State state = problem.from;
  auto take = [&](const Move &move) {
    state = applyMove(problem, state, move);
    path.push_back({move, state});
  };
  Move reduce;
  reduce.kind = ReshardStepKind::AllReduce;
  reduce.atoms = problem.partialAtoms(state);
  if (!reduce.atoms.empty())
    take(reduce);
  auto changes = [&](int64_t dim) {
    return problem.from.dims[dim] != problem.to.dims[dim];
  };
  for (int64_t dim = 0; dim < problem.numDims(); ++dim)
    if (changes(dim) && !state.dims[dim].empty())
      take({ReshardStepKind::AllGather, state.dims[dim], dim, -1, 0});
  for (int64_t dim = 0; dim < problem.numDims(); ++dim)
    if (changes(dim) && !problem.to.dims[dim].empty())
      take({ReshardStepKind::Slice, problem.to.dims[dim], dim, -1,
            problem.toPadded[dim]});
  return path;
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

namespace {

/// More moves than this are not looked at. Shardings with up to four moving
/// axes stay far below.
constexpr size_t kMaxMoves = 30000;

/// How much more than its bytes the estimate counts when the exact search has
/// come to the limit: it then leads quickly to a path that need not be the
/// cheapest.
constexpr int64_t kHurry = 4;

/// As many ranks are asked for the estimate.
constexpr int64_t kMaxProbes = 8;

/// Bytes, collectives, local steps.
using Cost = std::tuple<int64_t, int, int>;

Cost operator+(const Cost &a, const Cost &b) {
  return {std::get<0>(a) + std::get<0>(b), std::get<1>(a) + std::get<1>(b),
          std::get<2>(a) + std::get<2>(b)};
}

struct Node {
  State state;
  Move move; // from the parent
  size_t parent = 0;
  Cost cost;
  int64_t estimate = 0;
  bool done = false;
};

/// Returns a key that is equal for equal states.
std::string keyOf(const State &state) {
  std::string key;
  for (const AtomList &atoms : state.dims) {
    key.append(atoms.begin(), atoms.end());
    key.push_back('\xff');
  }
  auto appendInt = [&](int64_t value) {
    key.append(reinterpret_cast<const char *>(&value), sizeof(value));
  };
  for (int64_t extent : state.extents)
    appendInt(extent);
  appendInt(state.partial);
  return key;
}

/// What a rank holds of a state, per dimension, within `whole`.
using Box = llvm::SmallVector<IndexRange, 4>;

class Search {
public:
  Search(const Problem &problem, int64_t weight)
      : problem(problem), weight(weight) {
    for (size_t atom = 0; atom < problem.atoms.size(); ++atom)
      if (isMoving(atom))
        moving.push_back(atom);
    makeProbes();
  }

  /// Searches. Returns false when it came to the limit before it knew the
  /// cheapest path.
  bool run();

  /// Returns the best path that was found, if any.
  std::optional<Path> bestPath() const;

private:
  //===--- the estimate ---===//

  using Coordinates = llvm::SmallVector<int64_t, 8>;

  void makeProbes();
  Box boxOf(const State &state, const Coordinates &coordinates) const;
  int64_t estimate(const State &state) const;

  //===--- neighbours ---===//

  bool isMoving(uint8_t atom) const;
  /// Returns the moving atoms that neither shard a dimension nor are partial.
  AtomList unusedAtoms(const State &state) const;
  /// Calls `use` for every ordered choice of one or more atoms.
  void forEachSequence(llvm::ArrayRef<uint8_t> pool, AtomList &chosen,
                       llvm::function_ref<void(const AtomList &)> use) const;
  void expand(size_t index);
  void gatherOrExchange(size_t index);
  void sliceOrScatter(size_t index);
  void allReduce(size_t index);
  void combineInOrder(size_t index);
  void permute(size_t index);
  void fillDim(size_t index, int64_t dim, int64_t parts, const AtomList &pool,
               State &next);
  /// Takes a move in all ways of padding the dimension that gets atoms.
  void tryMove(size_t index, Move move);
  /// Notes that the state `next` can be reached by `move`.
  void relax(size_t index, const Move &move, const State &next);

  bool isFull() const { return numMoves >= kMaxMoves; }
  void push(size_t index);

  /// Estimated bytes, then the rest of the cost, then the node.
  using Entry = std::tuple<int64_t, Cost, size_t>;

  const Problem &problem;
  const int64_t weight; // of the estimate
  size_t numMoves = 0;
  AtomList moving;
  llvm::SmallVector<std::pair<Coordinates, Box>, kMaxProbes> probes;
  std::deque<Node> nodes; // references stay valid
  std::unordered_map<std::string, size_t> indexOf;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
};

void Search::makeProbes() {
  int64_t total = problem.sizeOf(moving);
  int64_t count = std::min(total, kMaxProbes);
  for (int64_t probe = 0; probe < count; ++probe) {
    int64_t index = count == 1 ? 0 : probe * (total - 1) / (count - 1);
    Coordinates coordinates(problem.atoms.size(), 0);
    for (uint8_t atom : llvm::reverse(moving)) {
      coordinates[atom] = index % problem.atoms[atom].size;
      index /= problem.atoms[atom].size;
    }
    Box box = boxOf(problem.to, coordinates);
    probes.push_back({coordinates, box});
  }
}

Box Search::boxOf(const State &state, const Coordinates &coordinates) const {
  Box box;
  for (int64_t dim = 0; dim < problem.numDims(); ++dim) {
    int64_t chunk = 0;
    for (uint8_t atom : state.dims[dim])
      chunk = chunk * problem.atoms[atom].size + coordinates[atom];
    int64_t begin = chunk * state.extents[dim];
    box.push_back({std::min(begin, problem.whole[dim]),
                   std::min(begin + state.extents[dim], problem.whole[dim])});
  }
  return box;
}

int64_t Search::estimate(const State &state) const {
  int64_t most = 0;
  for (const auto &[coordinates, needed] : probes) {
    Box held = boxOf(state, coordinates);
    int64_t neededSize = 1, common = 1;
    for (auto [a, b] : llvm::zip(needed, held)) {
      neededSize *= a.size();
      common *= std::max<int64_t>(0, std::min(a.end, b.end) -
                                         std::max(a.begin, b.begin));
    }
    most = std::max(most, neededSize - (state.partial ? 0 : common));
  }
  return most * problem.elementBits / 8;
}

bool Search::isMoving(uint8_t atom) const {
  return llvm::none_of(problem.fixed, [&](const AtomList &list) {
    return llvm::is_contained(list, atom);
  });
}

AtomList Search::unusedAtoms(const State &state) const {
  AtomList unused;
  for (uint8_t atom : moving) {
    bool isUsed = llvm::any_of(state.dims, [&](const AtomList &list) {
      return llvm::is_contained(list, atom);
    });
    if (!isUsed && !((state.partial >> atom) & 1))
      unused.push_back(atom);
  }
  return unused;
}

void Search::forEachSequence(
    llvm::ArrayRef<uint8_t> pool, AtomList &chosen,
    llvm::function_ref<void(const AtomList &)> use) const {
  for (uint8_t atom : pool) {
    if (llvm::is_contained(chosen, atom) || isFull())
      continue;
    chosen.push_back(atom);
    use(chosen);
    forEachSequence(pool, chosen, use);
    chosen.pop_back();
  }
}

void Search::gatherOrExchange(size_t index) {
  const State &state = nodes[index].state;
  for (int64_t dim = 0; dim < problem.numDims(); ++dim) {
    llvm::ArrayRef<uint8_t> atoms = state.dims[dim];
    for (size_t count = 1; count <= atoms.size(); ++count) {
      AtomList suffix(atoms.take_back(count));
      tryMove(index, {ReshardStepKind::AllGather, suffix, dim, -1, 0});
      for (int64_t split = 0; split < problem.numDims(); ++split)
        if (split != dim)
          tryMove(index, {ReshardStepKind::AllToAll, suffix, dim, split, 0});
    }
  }
}

void Search::sliceOrScatter(size_t index) {
  const State &state = nodes[index].state;
  auto tryAll = [&](ReshardStepKind kind, const AtomList &pool) {
    AtomList chosen;
    for (int64_t dim = 0; dim < problem.numDims(); ++dim)
      forEachSequence(pool, chosen, [&](const AtomList &atoms) {
        tryMove(index, {kind, atoms, dim, -1, 0});
      });
  };
  if (!problem.isOrdered)
    tryAll(ReshardStepKind::ReduceScatter, problem.partialAtoms(state));
  tryAll(ReshardStepKind::Slice, unusedAtoms(state));
}

void Search::allReduce(size_t index) {
  uint64_t partial = nodes[index].state.partial;
  // All non-empty subsets of the mask, the whole first.
  for (uint64_t subset = partial; subset && !isFull();
       subset = (subset - 1) & partial) {
    Move move;
    move.kind = ReshardStepKind::AllReduce;
    for (uint8_t atom : moving)
      if ((subset >> atom) & 1)
        move.atoms.push_back(atom);
    tryMove(index, move);
  }
}

/// The minor atoms first: the members of a group are then neighbours in the
/// order in which contributions are to be combined.
void Search::combineInOrder(size_t index) {
  AtomList partial = problem.partialAtoms(nodes[index].state);
  for (size_t count = partial.size(); count > 0; --count) {
    AtomList suffix(llvm::ArrayRef<uint8_t>(partial).take_back(count));
    if (!problem.mayCombine(suffix, partial.size()))
      continue;
    for (int64_t dim = 0; dim < problem.numDims(); ++dim)
      tryMove(index, {ReshardStepKind::ReduceScatter, suffix, dim, -1, 0});
    tryMove(index, {ReshardStepKind::AllReduce, suffix, -1, -1, 0});
  }
}

/// Says whether two states cut all dimensions in the same chunks.
bool isPermutationOf(const Problem &problem, const State &a, const State &b) {
  if (a.partial != b.partial || a.extents != b.extents)
    return false;
  for (auto [listA, listB] : llvm::zip(a.dims, b.dims))
    if (problem.sizeOf(listA) != problem.sizeOf(listB))
      return false;
  return true;
}

/// Permutations keep the number of chunks of each dimension. The one that leads
/// to the target comes first: among many axes the others are not all tried.
void Search::permute(size_t index) {
  const State &state = nodes[index].state;
  if (isPermutationOf(problem, state, problem.to)) {
    Move move;
    move.kind = ReshardStepKind::Permute;
    relax(index, move, problem.to);
  }
  AtomList pool = unusedAtoms(state);
  for (const AtomList &atoms : state.dims)
    pool.append(atoms);
  llvm::sort(pool);
  State next = state;
  for (AtomList &atoms : next.dims)
    atoms.clear();
  fillDim(index, 0,
          problem.sizeOf(state.dims.empty() ? AtomList() : state.dims[0]), pool,
          next);
}

void Search::fillDim(size_t index, int64_t dim, int64_t parts,
                     const AtomList &pool, State &next) {
  if (isFull())
    return;
  const State &state = nodes[index].state;
  if (dim == problem.numDims()) {
    Move move;
    move.kind = ReshardStepKind::Permute;
    if (next.dims != state.dims)
      relax(index, move, next);
    return;
  }
  if (parts == 1) {
    int64_t nextParts =
        dim + 1 < problem.numDims() ? problem.sizeOf(state.dims[dim + 1]) : 1;
    return fillDim(index, dim + 1, nextParts, pool, next);
  }
  for (uint8_t atom : pool) {
    int64_t size = problem.atoms[atom].size;
    if (parts % size != 0)
      continue;
    AtomList rest = pool;
    llvm::erase(rest, atom);
    next.dims[dim].push_back(atom);
    fillDim(index, dim, parts / size, rest, next);
    next.dims[dim].pop_back();
  }
}

void Search::tryMove(size_t index, Move move) {
  const State &state = nodes[index].state;
  int64_t to = move.receivingDim();
  if (to < 0)
    return relax(index, move, applyMove(problem, state, move));
  for (int64_t padded :
       problem.dividedExtents(state, to, problem.sizeOf(move.atoms))) {
    move.padded = padded;
    relax(index, move, applyMove(problem, state, move));
  }
}

/// Returns how many local steps a move needs besides its collective.
int countLocalSteps(const Problem &problem, const State &before,
                    const Move &move, const State &after) {
  int count = !isCollective(move.kind);
  if (int64_t to = move.receivingDim(); to >= 0)
    count += move.padded != before.extents[to];
  if (move.kind == ReshardStepKind::AllGather ||
      move.kind == ReshardStepKind::AllToAll)
    count += before.extents[move.dim] * problem.sizeOf(move.atoms) !=
             after.extents[move.dim];
  return count;
}

void Search::relax(size_t index, const Move &move, const State &next) {
  ++numMoves;
  const Node &node = nodes[index];
  Cost cost =
      node.cost + Cost(moveBytes(problem, node.state, move),
                       isCollective(move.kind),
                       countLocalSteps(problem, node.state, move, next));
  auto [it, isNew] = indexOf.try_emplace(keyOf(next), nodes.size());
  size_t target = it->second;
  if (isNew)
    nodes.push_back({next, move, index, cost, estimate(next), false});
  else if (nodes[target].done || nodes[target].cost <= cost)
    return;
  nodes[target].move = move;
  nodes[target].parent = index;
  nodes[target].cost = cost;
  push(target);
}

void Search::push(size_t index) {
  const Node &node = nodes[index];
  queue.push(
      {std::get<0>(node.cost) + weight * node.estimate, node.cost, index});
}

void Search::expand(size_t index) {
  gatherOrExchange(index);
  sliceOrScatter(index);
  if (problem.isOrdered)
    combineInOrder(index);
  else
    allReduce(index);
  permute(index);
}

std::optional<Path> Search::bestPath() const {
  auto it = indexOf.find(keyOf(problem.to));
  if (it == indexOf.end())
    return std::nullopt;
  Path path;
  for (size_t index = it->second; index != 0; index = nodes[index].parent)
    path.push_back({nodes[index].move, nodes[index].state});
  std::reverse(path.begin(), path.end());
  return path;
}

bool Search::run() {
  nodes.push_back({problem.from, {}, 0, {}, estimate(problem.from), false});
  indexOf[keyOf(problem.from)] = 0;
  push(0);
  while (!queue.empty() && !isFull()) {
    size_t index = std::get<2>(queue.top());
    queue.pop();
    if (nodes[index].done)
      continue;
    nodes[index].done = true;
    if (nodes[index].state == problem.to)
      return true;
    expand(index);
  }
  return false;
}

} // namespace

std::optional<Path> reshard::searchPath(const Problem &problem) {
  Search exact(problem, 1);
  if (exact.run())
    return exact.bestPath();
  Search hurried(problem, kHurry);
  hurried.run();
  return hurried.bestPath();
}
