// SPDX-License-Identifier: Apache-2.0

// Contractions that use the weights of one product of queries and keys are
// looked at together, forward and backward.

#include "weft/Attention/Passes.h"

#include "Candidates.h"
#include "JoinScores.h"
#include "KeepOffloads.h"
#include "RaisePlan.h"
#include "ReadAsKept.h"
#include "SplitColumns.h"
#include "weft/Dialect/Weft/IR/OptimizationBarrier.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::weft {
#define GEN_PASS_DEF_RAISEATTENTIONPASS
#include "weft/Attention/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

/// The uses of one product.
using UseGroup = SmallVector<WeightsUse, 4>;

/// Says whether weights are seen in the values' contraction, or where the
/// gradient of values is taken: other softmaxes have neither.
bool looksLikeAttention(ArrayRef<WeightsUse> uses) {
  return llvm::any_of(uses, [](const WeightsUse &use) {
    return use.isNormalized && use.other->value != use.scores.key->value &&
           use.other->value != use.scores.query->value;
  });
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

void eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
    else if (auto barrier = dyn_cast<OptimizationBarrierOp>(op);
             barrier && !isReadAsKept(barrier))
      dropUnused(barrier);
}

struct RaiseAttentionPass
    : weft::impl::RaiseAttentionPassBase<RaiseAttentionPass> {
  using Base::Base;

  void runOnOperation() override {
    // Where it raises no more, a softmax with a column that is no key stays.
    if (isWorthSplitting())
      forEachBlock(getOperation(), splitColumnsIn);
    // Where it raises fewer gradients, or as many and leaves more ops, nothing
    // is read as kept.
    if (isWorthReadingAsKept())
      forEachBlock(getOperation(), readAsKeptIn);
    raiseAll(getOperation());
  }

private:
  static void readAsKeptIn(Block &block) {
    if (!keepsScores(block))
      return;
    readAsKept(block, findValues(block));
    eraseDead(block);
  }

  void raiseAll(ModuleOp module) {
    if (size_t numSums = findSums(module).size())
      join(module, findUnraisable(module, numSums));
    raiseIn(module);
    forEachBlock(module, [](Block &block) {
      if (readAsMarked(block))
        eraseDead(block);
    });
  }

  /// What there is in a copy that is raised.
  struct Raised {
    int64_t numForward = 0, numGradients = 0, numOps = 0;
  };

  Raised tryRaising(function_ref<void(Block &)> prepare) {
    OwningOpRef<ModuleOp> copy = getOperation().clone();
    isTrial = true;
    forEachBlock(*copy, prepare);
    raiseAll(*copy);
    isTrial = false;
    Raised raised;
    copy->walk([&](Operation *op) {
      raised.numForward += isa<AttentionOp>(op);
      raised.numGradients += isa<AttentionGradOp>(op);
      ++raised.numOps;
    });
    return raised;
  }

  static void leave(Block &) {}

  static void splitColumnsIn(Block &block) {
    splitColumns(block);
    eraseDead(block);
  }

  bool isWorthSplitting() {
    bool hasAny = false;
    forEachBlock(getOperation(), [&](Block &block) {
      hasAny = hasAny || hasSplitColumns(block);
    });
    if (!hasAny)
      return false;
    Raised split = tryRaising(splitColumnsIn), left = tryRaising(leave);
    return std::pair(split.numForward, split.numGradients) >
           std::pair(left.numForward, left.numGradients);
  }

  bool isWorthReadingAsKept() {
    bool keeps = false;
    forEachBlock(getOperation(),
                 [&](Block &block) { keeps = keeps || keepsScores(block); });
    if (!keeps)
      return false;
    Raised kept = tryRaising(readAsKeptIn), left = tryRaising(leave);
    return std::pair(kept.numGradients, -kept.numOps) >=
           std::pair(left.numGradients, -left.numOps);
  }

  /// Of functions that are raised.
  static SmallVector<func::FuncOp> getFunctions(ModuleOp module) {
    return llvm::to_vector(
        llvm::make_filter_range(module.getOps<func::FuncOp>(), [](auto func) {
          return !func.isExternal() && !hasOrders(func);
        }));
  }

  static void forEachBlock(ModuleOp module, function_ref<void(Block &)> visit) {
    for (func::FuncOp func : getFunctions(module))
      func.walk([&](Block *block) {
        if (!isa<linalg::LinalgOp>(block->getParentOp()))
          visit(*block);
      });
  }

  static SmallVector<linalg::GenericOp> findSums(ModuleOp module) {
    SmallVector<linalg::GenericOp> sums;
    for (func::FuncOp func : getFunctions(module))
      llvm::append_range(sums, findScoreSums(func));
    return sums;
  }

  /// Joins the products of each sum but for what is left out of it. In a trial,
  /// what is made says of which sum it is, and which of its joins.
  void join(ModuleOp module, ArrayRef<ScoreJoins> leftOut) {
    Builder builder(module.getContext());
    SmallVector<linalg::GenericOp> sums = findSums(module);
    // Gradients are of the last sum before them, where it is computed again.
    for (int64_t i = sums.size() - 1; i >= 0; --i)
      joinScores(sums[i], leftOut[i], [&](int64_t number, MatmulOp made) {
        if (isTrial)
          made->setAttr(kJoinedAttr, builder.getDenseI64ArrayAttr({i, number}));
      });
    forEachBlock(module, eraseDead);
  }

  /// Which joins of each sum are left out, as they are not raised: none is in a
  /// copy in which all others are made. A product may be of many pairs, which
  /// are tried one by one, but not all of too many.
  SmallVector<ScoreJoins> findUnraisable(ModuleOp module, size_t numSums) {
    constexpr int kTrialsOfPairs = 8, kMostTrials = kTrialsOfPairs + 2;
    SmallVector<ScoreJoins> leftOut(numSums);
    for (int trial = 0; trial < kMostTrials; ++trial) {
      OwningOpRef<ModuleOp> copy = module.clone();
      bool wasTrial = std::exchange(isTrial, true);
      join(*copy, leftOut);
      raiseIn(*copy);
      isTrial = wasTrial;
      if (!leaveOut(*copy, leftOut, /*sums=*/trial >= kTrialsOfPairs))
        return leftOut;
    }
    ScoreJoins all;
    all.insert(0);
    return SmallVector<ScoreJoins>(numSums, all);
  }

  /// Leaves out what a trial joined and did not raise, or the whole sums; false
  /// if there is none.
  static bool leaveOut(ModuleOp trial, MutableArrayRef<ScoreJoins> leftOut,
                       bool sums) {
    bool isChanged = false;
    trial.walk([&](MatmulOp op) {
      if (auto joined = op->getAttrOfType<DenseI64ArrayAttr>(kJoinedAttr)) {
        leftOut[joined[0]].insert(sums ? 0 : joined[1]);
        isChanged = true;
      }
    });
    return isChanged;
  }

  void raiseIn(ModuleOp module) {
    forEachBlock(module, [&](Block &block) { raiseIn(block); });
  }

  /// Sums whose orders are declared were chosen with the ops as they are: one
  /// op for several would add them in an order that nobody declared.
  static bool hasOrders(func::FuncOp func) {
    return func
        .walk([](Operation *op) {
          return op->hasAttr(WeftDialect::kOrderAttr) ? WalkResult::interrupt()
                                                      : WalkResult::advance();
        })
        .wasInterrupted();
  }

  void raiseIn(Block &block) {
    for (MatmulOp matmul : findSinks(block))
      missed(matmul.getLoc(), "its softmax has a column that is no key; "
                              "weft.jax.dot_product_attention takes sinks");
    llvm::MapVector<Value, UseGroup> groups;
    llvm::SetVector<Value> allUnread;
    for (auto [matmul, isLeft] : findCandidates(block)) {
      Value unread;
      if (std::optional<WeightsUse> use =
              readWeightsUse(matmul, isLeft, unread)) {
        Value product = use->scores.product;
        groups[product].push_back(std::move(*use));
      } else if (unread) {
        allUnread.insert(unread);
      }
    }
    bool changed = false;
    ComparedTerms compared;
    for (auto &[product, uses] : groups) {
      if (changed)
        readAgain(uses);
      takeApartAlike(uses);
      changed |= raise(product, uses, compared);
    }
    for (Value product : allUnread)
      if (!groups.contains(product))
        missed(product.getLoc(),
               "its scores are more than a product, or two, with a scale of "
               "one number, "
               "a softcap, biases and masks of one number each");
    if (!changed)
      return;
    keepOffloads(block);
    eraseDead(block);
  }

  /// Reads uses again that read what has been replaced, as that of queries that
  /// are what attention before it gave.
  static void readAgain(UseGroup &uses) {
    for (WeightsUse &use : uses) {
      Value unread;
      if (readsReplaced(use))
        if (std::optional<WeightsUse> again =
                readWeightsUse(use.op, use.weightsAreLeft, unread))
          use = std::move(*again);
    }
  }

  /// Whether nothing that is there for something reads it, but for forms that
  /// are not used either.
  static bool isUnused(Value value, int depth = 4) {
    return llvm::all_of(value.getUsers(), [&](Operation *user) {
      return depth > 0 && user->getNumResults() == 1 &&
             isMemoryEffectFree(user) &&
             isUnused(user->getResult(0), depth - 1);
    });
  }

  static bool readsReplaced(const WeightsUse &use) {
    auto isReplaced = [](TermRef term) {
      return term->kind == TermKind::Load && term->value &&
             isUnused(term->value);
    };
    bool found = isReplaced(use.other) || isReplaced(use.scores.query) ||
                 isReplaced(use.scores.key);
    walkTerms(use.weights, [&](TermRef term) {
      found = found || isReplaced(term);
      return !found;
    });
    return found;
  }

  /// With windows, and if that is not right, with all masks as tensors.
  bool raise(Value product, MutableArrayRef<WeightsUse> uses,
             ComparedTerms &compared) {
    std::string reason;
    for (PlanChoice choice : {PlanChoice{true, false}, PlanChoice{false, false},
                              PlanChoice{true, true}}) {
      std::string own;
      std::optional<AttentionPlan> plan = makePlan(uses, choice, own);
      if (plan) {
        if (std::optional<unsigned> raised = raisePlan(*plan, compared, own)) {
          numForward += isTrial ? 0 : 1;
          numGradients += isTrial ? 0 : *raised;
          return true;
        }
      }
      if (reason.empty())
        reason = own;
    }
    if (!reason.empty() && looksLikeAttention(uses))
      missed(product.getLoc(), reason);
    return false;
  }

  void missed(Location loc, StringRef reason) {
    if (isTrial)
      return;
    remark::missed(
        loc,
        remark::RemarkOpts::name("attention").category("weft-raise-attention"))
        << remark::add("attention is not raised: {0}", reason);
  }

  static constexpr StringLiteral kJoinedAttr = "weft.joined_scores";

  /// Nothing is said or counted.
  bool isTrial = false;
};

} // namespace
