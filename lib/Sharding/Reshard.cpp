// SPDX-License-Identifier: Apache-2.0

// The reshard planner's front: makes a search problem of two shardings, and
// steps of the path that the search finds.

#include "weft/Sharding/Reshard.h"

#include "ReshardProblem.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <set>

using namespace mlir::weft;
using namespace mlir::weft::reshard;

llvm::StringRef mlir::weft::stringifyReshardStepKind(ReshardStepKind kind) {
  switch (kind) {
  case ReshardStepKind::AllGather:
    return "all_gather";
  case ReshardStepKind::Slice:
    return "slice";
  case ReshardStepKind::AllToAll:
    return "all_to_all";
  case ReshardStepKind::ReduceScatter:
    return "reduce_scatter";
  case ReshardStepKind::AllReduce:
    return "all_reduce";
  case ReshardStepKind::Permute:
    return "permute";
  case ReshardStepKind::Pad:
    return "pad";
  case ReshardStepKind::Unpad:
    return "unpad";
  }
  llvm_unreachable("all kinds are handled");
}

bool mlir::weft::isCollective(ReshardStepKind kind) {
  return kind != ReshardStepKind::Slice && kind != ReshardStepKind::Pad &&
         kind != ReshardStepKind::Unpad;
}

//===----------------------------------------------------------------------===//
// From shardings to a problem
//===----------------------------------------------------------------------===//

namespace {

/// Cuts references in atoms: at every bound of every reference.
class AtomTable {
public:
  /// Notes the bounds of these references.
  void add(llvm::ArrayRef<AxisRef> axes) {
    refs.append(axes.begin(), axes.end());
  }

  /// Makes the atoms. Returns false if bounds do not divide one another.
  bool build() {
    std::set<std::pair<int, int64_t>> bounds;
    for (const AxisRef &ref : refs) {
      bounds.insert({ref.axis, ref.pre});
      bounds.insert({ref.axis, ref.pre * ref.size});
    }
    for (auto it = bounds.begin(); std::next(it) != bounds.end(); ++it) {
      auto [axis, begin] = *it;
      auto [nextAxis, end] = *std::next(it);
      if (axis != nextAxis)
        continue;
      if (end % begin != 0)
        return false;
      AxisRef atom{axis, begin, end / begin};
      if (anyOverlap({atom}, refs))
        atoms.push_back(atom);
    }
    return true;
  }

  /// Returns the atoms of some references that were added.
  AtomList atomsOf(llvm::ArrayRef<AxisRef> axes) const {
    AtomList list;
    for (const AxisRef &ref : axes)
      for (auto [number, atom] : llvm::enumerate(atoms))
        if (ref.contains(atom))
          list.push_back(number);
    return list;
  }

  llvm::SmallVector<AxisRef, 8> atoms;

private:
  AxisList refs;
};

/// Fills in one dimension of a problem.
void addDim(Problem &problem, AtomList from, AtomList to, int64_t size) {
  int64_t fromShards = problem.sizeOf(from), toShards = problem.sizeOf(to);
  int64_t fromChunk = llvm::divideCeilSigned(size, fromShards);
  int64_t toChunk = llvm::divideCeilSigned(size, toShards);
  size_t common = 0;
  // Chunks nest exactly iff they do over the common axes, so all or none.
  if (fromChunk * fromShards == toChunk * toShards)
    while (common < std::min(from.size(), to.size()) &&
           from[common] == to[common])
      ++common;
  AtomList fixed(llvm::ArrayRef<uint8_t>(from).take_front(common));
  int64_t fixedShards = problem.sizeOf(fixed);
  problem.fromPadded.push_back(fromChunk * (fromShards / fixedShards));
  problem.toPadded.push_back(toChunk * (toShards / fixedShards));
  problem.whole.push_back(common ? problem.toPadded.back() : size);
  problem.fixed.push_back(fixed);
  from.erase(from.begin(), from.begin() + common);
  to.erase(to.begin(), to.begin() + common);
  problem.from.dims.push_back(from);
  problem.to.dims.push_back(to);
  problem.from.extents.push_back(fromChunk);
  problem.to.extents.push_back(toChunk);
}

/// Makes the problem of two canonical shardings. Returns nullopt if their
/// sub-axes cannot be cut in common parts.
std::optional<Problem> makeProblem(const Sharding &from, const Sharding &to,
                                   llvm::ArrayRef<int64_t> shape,
                                   int64_t elementBits, bool keepsOrder) {
  AxisList reduced = subtractAxes(from.partial, to.partial);
  AtomTable table;
  for (const Sharding *sharding : {&from, &to})
    for (const AxisList &axes : sharding->dims)
      table.add(axes);
  table.add(reduced);
  if (!table.build())
    return std::nullopt;

  Problem problem;
  problem.atoms = table.atoms;
  problem.keptPartial = to.partial;
  problem.kind = from.kind;
  problem.isOrdered = keepsOrder;
  problem.elementBits = elementBits;
  for (auto [dim, size] : llvm::enumerate(shape))
    addDim(problem, table.atomsOf(from.dims[dim]), table.atomsOf(to.dims[dim]),
           size);
  problem.reduced = table.atomsOf(reduced);
  for (uint8_t atom : problem.reduced)
    problem.from.partial |= uint64_t(1) << atom;
  return problem;
}

//===----------------------------------------------------------------------===//
// From a path to steps
//===----------------------------------------------------------------------===//

/// Replays a path and writes down its steps.
class Emitter {
public:
  explicit Emitter(const Problem &problem)
      : problem(problem), state(problem.from) {}

