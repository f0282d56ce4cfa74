// SPDX-License-Identifier: Apache-2.0

// Programs that compute more and more again do not depend on the limit: what
// one of them gains at some limit, it gains at every higher one as well. Only
// where a limit lies between two of them is one changed so that it fits just
// there.

#include "RecomputeSearch.h"

#include "weft/Communication/Passes.h"
#include "weft/Pipelines/Pipelines.h"
#include "weft/Schedule/Passes.h"
#include "weft/Schedule/Recomputation.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/Passes.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::weft;

/// Between what a program needs and nothing, so many targets are tried.
static constexpr int kTargets = 8;

/// Of larger programs only one choice of values is planned: to plan each takes
/// too long.
static constexpr int64_t kMaxOps = 4000;

/// A plan that takes so many percent of the limit leaves enough.
static constexpr int64_t kLoosePercent = 80;

/// How often what lies between two programs is halved.
static constexpr int kMaxHalvings = 3;

void RecomputeSearch::add(OwningOpRef<ModuleOp> module, int64_t price) {
  if (!module)
    return;
  MemoryLoop::Estimate estimate = makeLoop(*module).estimate();
  programs.push_back({std::move(module), estimate, price});
}

/// The program without marks where values are kept or computed again by price.
OwningOpRef<ModuleOp> RecomputeSearch::choose(int64_t price, int64_t share,
                                              int64_t latePrice, bool waists) {
  OwningOpRef<ModuleOp> changed = plain->clone();
  ChooseSavedPassOptions options;
  options.machine = machineName.str();
  options.price = price;
  options.share = share;
  options.latePrice = latePrice;
  options.waists = waists;
  if (failed(runner.runPasses(*changed, [&](OpPassManager &pm) {
        pm.addPass(createChooseSavedPass(options));
        buildKernelPipeline(pm);
      })))
    return {};
  return changed;
}

LogicalResult RecomputeSearch::makePlain() {
  plain = unfused.clone();
  eraseBarriers(*plain);
  return runner.runPasses(
      *plain, [](OpPassManager &pm) { pm.addPass(createCSEPass()); });
}

/// What the program says, what it would be without its marks, and what each
/// price of memory makes of that.
LogicalResult RecomputeSearch::collect() {
  if (failed(makePlain()))
    return failure();
  add(OwningOpRef<ModuleOp>(fused.clone()), -1);
  add(choose(0, 100, 0), 0);
  for (int64_t price : getRecomputePrices(*plain, machine, /*waists=*/false))
    add(choose(price, 100, 0), price);
  // Not mixed with the others.
  if (auto prices = getRecomputePrices(*plain, machine, /*waists=*/true);
      !prices.empty())
    add(choose(prices.back(), 100, 0, /*waists=*/true), -1);
  keepUseful();
  return success();
}

/// With the choices at two prices for a part of the forward pass each: with as
/// much as fits of that at the lower one, which computes less again.
OwningOpRef<ModuleOp> RecomputeSearch::mix(int64_t lower, int64_t higher,
                                           bool waists) {
  OwningOpRef<ModuleOp> best;
  int64_t low = 0, high = 100;
  for (int i = 0; i < kMaxHalvings; ++i) {
    int64_t middle = (low + high) / 2;
    OwningOpRef<ModuleOp> mixed = choose(higher, middle, lower, waists);
    if (!mixed)
      return {};
    MemoryLoop loop = makeLoop(*mixed);
    bool fits = canFit(loop);
    (fits ? high : low) = middle;
    if (fits)
      best = std::move(mixed);
  }
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
    if (useful.empty() || program.estimate.bytes < useful.back().estimate.bytes)
      useful.push_back(std::move(program));
  programs = std::move(useful);
}

RecomputeSearch::Attempt RecomputeSearch::attempt(MemoryLoop loop) {
  Attempt attempt;
  RemarkLog before = remarks;
  attempt.estimate = loop.estimate();
  {
    ScopedDiagnosticHandler handler(
        unfused.getContext(), [&](Diagnostic &diagnostic) {
          attempt.said.push_back(std::move(diagnostic));
        });
    attempt.fitted = loop.fit();
  }
  attempt.remarks = std::exchange(remarks, std::move(before));
  return attempt;
}

