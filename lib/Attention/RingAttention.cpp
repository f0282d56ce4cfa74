// SPDX-License-Identifier: Apache-2.0

// Where gathered keys and values become pieces that travel: decides, and says
// why not where it does not (RingFinder.cpp finds, RingForms.cpp weighs,
// RingPieces.cpp builds).

#include "weft/Attention/Passes.h"

#include "RingFinder.h"
#include "RingForms.h"
#include "weft/Schedule/FixedBytes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"

namespace mlir::weft {
#define GEN_PASS_DEF_RINGATTENTIONPASS
#include "weft/Attention/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

struct RingAttentionPass
    : public weft::impl::RingAttentionPassBase<RingAttentionPass> {
  using Base::Base;

  void runOnOperation() override {
    if (when == "never")
      return;
    if (!llvm::is_contained({"always", "auto", "balanced"}, when)) {
      getOperation().emitError("has no ring attention '")
          << when << "', expected never, auto, always or balanced";
      return signalPassFailure();
    }
    std::string error;
    FailureOr<Machine> description = Machine::load(machine, error);
    if (failed(description)) {
      getOperation().emitError(error);
      return signalPassFailure();
    }
    RingPlanner own(getContext(), *description, machine);
    planner = &own;
    limit = memoryLimit == 0 ? description->memoryBytes
                             : std::max<int64_t>(0, memoryLimit);
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<AttentionOp, AttentionGradOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops)
      run(op);
    rings.eraseGathers();
    rings = {};
    planner = nullptr;
  }

private:
  static remark::RemarkOpts getRemarkOpts() {
    return remark::RemarkOpts::name("ring").category("weft-ring-attention");
  }

  /// What the step's arguments and results leave for the arena; 0: no limit.
  int64_t getRoom(Operation *op) const {
    if (limit == 0)
      return 0;
    auto function = op->getParentOfType<func::FuncOp>();
    return std::max<int64_t>(1, limit - getFixedBytes(function));
  }

  /// The forms that there are to choose from.
  SmallVector<RingForm> getForms(const Ring &ring) const {
    SmallVector<RingForm> forms;
    if (when == "auto")
      forms.push_back(RingForm::Gathered);
    if (when != "balanced" || !canBalance(ring))
      forms.push_back(RingForm::Ring);
    if (canBalance(ring))
      forms.push_back(RingForm::Balanced);
    return forms;
  }

  /// Of a forward pass, which its gradient follows. `why` has the plans of the
  /// forms, if there is a choice.
  RingForm choose(const Ring &ring, std::string &why) {
    SmallVector<RingForm> forms = getForms(ring);
    if (forms.size() == 1)
      return forms[0];
    SmallVector<RingPlan> plans = planner->plan(ring, forms, getRoom(ring.op));
    RingChoice choice = chooseRingForm(plans, minSpared);
    why = ", " + choice.reason;
    for (const RingPlan &plan : plans) {
      why += llvm::formatv("{0}{1} {2} bytes",
                           &plan == plans.begin() ? ": " : ", ",
                           stringifyRingForm(plan.form), plan.bytes);
      if (plan.ns > 0)
        why += llvm::formatv(" and {0} ns", plan.ns);
    }
    return choice.form;
  }

  void run(Operation *op) {
    RingFinder finder(op, rings);
    Location loc = op->getLoc();
    auto opts = getRemarkOpts();
    if (!finder.find()) {
      if (!finder.reason.empty())
        remark::missed(loc, opts)
            << remark::add("keys are gathered whole: {0}", finder.reason);
      return;
    }
    Ring &ring = finder.ring;
    std::string why;
    if (!ring.shape.isGradient()) {
      RingForm form = choose(ring, why);
      if (form == RingForm::Gathered) {
        remark::missed(loc, opts)
            << remark::add("keys are gathered whole{0}", why);
        return;
      }
      ring.isBalanced = form == RingForm::Balanced;
    }
    remark::passed(loc, opts) << remark::add(
        "keys travel around {0} ranks in {1} {2}pieces of {3}{4}", ring.ranks,
        ring.steps.size(), ring.isBalanced ? "balanced " : "", ring.pieceKeys,
        why);
    ++(ring.shape.isGradient() ? numGradients : numForward);
    numBalanced += ring.isBalanced;
    rings.build(ring);
  }

  RingSet rings;
  RingPlanner *planner = nullptr;
  /// Of a rank's memory; 0: none.
  int64_t limit = 0;
};

} // namespace