  ReshardPlan run(const Path &path) {
    for (const PathEdge &edge : path)
      emit(edge);
    return std::move(plan);
  }

private:
  AxisList axesOf(llvm::ArrayRef<uint8_t> atoms) const {
    AxisList axes;
    for (uint8_t atom : atoms)
      axes.push_back(problem.atoms[atom]);
    return axes;
  }

  Sharding shardingOf(const State &s) const;
  void push(ReshardStep step);
  void resize(int64_t dim, int64_t extent);
  void emit(const PathEdge &edge);
  void makePermute(const State &after, ReshardStep &step) const;
  AtomList permutedAtoms(const State &after) const;

  const Problem &problem;
  State state; // after the last step
  ReshardPlan plan;
};

Sharding Emitter::shardingOf(const State &s) const {
  Sharding sharding;
  for (int64_t dim = 0; dim < problem.numDims(); ++dim) {
    AxisList axes = axesOf(problem.fixed[dim]);
    axes.append(axesOf(s.dims[dim]));
    sharding.dims.push_back(axes);
  }
  sharding.partial = problem.keptPartial;
  sharding.partial.append(axesOf(problem.partialAtoms(s)));
  sharding.kind = problem.kind;
  return problem.isOrdered ? sharding.canonical() : sharding.unordered();
}

void Emitter::push(ReshardStep step) {
  step.sharding = shardingOf(state);
  step.localShape = state.extents;
  plan.push_back(std::move(step));
}

/// Changes the local extent of a dimension. Two changes in a row are one.
void Emitter::resize(int64_t dim, int64_t extent) {
  if (!plan.empty() && plan.back().dim == dim &&
      plan.back().kind == ReshardStepKind::Unpad) {
    plan.pop_back();
    state.extents[dim] = plan.back().localShape[dim];
  }
  if (state.extents[dim] == extent)
    return;
  ReshardStep step;
  step.kind = state.extents[dim] < extent ? ReshardStepKind::Pad
                                          : ReshardStepKind::Unpad;
  step.dim = dim;
  state.extents[dim] = extent;
  push(std::move(step));
}

void Emitter::emit(const PathEdge &edge) {
  const Move &move = edge.move;
  ReshardStep step;
  step.kind = move.kind;
  step.dim = move.dim;
  step.splitDim = move.splitDim;
  step.reduction = problem.kind;
  step.bytes = moveBytes(problem, state, move);
  step.axes = canonicalAxes(axesOf(move.atoms));
  if (move.kind == ReshardStepKind::Permute)
    makePermute(edge.after, step);
  if (int64_t to = move.receivingDim(); to >= 0)
    resize(to, move.padded);

  int64_t grown = -1; // what a gather makes, before it is cut to the whole
  if (move.kind == ReshardStepKind::AllGather ||
      move.kind == ReshardStepKind::AllToAll)
    grown = state.extents[move.dim] * problem.sizeOf(move.atoms);
  state = edge.after;
  if (grown >= 0)
    state.extents[move.dim] = grown;
  push(std::move(step));
  if (grown >= 0)
    resize(move.dim, edge.after.extents[move.dim]);
}

/// Returns the atoms along which a permutation moves data: those that stand,
/// in a dimension, between the common first and the common last ones.
AtomList Emitter::permutedAtoms(const State &after) const {
  AtomList group;
  for (auto [before, next] : llvm::zip(state.dims, after.dims)) {
    llvm::ArrayRef<uint8_t> a = before, b = next;
    while (!a.empty() && !b.empty() && a.front() == b.front()) {
      a = a.drop_front();
      b = b.drop_front();
    }
    while (!a.empty() && !b.empty() && a.back() == b.back()) {
      a = a.drop_back();
      b = b.drop_back();
    }
    group.append(a.begin(), a.end());
    group.append(b.begin(), b.end());
  }
  llvm::sort(group);
  group.erase(llvm::unique(group), group.end());
  return group;
}

/// Coordinates per atom.
using Coordinates = llvm::SmallVector<int64_t, 8>;

int64_t encode(const Problem &problem, llvm::ArrayRef<uint8_t> atoms,
               const Coordinates &coordinates) {
  int64_t index = 0;
  for (uint8_t atom : atoms)
    index = index * problem.atoms[atom].size + coordinates[atom];
  return index;
}

void decode(const Problem &problem, llvm::ArrayRef<uint8_t> atoms,
            int64_t index, Coordinates &coordinates) {
  for (uint8_t atom : llvm::reverse(atoms)) {
    coordinates[atom] = index % problem.atoms[atom].size;
    index /= problem.atoms[atom].size;
  }
}

/// Returns the atoms that shard a dimension in `a` and none in `b`, sorted.
AtomList onlyIn(const State &a, const State &b) {
  AtomList used, other;
  for (const AtomList &atoms : a.dims)
    used.append(atoms);
  for (const AtomList &atoms : b.dims)
    other.append(atoms);
  llvm::erase_if(used, [&](uint8_t x) { return llvm::is_contained(other, x); });
  llvm::sort(used);
  return used;
}

/// A member needs the chunk that its coordinates name after the permutation;
/// its source is the member whose coordinates name that chunk now. Coordinates
/// that do not count now are taken from those that do not count afterwards, so
/// that every member is the source of one.
void Emitter::makePermute(const State &after, ReshardStep &step) const {
  AtomList group = permutedAtoms(after);
  AtomList outgoing = onlyIn(state, after), incoming = onlyIn(after, state);
  int64_t members = problem.sizeOf(group);
  for (int64_t member = 0; member < members; ++member) {
    Coordinates own(problem.atoms.size(), 0);
    decode(problem, group, member, own);
    Coordinates source = own;
    for (int64_t dim = 0; dim < problem.numDims(); ++dim)
      decode(problem, state.dims[dim], encode(problem, after.dims[dim], own),
             source);
    decode(problem, incoming, encode(problem, outgoing, own), source);
    step.sources.push_back(encode(problem, group, source));
  }
  step.axes = canonicalAxes(axesOf(group));
}

ReshardPlan planCanonical(const Sharding &from, const Sharding &to,
                          llvm::ArrayRef<int64_t> shape, int64_t elementBits,
                          bool keepsOrder) {
  std::optional<Problem> problem =
      makeProblem(from, to, shape, elementBits, keepsOrder);
  if (problem) {
    std::optional<Path> path = searchPath(*problem);
    return Emitter(*problem).run(path ? *path : simplePath(*problem));
  }
  // Sub-axes without common parts: through the whole tensor.
  Sharding middle = Sharding::replicated(from.rank());
  middle.partial = to.partial;
  middle.kind = to.kind;
  ReshardPlan plan =
      planCanonical(from, middle, shape, elementBits, keepsOrder);
  plan.append(planCanonical(middle, to, shape, elementBits, keepsOrder));
  return plan;
}

/// Says whether it matters in which order such contributions are combined.
bool hasOrder(Reduction kind) {
  return kind == Reduction::Sum || kind == Reduction::Prod;
}

/// Says whether contributions over `from` may be combined until those over
/// `kept` are left: the major axes stay, and what is combined is subtrees.
bool canKeepInOrder(llvm::ArrayRef<AxisRef> from,
                    llvm::ArrayRef<AxisRef> kept) {
  AxisList rest = subtractAxes(from, kept);
  AxisList joined(kept.begin(), kept.end());
  llvm::append_range(joined, rest);
  return canonicalAxes(joined) == AxisList(from) &&
         (kept.empty() || llvm::isPowerOf2_64(numShards(rest)));
}

} // namespace

