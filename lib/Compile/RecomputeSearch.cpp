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

#include "mlir/IR/Diagnostics.h"
#include "mlir/Transforms/Passes.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::weft;

/// How often a program is changed for the limit, since bytes are estimates.
static constexpr int kMaxTries = 4;

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
                                              int64_t latePrice) {
  OwningOpRef<ModuleOp> changed = plain->clone();
  ChooseSavedPassOptions options;
  options.machine = machineName.str();
  options.price = price;
  options.share = share;
  options.latePrice = latePrice;
  if (failed(runner.runPasses(*changed, [&](OpPassManager &pm) {
        pm.addPass(createChooseSavedPass(options));
        buildKernelPipeline(pm);
      })))
    return {};
  return changed;
}

/// What the program says, what it would be without its marks, and what each
/// price of memory makes of that.
LogicalResult RecomputeSearch::collect() {
  plain = unfused.clone();
  eraseBarriers(*plain);
  if (failed(runner.runPasses(
          *plain, [](OpPassManager &pm) { pm.addPass(createCSEPass()); })))
    return failure();
  add(OwningOpRef<ModuleOp>(fused.clone()), -1);
  add(choose(0, 100, 0), 0);
  for (int64_t price : getRecomputePrices(*plain, machine))
    add(choose(price, 100, 0), price);
  keepUseful();
  return success();
}

/// With the choices of two programs for a part of the forward pass each: with
/// as much as fits of the one that computes less.
OwningOpRef<ModuleOp> RecomputeSearch::mix(const Program &more,
                                           const Program &less) {
  if (more.price < 0 || less.price < 0)
    return {};
  OwningOpRef<ModuleOp> best;
  int64_t low = 0, high = 100;
  for (int i = 0; i < kMaxHalvings; ++i) {
    int64_t middle = (low + high) / 2;
    OwningOpRef<ModuleOp> mixed = choose(less.price, middle, more.price);
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
  return std::move(attempt.fitted);
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
  int64_t offset = 0, least = loop.getLeastBytes(offset);
  return least > 0 && least <= limit;
}

/// Makes a program compute more again until a plan of it fits: in as few steps
/// as its estimate is good, and then as far as it goes.
OwningOpRef<ModuleOp> RecomputeSearch::recompute(ModuleOp module) {
  int64_t offset = 0;
  int64_t least = makeLoop(module).getLeastBytes(offset);
  int64_t target = limit - offset;
  OwningOpRef<ModuleOp> changed = module.clone();
  for (int i = 0; i <= kMaxTries && least > limit; ++i) {
    changed = module.clone();
    RecomputePassOptions pass;
    pass.machine = machineName.str();
    pass.bytes = i < kMaxTries ? std::max<int64_t>(0, target) : 0;
    if (failed(runner.runPasses(*changed, [&](OpPassManager &pm) {
          pm.addPass(createRecomputePass(pass));
          pm.addPass(createNameOpsPass());
        })))
      return {};
    least = makeLoop(*changed).getLeastBytes(offset);
    target -= std::max<int64_t>(least - limit, 0);
  }
  return changed;
}

MemoryLoop::Fitted RecomputeSearch::fit() {
  // With so much memory left there is nothing to choose.
  MemoryLoop asWritten = makeLoop(fused);
  if (canFit(asWritten)) {
    Attempt written = attempt(std::move(asWritten));
    if (written.fitted.planned &&
        written.fitted.bytes / kLoosePercent < limit / 100)
      return tell(std::move(written));
  }
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
    if (!best.fitted.planned && tooLarge)
      if (OwningOpRef<ModuleOp> mixed = mix(*tooLarge, program))
        takeFaster(best, attempt(makeLoop(*mixed)));
    // What computes more needs less, and may hide more; once it does not, what
    // computes yet more does not either.
    if (!takeFaster(best, attempt(std::move(loop))))
      break;
  }
  if (best.fitted.planned)
    return tell(std::move(best));
  OwningOpRef<ModuleOp> changed = recompute(*programs.back().module);
  return changed ? tell(attempt(makeLoop(*changed))) : MemoryLoop::Fitted();
}
