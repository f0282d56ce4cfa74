// SPDX-License-Identifier: Apache-2.0

// The ops are made beside what they are to replace, each result is compared
// with it (lib/Verify/Identities, which knows nothing of how it was found), and
// what does not hold is taken away again.

#include "RaisePlan.h"

#include "BuildAttention.h"
#include "weft/Analysis/QuietDiagnostics.h"
#include "weft/Dialect/Weft/IR/OptimizationBarrier.h"
#include "weft/Verify/Identities/Compare.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/SetOperations.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Knows the ops that were made, to take them away again.
struct MadeOps : OpBuilder::Listener {
  explicit MadeOps(Block *block) : block(block) {}

  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    if (op->getBlock() == block)
      ops.push_back(op);
  }
  void eraseFrom(size_t first) {
    while (ops.size() > first)
      ops.pop_back_val()->erase();
  }

  Block *block;
  SmallVector<Operation *> ops;
};

/// The tensors that a term reads, constants aside.
llvm::DenseSet<Value> getRead(TermRef root) {
  llvm::DenseSet<Value> read;
  walkTerms(root, [&](TermRef term) {
    if (term->kind == TermKind::Load && term->value &&
        !matchPattern(term->value, m_Constant()))
      read.insert(term->value);
    return true;
  });
  return read;
}

/// Says whether `value` is seen to be computed from an argument that is not
/// among what may be read, the nearest first. So a value that is more than
/// attention, as a residual sum, is told apart without terms: it may be made of
/// all layers before it.
bool readsOthers(Value value, const llvm::DenseSet<Value> &mayRead) {
  llvm::SetVector<Value> seen;
  seen.insert(value);
  for (size_t i = 0; i < seen.size(); ++i) {
    if (mayRead.contains(seen[i]))
      continue;
    Operation *op = seen[i].getDefiningOp();
    if (!op)
      return true;
    if (isa<OptimizationBarrierOp>(op)) {
      seen.insert(op->getOperand(cast<OpResult>(seen[i]).getResultNumber()));
    } else if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
      for (OpOperand &operand : op->getOpOperands())
        if (op->getNumResults() == 1 &&
            !generic.getMatchingBlockArgument(&operand).use_empty())
          seen.insert(operand.get());
    } else if (isa<ShardOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp,
                   MatmulOp, AttentionOp, AttentionGradOp>(op)) {
      seen.insert(op->operand_begin(), op->operand_end());
    }
  }
  return false;
}

unsigned getWidth(Type type) {
  return type.isF32() ? 32 : type.isBF16() || type.isF16() ? 16 : 0;
}

/// Raises what a plan says, if that is right.
class Attempt {
public:
  Attempt(AttentionPlan &plan, ComparedTerms &compared, std::string &reason)
      : plan(plan), compared(compared), reason(reason),
        block(plan.use->op->getBlock()), made(block),
        builder(block, block->begin(), &made) {}

  bool run() {
    if (succeeds())
      return true;
    made.eraseFrom(0);
    return false;
  }

  unsigned numGradients = 0;

private:
  bool fail(const Twine &why) {
    reason = why.str();
    return false;
  }

  bool succeeds() {
    if (!chooseElement())
      return fail("its elements are none of f32, bf16 and f16");
    firstUse = getFirst();
    if (!firstUse)
      return fail("its uses are in several blocks");
    builder.setInsertionPoint(firstUse);
    if (!isAvailable(firstUse, {&plan.q, &plan.k, &plan.v}))
      return fail("its values are computed after its scores are used");
    AttentionBuilder ops(builder, firstUse.getLoc(), plan, element);
    if (!ops.makeOperands())
      return fail("its bias or mask cannot be written as one tensor");
    if (!makeForward(ops) || !makeGradient(ops))
      return false;
    llvm::SetVector<Operation *> interior = findInterior();
    SmallVector<OpOperand *> leaks = findLeaks(interior);
    if (plan.sink && plan.hasGradient() && !leaks.empty()) {
      replaceRowValues(ops, leaks);
      interior = findInterior();
      leaks = findLeaks(interior);
    }
    llvm::DenseSet<Value> ofGradient = findOfGradient(interior);
    for (OpOperand *leak : leaks)
      if (!ofGradient.contains(leak->get()))
        return fail("its weights are used by '" +
                    leak->getOwner()->getName().getStringRef() + "'" +
                    describe(leak->getOwner()));
    for (auto &[old, value] : replacements)
      old.replaceAllUsesWith(value);
    if (!leaks.empty())
      sink(interior);
    return true;
  }