//===----------------------------------------------------------------------===//
// Interface
//===----------------------------------------------------------------------===//

std::string mlir::weft::canReshard(const Sharding &from, const Sharding &to,
                                   const Mesh &mesh, bool keepsOrder) {
  Sharding a = from.canonical(), b = to.canonical();
  std::string text;
  llvm::raw_string_ostream os(text);
  if (a.rank() != b.rank()) {
    os << "cannot reshard " << a.rank() << " dimensions to " << b.rank();
    return text;
  }
  for (const AxisRef &ref : b.partial) {
    bool isKept = llvm::any_of(
        a.partial, [&](const AxisRef &held) { return held.contains(ref); });
    if (isKept && a.kind == b.kind)
      continue;
    os << "cannot make a value partial: " << stringifyReduction(b.kind)
       << " over ";
    mesh.print(os, ref);
    os << " is not in the source " << a.str(mesh);
    return text;
  }
  if (keepsOrder && hasOrder(a.kind) && !canKeepInOrder(a.partial, b.partial))
    os << "cannot combine " << a.str(mesh) << " to " << b.str(mesh)
       << ": its order would change";
  return text;
}

ReshardPlan mlir::weft::planReshard(const Sharding &from, const Sharding &to,
                                    llvm::ArrayRef<int64_t> globalShape,
                                    int64_t elementBits, const Mesh &mesh,
                                    bool keepsOrder) {
  if (from.isSameLayout(to))
    return {};
  if (keepsOrder && hasOrder(from.kind))
    return planCanonical(from.canonical(), to.canonical(), globalShape,
                         elementBits, true);
  return planCanonical(from.unordered(), to.unordered(), globalShape,
                       elementBits, false);
}

