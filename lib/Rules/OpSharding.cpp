// SPDX-License-Identifier: Apache-2.0

// The choice of an op's sharding, by enumeration.
//
// The axes that any tensor of the op has, or is wished to have, are cut into
// atoms: parts that no tensor cuts further. An atom goes to one of the factors
// on which some tensor has it, or to none. A few atoms with a few factors each
// are enumerated; more are improved one at a time from a first assignment.

#include "weft/Rules/OpSharding.h"

#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Rules/ReductionOrder.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <limits>
#include <map>
#include <numeric>
#include <set>

using namespace mlir;
using namespace mlir::weft;

//===----------------------------------------------------------------------===//
// Atoms
//===----------------------------------------------------------------------===//

namespace {

/// A part of an axis, and the factors that it may shard.
struct Atom {
  AxisRef axis;
  SmallVector<int, 2> factors;
};

bool isLookupOrContraction(Operation *op) {
  return getComputeClass(op) != ComputeClass::Other;
}

/// Touches rows of a table.
bool isLookup(Operation *op) {
  ComputeClass computes = getComputeClass(op);
  return computes == ComputeClass::Lookup ||
         computes == ComputeClass::RowUpdate;
}

bool isContraction(Operation *op) {
  return getComputeClass(op) == ComputeClass::Contraction;
}

/// Says whether some sharding of the tensor has the axis on the factor.
bool carries(const OpView &view, const TensorView &tensor, const AxisRef &axis,
             int factor) {
  auto hasAxis = [&](const Sharding &sharding) {
    FactorSharding own =
        projectToFactors(*view.rule, *tensor.factors, sharding);
    return anyOverlap(own.axes[factor], axis);
  };
  return llvm::any_of(tensor.sources, hasAxis) ||
         (tensor.wish && hasAxis(*tensor.wish));
}

bool hasFactor(const TensorView &tensor, int factor) {
  return llvm::any_of(*tensor.factors, [&](const DimFactors &dim) {
    return llvm::is_contained(dim, factor);
  });
}

/// Says whether all uses of the op's results are lookups and contractions, of
/// the results as they are or in another shape.
bool isForContractions(Operation *op) {
  return llvm::all_of(op->getUsers(), [](Operation *user) {
    return isLookupOrContraction(user) ||
           (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(user) &&
            isForContractions(user));
  });
}

/// Says whether the op makes the elements of a weight wider, for contractions
/// and lookups only: then the narrow weight is to be gathered.
bool widensGatheredWeight(const OpView &view) {
  if (view.results.size() != 1 || !view.results[0].type ||
      !isForContractions(view.op))
    return false;
  int64_t bits = getElementBits(view.results[0].type);
  return llvm::any_of(view.operands, [&](const TensorView &tensor) {
    return tensor.isWeight && getElementBits(tensor.type) < bits;
  });
}

/// A storage axis may shard compute if no operand has to move for it. Lookups
/// may use any: to bring tokens together can be cheaper than a table.
bool mayUseStorageAxis(const OpView &view, const AxisRef &axis, int factor) {
  if (isLookup(view.op))
    return !view.isAccumulated;
  if (isContraction(view.op) || widensGatheredWeight(view))
    return false;
  return llvm::all_of(view.operands, [&](const TensorView &tensor) {
    if (!tensor.type || tensor.isFree || tensor.factors->empty())
      return true;
    if (hasFactor(tensor, factor))
      return carries(view, tensor, axis, factor);
    return !anyOverlap(tensor.sources[0].withoutStorage().usedAxes(), axis);
  });
}

/// Collects the axes that the op's tensors have on its factors.
class AtomCollector {
public:
  explicit AtomCollector(const OpView &view) : view(view) {}

  /// Returns the atoms; per factor, `order` has those that may shard it, in
  /// the order in which the first tensor has them.
  SmallVector<Atom> run(SmallVectorImpl<AxisList> &order);

private:
  void addTensor(const TensorView &tensor, const Sharding &sharding);
  void cutAtLeaves(const FactorSharding &sharding);
  AxisList cut(const AxisRef &axis) const;