  static std::string describe(Operation *op) {
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (!generic)
      return "";
    Operation *last =
        generic.getBody()->getTerminator()->getOperand(0).getDefiningOp();
    return last ? (" (" + last->getName().getStringRef() + ")").str() : "";
  }

  /// The widest type of the tensors; the result may be rounded afterwards.
  bool chooseElement() {
    SmallVector<Value> values = {plan.q.value, plan.k.value, plan.v.value};
    unsigned width = 0;
    for (Value value : values) {
      Type type = getElementTypeOrSelf(value);
      if (!getWidth(type))
        return false;
      bool differs = element && element != type;
      if (differs && getWidth(type) == width && width == 16)
        element = Float32Type::get(type.getContext());
      else if (getWidth(type) > width)
        element = type;
      width = getWidth(element);
    }
    if (!plan.out)
      return true;
    outs = getReplaceable(plan, *plan.out);
    keepFitting(outs, plan.out);
    Type made = plan.out->op.getType().getElementType();
    if (!getWidth(made))
      return false;
    auto isNarrow = [&](const Replaced &replaced) {
      return getElementTypeOrSelf(replaced.old.value) == element;
    };
    if (made != element && getWidth(made) >= width) {
      // What is only used rounded need not be made wide.
      if (llvm::any_of(outs, isNarrow))
        llvm::erase_if(outs, [&](const Replaced &r) { return !isNarrow(r); });
      else
        element = Float32Type::get(made.getContext());
    }
    return true;
  }

  /// Before which op the forward op is to stand.
  MatmulOp getFirst() {
    MatmulOp first;
    for (WeightsUse *use : {plan.out, plan.dq, plan.dk, plan.dv}) {
      if (!use)
        continue;
      if (use->op->getBlock() != block)
        return MatmulOp();
      if (use == plan.out)
        return use->op;
      if (!first || use->op->isBeforeInBlock(first))
        first = use->op;
    }
    return first;
  }

  bool isAvailable(Operation *before, ArrayRef<const Located *> tensors) {
    return llvm::all_of(tensors, [&](const Located *located) {
      Operation *def = located->value.getDefiningOp();
      return !def || def->getBlock() != block || def->isBeforeInBlock(before);
    });
  }

  /// The results that have the loops that the op gives them.
  SmallVector<Replaced> getFitting(WeightsUse *use) {
    if (!use)
      return {};
    SmallVector<Replaced> all =
        use == plan.out ? outs : getReplaceable(plan, *use);
    keepFitting(all, use);
    if (all.size() > 4)
      all.truncate(4);
    return all;
  }

  void keepFitting(SmallVector<Replaced> &all, WeightsUse *use) {
    SmallVector<unsigned> wanted = getResultLoops(plan, use);
    llvm::sort(wanted);
    llvm::erase_if(wanted,
                   [&](unsigned loop) { return plan.sizes[loop] == 1; });
    llvm::erase_if(all, [&](const Replaced &replaced) {
      SmallVector<unsigned> loops = replaced.old.getLoops();
      llvm::sort(loops);
      return loops != wanted;
    });
  }

  /// Whether the op keeps its constraints, without a word.
  static bool isValid(Operation *op) {
    QuietDiagnostics quiet(op->getContext());
    return succeeded(verify(op));
  }

  bool isEqual(Value old, Value value) {
    Lifter lifter;
    for (const Located *located : {&plan.q, &plan.k, &plan.v, &plan.dout})
      if (located->value)
        lifter.cut(located->value);
    SmallVector<DigitIndex> indices =
        lifter.addLoops(cast<RankedTensorType>(old.getType()).getShape());
    TermRef b = lifter.lift(value, indices);
    llvm::DenseSet<Value> mayRead = getRead(b);
    if (readsOthers(old, mayRead))
      return false;
    TermRef a = lifter.lift(old, indices);
    ComparedAttention attention;
    attention.factors.push_back(plan.scale);
    if (plan.softcap)
      attention.factors.push_back(*plan.softcap);
    attention.queries = plan.sizes[plan.getQuery()];
    attention.keys = plan.sizes[plan.getKey()];
    auto compare = [&] {
      return llvm::set_is_subset(getRead(a), mayRead) &&
             areEqual(lifter.table, a, b, attention);
    };
    return compared.areEqual(lifter.table, a, b, attention, compare);
  }