int64_t mlir::weft::planBytes(llvm::ArrayRef<ReshardStep> plan) {
  int64_t bytes = 0;
  for (const ReshardStep &step : plan)
    bytes += step.bytes;
  return bytes;
}

void mlir::weft::printStep(llvm::raw_ostream &os, const ReshardStep &step,
                           const Mesh &mesh) {
  os << stringifyReshardStepKind(step.kind);
  if (step.kind == ReshardStepKind::ReduceScatter ||
      step.kind == ReshardStepKind::AllReduce)
    os << ' ' << stringifyReduction(step.reduction);
  if (!step.axes.empty()) {
    os << ' ';
    mesh.print(os, step.axes);
  }
  if (step.splitDim >= 0)
    os << " split " << step.splitDim << " concat " << step.dim;
  else if (step.dim >= 0)
    os << " dim " << step.dim;
  if (!step.sources.empty()) {
    os << " sources [";
    llvm::interleaveComma(step.sources, os);
    os << ']';
  }
  os << " -> " << step.sharding.str(mesh) << ", local ";
  if (step.localShape.empty())
    os << "scalar";
  llvm::interleave(step.localShape, os, "x");
  os << ", " << step.bytes << " bytes";
}

/// Returns the step that combines the contributions of one rank, which moves
/// nothing; nullopt if there are none, or their tree has other ranks' between.
std::optional<ReshardStep>
ReshardPlanner::joinRounds(const Sharding &from, const Sharding &to,
                           llvm::ArrayRef<int64_t> globalShape,
                           Elements elements) const {
  AxisList serial = llvm::filter_to_vector<4>(
      subtractAxes(from.partial, to.partial),
      [&](const AxisRef &axis) { return isSerial(axis); });
  Sharding joined = from;
  joined.partial = subtractAxes(from.partial, serial);
  if (serial.empty() || !canReshard(from, joined, elements).empty())
    return std::nullopt;
  ReshardStep step;
  step.kind = ReshardStepKind::AllReduce;
  step.axes = canonicalAxes(serial);
  step.reduction = from.kind;
  joined.storage.clear();
  step.sharding = joined.canonical().closed();
  step.localShape = from.localShape(globalShape);
  return step;
}

