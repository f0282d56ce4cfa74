// SPDX-License-Identifier: Apache-2.0

// An order whose plan needs more than the limit is chosen again with so much
// less memory. How much less is searched, since less memory is slower.

#include "MemoryLoop.h"

#include "LinkWork.h"
#include "PlannedFigures.h"

#include "weft/Analysis/PlanSummary.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Schedule/FixedBytes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace mlir::weft;

/// How often a policy is planned with less memory each time, and how often what
/// lies between too much and enough is halved then.
static constexpr int kMaxPlans = 4, kMaxHalvings = 3;

/// A plan that takes so many percent of the limit at most says that all other
/// plans fit as well: no plan needs so much more than what was estimated.
static constexpr int64_t kLoosePercent = 80;

/// Less memory is tried as well, for what has up to so many ops: a faster order
/// that is not found with more is one with more. In percent of the least that
/// the step needs, which does not depend on the limit.
static constexpr int64_t kMaxSmall = 2000;
static constexpr int64_t kRungs[] = {100, 105, 110, 115, 120, 130, 140,
                                     150, 165, 180, 200, 250, 300, 400};

/// Of what has more ops, but no more than so many kernels and collectives, only
/// these: each order takes about a second.
static constexpr int64_t kMaxTasks = 1000;
static constexpr int64_t kFewRungs[] = {100, 150, 200};

/// Of a larger step, a plan that takes so little more than its bound, as a part
/// of that, is the last one that is made.
static constexpr int64_t kTolerated = 1000;

/// What `best` is to be no worse than.
static constexpr StringLiteral kOthers[] = {"next-layer", "greedy", "sync"};

int64_t mlir::weft::getPlannedBytes(ModuleOp module) {
  int64_t bytes = 0;
  for (auto func : module.getOps<func::FuncOp>())
    if (func->hasAttr("weft_rt.arena_bytes"))
      bytes += summarizePlan(func).getTotalBytes();
  return bytes;
}

/// Says whether it is known why each schedule waits.
static bool isExplained(ModuleOp module) {
  return llvm::all_of(module.getOps<func::FuncOp>(), [](func::FuncOp func) {
    auto figures =
        func->getAttrOfType<DictionaryAttr>(WeftDialect::kScheduleAttr);
    return !figures || figures.contains("exposed");
  });
}

/// What all values of a fused module take together: a limit that is no less
/// binds no order.
static int64_t countBytes(ModuleOp fused) {
  int64_t bytes = 0;
  fused.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      bytes += getTensorBytes(type);
    if (auto func = dyn_cast<func::FuncOp>(op))
      bytes += getFixedBytes(func);
  });
  return bytes;
}

SchedulePassOptions MemoryLoop::choose(StringRef policy, int64_t reserve,
                                       bool isLean) const {
  SchedulePassOptions chosen = options;
  chosen.policy = policy.str();
  chosen.reserve = reserve;
  chosen.lean = isLean;
  chosen.within = within;
  // Of many plans one is explained; of the largest steps the first.
  bool isOther = policy != options.policy && policy != "sync";
  chosen.brief = isOther || !hasManyTasks();
  return chosen;
}

MemoryLoop::Plan MemoryLoop::attempt(const SchedulePassOptions &chosen,
                                     bool plans) {
  Plan plan;
  plan.chosen = chosen;
  plan.module = fused.clone();
  RemarkLog before = remarks;
  LogicalResult result = success();
  {
    ScopedDiagnosticHandler handler(
        fused.getContext(), [&](Diagnostic &diagnostic) {
          plan.said.push_back(std::move(diagnostic));
        });
    result = schedule(*plan.module, chosen);
    if (succeeded(result)) {
      plan.estimatedBytes = getScheduleFigure(*plan.module, "peak_bytes");
      plan.estimatedNanoseconds = getScheduleFigure(*plan.module, "step_ns");
      plan.boundNanoseconds = getScheduleFigure(*plan.module, "bound_ns");
      if (plans)
        result = planMemory(*plan.module, plan.scheduled);
    }
  }
  plan.remarks = std::exchange(remarks, std::move(before));
  if (failed(result)) {
    plan.module = nullptr;
    return plan;
  }
  if (!plans)
    return plan;
  plan.bytes = getPlannedBytes(*plan.module);
  plan.nanoseconds = getScheduleFigure(*plan.module, "step_ns");
  return plan;
}

bool MemoryLoop::isLoose(int64_t bytes) const {
  return bytes / kLoosePercent < limit / 100;
}