  bool makeForward(AttentionBuilder &ops) {
    if (!plan.out) {
      forward = ops.makeForward(nullptr);
      if (!isValid(forward))
        return fail("its tensors have other loops than weft.attention's");
      result = ops.makeResult(forward);
      return true;
    }
    bool isFitting = false;
    for (const Replaced &replaced : getFitting(plan.out)) {
      size_t before = made.ops.size();
      forward = ops.makeForward(&replaced);
      if (isValid(forward)) {
        isFitting = true;
        result = ops.makeResult(forward);
        Value value = ops.makeReplacement(result, replaced);
        if (isEqual(replaced.old.value, value)) {
          replacements.push_back({replaced.old.value, value});
          return true;
        }
      }
      made.eraseFrom(before);
    }
    return fail(isFitting ? "what weighs its values is not the softmax of "
                            "scores alone"
                          : "its tensors have other loops than "
                            "weft.attention's");
  }

  /// Tries results until each is equal to one of what the op makes.
  bool makeGradient(AttentionBuilder &ops) {
    if (!plan.hasGradient())
      return true;
    WeightsUse *uses[] = {plan.dq, plan.dk, plan.dv};
    SmallVector<Replaced> choices[3];
    size_t chosen[3] = {0, 0, 0};
    for (auto [choice, use] : llvm::zip_equal(choices, uses)) {
      choice = getFitting(use);
      if (use && choice.empty())
        return fail("a gradient has other loops than weft.attention_grad's");
    }
    while (true) {
      const Replaced *now[3] = {};
      for (int i = 0; i < 3; ++i) {
        if (uses[i] && chosen[i] == choices[i].size())
          return fail("a gradient is not that of its queries, keys or values");
        now[i] = uses[i] ? &choices[i][chosen[i]] : nullptr;
      }
      size_t before = made.ops.size(), kept = replacements.size();
      if (tryGradient(ops, now, chosen))
        return true;
      if (!reason.empty())
        return false;
      made.eraseFrom(before);
      replacements.truncate(kept);
    }
  }

  /// One choice; where a result differs, its next one is chosen.
  bool tryGradient(AttentionBuilder &ops, const Replaced *const now[3],
                   size_t chosen[3]) {
    Operation *first = nullptr;
    for (int i = 0; i < 3; ++i)
      if (Operation *def = now[i] ? now[i]->old.value.getDefiningOp() : nullptr)
        if (!first || def->isBeforeInBlock(first))
          first = def;
    builder.setInsertionPoint(first);
    if (!isAvailable(first, {&plan.dout}))
      return fail("the gradient of its result comes after a gradient of it");
    // The forward op is right before its first use. It has no place yet: with
    // one, all ops of the block would be numbered again.
    if (firstUse != first && !firstUse->isBeforeInBlock(first))
      return fail("a gradient of it comes before its result");
    AttentionGradOp gradient =
        ops.makeGradient(forward, result, now[0], now[1], now[2]);
    if (!isValid(gradient))
      return fail("a gradient has other loops than weft.attention_grad's");
    bool isRight = true;
    for (int i = 0; i < 3; ++i) {
      if (!now[i])
        continue;
      Value value = ops.makeReplacement(gradient->getResult(i), *now[i]);
      if (isEqual(now[i]->old.value, value)) {
        replacements.push_back({now[i]->old.value, value});
        continue;
      }
      ++chosen[i];
      isRight = false;
    }
    numGradients = isRight;
    return isRight;
  }

  //===--------------------------------------------------------------------===//
  // Gradients of sinks
  //===--------------------------------------------------------------------===//

  /// Replaces what is computed of one number for each query from the first
  /// values that leave attention, so that these need not be there.
  void replaceRowValues(AttentionBuilder &ops, ArrayRef<OpOperand *> leaks) {
    constexpr size_t kMostValues = 24;
    llvm::SetVector<Value> values;
    auto addResult = [&](Operation *user) {
      if (user->getNumResults() == 1 && user->getBlock() == block &&
          values.size() < kMostValues &&
          isa<linalg::GenericOp, tensor::ExpandShapeOp,
              tensor::CollapseShapeOp>(user))
        values.insert(user->getResult(0));
    };
    for (OpOperand *leak : leaks)
      addResult(leak->getOwner());
    for (size_t i = 0; i < values.size(); ++i)
      if (!replaceRowValue(ops, values[i]))
        llvm::for_each(values[i].getUsers(), addResult);
  }

  bool replaceRowValue(AttentionBuilder &ops, Value old) {
    using RowValue = AttentionBuilder::RowValue;
    Operation *def = old.getDefiningOp();
    if (!getWidth(getElementTypeOrSelf(old)) ||
        !isAvailable(def, {&plan.dout}) ||
        (firstUse != def && !firstUse->isBeforeInBlock(def)))
      return false;
    std::optional<Located> located = locateMade(plan.dout, old);
    if (!located)
      located = locateMade(plan.q, old);
    if (!located)
      return false;
    builder.setInsertionPoint(def);
    for (RowValue which :
         {RowValue::SinkGradient, RowValue::Delta, RowValue::SinkWeight}) {
      size_t before = made.ops.size();
      Value value = ops.makeRowValue(which, forward, result, *located);
      if (!value)
        return false;
      if (isEqual(old, value)) {
        replacements.push_back({old, value});
        return true;
      }
      made.eraseFrom(before);
    }
    return false;
  }

