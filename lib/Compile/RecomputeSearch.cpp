// SPDX-License-Identifier: Apache-2.0

// Programs that compute more and more again do not depend on the limit: what
// one of them gains at some limit, it gains at every higher one as well. Only
// where a limit lies between two of them is one changed so that it fits just
// there. Large steps are searched otherwise (RecomputeLarge.cpp).

#include "RecomputeSearch.h"

#include "weft/Canonicalize/Passes.h"
#include "weft/Communication/Passes.h"
#include "weft/Pipelines/Pipelines.h"
#include "weft/Schedule/Passes.h"
#include "weft/Schedule/Recomputation.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/Passes.h"

#include <algorithm>
#include <limits>

using namespace mlir;
using namespace mlir::weft;

/// Between what a program needs and nothing, so many targets are tried.
static constexpr int kTargets = 8;

/// Of larger programs few choices of values are planned: to plan each takes
/// too long.
static constexpr int64_t kMaxOps = 4000;

/// Of programs that are no larger all choices are made, and it is known what
/// each needs at least.
static constexpr int64_t kMaxTinyOps = 1000;

/// A plan that takes so many percent of the limit leaves enough; and nothing
/// faster is looked for where such a part of the time can be won at most.
static constexpr int64_t kLoosePercent = 80, kTolerated = 200;

/// So many programs are planned with all effort at most; not what takes so much
/// longer, as a part of its time, by an order that is found at once.
static constexpr size_t kMaxAttempts = 2;
static constexpr int64_t kSlack = 32;

/// More is kept within the last of the limits that rise by such a part.
static constexpr int64_t kStep = 20;
static constexpr int kNumSteps = 3;

/// How often what lies between two programs is halved.
static constexpr int kMaxHalvings = 3;

/// How many tasks are tried that may be kept after all.
static constexpr size_t kMaxKept = 12;

/// One is worth trying that takes such a part of the time.
static constexpr int64_t kWorthKeeping = 1000;

void RecomputeSearch::add(Program program) {
  if (!program.module)
    return;
  MemoryLoop loop = makeLoop(*program.module);
  program.estimate = loop.estimate();
  // Another order than that of the program may need much less.
  if (isLoose(program.estimate.bytes))
    program.leanBytes = program.estimate.bytes;
  else
    program.leanBytes =
        isTiny ? loop.getLeastBytes()
               : std::min(program.estimate.bytes, loop.estimateLeanBytes());
  if (program.leanBytes <= 0) // It has no plan.
    return;
  programs.push_back(std::move(program));
}

RecomputeSearch::Program RecomputeSearch::getAsWritten() {
  Program program;
  program.module = fused.clone();
  program.recomputed = recomputed;
  return program;
}

/// The program without marks, as it is planned where nothing is computed again.
RecomputeSearch::Program RecomputeSearch::getUnmarked() {
  Program program;
  program.module = plain->clone();
  program.recomputed = describeRecomputed(*program.module, machine);
  if (failed(runner.runPasses(*program.module, buildKernelPipeline)))
    return {};
  return program;
}

/// The program without marks where values are kept or computed again by price.
RecomputeSearch::Program RecomputeSearch::choose(const Choice &choice) {
  Program changed;
  changed.module = plain->clone();
  changed.choice = choice;
  changed.isChosen = true;
  ChooseSavedPassOptions options;
  options.machine = machineName.str();
  options.price = choice.price;
  options.share = choice.share;
  options.latePrice = choice.latePrice;
  options.waists = choice.waists;
  options.kept.assign(choice.kept.begin(), choice.kept.end());
  if (failed(runner.runPasses(*changed.module, [&](OpPassManager &pm) {
        pm.addPass(createChooseSavedPass(options));
      })))
    return {};
  changed.recomputed = describeRecomputed(*changed.module, machine);
  if (failed(runner.runPasses(*changed.module, buildKernelPipeline)))
    return {};
  return changed;
}