/// Does not depend on the limit, so that the limit that an error names is one
/// that is kept.
MemoryLoop::Plan &MemoryLoop::getLeast() {
  if (least)
    return *least;
  least = planQuickly("sync", 0, /*isLean=*/false, -1);
  if (!least->module)
    return *least;
  inOrder = getBytes(*least);
  Plan lean = planQuickly("sync", 0, /*isLean=*/true, -1);
  if (lean.module && lean.bytes < least->bytes)
    least = std::move(lean);
  first = getBytes(*least);
  lookForLess(options.policy);
  return *least;
}

MemoryLoop::Plan MemoryLoop::planQuickly(StringRef policy, int64_t reserve,
                                         bool isLean, int64_t within) {
  SchedulePassOptions chosen = choose(policy, reserve, isLean);
  chosen.within = within;
  chosen.brief = chosen.quick = true;
  return attempt(chosen);
}

/// Where the estimate is too high, orders that need less are found under the
/// limit of the last one.
void MemoryLoop::lookForLess(StringRef policy) {
  Bytes last = first;
  bool isLess = true;
  auto take = [&](bool isLean) {
    Plan plan = planQuickly(policy, last.getOffset(), isLean, last.planned);
    if (!plan.module || plan.bytes >= last.planned)
      return;
    isLess = true;
    last = getBytes(plan);
    if (plan.bytes < least->bytes)
      least = std::move(plan);
  };
  int rounds = isLarge() ? 1 : kMaxPlans;
  for (int i = 0; i < rounds && isLess; ++i) {
    isLess = false;
    // Where program order needs more, both start from the same order.
    if (inOrder.estimated <= last.estimated)
      take(/*isLean=*/false);
    take(/*isLean=*/true);
  }
}

/// Nobody should have to ask for another policy to need less.
void MemoryLoop::lookForLessElsewhere() {
  if (!takesBest() || !getLeast().module)
    return;
  for (StringRef policy : kOthers)
    lookForLess(policy);
}

/// Says whether program order needs too much for a lean order to be another
/// one.
bool MemoryLoop::isLeanAnyway(int64_t reserve) {
  return getLeast().module && inOrder.estimated > limit - reserve;
}

/// By how much plans need more than what is estimated; negative: less.
int64_t MemoryLoop::getOffset() { return getBytes(getLeast()).getOffset(); }

bool MemoryLoop::isLarge() const {
  int64_t numOps = 0;
  ModuleOp(fused).walk([&](Operation *) { ++numOps; });
  return numOps > kMaxSmall;
}

bool MemoryLoop::hasManyTasks() const {
  if (!isLarge())
    return false;
  int64_t numTasks = 0;
  for (auto func : ModuleOp(fused).getOps<func::FuncOp>())
    for (Block &block : func.getBody())
      numTasks += block.getOperations().size();
  return numTasks > kMaxTasks;
}

bool MemoryLoop::isLastOfLarge(const Plan &plan) const {
  return fits(plan) &&
         plan.nanoseconds - plan.boundNanoseconds <=
             plan.boundNanoseconds / kTolerated &&
         isLarge();
}

/// Says whether it fits, and no other order is worth its time for less memory.
bool MemoryLoop::isFitted(const Plan &plan) const {
  return fits(plan) && (isLoose(plan.bytes) || hasManyTasks());
}

bool MemoryLoop::isAtBound(const Plan &plan) const {
  return fits(plan) && plan.nanoseconds <= plan.boundNanoseconds;
}

/// Says whether it fits and takes no longer than a link needs where each gather
/// is done: no other policy keeps any.
bool MemoryLoop::beatsOtherPolicies(const Plan &plan) const {
  return fits(plan) && plan.nanoseconds <= computeLinkWork(fused, machine);
}

void MemoryLoop::takeFaster(Plan &best, Plan other) const {
  if (fits(other) && (!fits(best) || other.nanoseconds < best.nanoseconds))
    best = std::move(other);
}

/// With `low` bytes in reserve the plan is too large, with `high` it is
/// `found`: looks for a faster one in between.
MemoryLoop::Plan MemoryLoop::fitBetween(StringRef policy, bool isLean,
                                        int64_t low, Plan found, int64_t high) {
  constexpr int64_t kGranule = 4096;
  for (int i = 0; i < kMaxHalvings && high - low > kGranule; ++i) {
    int64_t middle = low + (high - low) / 2;
    Plan plan = attempt(choose(policy, middle, isLean));
    bool isEnough = fits(plan);
    (isEnough ? high : low) = middle;
    if (isEnough)
      takeFaster(found, std::move(plan));
  }
  return found;
}