  //===--------------------------------------------------------------------===//
  // Other uses
  //===--------------------------------------------------------------------===//

  /// The ops between the operands and what is replaced.
  llvm::SetVector<Operation *> findInterior() {
    llvm::DenseSet<Value> ends;
    for (const Located *located : {&plan.q, &plan.k, &plan.v, &plan.dout})
      ends.insert(located->value);
    llvm::SetVector<Operation *> interior;
    for (auto &[old, value] : replacements)
      interior.insert(old.getDefiningOp());
    for (size_t i = 0; i < interior.size(); ++i)
      for (Value operand : interior[i]->getOperands()) {
        operand = skipBarriers(operand);
        if (Operation *def = operand.getDefiningOp();
            def && !ends.contains(operand))
          interior.insert(def);
      }
    return interior;
  }

  /// Where ops would go on using the scores, or what is computed from them.
  SmallVector<OpOperand *>
  findLeaks(const llvm::SetVector<Operation *> &interior) {
    llvm::DenseSet<Value> ends;
    for (auto &[old, value] : replacements)
      ends.insert(old);
    SmallVector<OpOperand *> leaks;
    llvm::SetVector<Value> reached;
    reached.insert(plan.use->scores.product);
    for (size_t i = 0; i < reached.size(); ++i)
      for (OpOperand &use : reached[i].getUses()) {
        Operation *user = use.getOwner();
        if (isa<OptimizationBarrierOp>(user)) {
          reached.insert(user->getResult(use.getOperandNumber()));
          continue;
        }
        if (!interior.contains(user)) {
          leaks.push_back(&use);
          continue;
        }
        for (Value result : user->getResults())
          if (!ends.contains(result))
            reached.insert(result);
      }
    return leaks;
  }

  /// What the interior computes from the gradient of the result.
  llvm::DenseSet<Value>
  findOfGradient(const llvm::SetVector<Operation *> &interior) {
    llvm::DenseSet<Value> found;
    if (!plan.hasGradient())
      return found;
    SmallVector<Value> open = {plan.dout.value};
    auto add = [&](Value value) {
      if (found.insert(value).second)
        open.push_back(value);
    };
    while (!open.empty())
      for (OpOperand &use : open.pop_back_val().getUses()) {
        Operation *user = use.getOwner();
        if (isa<OptimizationBarrierOp>(user))
          add(user->getResult(use.getOperandNumber()));
        else if (interior.contains(user))
          llvm::for_each(user->getResults(), add);
      }
    return found;
  }

  /// What is left of the interior, for other ops that read gradients of scores,
  /// is computed right before these: no square waits from the forward pass on.
  void sink(const llvm::SetVector<Operation *> &interior) {
    // What is made outside of a loop stays there.
    SmallVector<Operation *> lastFirst = llvm::filter_to_vector(
        interior, [&](Operation *op) { return op->getBlock() == block; });
    llvm::sort(lastFirst, [](Operation *a, Operation *b) {
      return b->isBeforeInBlock(a);
    });
    llvm::DenseSet<Operation *> dead;
    for (Operation *op : lastFirst) {
      Operation *first = nullptr;
      for (Operation *user : op->getUsers()) {
        Operation *in = block->findAncestorOpInBlock(*user);
        if (!dead.contains(in) && (!first || in->isBeforeInBlock(first)))
          first = in;
      }
      if (first)
        op->moveBefore(first);
      else
        dead.insert(op);
    }
  }

  AttentionPlan &plan;
  ComparedTerms &compared;
  std::string &reason;
  Block *block;
  MadeOps made;
  OpBuilder builder;
  Type element;
  SmallVector<Replaced> outs;
  /// Before it, the forward op stands.
  MatmulOp firstUse;
  AttentionOp forward;
  /// Of attention: the op's, or what a sink leaves of it.
  Value result;
  SmallVector<std::pair<Value, Value>, 4> replacements;
};

} // namespace

std::optional<unsigned> weft::raisePlan(AttentionPlan &plan,
                                        ComparedTerms &compared,
                                        std::string &reason) {
  Attempt attempt(plan, compared, reason);
  return attempt.run() ? std::optional(attempt.numGradients) : std::nullopt;
}
