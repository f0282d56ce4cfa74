// SPDX-License-Identifier: Apache-2.0

// The planned program is simulated once.

#include "PlannedFigures.h"

#include "weft/Analysis/PlanSummary.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Simulate/Simulate.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Nanoseconds of all collectives, and of the waits for each by its name.
struct Waits {
  explicit Waits(const Timeline &timeline) {
    for (const Slice &slice : timeline.slices) {
      if (slice.flow < 0)
        continue;
      int64_t ns = slice.endNs - slice.beginNs;
      if (slice.kind == Slice::Collective)
        collectiveNs += ns;
      else
        exposedNs[slice.name] += ns;
    }
  }

  int64_t collectiveNs = 0;
  llvm::StringMap<int64_t> exposedNs;
};

/// The list of exposed collectives with the times of `waits`, longest first.
ArrayAttr updateExposed(ArrayAttr list, const Waits &waits, Builder &builder) {
  SmallVector<std::pair<int64_t, Attribute>> kept;
  llvm::StringSet<> seen;
  for (auto wait : list.getAsRange<DictionaryAttr>()) {
    auto name = wait.getAs<StringAttr>("op");
    int64_t ns = name ? waits.exposedNs.lookup(name.getValue()) : 0;
    // Rounds of a loop have one name.
    if (ns == 0 || !seen.insert(name.getValue()).second)
      continue;
    NamedAttrList fields(wait);
    fields.set("exposed_ns", builder.getI64IntegerAttr(ns));
    kept.emplace_back(ns, fields.getDictionary(builder.getContext()));
  }
  llvm::stable_sort(
      kept, [](const auto &a, const auto &b) { return a.first > b.first; });
  SmallVector<Attribute> sorted =
      llvm::map_to_vector(kept, [](const auto &entry) { return entry.second; });
  return builder.getArrayAttr(sorted);
}

void noteFigures(func::FuncOp func, DictionaryAttr figures,
                 const Timeline &timeline) {
  Waits waits(timeline);
  PlanSummary plan = summarizePlan(func);
  Builder builder(func.getContext());
  NamedAttrList fields(figures);
  auto set = [&](StringRef name, int64_t value) {
    fields.set(name, builder.getI64IntegerAttr(value));
  };
  // What was bounded is what was scheduled, before kernels shared launches.
  auto get = [&](StringRef name) {
    auto number = figures.getAs<IntegerAttr>(name);
    return number ? number.getInt() : 0;
  };
  int64_t saved = std::max<int64_t>(0, get("compute_ns") - timeline.computeNs);
  auto getBound = [&](StringRef name) {
    return dropRounding(get(name) - saved, timeline.stepNs);
  };
  auto setBound = [&](StringRef name, int64_t planned) {
    set(name, std::max(planned, getBound(name)));
  };
  for (StringRef name : {"bound_heads_and_tails_ns", "bound_work_and_waits_ns",
                         "bound_two_paths_ns"})
    setBound(name, 0);
  setBound("bound_link_ns", timeline.linkNs);
  setBound("bound_path_ns", timeline.chainNs);
  setBound("bound_within_limit_ns", timeline.boundNs);
  set("step_ns", timeline.stepNs);
  set("compute_ns", timeline.computeNs);
  set("exposed_ns", timeline.exposedNs);
  set("communication_ns", waits.collectiveNs);
  set("bound_ns", timeline.boundNs);
  int64_t forced = std::max<int64_t>(0, timeline.boundNs - timeline.computeNs);
  set("hideable_ns", std::max<int64_t>(0, waits.collectiveNs - forced));
  set("peak_bytes", plan.getTotalBytes());
  set("fixed_bytes", plan.argumentBytes + plan.resultBytes);
  if (auto exposed = figures.getAs<ArrayAttr>("exposed"))
    fields.set("exposed", updateExposed(exposed, waits, builder));
  func->setAttr(WeftDialect::kScheduleAttr,
                fields.getDictionary(func.getContext()));
}

} // namespace

int64_t weft::notePlannedFigures(ModuleOp planned, const Machine &machine) {
  auto meshes = planned.getOps<MeshOp>();
  MeshAttr mesh = meshes.empty() ? MeshAttr() : (*meshes.begin()).getMesh();
  CostModel cost(machine, mesh);
  int64_t sum = 0;
  for (auto func : planned.getOps<func::FuncOp>()) {
    if (func.isExternal())
      continue;
    Timeline timeline = simulate(func, cost).timeline;
    sum += timeline.stepNs;
    if (auto figures =
            func->getAttrOfType<DictionaryAttr>(WeftDialect::kScheduleAttr))
      noteFigures(func, figures, timeline);
  }
  return sum;
}

int64_t mlir::weft::getScheduleFigure(ModuleOp module, StringRef name) {
  int64_t sum = 0;
  for (auto func : module.getOps<func::FuncOp>())
    if (auto figures =
            func->getAttrOfType<DictionaryAttr>(WeftDialect::kScheduleAttr))
      if (auto number = figures.getAs<IntegerAttr>(name))
        sum += number.getInt();
  return sum;
}
