// SPDX-License-Identifier: Apache-2.0

// Gives each use of the weights and each loop its role.

#include "AttentionPlan.h"

#include "Sinks.h"
#include "weft/Verify/Identities/Window.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::weft;

/// A score that stands for a key that is not seen.
static constexpr double kLowFill = -1e4;

bool AttentionPlan::isGroup(unsigned loop) const {
  return loop < getQuery() && !llvm::is_contained(k.getLoops(), loop);
}

//===----------------------------------------------------------------------===//
// Places of loops
//===----------------------------------------------------------------------===//

std::optional<LoopPlaces> LoopPlaces::get(const AttentionPlan &plan,
                                          const WeightsUse &use,
                                          unsigned rest) {
  LoopPlaces places;
  places.rest = rest;
  if (use.scores.query->value != plan.q.value)
    return std::nullopt;
  for (auto [index, dim] :
       llvm::zip_equal(use.scores.query->indices, plan.q.dims)) {
    if (index.size() != dim.size())
      return std::nullopt;
    for (auto [digit, place] : llvm::zip_equal(index, dim))
      if (digit.size != plan.sizes[place] ||
          !places.places.try_emplace(digit.loop, place).second)
        return std::nullopt;
  }
  places.places[use.key] = plan.getKey();
  return places;
}

std::optional<unsigned> LoopPlaces::getPlace(unsigned loop) const {
  auto place = places.find(loop);
  return place == places.end() ? std::nullopt : std::optional(place->second);
}

std::optional<Located> LoopPlaces::locate(const TermTable &table, Value value,
                                          ArrayRef<DigitIndex> indices) const {
  Located located{value, {}, {}, {}};
  std::optional<unsigned> restLoop;
  for (const DigitIndex &index : indices) {
    located.dims.emplace_back();
    for (const Digit &digit : index) {
      if (!isWhole(table, digit))
        return std::nullopt;
      std::optional<unsigned> place = getPlace(digit.loop);
      if (!place) {
        if (restLoop && *restLoop != digit.loop)
          return std::nullopt;
        restLoop = digit.loop;
        place = rest;
      }
      located.dims.back().push_back(*place);
    }
  }
  SmallVector<unsigned> loops = located.getLoops();
  llvm::sort(loops);
  if (llvm::unique(loops) != loops.end())
    return std::nullopt;
  return located;
}