/// Makes `plain` of a program: without barriers, the pipeline's own included.
LogicalResult RecomputeSearch::makePlain(OwningOpRef<ModuleOp> program) {
  plain = std::move(program);
  if (!plain)
    return failure();
  eraseBarriers(*plain);
  return runner.runPasses(
      *plain, [](OpPassManager &pm) { pm.addPass(createMergeEqualOpsPass()); });
}

/// It is kept, also where others take its place among the programs.
void RecomputeSearch::addUnmarked() {
  Program program = getUnmarked();
  if (!program.module)
    return;
  unmarked = copy(program);
  add(std::move(program));
}

/// What the program says, what it would be without its marks, and what each
/// price of memory makes of that.
void RecomputeSearch::collect() {
  programs.clear();
  unmarked.reset();
  add(getAsWritten());
  if (hasBarriers(unfused))
    addUnmarked();
  for (const RecomputePrice &price :
       getRecomputePrices(*plain, machine, /*waists=*/false))
    add(choose({price.price}));
  // Not mixed with the others.
  auto prices = getRecomputePrices(*plain, machine, /*waists=*/true);
  for (const RecomputePrice &price : prices)
    if (isTiny || price.price == prices.back().price)
      add(choose({price.price, 100, 0, /*waists=*/true}));
  keepUseful();
}

/// With the choices at two prices for a part of the forward pass each: with as
/// much as fits of that at the lower one, which computes less again.
RecomputeSearch::Program RecomputeSearch::mix(int64_t lower, int64_t higher) {
  Program best;
  int64_t low = 0, high = 100;
  for (int i = 0; i < kMaxHalvings; ++i) {
    int64_t middle = (low + high) / 2;
    Program mixed = choose({higher, middle, lower});
    if (!mixed.module)
      return {};
    MemoryLoop loop = makeLoop(*mixed.module);
    bool fits = canFit(loop.getLeastBytes());
    (fits ? high : low) = middle;
    if (fits)
      best = std::move(mixed);
  }
  return best;
}

/// With as much of what it computes again kept as `within` bytes have room for:
/// first what takes no memory, as it stands there anyway where most is needed,
/// then what takes most time for its bytes. It may need less than the program.
RecomputeSearch::Program RecomputeSearch::keepMore(const Program &program,
                                                   int64_t within) {
  if (!program.isChosen)
    return {};
  Choice choice = program.choice;
  int64_t least = getLeast(program);
  int64_t time = program.estimate.computeNanoseconds;
  SmallVector<RepeatedTask> tasks =
      getRepeatedTasks(*plain, machine, choice.price, choice.waists);
  llvm::erase_if(tasks, [&](const RepeatedTask &task) {
    return task.nanoseconds < time / kWorthKeeping;
  });
  tasks.truncate(std::min(tasks.size(), kMaxKept));
  Program best;
  auto keepWithin = [&](int64_t bytes) {
    llvm::erase_if(tasks, [&](const RepeatedTask &task) {
      Choice more = choice;
      more.kept.push_back(task.number);
      Program changed = choose(more);
      if (!changed.module)
        return false;
      MemoryLoop loop = makeLoop(*changed.module);
      int64_t needed = loop.getLeastBytes();
      int64_t taken = loop.estimate().computeNanoseconds;
      if (needed <= 0 || needed > bytes || taken >= time)
        return false;
      choice = std::move(more);
      best = std::move(changed);
      least = needed;
      time = taken;
      return true;
    });
  };
  keepWithin(least);
  if (within > least)
    keepWithin(within);
  best.bytes = least;
  return best;
}

/// Drops programs that compute more than another one and need no less.
void RecomputeSearch::keepUseful() {
  std::stable_sort(
      programs.begin(), programs.end(), [](const Program &a, const Program &b) {
        return a.estimate.computeNanoseconds < b.estimate.computeNanoseconds;
      });
  std::vector<Program> useful;
  for (Program &program : programs)
    if (useful.empty() || program.leanBytes < useful.back().leanBytes)
      useful.push_back(std::move(program));
  programs = std::move(useful);
}