MemoryLoop::Fitted RecomputeSearch::tell(Attempt attempt) {
  remarks = std::move(attempt.remarks);
  for (Diagnostic &diagnostic : attempt.said)
    unfused.getContext()->getDiagEngine().emit(std::move(diagnostic));
  if (attempt.fitted.planned)
    describe(attempt.estimate);
  return std::move(attempt.fitted);
}

/// Says what computing again costs and frees, in program order.
void RecomputeSearch::describe(const MemoryLoop::Estimate &chosen) {
  MemoryLoop::Estimate written = makeLoop(fused).estimate();
  int64_t more = chosen.computeNanoseconds - written.computeNanoseconds;
  auto funcs = fused.getOps<func::FuncOp>();
  if (more <= 0 || funcs.empty() || !fused.getContext()->getRemarkEngine())
    return;
  remark::passed(
      (*funcs.begin()).getLoc(),
      remark::RemarkOpts::name("recompute").category("weft-recompute"))
      << remark::add("values are computed again, as the memory limit is {0} "
                     "bytes: more compute, fewer bytes in program order",
                     limit)
      << remark::metric("ns", more)
      << remark::metric("bytes", written.bytes - chosen.bytes);
}

bool RecomputeSearch::takeFaster(Attempt &best, Attempt other) const {
  bool isFaster = other.fitted.planned &&
                  (!best.fitted.planned ||
                   other.fitted.nanoseconds < best.fitted.nanoseconds);
  if (isFaster)
    best = std::move(other);
  return isFaster;
}

bool RecomputeSearch::canFit(MemoryLoop &loop) const {
  int64_t least = loop.getLeastBytes();
  return least > 0 && least <= limit;
}

int64_t RecomputeSearch::getLeast(ModuleOp module) const {
  return makeLoop(module).getLeastBytes();
}

/// The program with as much computed again as brings it to so many bytes, by
/// the estimate.
OwningOpRef<ModuleOp> RecomputeSearch::repeat(ModuleOp module, int64_t bytes) {
  OwningOpRef<ModuleOp> changed = module.clone();
  RecomputePassOptions pass;
  pass.machine = machineName.str();
  pass.bytes = bytes;
  if (failed(runner.runPasses(*changed, [&](OpPassManager &pm) {
        pm.addPass(createRecomputePass(pass));
        pm.addPass(createNameOpsPass());
      })))
    return {};
  return changed;
}

/// The program with more and more computed again until a plan of it fits, or
/// what needs least of these. The program itself needs `needed` bytes. They do
/// not depend on the limit; where one fits,
/// less of it may do.
RecomputeSearch::Candidate RecomputeSearch::recompute(ModuleOp module,
                                                      int64_t needed) {
  Candidate best;
  auto take = [&](int64_t target) {
    OwningOpRef<ModuleOp> changed = repeat(module, target);
    if (!changed)
      return false;
    int64_t bytes = getLeast(*changed);
    bool isLess = best.bytes == 0 || bytes < best.bytes || bytes <= limit;
    if (bytes > 0 && isLess)
      best = {std::move(changed), bytes};
    return bytes > 0 && bytes <= limit;
  };
  int64_t step = needed / kTargets, low = step * kTargets;
  bool fits = false;
  for (int i = 0; i < kTargets && !fits; ++i)
    fits = take(low -= step);
  for (int i = 0; i < kMaxHalvings && fits; ++i) {
    step /= 2;
    if (take(low + step))
      low += step;
  }
  return best;
}