/// The fastest plan of a policy that was found, of which `first` is the one
/// with the least reserve; a null module if none fits.
MemoryLoop::Plan MemoryLoop::fitReserve(StringRef policy, bool isLean,
                                        int64_t reserve, Plan first) {
  if (fits(first))
    return first;
  int64_t tooLittle = reserve, fastest = first.nanoseconds;
  Plan plan = std::move(first);
  for (int i = 1; i < kMaxPlans && plan.module; ++i) {
    tooLittle = reserve;
    reserve += plan.bytes - limit;
    plan = attempt(choose(policy, reserve, isLean));
    if (!fits(plan))
      continue;
    // What is lost by the reserve is worth a search.
    bool isSlower = plan.nanoseconds - fastest > fastest / 1000;
    return isSlower
               ? fitBetween(policy, isLean, tooLittle, std::move(plan), reserve)
               : std::move(plan);
  }
  // All that can be left out of the estimate.
  int64_t most = limit - getLeast().estimatedBytes;
  if (most <= tooLittle)
    return Plan();
  plan = attempt(choose(policy, most, isLean));
  return fits(plan)
             ? fitBetween(policy, isLean, tooLittle, std::move(plan), most)
             : Plan();
}

MemoryLoop::Plan MemoryLoop::fitPolicy(StringRef policy, Plan first) {
  if (isFitted(first))
    return first;
  Plan plan = fitReserve(policy, /*isLean=*/false, 0, std::move(first));
  auto takeOther = [&](bool isLean, int64_t reserve) {
    takeFaster(plan, fitReserve(policy, isLean, reserve,
                                attempt(choose(policy, reserve, isLean))));
  };
  // The estimate may be too high, so that orders look too large that are not.
  if (getOffset() < 0)
    takeOther(/*isLean=*/false, getOffset());
  int64_t reserve = std::min<int64_t>(0, getOffset());
  if (!fits(plan) && !isLeanAnyway(reserve))
    takeOther(/*isLean=*/true, reserve);
  return plan;
}

/// Nobody should have to ask for another policy.
void MemoryLoop::tryOtherPolicies(Plan &best) {
  if (beatsOtherPolicies(best))
    return;
  bool mayBeFaster = mayBeFasterThanOrders(fused);
  for (StringRef policy : kOthers) {
    if (isAtBound(best) || isLastOfLarge(best))
      return;
    SchedulePassOptions chosen = choose(policy, 0, /*isLean=*/false);
    SchedulePassOptions unexplained = chosen;
    unexplained.brief = true;
    Plan order = attempt(unexplained, /*plans=*/false);
    bool isKnown =
        order.module && (isLoose(order.estimatedBytes) || hasManyTasks());
    if (!isKnown || !fits(best) || mayBeFaster ||
        order.estimatedNanoseconds < best.nanoseconds)
      takeFaster(best, fitPolicy(policy, attempt(chosen)));
  }
}

/// Nor should anybody have to ask for less memory. The orders do not depend on
/// the limit: what it lets through with less, it lets through with more. An
/// order that is found with more memory than it needs is mostly found again
/// with less, down to that, so those rungs are passed over.
void MemoryLoop::tryLessMemory(Plan &best) {
  if (!best.module || options.quick ||
      getScheduleFigure(*best.module, "communication_ns") == 0 ||
      hasManyTasks() || isLastOfLarge(best))
    return;
  auto plan = [&](int64_t within) {
    SchedulePassOptions chosen = choose(options.policy, 0, /*isLean=*/false);
    chosen.within = within;
    chosen.brief = true;
    return attempt(chosen);
  };
  ArrayRef<int64_t> rungs = kRungs;
  if (isLarge())
    rungs = kFewRungs;
  int64_t base = getLeast().estimatedBytes;
  int64_t needed = std::numeric_limits<int64_t>::max();
  for (int64_t rung : llvm::reverse(rungs)) {
    int64_t within = base / 100 * rung + base % 100 * rung / 100;
    if (within >= needed || (looksForLeast && within > limit))
      continue;
    Plan found = plan(within);
    needed = found.module ? found.estimatedBytes : within;
    // With less memory no more gathers are kept: the bound gets no lower.
    bool isEnough = isAtBound(found);
    takeFaster(best, std::move(found));
    if (isEnough)
      return;
  }
  if (limit < countBytes(fused) && !looksForLeast)
    takeFaster(best, plan(-1));
}