RecomputeSearch::Attempt RecomputeSearch::attempt(const Program &program) {
  MemoryLoop loop = makeLoop(*program.module);
  return attempt(loop, program.recomputed);
}

/// A plan that needs `within` bytes at most, whatever the limit is.
RecomputeSearch::Attempt RecomputeSearch::attempt(const Program &program,
                                                  int64_t within) {
  MemoryLoop loop = makeLoop(*program.module);
  if (within != limit)
    loop.keepWithin(within);
  return attempt(loop, program.recomputed);
}

RecomputeSearch::Attempt RecomputeSearch::attempt(MemoryLoop &loop,
                                                  ArrayAttr recomputed) {
  Attempt attempt;
  RemarkLog before = remarks;
  {
    ScopedDiagnosticHandler handler(
        unfused.getContext(), [&](Diagnostic &diagnostic) {
          attempt.said.push_back(std::move(diagnostic));
        });
    attempt.fitted = loop.fit();
  }
  attempt.fitted.recomputed = recomputed;
  attempt.remarks = std::exchange(remarks, std::move(before));
  if (unfused.getContext()->getRemarkEngine())
    attempt.estimate = loop.estimate();
  return attempt;
}

MemoryLoop::Fitted RecomputeSearch::tell(Attempt attempt) {
  remarks = std::move(attempt.remarks);
  for (Diagnostic &diagnostic : attempt.said)
    unfused.getContext()->getDiagEngine().emit(std::move(diagnostic));
  if (attempt.fitted.planned)
    describe(attempt);
  return std::move(attempt.fitted);
}

/// Says what computing again costs and frees, in program order. What need not
/// be written and read may be worth more than it costs.
void RecomputeSearch::describe(const Attempt &chosen) {
  auto funcs = fused.getOps<func::FuncOp>();
  if (funcs.empty() || !fused.getContext()->getRemarkEngine() ||
      chosen.fitted.recomputed == recomputed)
    return;
  MemoryLoop::Estimate written = makeLoop(fused).estimate();
  int64_t more =
      chosen.estimate.computeNanoseconds - written.computeNanoseconds;
  int64_t fewer = written.bytes - chosen.estimate.bytes;
  std::string why =
      limit < kUnlimited
          ? "as the memory limit is " + std::to_string(limit) + " bytes"
          : "or kept instead of that, to save time";
  remark::passed(
      (*funcs.begin()).getLoc(),
      remark::RemarkOpts::name("recompute").category("weft-recompute"))
      << remark::add("values are computed again, {0}: {1} compute, {2} bytes "
                     "in program order",
                     why, more > 0 ? "more" : "no more",
                     fewer > 0 ? "fewer" : "no fewer")
      << remark::metric("ns", more) << remark::metric("bytes", fewer);
}

bool RecomputeSearch::takeFaster(Attempt &best, Attempt other) const {
  bool isFaster = other.fitted.planned &&
                  (!best.fitted.planned ||
                   other.fitted.nanoseconds < best.fitted.nanoseconds);
  if (isFaster)
    best = std::move(other);
  return isFaster;
}

bool RecomputeSearch::canFit(int64_t least) const {
  return least > 0 && least <= limit;
}

int64_t RecomputeSearch::getLeast(ModuleOp module) const {
  return makeLoop(module).getLeastBytes();
}

int64_t RecomputeSearch::estimateNanoseconds(ModuleOp module, int64_t within) {
  MemoryLoop loop = makeLoop(module);
  if (within != limit)
    loop.keepWithin(within);
  return loop.estimateNanoseconds();
}

/// Of a tiny program that is known.
int64_t RecomputeSearch::getLeast(const Program &program) const {
  return isTiny ? program.leanBytes : getLeast(*program.module);
}