/// What no choice of values fits: the programs with single kernels computed
/// again. If none fits either, the error is of what needs least.
MemoryLoop::Fitted RecomputeSearch::fitLeast(int64_t neededAsWritten) {
  std::vector<Candidate> candidates;
  candidates.push_back(recompute(fused, neededAsWritten));
  if (!programs.empty()) {
    ModuleOp last = *programs.back().module;
    candidates.push_back(recompute(last, getLeast(last)));
  }
  Attempt best;
  for (Candidate &candidate : candidates)
    if (candidate.bytes > 0 && candidate.bytes <= limit)
      takeFaster(best, attempt(makeLoop(*candidate.module)));
  if (best.fitted.planned)
    return tell(std::move(best));
  candidates.push_back({fused.clone(), neededAsWritten});
  for (Program &program : programs) {
    int64_t needed = getLeast(*program.module);
    candidates.push_back({std::move(program.module), needed});
  }
  llvm::erase_if(candidates, [](Candidate &c) { return c.bytes <= 0; });
  if (candidates.empty())
    return {};
  auto least = std::min_element(
      candidates.begin(), candidates.end(),
      [](Candidate &a, Candidate &b) { return a.bytes < b.bytes; });
  return tell(attempt(makeLoop(*least->module)));
}

/// The lowest price whose program fits, with the one before it, or 0.
std::optional<std::pair<int64_t, int64_t>>
RecomputeSearch::findLowestThatFits(ArrayRef<int64_t> prices, bool waists) {
  size_t low = 0, high = prices.size();
  while (low < high) {
    size_t middle = (low + high) / 2;
    OwningOpRef<ModuleOp> chosen = choose(prices[middle], 100, 0, waists);
    if (!chosen)
      return std::nullopt;
    MemoryLoop loop = makeLoop(*chosen);
    if (canFit(loop))
      high = middle;
    else
      low = middle + 1;
  }
  if (low == prices.size())
    return std::nullopt;
  return std::pair(low ? prices[low - 1] : 0, prices[low]);
}

/// With what is handed on between layers kept, then without. At the highest of
/// the prices as much is kept as at the one before: twice that is beyond all
/// choices.
MemoryLoop::Fitted RecomputeSearch::fitLarge(int64_t needed) {
  if (failed(makePlain()))
    return {};
  for (bool waists : {true, false}) {
    SmallVector<int64_t> prices = getRecomputePrices(*plain, machine, waists);
    if (prices.empty())
      continue;
    prices.push_back(2 * prices.back());
    if (auto found = findLowestThatFits(prices, waists)) {
      auto [lower, higher] = *found;
      Attempt best;
      if (auto chosen = choose(higher, 100, 0, waists))
        takeFaster(best, attempt(makeLoop(*chosen)));
      if (auto mixed = mix(lower, higher, waists))
        takeFaster(best, attempt(makeLoop(*mixed)));
      if (best.fitted.planned)
        return tell(std::move(best));
    }
    // What keeps least is where single kernels are to be computed again.
    add(choose(prices.back(), 100, 0, waists), prices.back());
  }
  return fitLeast(needed);
}

static int64_t countOps(ModuleOp module) {
  int64_t count = 0;
  module.walk([&](Operation *) { ++count; });
  return count;
}

MemoryLoop::Fitted RecomputeSearch::fit() {
  // With so much memory left there is nothing to choose.
  bool isLarge = countOps(unfused) > kMaxOps;
  MemoryLoop asWritten = makeLoop(fused);
  int64_t needed = asWritten.getLeastBytes();
  Attempt written;
  if (canFit(asWritten)) {
    written = attempt(std::move(asWritten));
    if (written.fitted.planned &&
        (isLarge || written.fitted.bytes / kLoosePercent < limit / 100))
      return tell(std::move(written));
  }
  if (isLarge)
    return fitLarge(needed);
  if (failed(collect()))
    return {};
  Attempt best;
  const Program *tooLarge = nullptr;
  for (Program &program : programs) {
    MemoryLoop loop = makeLoop(*program.module);
    if (!best.fitted.planned && !canFit(loop)) {
      tooLarge = &program;
      continue;
    }
    bool isMixed = !best.fitted.planned && tooLarge && tooLarge->price >= 0 &&
                   program.price >= 0;
    if (isMixed)
      if (auto mixed = mix(tooLarge->price, program.price, /*waists=*/false))
        takeFaster(best, attempt(makeLoop(*mixed)));
    // What computes more needs less, and may hide more; once it does not, what
    // computes yet more does not either.
    if (!takeFaster(best, attempt(std::move(loop))))
      break;
  }
  // It may have been left out by its estimate, and be the fastest all the same.
  takeFaster(best, std::move(written));
  return best.fitted.planned ? tell(std::move(best)) : fitLeast(needed);
}
