// SPDX-License-Identifier: Apache-2.0

// An attention is planned as the step will be: the same passes from the local
// program to the plan, the same cost model, the simulator's time.
//
// Worked example. 32,768 positions of 32 heads with 128 bf16, causal, over the
// 8 H100 of a node: gathered keys need 1,074 MB and 17.0 ms, a balanced ring
// 611 MB and 12.4 ms.

#include "RingForms.h"

#include "RingFinder.h"
#include "RingProbe.h"

#include "weft/Analysis/PlanSummary.h"
#include "weft/Cost/CostModel.h"
#include "weft/Pipelines/PlanPipelines.h"
#include "weft/Schedule/FixedBytes.h"
#include "weft/Schedule/Passes.h"
#include "weft/Simulate/Simulate.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"

#include <limits>

using namespace mlir;
using namespace mlir::weft;

StringRef mlir::weft::stringifyRingForm(RingForm form) {
  switch (form) {
  case RingForm::Gathered:
    return "gathered keys";
  case RingForm::Ring:
    return "a ring";
  case RingForm::Balanced:
    return "a balanced ring";
  }
  llvm_unreachable("a form that is not listed");
}

bool mlir::weft::canBalance(const Ring &ring) {
  const AttentionAttr config = ring.shape.config;
  return ring.isAligned && config.getRight() && !config.getLeft() &&
         ring.pieceKeys % 2 == 0;
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

/// Times that differ by so many percent are equal, and so many are given for
/// much memory.
static constexpr int64_t kEqualPercent = 2, kLongerPercent = 10;

/// The plan that needs least, the first one of equals.
static const RingPlan &findLeast(ArrayRef<RingPlan> plans) {
  return *llvm::min_element(plans, [](const RingPlan &a, const RingPlan &b) {
    return a.bytes < b.bytes;
  });
}

/// Those that take no more than `percent` longer than the fastest one.
static SmallVector<RingPlan> getFast(ArrayRef<RingPlan> plans,
                                     int64_t percent) {
  int64_t fastest = std::numeric_limits<int64_t>::max();
  for (const RingPlan &plan : plans)
    fastest = std::min(fastest, plan.ns);
  auto isFast = [&](const RingPlan &plan) {
    return plan.ns - fastest <= fastest / 100 * percent;
  };
  return llvm::to_vector(llvm::make_filter_range(plans, isFast));
}

RingChoice mlir::weft::chooseRingForm(ArrayRef<RingPlan> plans,
                                      int64_t minSpared) {
  SmallVector<RingPlan> fitting = llvm::to_vector(
      llvm::make_filter_range(plans, [](const RingPlan &p) { return p.fits; }));
  if (fitting.empty())
    return {findLeast(plans).form, "as it needs least, and nothing fits"};
  // Without times the first one is as fast as any.
  bool isTimed = fitting[0].ns > 0;
  const RingPlan fast = getFast(fitting, kEqualPercent).front();
  const RingPlan small = findLeast(getFast(fitting, kLongerPercent));
  if (fast.bytes - small.bytes >= std::max<int64_t>(1, minSpared))
    return {small.form,
            llvm::formatv("as it needs at least {0} bytes less than the "
                          "fastest one and takes at most {1} % longer",
                          minSpared, kLongerPercent)};
  if (!isTimed)
    return {fast.form, "as times are not known"};
  return {fast.form, fitting.size() < plans.size() ? "as the fastest that fits"
                                                   : "as the fastest"};
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

RingPlanner::RingPlanner(MLIRContext &context, const Machine &machine,
                         StringRef machineName)
    : machine(machine), machineName(machineName),
      context(std::make_unique<MLIRContext>(context.getDialectRegistry(),
                                            MLIRContext::Threading::DISABLED)) {
  // Of what rings are made; the parser loads what is there already.
  this->context->loadDialect<arith::ArithDialect, linalg::LinalgDialect,
                             math::MathDialect, tensor::TensorDialect>();
}

RingPlanner::~RingPlanner() = default;

/// Makes rings of all attention.
static void makeRings(ModuleOp probe, bool isBalanced) {
  SmallVector<Operation *> ops;
  probe.walk([&](Operation *op) {
    if (isa<AttentionOp, AttentionGradOp>(op))
      ops.push_back(op);
  });
  RingSet rings;
  for (Operation *op : ops) {
    RingFinder finder(op, rings);
    if (!finder.find())
      continue;
    finder.ring.isBalanced |= isBalanced && !finder.ring.shape.isGradient();
    rings.build(finder.ring);
  }
  rings.eraseGathers();
}

/// Returns false if the plan needs more than the limit.
bool RingPlanner::runPasses(ModuleOp probe, int64_t memoryLimit) {
  PassManager pm(context.get());
  pm.enableVerifier(false);
  buildFusePipeline(pm);
  SchedulePassOptions options;
  options.machine = machineName;
  options.memoryLimit = memoryLimit;
  options.brief = true;
  pm.addPass(createSchedulePass(options));
  buildPlanPipeline(pm);
  return succeeded(pm.run(probe));
}

RingPlan RingPlanner::planForm(StringRef text, RingForm form, int64_t room) {
  ScopedDiagnosticHandler silent(context.get(),
                                 [](Diagnostic &) { return success(); });
  RingPlan plan{form};
  auto run = [&](bool isLimited) {
    OwningOpRef<ModuleOp> probe =
        parseSourceString<ModuleOp>(text, ParserConfig(context.get()));
    auto getFunction = [&] { return *probe->getOps<func::FuncOp>().begin(); };
    if (form != RingForm::Gathered)
      makeRings(*probe, form == RingForm::Balanced);
    constexpr int64_t kNoLimit = -1;
    if (!runPasses(*probe,
                   isLimited ? room + getFixedBytes(getFunction()) : kNoLimit))
      return false;
    // Planning makes another one.
    func::FuncOp function = getFunction();
    plan.bytes = summarizePlan(function).arenaBytes;
    MeshAttr mesh = (*probe->getOps<MeshOp>().begin()).getMesh();
    if (machine.checkRanks(mesh.getNumRanks()).empty())
      plan.ns = simulate(function, CostModel(machine, mesh)).timeline.stepNs;
    return !isLimited || plan.bytes <= room;
  };
  // An order for more memory may take more of it.
  if (room > 0 && run(/*isLimited=*/true))
    return plan;
  bool isPlanned = run(/*isLimited=*/false);
  plan.fits = isPlanned && room == 0;
  if (!isPlanned)
    plan.bytes = std::numeric_limits<int64_t>::max();
  return plan;
}

SmallVector<RingPlan>
RingPlanner::plan(const Ring &forward, ArrayRef<RingForm> forms, int64_t room) {
  std::string probe;
  llvm::raw_string_ostream os(probe);
  makeProbe(forward)->print(os, OpPrintingFlags().useLocalScope());
  SmallVector<RingPlan> plans;
  for (RingForm form : forms) {
    std::string key =
        llvm::formatv("{0}{1} {2}", probe, stringifyRingForm(form), room);
    auto it = planned.find(key);
    if (it == planned.end())
      it = planned.try_emplace(key, planForm(probe, form, room)).first;
    plans.push_back(it->second);
  }
  return plans;
}