/// The program with as much computed again as brings it to so many bytes, by
/// the estimate.
RecomputeSearch::Program RecomputeSearch::repeat(const Program &program,
                                                 int64_t bytes) {
  Program changed;
  changed.module = ModuleOp(*program.module).clone();
  RecomputePassOptions pass;
  pass.machine = machineName.str();
  pass.bytes = bytes;
  if (failed(runner.runPasses(*changed.module, [&](OpPassManager &pm) {
        pm.addPass(createRecomputePass(pass));
        pm.addPass(createNameOpsPass());
      })))
    return {};
  // Kernels are repeated as they are.
  changed.recomputed = describeRecomputed(*changed.module, machine);
  return changed;
}

bool RecomputeSearch::hasPrice(const Program &program) {
  return program.isChosen && !program.choice.waists;
}

static bool areSame(ModuleOp a, ModuleOp b) {
  return OperationEquivalence::isEquivalentTo(
      a, b, OperationEquivalence::Flags::IgnoreLocations);
}

/// Adds the program with more and more computed again to `candidates`; between
/// what fits or needs least of these and what computes less again, some more.
/// But for what lies above the limit, they do not depend on it.
void RecomputeSearch::recompute(const Program &program) {
  // Below what can be saved all targets are the same program.
  OwningOpRef<ModuleOp> last;
  int64_t lastBytes = 0;
  auto add = [&](int64_t target) {
    Program changed = repeat(program, target);
    if (!changed.module)
      return lastBytes = 0;
    if (last && areSame(*last, *changed.module))
      return lastBytes;
    last = changed.module->clone();
    lastBytes = changed.bytes = getLeast(*changed.module);
    if (lastBytes > 0)
      candidates.push_back(std::move(changed));
    return lastBytes;
  };
  int64_t step = program.bytes / kTargets, least = 0;
  std::optional<int64_t> fitting, lowest;
  for (int64_t target = step * (kTargets - 1); target >= 0 && step > 0;
       target -= step) {
    int64_t bytes = add(target);
    if (bytes <= 0)
      continue;
    if (!fitting && bytes <= limit)
      fitting = target;
    if (!lowest || bytes < least) {
      lowest = target;
      least = bytes;
    }
  }
  auto addAbove = [&](std::optional<int64_t> target, int64_t within) {
    int64_t low = target.value_or(0), part = step;
    for (int i = 0; i < kMaxHalvings && target; ++i) {
      part /= 2;
      int64_t bytes = add(low + part);
      if (bytes > 0 && bytes <= within)
        low += part;
    }
  };
  addAbove(lowest, least);
  if (fitting != lowest)
    addAbove(fitting, limit);
}

RecomputeSearch::Program RecomputeSearch::copy(const Program &program) {
  Program same;
  same.module = ModuleOp(*program.module).clone();
  same.recomputed = program.recomputed;
  same.bytes = program.bytes;
  return same;
}

/// Moves the programs to `candidates`, and that of which single kernels are to
/// be computed again to `sources`.
void RecomputeSearch::addLeast(std::vector<Program> &sources) {
  if (programs.empty())
    return;
  // What would be kept at a limit that it fits may need less than it.
  if (isTiny)
    candidates.push_back(keepMore(programs.back(), programs.back().leanBytes));
  for (Program &program : programs) {
    program.bytes = getLeast(program);
    candidates.push_back(std::move(program));
  }
  sources.push_back(copy(candidates.back()));
  programs.clear();
}

/// The fastest plan of those that need no more than `within` bytes: only what
/// is found at once to be fast, and faster than `below`, is planned with all
/// effort, up to `most` programs.
RecomputeSearch::Attempt
RecomputeSearch::attemptFastest(const std::vector<Program> &given,
                                int64_t within, int64_t below, size_t most) {
  struct Estimated {
    const Program *program;
    int64_t nanoseconds;
  };
  SmallVector<Estimated> estimated;
  for (const Program &candidate : given) {
    ModuleOp module = *candidate.module;
    bool isKnown = llvm::any_of(estimated, [&](const Estimated &other) {
      return areSame(*other.program->module, module);
    });
    if (candidate.bytes > within || isKnown)
      continue;
    int64_t nanoseconds = estimateNanoseconds(module, within);
    if (nanoseconds <= below)
      estimated.push_back({&candidate, nanoseconds});
  }
  llvm::stable_sort(estimated, [](const Estimated &a, const Estimated &b) {
    return a.nanoseconds < b.nanoseconds;
  });
  estimated.truncate(std::min(estimated.size(), most));
  Attempt best;
  bool hasUnmarked = false;
  for (auto [program, nanoseconds] : estimated) {
    if (best.fitted.planned &&
        nanoseconds - nanoseconds / kSlack > best.fitted.nanoseconds)
      break;
    takeFaster(best, attempt(*program, within));
    hasUnmarked |= unmarked && areSame(*unmarked->module, *program->module);
  }
  if (!hasUnmarked)
    takeUnmarked(best, within);
  return best;
}