SmallVector<DigitIndex> LoopPlaces::getIndices(ArrayRef<DigitIndex> loops,
                                               const Located &located) const {
  llvm::DenseMap<unsigned, DigitIndex> ofPlace;
  for (const DigitIndex &index : loops)
    for (const Digit &digit : index)
      ofPlace[getPlace(digit.loop).value_or(rest)] = {digit};
  SmallVector<DigitIndex> indices;
  for (const auto &dim : located.dims) {
    indices.emplace_back();
    for (unsigned place : dim)
      indices.back().append(ofPlace[place]);
  }
  return indices;
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

Value weft::skipBarriers(Value value) {
  while (auto barrier = value.getDefiningOp<OptimizationBarrierOp>())
    value = barrier.getInputs()[cast<OpResult>(value).getResultNumber()];
  return value;
}

/// What a value is moved or widened from, also before barriers. A policy may
/// keep queries and keys in other forms than the products read.
static Value getSource(Value value) {
  while (true) {
    value = skipBarriers(value);
    Value source = Lifter::getMovedFrom(value);
    if (!source)
      return value;
    value = source;
  }
}

/// Says whether both are forms of one tensor.
static bool haveOneSource(Value a, Value b) {
  return getSource(a) == getSource(b);
}

/// What a quotient or product is made of by a number for each query: the
/// gradient of a result that is divided after the contraction.
static Value getUnscaled(Value value) {
  auto op = value.getDefiningOp<linalg::GenericOp>();
  if (!op || op.getNumResults() != 1 || op.getNumReductionLoops() != 0)
    return Value();
  AffineMap map = op.getIndexingMapsArray().back();
  for (OpOperand *input : op.getDpsInputOperands())
    if (map.isIdentity() && op.getMatchingIndexingMap(input) == map &&
        input->get() != value &&
        getElementTypeOrSelf(input->get()) == getElementTypeOrSelf(value))
      return input->get();
  return Value();
}

namespace {

class Planner {
public:
  Planner(MutableArrayRef<WeightsUse> uses, PlanChoice choice,
          std::string &reason)
      : uses(uses), choice(choice), reason(reason) {}

  std::optional<AttentionPlan> run() {
    assignUses();
    if (!plan.out && !plan.dv)
      return std::nullopt; // a softmax and its gradient, without values
    plan.use = plan.out ? plan.out : plan.dv;
    if (!locateScores())
      return fail("the loops of its queries and keys are none of batches, "
                  "groups, queries and depth");
    if (!locateValues())
      return fail("its values, or the gradient of its result, were not found");
    if (!readScores())
      return std::nullopt;
    readSink();
    return plan;
  }

private:
  std::nullopt_t fail(StringRef why) {
    reason = why.str();
    return std::nullopt;
  }

  /// What each use is, by what it sums over and what stands beside the weights.
  void assignUses() {
    auto take = [](WeightsUse *&place, WeightsUse &use) {
      if (!place)
        place = &use;
    };
    for (WeightsUse &use : uses) {
      Value other = use.other->value;
      bool ofKeys = haveOneSource(other, use.scores.key->value),
           ofQueries = haveOneSource(other, use.scores.query->value);
      if (use.sumsOver(use.key))
        // Keys may be the values as well: then the result stands first.
        take(ofKeys && (plan.out || !isForward(use)) ? plan.dq : plan.out, use);
      else if (ofQueries)
        take(plan.dk, use);
      else
        take(plan.dv, use);
    }
  }

  /// Says whether there is no product in the weights but that of the scores.
  static bool isForward(WeightsUse &use) {
    bool isAlone = true;
    walkTerms(use.weights, [&](TermRef term) {
      if (term->kind == TermKind::Sum && term->value)
        isAlone &= term->value == use.scores.product;
      return true;
    });
    return isAlone;
  }

  /// The query loop: the one that windows speak of, or the longest of those
  /// that the keys do not have, best of the keys' size.
  std::optional<unsigned> findQuery() {
    WeightsUse &use = *plan.use;
    const TermTable &table = use.getTable();
    SmallVector<unsigned> loops;
    for (unsigned loop : use.scores.query->freeLoops)
      if (loop != use.scores.depth && !use.scores.key->dependsOn(loop))
        loops.push_back(loop);
    auto rank = [&](unsigned loop) {
      bool hasWindow = false;
      for (const auto &[condition, fill] : use.scores.masks)
        hasWindow |= condition->dependsOn(loop);
      for (TermRef addend : use.scores.addends)
        hasWindow |= addend->dependsOn(loop) && addend->dependsOn(use.key);
      int64_t size = table.getLoopSize(loop);
      return std::tuple(hasWindow, size == table.getLoopSize(use.key), size);
    };
    if (loops.empty())
      return std::nullopt;
    return *llvm::max_element(
        loops, [&](unsigned a, unsigned b) { return rank(a) < rank(b); });
  }

  bool locateScores() {
    WeightsUse &use = *plan.use;
    const TermTable &table = use.getTable();
    std::optional<unsigned> query = findQuery();
    if (!query)
      return false;
    SmallVector<unsigned> outer;
    for (const DigitIndex &index : use.scores.query->indices)
      for (const Digit &digit : index)
        if (digit.loop != *query && digit.loop != use.scores.depth) {
          if (llvm::is_contained(outer, digit.loop))
            return false;
          outer.push_back(digit.loop);
          plan.sizes.push_back(digit.size);
        }
    for (unsigned loop : {*query, use.key, use.scores.depth})
      plan.sizes.push_back(table.getLoopSize(loop));
    plan.sizes.push_back(0); // the value loop's is not known yet
    for (auto [place, loop] : llvm::enumerate(outer))
      places.put(loop, place);
    places.put(*query, plan.getQuery());
    places.put(use.key, plan.getKey());
    places.put(use.scores.depth, plan.getDepth());
    std::optional<Located> q = places.locate(table, use.scores.query->value,
                                             use.scores.query->indices),
                           k = places.locate(table, use.scores.key->value,
                                             use.scores.key->indices);
    if (!q || !k || hasLoop(*q, plan.getKey()) ||
        !hasLoop(*q, plan.getDepth()) || !hasLoop(*k, plan.getDepth()))
      return false;
    plan.q = *q;
    plan.k = *k;
    std::optional<LoopPlaces> all = LoopPlaces::get(plan, use, plan.getValue());
    if (!all)
      return false;
    places = *all;
    return llvm::all_of(use.scores.key->freeLoops, [&](unsigned loop) {
      return places.getPlace(loop).has_value();
    });
  }

  static bool hasLoop(const Located &located, unsigned loop) {
    return llvm::is_contained(located.getLoops(), loop);
  }

  /// A tensor with the value loop, read in a use.
  std::optional<Located> locateWithValue(WeightsUse &use, TermRef load) {
    std::optional<LoopPlaces> own = LoopPlaces::get(plan, use, plan.getValue());
    if (!own)
      return std::nullopt;
    std::optional<Located> located =
        own->locate(use.getTable(), load->value, load->indices);
    if (!located || !hasLoop(*located, plan.getValue()))
      return std::nullopt;
    for (const DigitIndex &index : load->indices)
      for (const Digit &digit : index)
        if (!own->getPlace(digit.loop))
          plan.sizes.back() = digit.size;
    return located;
  }

  /// Beside `known` in a product inside the gradients of weights: values beside
  /// the result's gradient, or the other way around.
  std::optional<Located> findBeside(WeightsUse &use, Value known) {
    TermRef found = nullptr;
    walkTerms(use.weights, [&](TermRef term) {
      if (term->kind != TermKind::Sum || term->loops.size() != 1 ||
          term->value == use.scores.product ||
          term->operands[0]->kind != TermKind::Mul)
        return true;
      TermRef a = skipCasts(term->operands[0]->operands[0]),
              b = skipCasts(term->operands[0]->operands[1]);
      if (a->kind != TermKind::Load || b->kind != TermKind::Load)
        return true;
      if (haveOneSource(b->value, known))
        std::swap(a, b);
      if (haveOneSource(a->value, known) && !found)
        found = b;
      return true;
    });
    return found ? locateWithValue(use, found) : std::nullopt;
  }

  std::optional<Located> findBesideInGradients(Value known) {
    for (WeightsUse *use : {plan.dq, plan.dk})
      if (use)
        if (std::optional<Located> found = findBeside(*use, known))
          return found;
    return std::nullopt;
  }

  bool locateValues() {
    std::optional<Located> v, dout;
    if (plan.out)
      v = locateWithValue(*plan.out, plan.out->other);
    if (plan.dv)
      dout = locateWithValue(*plan.dv, plan.dv->other);
    if (!v && dout)
      v = findBesideInGradients(dout->value);
    if (!v)
      return false;
    if (!dout && plan.hasGradient())
      dout = findBesideInGradients(v->value);
    if (!dout && plan.hasGradient())
      return false;
    plan.v = *v;
    shareHeads();
    if (choice.dividesAfter) {
      Value unscaled = dout ? getUnscaled(dout->value) : Value();
      if (!unscaled)
        return false;
      dout->value = unscaled;
    }
    if (dout)
      plan.dout = *dout;
    return true;
  }

  /// Heads share keys and values, or neither: what one has for each of them and
  /// the other once, as keys that are normalized after they are repeated, is
  /// repeated.
  void shareHeads() {
    auto repeat = [&](Located &located, const Located &other) {
      SmallVector<unsigned> own = located.getLoops();
      for (unsigned loop = 0; loop < plan.getQuery(); ++loop)
        if (hasLoop(other, loop) && !llvm::is_contained(own, loop))
          located.repeats.push_back(loop);
    };
    repeat(plan.v, plan.k);
    repeat(plan.k, plan.v);
  }

  //===--------------------------------------------------------------------===//
  // Masks and biases
  //===--------------------------------------------------------------------===//

  bool readScores() {
    Scores &scores = plan.use->scores;
    plan.scale = scores.scale;
    plan.softcap = scores.softcap;
    for (const auto &[condition, fill] : scores.masks)
      if (!addMask(condition, fill))
        return false;
    for (TermRef addend : scores.addends)
      if (addend->dependsOn(plan.use->key) && !addWindowOf(addend))
        plan.bias =
            plan.bias ? plan.use->getTable().add(plan.bias, addend) : addend;
    return true;
  }

  /// The sink is in the weights, or in what the result is divided by.
  void readSink() {
    WeightsUse &use = *plan.use;
    plan.sink = findSink(use, use.weights);
    // Of other exponentials, as those of an activation, nothing is looked for.
    if (plan.sink || &use != plan.out || !use.isNormalized ||
        hasSum(use.weights))
      return;
    for (const Replaced &made : getReplaceable(plan, use)) {
      SmallVector<DigitIndex> indices = places.getIndices(use.loops, made.old);
      if (TermRef term = use.lifter->lift(made.old.value, indices))
        plan.sink = findSink(use, term);
      if (plan.sink)
        return;
    }
  }

  std::optional<Window> getWindow(TermRef condition) {
    std::optional<unsigned> query;
    for (unsigned loop : condition->freeLoops)
      if (places.getPlace(loop) == plan.getQuery())
        query = loop;
    if (!query || !choice.usesWindows)
      return std::nullopt;
    std::optional<Window> window =
        matchWindow(plan.use->getTable(), condition, *query, plan.use->key);
    if (!window || window->low.value_or(0) > 0 || window->high.value_or(0) < 0)
      return std::nullopt;
    return window;
  }

  void addWindow(const Window &window) {
    auto narrow = [](std::optional<int64_t> &bound, int64_t other) {
      bound = std::min(bound.value_or(other), other);
    };
    if (window.low)
      narrow(plan.left, -*window.low);
    if (window.high)
      narrow(plan.right, *window.high);
  }

  /// Whether queries and keys are of the same segment.
  bool addSegments(TermRef condition) {
    if (condition->kind != TermKind::Compare || condition->name != "eq" ||
        plan.querySegments || !choice.usesWindows)
      return false;
    TermRef query = condition->operands[0], key = condition->operands[1];
    if (query->dependsOn(plan.use->key))
      std::swap(query, key);
    if (!query->type.isInteger(32) || query->dependsOn(plan.use->key) ||
        !key->dependsOn(plan.use->key))
      return false;
    bool hasQuery = llvm::any_of(query->freeLoops, [&](unsigned loop) {
      return places.getPlace(loop) == plan.getQuery();
    });
    bool keyHasQuery = llvm::any_of(key->freeLoops, [&](unsigned loop) {
      return places.getPlace(loop) == plan.getQuery();
    });
    if (!hasQuery || keyHasQuery)
      return false;
    plan.querySegments = query;
    plan.keySegments = key;
    return true;
  }

  /// Windows and segments leave the scores -inf, a mask its fill: one that
  /// stands for -inf may be taken apart, as may windows and segments alone.
  bool addMask(TermRef condition, double fill) {
    SmallVector<TermRef> all, data;
    splitConditions(condition, all);
    bool isLowest = std::isinf(fill);
    if (fill > kLowFill)
      return addData(condition, fill);
    AttentionPlan before = plan;
    if (std::optional<Window> window = getWindow(condition)) {
      addWindow(*window);
      return true;
    }
    for (TermRef one : all) {
      if (std::optional<Window> window = getWindow(one))
        addWindow(*window);
      else if (!addSegments(one))
        data.push_back(one);
    }
    if (data.empty())
      return true;
    if (!isLowest) {
      plan = before;
      return addData(condition, fill);
    }
    TermRef rest = data[0];
    for (TermRef one : ArrayRef(data).drop_front())
      rest = plan.use->getTable().logical(TermKind::And, rest, one);
    return addData(rest, fill);
  }

  bool addData(TermRef condition, double fill) {
    bool isSame =
        plan.mask && (plan.fill == fill || (!plan.fill && std::isinf(fill)));
    if (fill > 0 || (plan.mask && !isSame)) {
      reason = "its masks have several values, or a positive one";
      return false;
    }
    plan.mask = plan.mask ? plan.use->getTable().logical(TermKind::And,
                                                         plan.mask, condition)
                          : condition;
    if (!std::isinf(fill))
      plan.fill = fill;
    return true;
  }

  /// A bias that is 0 where the query sees the key and very low elsewhere.
  bool addWindowOf(TermRef addend) {
    addend = skipCasts(addend);
    double factor = 1;
    if (addend->kind == TermKind::Mul &&
        addend->operands[1]->kind == TermKind::Constant) {
      factor = addend->operands[1]->number;
      addend = skipCasts(addend->operands[0]);
    }
    if (addend->kind != TermKind::Select || !addend->operands[1]->isConstant(0))
      return false;
    TermRef low = skipCasts(addend->operands[2]);
    if (low->kind != TermKind::Constant || low->number * factor > kLowFill)
      return false;
    std::optional<Window> window = getWindow(addend->operands[0]);
    if (window)
      addWindow(*window);
    return window.has_value();
  }

  MutableArrayRef<WeightsUse> uses;
  PlanChoice choice;
  std::string &reason;
  AttentionPlan plan;
  LoopPlaces places;
};

} // namespace

std::optional<AttentionPlan> weft::makePlan(MutableArrayRef<WeightsUse> uses,
                                            PlanChoice choice,
                                            std::string &reason) {
  return Planner(uses, choice, reason).run();
}

//===----------------------------------------------------------------------===//
// What is replaced
//===----------------------------------------------------------------------===//

/// How many values are looked at that are made of a contraction.
static constexpr size_t kMostMade = 10;

/// Appends the values that are made of the first one by reshapes and
/// linalg.generic, the nearest first.
static void findMade(llvm::SetVector<Value> &values) {
  for (size_t i = 0; i < values.size(); ++i) {
    SmallVector<Operation *> users(values[i].getUsers());
    for (Operation *user : llvm::reverse(users))
      if (user->getNumResults() == 1 && values.size() < kMostMade &&
          isa<linalg::GenericOp, tensor::ExpandShapeOp,
              tensor::CollapseShapeOp>(user))
        values.insert(user->getResult(0));
  }
}

std::optional<Located> weft::locateMade(const Located &made, Value value) {
  Lifter lifter(/*limit=*/1200);
  lifter.followOperands();
  lifter.cut(made.value);
  SmallVector<DigitIndex> indices =
      lifter.addLoops(cast<RankedTensorType>(value.getType()).getShape());
  TermRef load = nullptr;
  walkTerms(lifter.lift(value, indices), [&](TermRef term) {
    if (term->kind == TermKind::Load && term->value == made.value)
      load = term;
    return true;
  });
  if (!load)
    return std::nullopt;
  Located located{value, {}, {}, {}};
  for (const DigitIndex &index : indices) {
    located.dims.emplace_back();
    if (index.empty())
      continue;
    SmallVector<std::pair<int64_t, unsigned>> found; // stride, place
    int64_t size = 1;
    for (auto [dim, digits] : llvm::zip_equal(made.dims, load->indices)) {
      if (dim.size() != digits.size())
        return std::nullopt;
      for (auto [place, digit] : llvm::zip_equal(dim, digits))
        if (digit.loop == index[0].loop) {
          found.push_back({-digit.stride, place});
          size *= digit.size;
        }
    }
    if (size != index[0].size)
      return std::nullopt;
    llvm::sort(found);
    for (auto [stride, place] : found)
      located.dims.back().push_back(place);
  }
  return located;
}

static bool isTranspose(Operation *op) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic || generic.getNumDpsInputs() != 1 ||
      generic.getNumResults() != 1 || generic.getNumReductionLoops() != 0)
    return false;
  auto yield = cast<linalg::YieldOp>(generic.getBody()->getTerminator());
  return yield.getOperand(0) == generic.getBody()->getArgument(0) &&
         llvm::all_of(generic.getIndexingMapsArray(),
                      [](AffineMap map) { return map.isPermutation(); });
}