MemoryLoop::Fitted MemoryLoop::tell(Plan plan) {
  // The order of a quick search is the same with all bounds.
  bool isBounded = !plan.chosen.quick || !plan.chosen.brief;
  if (plan.module && (!isBounded || !isExplained(*plan.module))) {
    SchedulePassOptions again = plan.chosen;
    again.brief = false;
    plan = attempt(again);
  }
  remarks = std::move(plan.remarks);
  for (Diagnostic &diagnostic : plan.said)
    fused.getContext()->getDiagEngine().emit(std::move(diagnostic));
  return {std::move(plan.module), std::move(plan.scheduled), plan.bytes,
          plan.nanoseconds,       plan.boundNanoseconds,     nullptr};
}

void MemoryLoop::reportTooLarge(int64_t bytes) {
  SchedulePassOptions chosen = options;
  chosen.leastBytes = bytes;
  OwningOpRef<ModuleOp> copy = fused.clone();
  (void)schedule(*copy, chosen);
}

int64_t MemoryLoop::getLeastBytes(int64_t enough) {
  if (!getLeast().module)
    return 0;
  if (getLeast().bytes > enough)
    lookForLessElsewhere();
  return getLeast().bytes;
}

MemoryLoop::Estimate MemoryLoop::estimate() {
  SchedulePassOptions chosen = choose("sync", 0, /*isLean=*/false);
  chosen.within = -1;
  chosen.brief = true;
  Plan plan = attempt(chosen, /*plans=*/false);
  if (!plan.module)
    return {};
  return {plan.estimatedBytes, getScheduleFigure(*plan.module, "compute_ns")};
}

int64_t MemoryLoop::estimateLeanBytes() {
  SchedulePassOptions chosen = choose("sync", 0, /*isLean=*/true);
  chosen.within = -1;
  chosen.brief = true;
  Plan plan = attempt(chosen, /*plans=*/false);
  return plan.module ? plan.estimatedBytes
                     : std::numeric_limits<int64_t>::max();
}

int64_t MemoryLoop::estimateUnlimitedNanoseconds() {
  SchedulePassOptions chosen = choose(options.policy, 0, /*isLean=*/false);
  chosen.within = -1;
  chosen.brief = true;
  return attempt(chosen, /*plans=*/false).estimatedNanoseconds;
}

/// A plan of a policy that is found at once; with what it needs too much in
/// reserve if it does not fit.
MemoryLoop::Plan MemoryLoop::planAtOnce(StringRef policy) {
  SchedulePassOptions chosen = choose(policy, 0, /*isLean=*/false);
  chosen.brief = chosen.quick = true;
  Plan plan = attempt(chosen);
  if (!plan.module || fits(plan))
    return plan;
  chosen.reserve = plan.bytes - limit;
  return attempt(chosen);
}

/// Each policy counts, so that what is fast with one of them is not left out.
int64_t MemoryLoop::estimateNanoseconds() {
  Plan best = planAtOnce(options.policy);
  if (takesBest())
    for (StringRef policy : kOthers)
      if (!fits(best) || !isLarge())
        takeFaster(best, planAtOnce(policy));
  if (fits(best))
    return best.nanoseconds;
  const Plan &least = getLeast();
  return fits(least) ? least.nanoseconds : std::numeric_limits<int64_t>::max();
}

MemoryLoop::Fitted MemoryLoop::fit() {
  Plan first = attempt(choose(options.policy, 0, /*isLean=*/false));
  if (isLastOfLarge(first))
    return tell(std::move(first));
  // A reserve that is found at once needs no plan of what needs least.
  if (first.module && !fits(first) && hasManyTasks()) {
    first = fitReserve(options.policy, /*isLean=*/false, 0, std::move(first));
    if (isLastOfLarge(first))
      return tell(std::move(first));
  }
  if (!isFitted(first)) {
    // What has no plan at all says why.
    if (!getLeast().module)
      return tell(std::move(getLeast()));
    if (getLeast().bytes > limit)
      lookForLessElsewhere();
    if (getLeast().bytes > limit) {
      reportTooLarge(getLeast().bytes);
      return {};
    }
  }
  Plan best = fitPolicy(options.policy, std::move(first));
  if (takesBest()) {
    tryOtherPolicies(best);
    tryLessMemory(best);
  }
  return tell(fits(best) ? std::move(best) : std::move(getLeast()));
}