/// `auto` is no slower than `none`, whatever an order says that is found at
/// once: without marks the step is planned with all effort, unless all that it
/// computes takes longer.
void RecomputeSearch::takeUnmarked(Attempt &best, int64_t within) {
  if (!unmarked)
    return;
  MemoryLoop loop = makeLoop(*unmarked->module);
  if (best.fitted.planned &&
      loop.estimate().computeNanoseconds >= best.fitted.nanoseconds)
    return;
  int64_t least = loop.getLeastBytes();
  if (least <= 0 || least > within)
    return;
  takeFaster(best, attempt(*unmarked, within));
}

/// The fastest plan of those that fit.
RecomputeSearch::Attempt RecomputeSearch::attemptFastest() {
  return attemptFastest(candidates, limit, kUnlimited, kMaxAttempts);
}

/// What no choice of values fits: the programs with single kernels computed
/// again, and those with what marks keep apart. If none fits either, the plan
/// of what needs least of them may, which does not depend on the limit; the
/// error is of that.
MemoryLoop::Fitted RecomputeSearch::fitLeast(int64_t neededAsWritten) {
  std::vector<Program> sources;
  candidates.clear();
  candidates.push_back(getAsWritten());
  candidates.back().bytes = neededAsWritten;
  sources.push_back(copy(candidates.back()));
  addLeast(sources);
  if (hasBarriers(unfused)) {
    if (failed(makePlain(unfused.clone())))
      return {};
    collect();
    addLeast(sources);
  }
  for (const Program &source : sources)
    recompute(source);
  llvm::erase_if(candidates,
                 [](const Program &p) { return !p.module || p.bytes <= 0; });
  if (candidates.empty())
    return tell(attempt(getAsWritten()));
  const Program &least = *std::min_element(
      candidates.begin(), candidates.end(),
      [](const Program &a, const Program &b) { return a.bytes < b.bytes; });
  if (least.bytes <= limit) {
    // What a tiny program needs is an estimate, and its plan may need more.
    Attempt fastest = attemptFastest();
    return tell(fastest.fitted.planned ? std::move(fastest) : attempt(least));
  }
  // The search for a fast plan within so much may end with one of less.
  MemoryLoop loop = makeLoop(*least.module);
  loop.keepWithinLeast(least.bytes);
  Attempt less = attempt(loop, least.recomputed);
  bool isLess = less.fitted.planned && less.fitted.bytes < least.bytes;
  if (isLess && less.fitted.bytes <= limit)
    return tell(std::move(less));
  loop.reportTooLarge(isLess ? less.fitted.bytes : least.bytes);
  return {};
}

/// With as much kept as there is room for in a few steps up to the limit, so
/// that nearly the same is tried at higher ones.
void RecomputeSearch::keepMoreInSteps(const Program &program) {
  std::vector<int64_t> steps = {program.leanBytes};
  while (steps.back() <= limit)
    steps.push_back(steps.back() + steps.back() / kStep + 1);
  for (int i = 0; i < kNumSteps && steps.size() > 2; ++i) {
    steps.pop_back();
    candidates.push_back(keepMore(program, steps.back()));
  }
}