/// The value after transposes, if nothing else reads it: the op can give it
/// that layout, and needs no copy.
static Value skipTransposes(Value value) {
  Value last = value;
  while (value.hasOneUse()) {
    Operation *user = *value.user_begin();
    bool transposes = isTranspose(user);
    if (!transposes &&
        !isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(user))
      break;
    value = user->getResult(0);
    if (transposes)
      last = value;
  }
  return last;
}

SmallVector<Replaced> weft::getReplaceable(const AttentionPlan &plan,
                                           WeightsUse &use) {
  SmallVector<Replaced> all;
  bool ofDepth = &use == plan.dq || &use == plan.dk;
  std::optional<LoopPlaces> places =
      LoopPlaces::get(plan, use, ofDepth ? plan.getDepth() : plan.getValue());
  if (!places)
    return all;
  Value value = use.op.getResult();
  SmallVector<DigitIndex> indices =
      *applyMap(use.op.getResultMap(), use.loops, use.op.getType().getShape());
  std::optional<Located> made = places->locate(use.getTable(), value, indices);
  if (!made)
    return all;
  Value moved = skipTransposes(value);
  if (moved != value)
    if (std::optional<Located> located = locateMade(*made, moved))
      all.push_back({*located, &use});
  all.push_back({*made, &use});
  llvm::SetVector<Value> values;
  values.insert(value);
  findMade(values);
  for (Value next : values.getArrayRef().drop_front()) {
    if (next == moved)
      continue;
    if (std::optional<Located> located = locateMade(*made, next))
      all.push_back({*located, &use});
  }
  return all;
}