ReshardPlan ReshardPlanner::makePlan(const Sharding &from, const Sharding &to,
                                     llvm::ArrayRef<int64_t> globalShape,
                                     Elements elements) const {
  std::optional<ReshardStep> join = joinRounds(from, to, globalShape, elements);
  ReshardPlan rest = planReshard(join ? join->sharding : from, to, globalShape,
                                 elements.bits, mesh, keepsOrderOf(elements));
  if (join)
    rest.insert(rest.begin(), *join);
  return rest;
}

const ReshardPlan &ReshardPlanner::plan(const Sharding &from,
                                        const Sharding &to,
                                        llvm::ArrayRef<int64_t> globalShape,
                                        Elements elements) {
  Key key(from, to,
          llvm::SmallVector<int64_t, 4>(globalShape.begin(), globalShape.end()),
          elements);
  auto it = plans.find(key);
  if (it == plans.end()) {
    ReshardPlan made = makePlan(from, to, globalShape, elements);
    it = plans.emplace(std::move(key), std::move(made)).first;
  }
  return it->second;
}

int64_t ReshardPlanner::countRounds(llvm::ArrayRef<AxisRef> axes) const {
  bool hasSerial =
      llvm::any_of(axes, [&](const AxisRef &axis) { return isSerial(axis); });
  return hasSerial ? mesh.axisSize(serialAxis) : 1;
}

/// Additions of one rank move nothing. They count half the bytes of the sum all
/// the same: of two types the narrower one is summed, and a table's rows are
/// rather updated once. As many for any number of summands, so that choices do
/// not depend on it.
static int64_t countAdditions(const ReshardStep &step, Elements elements) {
  int64_t bits = elements.bits;
  for (int64_t size : step.localShape)
    bits *= size;
  return bits / 8 / 2;
}

int64_t ReshardPlanner::countBytes(const ReshardStep &step,
                                   Elements elements) const {
  if (step.kind == ReshardStepKind::AllReduce &&
      llvm::all_of(step.axes, [&](auto &axis) { return isSerial(axis); }))
    return countAdditions(step, elements);
  if (countRounds(step.axes) > 1)
    return step.bytes;
  int64_t rounds = countRounds(step.sharding.partial);
  for (const AxisList &axes : step.sharding.dims)
    rounds = std::max(rounds, countRounds(axes));
  return step.bytes * rounds;
}

int64_t ReshardPlanner::countBytes(const ReshardPlan &plan,
                                   Elements elements) const {
  int64_t bytes = 0;
  for (const ReshardStep &step : plan)
    bytes += countBytes(step, elements);
  return bytes;
}

/// Returns how many elements a rank needs for `to` and has not with `from`.
static int64_t countMissing(const Mesh &mesh, int64_t rank,
                            const Sharding &from, const Sharding &to,
                            llvm::ArrayRef<int64_t> shape) {
  int64_t needed = 1,
          held = canonicalAxisSet(from.partial) == canonicalAxisSet(to.partial);
  for (auto [dim, size] : llvm::enumerate(shape)) {
    IndexRange a = to.range(mesh, rank, dim, size);
    IndexRange b = from.range(mesh, rank, dim, size);
    needed *= a.size();
    held *= std::max<int64_t>(0, std::min(a.end, b.end) -
                                     std::max(a.begin, b.begin));
  }
  return needed - held;
}

int64_t ReshardPlanner::costAtLeast(const Sharding &from, const Sharding &to,
                                    llvm::ArrayRef<int64_t> globalShape,
                                    Elements elements) const {
  auto it = plans.find(
      Key(from, to,
          llvm::SmallVector<int64_t, 4>(globalShape.begin(), globalShape.end()),
          elements));
  if (it != plans.end())
    return countBytes(it->second, elements);
  Sharding joined = from;
  llvm::erase_if(joined.partial, [&](const AxisRef &axis) {
    return isSerial(axis) && !anyOverlap(to.partial, axis);
  });
  constexpr int64_t kMaxProbes = 4;
  int64_t ranks = mesh.numRanks(), probes = std::min(ranks, kMaxProbes);
  int64_t most = 0;
  for (int64_t probe = 0; probe < probes; ++probe)
    most = std::max(most, countMissing(mesh, probe * ranks / probes, joined, to,
                                       globalShape));
  return most * elements.bits / 8;
}
