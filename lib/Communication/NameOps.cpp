// SPDX-License-Identifier: Apache-2.0

// weft-name-ops: the names by which schedules, traces and reports call ops. An
// op is named after the weight that it uses, or after the state that its
// gradient goes into; an op without either has a number.

#include "CollectiveFlow.h"
#include "TimedOps.h"

#include "weft/Communication/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::weft {
#define GEN_PASS_DEF_NAMEOPSPASS
#include "weft/Communication/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

/// The weight that the contraction takes whose result a collective moves; empty
/// if there is none.
std::string getProducingWeight(Operation *op, const CollectiveFlow &flow) {
  Operation *def = op->getOperand(0).getDefiningOp();
  while (isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
                         tensor::CastOp>(def))
    def = def->getOperand(0).getDefiningOp();
  if (def && getComputeClass(def) == ComputeClass::Contraction)
    for (Value operand : def->getOperands())
      if (std::optional<unsigned> weight = flow.getWeight(operand))
        return "output of " + flow.getArgumentName(*weight);
  return "";
}

/// The weight that an op uses, or the state that it makes the gradient of;
/// empty if there is neither.
std::string getSubject(Operation *op, const CollectiveFlow &flow) {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  bool isReduction = collective && collective.getReduction();
  for (Value operand : op->getOperands())
    if (std::optional<unsigned> weight = flow.getWeight(operand);
        weight && !isReduction)
      return flow.getArgumentName(*weight);
  for (Value result : op->getResults())
    if (std::optional<unsigned> state = flow.getState(result);
        state && !flow.feedsCompute(result))
      return (isReduction ? "" : "gradient of ") + flow.getResultName(*state);
  return collective ? getProducingWeight(op, flow) : "";
}

/// Names of one function. Names that are there are taken.
class Namer {
public:
  explicit Namer(func::FuncOp func) : func(func) {
    walk([&](Operation *op) {
      if (auto name = op->getAttrOfType<StringAttr>(WeftDialect::kOpNameAttr))
        taken.insert(name.getValue());
    });
  }

  void run() {
    walk([&](Operation *op) { name(op); });
  }

private:
  /// Bodies of kernels, most of a program, have no ops with names.
  void walk(function_ref<void(Operation *)> visit) {
    func.walk<WalkOrder::PreOrder>([&](Operation *op) {
      visit(op);
      return isa<linalg::LinalgOp, rt::FusedOp>(op) ? WalkResult::skip()
                                                    : WalkResult::advance();
    });
  }

  void name(Operation *op) {
    StringRef kind = getTimedKind(op);
    if (kind.empty() || op->hasAttr(WeftDialect::kOpNameAttr))
      return;
    op->setAttr(WeftDialect::kOpNameAttr,
                StringAttr::get(op->getContext(), makeUnique(op, kind)));
  }

  /// "matmul #3", "all_gather w", and "all_gather w #2" for the second.
  std::string makeUnique(Operation *op, StringRef kind) {
    std::string subject = isa<rt::FusedOp>(op) ? "" : getSubject(op, getFlow());
    std::string stem = kind.str() + (subject.empty() ? "" : " " + subject);
    if (!subject.empty() && isGrouped(op))
      stem += " +" + std::to_string(op->getNumOperands() - 1);
    unsigned &count = counts[stem];
    std::string name;
    do {
      name = stem;
      if (subject.empty())
        name += " #" + std::to_string(count);
      else if (count > 0)
        name += " #" + std::to_string(count + 1);
      ++count;
    } while (!taken.insert(name).second);
    return name;
  }

  static bool isGrouped(Operation *op) {
    return isa<CollectiveOpInterface>(op) && op->getNumOperands() > 1;
  }

  /// Computed when the first op asks.
  const CollectiveFlow &getFlow() {
    if (!flow)
      flow.emplace(func);
    return *flow;
  }

  func::FuncOp func;
  std::optional<CollectiveFlow> flow;
  llvm::StringSet<> taken;
  llvm::StringMap<unsigned> counts;
};

struct NameOpsPass : public weft::impl::NameOpsPassBase<NameOpsPass> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      Namer(func).run();
    markAllAnalysesPreserved();
  }
};

} // namespace