MemoryLoop::Fitted RecomputeSearch::fitSmall(MemoryLoop &asWritten,
                                             Attempt written) {
  if (failed(makePlain(makeUnmarked())))
    return {};
  collect();
  candidates.clear();
  const Program *tooLarge = nullptr;
  for (const Program &program : programs) {
    int64_t bytes = getLeast(program);
    if (!canFit(bytes)) {
      if (candidates.empty())
        tooLarge = &program;
      continue;
    }
    bool isBetween = candidates.empty() && tooLarge && hasPrice(*tooLarge) &&
                     hasPrice(program) && !isTiny;
    if (isBetween)
      candidates.push_back(mix(tooLarge->choice.price, program.choice.price));
    if (isTiny && tooLarge) {
      if (candidates.empty())
        keepMoreInSteps(program);
      candidates.push_back(keepMore(program, bytes));
    }
    candidates.push_back(copy(program));
    candidates.back().bytes = bytes;
  }
  llvm::erase_if(candidates, [](const Program &p) { return !p.module; });
  Attempt best = attemptFastest();
  // It may have been left out by its estimate, and be the fastest all the same.
  takeFaster(best, std::move(written));
  return best.fitted.planned ? tell(std::move(best))
                             : fitLeast(asWritten.getLeastBytes());
}

static int64_t countOps(ModuleOp module) {
  int64_t count = 0;
  module.walk([&](Operation *) { ++count; });
  return count;
}

bool RecomputeSearch::isLoose(int64_t bytes) const {
  return bytes / kLoosePercent < limit / 100;
}

/// Says whether hardly anything can be faster: what computes more than an order
/// that no limit binds is not.
bool RecomputeSearch::isFastEnough(const MemoryLoop::Fitted &fitted,
                                   MemoryLoop &loop) const {
  if (isLoose(fitted.bytes))
    return true;
  int64_t unlimited = loop.estimateUnlimitedNanoseconds();
  return fitted.nanoseconds - unlimited <= unlimited / kTolerated;
}

/// Says whether another program may be faster, however much memory there is:
/// marks have it compute more, and what waits has time to do so.
bool RecomputeSearch::mayBeBeaten(const MemoryLoop::Fitted &fitted) const {
  int64_t bound = fitted.boundNanoseconds;
  return hasBarriers(unfused) ||
         fitted.nanoseconds - bound > bound / kTolerated;
}

/// The step as written, or the program that is fastest by an order that is
/// found at once, if its plan is faster. Else it would be found within less
/// memory alone.
MemoryLoop::Fitted RecomputeSearch::fitFastest(Attempt written) {
  if (failed(makePlain(makeUnmarked())))
    return {};
  collect();
  // Where nobody says how much memory there is, marks do.
  bool isBound = limit == kUnlimited && hasBarriers(unfused);
  int64_t within = isBound ? written.fitted.bytes : limit;
  int64_t taken = estimateNanoseconds(fused, within);
  takeFaster(written, attemptFastest(programs, within,
                                     taken - taken / kTolerated, /*most=*/1));
  return tell(std::move(written));
}

bool RecomputeSearch::isSmall(ModuleOp unfused) {
  return countOps(unfused) <= kMaxOps;
}

MemoryLoop::Fitted RecomputeSearch::fit() {
  int64_t numOps = countOps(unfused);
  bool isLarge = numOps > kMaxOps;
  isTiny = numOps <= kMaxTinyOps;
  if (isLarge)
    return fitLarge();
  MemoryLoop asWritten = makeLoop(fused);
  Attempt written = attempt(asWritten, recomputed);
  if (written.fitted.planned && isFastEnough(written.fitted, asWritten))
    return asWritten.takesBest() && !asWritten.isQuick() &&
                   mayBeBeaten(written.fitted)
               ? fitFastest(std::move(written))
               : tell(std::move(written));
  return fitSmall(asWritten, std::move(written));
}

MemoryLoop::Fitted RecomputeSearch::fitAgain() {
  if (candidates.empty())
    return fit();
  Attempt best = attemptFastest();
  takeFaster(best, attempt(getAsWritten()));
  return best.fitted.planned ? tell(std::move(best)) : MemoryLoop::Fitted();
}