  const OpView &view;
  SmallVector<FactorSharding, 0> suggestions;
  /// Per mesh axis, where some tensor cuts it.
  std::map<int, std::set<int64_t>> cuts;
};

void AtomCollector::addTensor(const TensorView &tensor,
                              const Sharding &sharding) {
  Sharding usable = sharding;
  if (!sharding.storage.empty()) {
    FactorSharding all =
        projectToFactors(*view.rule, *tensor.factors, sharding);
    AxisList unusable;
    for (const AxisRef &axis : sharding.storage)
      for (auto [factor, axes] : llvm::enumerate(all.axes))
        if (anyOverlap(axes, axis) && !mayUseStorageAxis(view, axis, factor))
          unusable.push_back(axis);
    usable = sharding.withoutAxes(unusable);
  }
  suggestions.push_back(projectToFactors(*view.rule, *tensor.factors, usable));
  for (const AxisList &axes : suggestions.back().axes)
    for (const AxisRef &axis : axes)
      cuts[axis.axis].insert({axis.pre, axis.pre * axis.size});
  cutAtLeaves(suggestions.back());
}

/// Where axes cut a sum in more parts than its order allows, some of the parts
/// may be gathered and the others kept.
void AtomCollector::cutAtLeaves(const FactorSharding &sharding) {
  if (!view.rule->order)
    return;
  const SumOrder &order = *view.rule->order;
  int64_t left = order.leaves;
  for (int loop : order.loops)
    for (const AxisRef &axis : sharding.axes[loop]) {
      int64_t common = std::gcd(left, axis.size);
      if (common > 1)
        cuts[axis.axis].insert(axis.pre * common);
      if (common != axis.size)
        return;
      left /= common;
    }
}

/// Says whether contributions to the tensor have to be joined before the op.
bool mustBeJoined(const TensorView &tensor) {
  return tensor.type && !tensor.isFree && tensor.sources[0].isPartial() &&
         !tensor.mayStayPartial;
}

/// Says whether the op may work on the parts in which contributions to its
/// operands are joined: then what it makes is gathered, and not each of what it
/// takes. That pays where it takes several, or makes narrower elements.
bool worksOnParts(const OpView &view) {
  if (!getInvariance(view.op) || view.results.size() != 1 ||
      !view.results[0].type)
    return false;
  int64_t bits = getElementBits(view.results[0].type), count = 0;
  for (const TensorView &tensor : view.operands) {
    bool isJoined = mustBeJoined(tensor);
    if (isJoined && getElementBits(tensor.type) > bits)
      return true;
    count += isJoined || !tensor.scattered.empty();
  }
  return count > 1;
}

/// Returns the sharding of a tensor of contributions that are joined where the
/// ranks then hold equal parts of its first dimension that allows it.
std::optional<Sharding> getScattered(const TensorView &tensor) {
  Sharding scattered = tensor.sources[0].resolved();
  for (int64_t dim = 0; dim < scattered.rank(); ++dim) {
    AxisList &axes = scattered.dims[dim];
    llvm::append_range(axes, tensor.sources[0].partial);
    if (tensor.type.getDimSize(dim) % numShards(axes) == 0)
      return scattered;
    axes = tensor.sources[0].dims[dim];
  }
  return std::nullopt;
}

/// Returns the axes that cut the rows of updates: what is summed.
AxisList getRowAxes(const OpView &view) {
  AxisList axes;
  auto scatter = dyn_cast<ScatterAddOp>(view.op);
  if (!scatter || view.operands[2].sources.empty() ||
      (view.isAccumulated && !view.rule->order))
    return axes;
  // The rule's first factors are the dims of the updates.
  FactorSharding own =
      projectToFactors(*view.rule, *view.operands[2].factors,
                       view.operands[2].sources[0].withoutStorage());
  for (unsigned dim = 0; dim < scatter.getTableMap().getNumDims(); ++dim)
    if (!scatter.getTableMap().isFunctionOfDim(dim))
      llvm::append_range(axes, own.axes[dim]);
  return axes;
}

/// Such axes may cut what is added to each row instead: those first that rows
/// are wished to be cut by. Returns the sharding of the updates for that.
std::optional<Sharding> getCutAcross(const OpView &view) {
  AxisList axes = getRowAxes(view);
  if (axes.empty())
    return std::nullopt;
  const TensorView &updates = view.operands[2];
  AffineMap tableMap = cast<ScatterAddOp>(view.op).getTableMap();
  int64_t across = updates.type.getRank() - 1;
  while (across >= 0 && !tableMap.isFunctionOfDim(across))
    --across;
  if (across < 0)
    return std::nullopt;
  AxisList wished;
  if (const std::optional<Sharding> &wish = view.results[0].wish)
    wished = wish->usedAxes();
  llvm::stable_sort(axes, [&](const AxisRef &a, const AxisRef &b) {
    return anyOverlap(wished, a) && !anyOverlap(wished, b);
  });
  Sharding cut = updates.sources[0].resolved().withoutAxes(axes);
  AxisList &list = cut.dims[across];
  for (const AxisRef &axis : axes) {
    list.push_back(axis);
    if (updates.type.getDimSize(across) % numShards(list) != 0)
      list.pop_back();
  }
  return cut;
}

/// Returns the axes that shard dims of a tensor which the op cuts, pads or
/// joins, and so needs whole.
AxisList getCutAxes(const OpView &view, const TensorView &tensor) {
  AxisList axes;
  if (!isa<tensor::ExtractSliceOp, tensor::PadOp, tensor::ConcatOp>(view.op) ||
      !tensor.type || tensor.isFree || tensor.sources.empty())
    return axes;
  for (auto [factors, list] :
       llvm::zip_equal(*tensor.factors, tensor.sources[0].dims))
    if (factors.size() == 1 &&
        view.rule->factors[factors[0]].kind == FactorKind::Replicated)
      llvm::append_range(axes, list);
  return axes;
}

/// Such axes may shard another dim meanwhile: tensors are exchanged there and
/// back, and not gathered. Returns a sharding of the tensor for each such dim;
/// those come first that nothing shards.
SmallVector<Sharding, 0> getExchanged(const OpView &view,
                                      const TensorView &tensor) {
  SmallVector<Sharding, 0> ways, others;
  AxisList axes = getCutAxes(view, tensor);
  if (axes.empty())
    return ways;
  Sharding rest = tensor.sources[0].resolved().withoutAxes(axes);
  for (auto [dim, factors] : llvm::enumerate(*tensor.factors)) {
    if (factors.size() != 1 ||
        view.rule->factors[factors[0]].kind != FactorKind::Parallel)
      continue;
    Sharding moved = rest;
    llvm::append_range(moved.dims[dim], axes);
    if (tensor.type.getDimSize(dim) % numShards(moved.dims[dim]) == 0)
      (rest.dims[dim].empty() ? ways : others).push_back(moved);
  }
  llvm::append_range(ways, others);
  return ways;
}

/// Returns the axes that an op may use on other dims than its operands do, to
/// move fewer bytes: what is made is not to keep them unless that is wished.
AxisList getMovedAxes(const OpView &view) {
  AxisList axes = getRowAxes(view);
  for (const TensorView &tensor : view.operands)
    llvm::append_range(axes, getCutAxes(view, tensor));
  return axes;
}

/// Cuts an axis into atoms.
AxisList AtomCollector::cut(const AxisRef &axis) const {
  AxisList atoms;
  int64_t end = axis.pre * axis.size;
  int64_t begin = axis.pre;
  for (int64_t next : cuts.at(axis.axis)) {
    if (next <= begin || next > end)
      continue;
    // Cuts that do not nest leave the axis whole.
    if (next % begin != 0 || end % next != 0)
      return {axis};
    atoms.push_back({axis.axis, begin, next / begin});
    begin = next;
  }
  return atoms;
}

SmallVector<Atom> AtomCollector::run(SmallVectorImpl<AxisList> &order) {
  SmallVector<const TensorView *> tensors;
  for (const TensorView &tensor : view.operands)
    if (tensor.type && !tensor.isFree)
      tensors.push_back(&tensor);
  llvm::stable_sort(tensors, [](const TensorView *a, const TensorView *b) {
    return a->type.getNumElements() > b->type.getNumElements();
  });
  bool onParts = worksOnParts(view);
  for (const TensorView *tensor : tensors)
    for (const Sharding &source : tensor->sources)
      addTensor(*tensor,
                onParts ? source : source.withoutAxes(tensor->scattered));
  for (const TensorView &tensor : view.results)
    if (tensor.wish)
      addTensor(tensor, *tensor.wish);
  for (const TensorView *tensor : tensors)
    if (tensor->wish)
      addTensor(*tensor, *tensor->wish);
  for (const TensorView *tensor : tensors)
    if (onParts && mustBeJoined(*tensor))
      if (std::optional<Sharding> scattered = getScattered(*tensor))
        addTensor(*tensor, *scattered);
  if (std::optional<Sharding> across = getCutAcross(view))
    addTensor(view.operands[2], *across);
  for (const TensorView *tensor : tensors)
    for (const Sharding &exchanged : getExchanged(view, *tensor))
      addTensor(*tensor, exchanged);

  SmallVector<Atom> atoms;
  order.assign(view.rule->factors.size(), {});
  for (const FactorSharding &suggestion : suggestions)
    for (auto [factor, axes] : llvm::enumerate(suggestion.axes))
      for (const AxisRef &axis : axes)
        for (const AxisRef &part : cut(axis)) {
          if (!llvm::is_contained(order[factor], part))
            order[factor].push_back(part);
          auto *it = llvm::find_if(
              atoms, [&](const Atom &atom) { return atom.axis == part; });
          if (it == atoms.end())
            it = &atoms.emplace_back(Atom{part, {}});
          if (!llvm::is_contained(it->factors, static_cast<int>(factor)))
            it->factors.push_back(factor);
        }
  return atoms;
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

struct Cost {
  double moved = 0;
  double computed = 0;
  double touched = 0;

  double total() const { return moved + computed + touched; }
};

class Chooser {
public:
  Chooser(const OpView &view, ReshardPlanner &planner)
      : view(view), planner(planner), atoms(AtomCollector(view).run(order)),
        movedAxes(getMovedAxes(view)), isKept(view.operands.size(), false),
        isTooFine(view.isAccumulated && isCutTooFine()) {}

  OpSharding run();

private:
  /// Per atom the position of its factor in `Atom::factors`, or -1.
  using Assignment = SmallVector<int, 4>;

  /// How bytes moved are found: by a plan, or by what no plan goes below.
  enum class Measure { Plan, Bound };

  std::optional<Cost> evaluate(const Assignment &assignment, OpSharding &choice,
                               double limit) const;
  bool makeChoice(const Assignment &assignment, OpSharding &choice) const;
  double getMoveCost(const TensorView &tensor, const Sharding &from,
                     const Sharding &to, Measure measure) const;
  double getOperandCost(unsigned index, const OpSharding &choice,
                        Measure measure) const;
  double getResultCost(unsigned index, const OpSharding &choice,
                       Measure measure) const;
  void addWork(const OpSharding &choice, Cost &cost) const;

  bool findKept();
  bool keepJoined();
  std::optional<Cost> search(OpSharding &best);
  std::optional<Cost> searchApart(OpSharding &best);
  bool mustStayApart(const Atom &atom) const;
  bool isCutTooFine() const;
  void enumerate(OpSharding &best, std::optional<Cost> &bestCost);
  void improve(OpSharding &best, std::optional<Cost> &bestCost);
  bool consider(const Assignment &assignment, OpSharding &best,
                std::optional<Cost> &bestCost) const;
  void setLimit();

  const OpView &view;
  ReshardPlanner &planner;
  SmallVector<AxisList> order;
  SmallVector<Atom> atoms;
  /// What they shard in another dim is gathered unless it is wished.
  AxisList movedAxes;
  /// Contributions that are to be kept by what is searched now.
  AxisList kept;
  Reduction keptKind = Reduction::Sum;
  SmallVector<bool, 4> isKept;
  /// Whether microbatches may not be gathered.
  bool keepsApart = false;
  /// Whether they have to be, or ranks' parts.
  bool isTooFine;
  /// Some assignment costs no more.
  double limit = std::numeric_limits<double>::infinity();
};

/// What a plan moves between microbatches of one rank.
int64_t getLocalBytes(const ReshardPlanner &planner, const ReshardPlan &plan) {
  int64_t bytes = 0;
  auto isSerial = [&](const AxisRef &axis) { return planner.isSerial(axis); };
  for (const ReshardStep &step : plan)
    bytes += llvm::all_of(step.axes, isSerial) ? step.bytes : 0;
  return bytes;
}

double Chooser::getMoveCost(const TensorView &tensor, const Sharding &from,
                            const Sharding &to, Measure measure) const {
  if (from.isSameLayout(to))
    return 0;
  ArrayRef<int64_t> shape = tensor.type.getShape();
  Elements elements = getElements(tensor.type);
  if (isTooFine)
    return planner.cost(from, to, shape, elements) -
           getLocalBytes(planner, planner.plan(from, to, shape, elements));
  return measure == Measure::Plan
             ? planner.cost(from, to, shape, elements)
             : planner.costAtLeast(from, to, shape, elements);
}

/// Gathering a weight from where it rests is free of the penalty.
double getWeightFactor(const TensorView &tensor, const Sharding &from,
                       const Sharding &to) {
  bool isGather = from.withoutStorage().isSameLayout(to);
  return tensor.isWeight && !isGather ? kWeightMoveFactor : 1;
}

double Chooser::getOperandCost(unsigned index, const OpSharding &choice,
                               Measure measure) const {
  const TensorView &tensor = view.operands[index];
  if (!tensor.type || tensor.isFree)
    return 0;
  Sharding needed = getNeeded(view, choice, index);
  std::optional<double> best;
  for (const Sharding &source : tensor.sources) {
    if (needed.isPartial() &&
        !planner.canReshard(source, needed, getElements(tensor.type)).empty())
      continue;
    double cost = getMoveCost(tensor, source, needed, measure) *
                  getWeightFactor(tensor, source, needed);
    // The other uses of a resolved value share the cost.
    if (source.isPartial() && !needed.isPartial())
      cost /= std::max<int64_t>(1, tensor.numUses);
    best = best ? std::min(*best, cost) : cost;
  }
  return best.value_or(0);
}

/// Lets `target` keep the parts that `made` has of it over some of the axes.
void keepParts(const Sharding &made, const AxisList &axes, Sharding &target) {
  if (axes.empty())
    return;
  for (auto [mine, wanted] : llvm::zip_equal(made.dims, target.dims)) {
    AxisList parts = subtractAxes(mine, wanted);
    AxisList all = wanted;
    llvm::append_range(all, parts);
    if (canonicalAxes(all) == canonicalAxes(mine) &&
        subtractAxes(parts, axes).empty())
      wanted = mine;
  }
}

double Chooser::getResultCost(unsigned index, const OpSharding &choice,
                              Measure measure) const {
  const TensorView &tensor = view.results[index];
  if (!tensor.type)
    return 0;
  Sharding made = getMade(view, choice, index);
  Sharding target = getTarget(tensor.wish, made.withoutAxes(movedAxes));
  keepParts(made, tensor.joinedWith, target);
  double cost = getMoveCost(tensor, made, target, measure);
  if (!made.isPartial())
    return cost;
  bool isPaidFor =
      llvm::any_of(tensor.knownSummands, [&](const Sharding &other) {
        return made.isSameLayout(other);
      });
  return isPaidFor ? 0 : cost / (1 + tensor.numOpenSummands);
}

/// Adds the rank's share of the work.
void Chooser::addWork(const OpSharding &choice, Cost &cost) const {
  double iterations = 1;
  int64_t rounds = 1;
  for (auto [factor, axes] :
       llvm::zip_equal(view.rule->factors, choice.factors.axes)) {
    iterations *= llvm::divideCeil(factor.size, numShards(axes));
    rounds = std::max(rounds, planner.countRounds(axes));
  }
  if (isContraction(view.op))
    cost.computed += 2 * rounds * iterations * kBytesPerFlop;
  // Of a table, a lookup touches the rows that it finds: its work is settled
  // by what it moves, and only tells between equals.
  double perByte = isLookup(view.op) && !view.isAccumulated
                       ? kBytesPerTouchedByte / 4096
                       : kBytesPerTouchedByte;
  auto touch = [&](const TensorView &tensor) {
    if (!tensor.type || !tensor.factors)
      return;
    Sharding local = getTensorSharding(*tensor.factors, choice.factors);
    double bits = getElementBits(tensor.type);
    for (int64_t size : local.localShape(tensor.type.getShape()))
      bits *= size;
    cost.touched += rounds * bits / 8 * perByte;
  };
  llvm::for_each(view.operands, touch);
  llvm::for_each(view.results, touch);
}

/// Makes the choice that an assignment means; false if it is not legal.
bool Chooser::makeChoice(const Assignment &assignment,
                         OpSharding &choice) const {
  for (auto [atom, position] : llvm::zip_equal(atoms, assignment))
    if (keepsApart && position < 0 && mustStayApart(atom))
      return false;
  choice = OpSharding(*view.rule);
  choice.kept = kept;
  choice.kind = keptKind;
  choice.isPartial = isKept;
  for (auto [factor, list] : llvm::enumerate(order)) {
    for (const AxisRef &axis : list)
      for (auto [atom, position] : llvm::zip_equal(atoms, assignment))
        if (position >= 0 && atom.axis == axis &&
            atom.factors[position] == static_cast<int>(factor))
          choice.factors.axes[factor].push_back(axis);
    choice.factors.axes[factor] = canonicalAxes(choice.factors.axes[factor]);
    if (anyOverlap(choice.factors.axes[factor], kept))
      return false;
  }
  return isLegal(*view.rule, choice.factors) &&
         (kept.empty() ||
          getReductionAxes(*view.rule, choice.factors).empty() ||
          getReductionKind(*view.rule, choice.factors) == keptKind);
}

/// Returns the cost of an assignment if it is legal and costs no more than
/// `limit`. Plans are searched for only if the bounds are below the limit.
std::optional<Cost> Chooser::evaluate(const Assignment &assignment,
                                      OpSharding &choice, double limit) const {
  if (!makeChoice(assignment, choice))
    return std::nullopt;
  Cost cost;
  addWork(choice, cost);
  for (Measure measure : {Measure::Bound, Measure::Plan}) {
    cost.moved = 0;
    for (unsigned i = 0; i < view.operands.size(); ++i)
      cost.moved += getOperandCost(i, choice, measure);
    for (unsigned i = 0; i < view.results.size(); ++i)
      cost.moved += getResultCost(i, choice, measure);
    if (cost.total() > limit)
      return std::nullopt;
  }
  return cost;
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

/// Takes the assignment if it is better than the best so far.
bool Chooser::consider(const Assignment &assignment, OpSharding &best,
                       std::optional<Cost> &bestCost) const {
  OpSharding choice(*view.rule);
  std::optional<Cost> cost =
      evaluate(assignment, choice, bestCost ? bestCost->total() : limit);
  if (!cost || (bestCost && cost->total() >= bestCost->total()))
    return false;
  best = choice;
  bestCost = cost;
  return true;
}

/// Looks at what the largest tensor says and at no axes at all: the search need
/// not plan what is worse than both.
void Chooser::setLimit() {
  limit = std::numeric_limits<double>::infinity();
  OpSharding choice(*view.rule);
  for (int position : {0, -1})
    if (auto cost = evaluate(Assignment(atoms.size(), position), choice, limit))
      limit = cost->total();
}

void Chooser::enumerate(OpSharding &best, std::optional<Cost> &bestCost) {
  Assignment assignment(atoms.size(), -1);
  while (true) {
    size_t i = 0;
    for (; i < atoms.size(); ++i) {
      if (++assignment[i] < static_cast<int>(atoms[i].factors.size()))
        break;
      assignment[i] = -1;
    }
    if (i == atoms.size())
      break;
    consider(assignment, best, bestCost);
  }
  consider(assignment, best, bestCost);
}

/// Changes one atom at a time as long as that helps.
void Chooser::improve(OpSharding &best, std::optional<Cost> &bestCost) {
  Assignment current(atoms.size(), -1);
  consider(current, best, bestCost);
  bool changed = true;
  while (changed) {
    changed = false;
    for (size_t i = 0; i < atoms.size(); ++i)
      for (int f = -1; f < static_cast<int>(atoms[i].factors.size()); ++f) {
        int before = std::exchange(current[i], f);
        if (f != before && consider(current, best, bestCost))
          changed = true;
        else
          current[i] = before;
      }
  }
}

std::optional<Cost> Chooser::search(OpSharding &best) {
  constexpr int64_t kMaxEnumerated = 256;
  std::optional<Cost> bestCost;
  // Mostly all tensors agree: nothing moves, and no axis has a choice.
  bool hasChoice = llvm::any_of(
      atoms, [](const Atom &atom) { return atom.factors.size() > 1; });
  if (!hasChoice && consider(Assignment(atoms.size(), 0), best, bestCost) &&
      bestCost->moved == 0)
    return bestCost;
  setLimit();
  int64_t combinations = 1;
  for (const Atom &atom : atoms)
    combinations = std::min<int64_t>(combinations * (atom.factors.size() + 1),
                                     kMaxEnumerated + 1);
  if (combinations <= kMaxEnumerated)
    enumerate(best, bestCost);
  else
    improve(best, bestCost);
  return bestCost;
}

/// Says whether the atom is of microbatches of which an operand is at hand only
/// apart.
bool Chooser::mustStayApart(const Atom &atom) const {
  auto isCut = [&](const Sharding &source) {
    return llvm::any_of(source.dims, [&](const AxisList &axes) {
      return anyOverlap(axes, atom.axis);
    });
  };
  return planner.isSerial(atom.axis) &&
         llvm::any_of(view.operands, [&](const TensorView &tensor) {
           return tensor.type && !tensor.isFree &&
                  llvm::all_of(tensor.sources, isCut);
         });
}

/// Says whether ranks and microbatches have less of what is summed than a
/// subtree of its order: some have to be brought together.
bool Chooser::isCutTooFine() const {
  if (!view.rule->order)
    return false;
  FactorSharding held(*view.rule);
  for (const TensorView &operand : view.operands) {
    if (operand.sources.empty())
      continue;
    FactorSharding own = projectToFactors(*view.rule, *operand.factors,
                                          operand.sources[0].withoutStorage());
    for (int loop : view.rule->order->loops)
      if (!own.axes[loop].empty())
        held.axes[loop] = own.axes[loop];
  }
  return !keepsOrder(*view.rule, held);
}

/// Microbatches are there so that not all of the batch is in memory at once: no
/// bytes are worth gathering it, but of rows of a table, and where the op needs
/// all of it, or more than a rank has of one: others of the rank are at hand.
std::optional<Cost> Chooser::searchApart(OpSharding &best) {
  keepsApart = !isLookup(view.op) && !isTooFine &&
               llvm::any_of(atoms, [&](const Atom &atom) {
                 return mustStayApart(atom);
               });
  std::optional<Cost> cost = search(best);
  if (cost || !std::exchange(keepsApart, false))
    return cost;
  return search(best);
}

/// Finds the contributions that the op can leave as they are: the axes that
/// all its partial operands share.
bool Chooser::findKept() {
  bool isFirst = true;
  for (auto [i, tensor] : llvm::enumerate(view.operands)) {
    if (!tensor.type || tensor.isFree || !tensor.sources[0].isPartial())
      continue;
    const Sharding &source = tensor.sources[0];
    if (!tensor.mayStayPartial || (!isFirst && source.kind != keptKind))
      return false;
    kept = isFirst ? source.partial
                   : subtractAxes(kept, subtractAxes(kept, source.partial));
    keptKind = source.kind;
    isKept[i] = true;
    isFirst = false;
  }
  return !kept.empty() && keepsPartial(view.op, isKept, keptKind);
}

/// Of these, keeps those of ranks alone: what one rank has is added, which
/// moves nothing, so that each rank moves one sum. False if that is no other
/// choice, or an order may not allow it.
bool Chooser::keepJoined() {
  AxisList ranks = kept;
  llvm::erase_if(ranks,
                 [&](const AxisRef &axis) { return planner.isSerial(axis); });
  if (ranks.empty() || ranks.size() == kept.size())
    return false;
  for (auto [tensor, isKeptToo] : llvm::zip_equal(view.operands, isKept))
    if (isKeptToo && planner.keepsOrderOf(getElements(tensor.type)))
      return false;
  kept = ranks;
  return true;
}

OpSharding Chooser::run() {
  OpSharding eager(*view.rule), lazy(*view.rule);
  std::optional<Cost> eagerCost = searchApart(eager);
  if (!findKept())
    return eager;
  // Work that is not a contraction does not count here: contributions that
  // are scaled and added on more ranks still save a collective.
  std::optional<Cost> lazyCost = searchApart(lazy);
  auto weigh = [](const Cost &cost) { return cost.moved + cost.computed; };
  if (lazyCost && keepJoined()) {
    OpSharding joined(*view.rule);
    std::optional<Cost> joinedCost = searchApart(joined);
    if (joinedCost && weigh(*joinedCost) < weigh(*lazyCost)) {
      lazy = joined;
      lazyCost = joinedCost;
    }
  }
  return lazyCost && weigh(*lazyCost) <= weigh(*eagerCost) ? lazy : eager;
}

} // namespace

OpSharding mlir::weft::chooseOpSharding(const OpView &view,
                                        ReshardPlanner &planner) {
  return Chooser(view, planner).run();
}
