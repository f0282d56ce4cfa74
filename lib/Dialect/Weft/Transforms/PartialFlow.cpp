// SPDX-License-Identifier: Apache-2.0

// Which ops commute with the combination of contributions, so that the
// combination may wait.
//
// Scalar bodies are interpreted over three states: a scalar is Whole (the same
// on all ranks of the group), Partial (a contribution), or Zero (a constant
// zero, which is both).

#include "weft/Dialect/Weft/Transforms/ShardingRule.h"

#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Dialect/Weft/Transforms/ReductionOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

enum class State { Whole, Partial, Zero };
using MaybeState = std::optional<State>;

bool isIdempotent(Reduction kind) {
  return kind != Reduction::Sum && kind != Reduction::Prod;
}

/// The state of a sum, or of a choice between the two.
MaybeState joinAdditive(State a, State b) {
  if (a == b)
    return a;
  if (a == State::Zero)
    return b;
  if (b == State::Zero)
    return a;
  return std::nullopt;
}

MaybeState multiply(State a, State b) {
  if (a == State::Zero || b == State::Zero)
    return State::Zero;
  if (a == State::Partial && b == State::Partial)
    return std::nullopt;
  return a == State::Partial ? a : b;
}

MaybeState divide(State a, State b) {
  if (b == State::Partial)
    return std::nullopt;
  return a == State::Zero ? State::Whole : a;
}

/// Interprets the body of a linalg op.
class BodyFlow {
public:
  explicit BodyFlow(Reduction kind) : kind(kind) {}

  void set(Value value, State state) { states[value] = state; }

  /// Returns the state of a value of the body or of one from outside.
  State get(Value value) const {
    auto it = states.find(value);
    if (it != states.end())
      return it->second;
    return kind == Reduction::Sum && (matchPattern(value, m_AnyZeroFloat()) ||
                                      matchPattern(value, m_Zero()))
               ? State::Zero
               : State::Whole;
  }

  /// Runs over the body; returns false at an op that does not commute.
  bool run(Block &body) {
    for (Operation &op : body.without_terminator()) {
      if (op.hasTrait<OpTrait::ConstantLike>())
        continue;
      MaybeState state = visit(op);
      if (!state)
        return false;
      for (Value result : op.getResults())
        set(result, *state);
    }
    return true;
  }

private:
  MaybeState visit(Operation &op) const {
    bool anyPartial = llvm::any_of(op.getOperands(), [&](Value operand) {
      return get(operand) == State::Partial;
    });
    if (isa<arith::ExtFOp, arith::TruncFOp>(op))
      return get(op.getOperand(0));
    if (kind == Reduction::Sum)
      if (MaybeState state = visitLinear(op))
        return state;
    if (auto select = dyn_cast<arith::SelectOp>(op))
      if (get(select.getCondition()) == State::Whole)
        return joinAdditive(get(select.getTrueValue()),
                            get(select.getFalseValue()));
    if (anyPartial && !isOwnCombiner(op))
      return std::nullopt;
    return anyPartial ? State::Partial : State::Whole;
  }

  /// The ops that a sum commutes with; nullopt for others and where it fails.
  MaybeState visitLinear(Operation &op) const {
    auto lhs = [&] { return get(op.getOperand(0)); };
    auto rhs = [&] { return get(op.getOperand(1)); };
    return llvm::TypeSwitch<Operation *, MaybeState>(&op)
        .Case<arith::AddFOp, arith::AddIOp, arith::SubFOp, arith::SubIOp>(
            [&](auto) { return joinAdditive(lhs(), rhs()); })
        .Case<arith::MulFOp, arith::MulIOp>(
            [&](auto) { return multiply(lhs(), rhs()); })
        .Case<arith::DivFOp>([&](auto) { return divide(lhs(), rhs()); })
        .Case<arith::NegFOp>([&](auto) { return lhs(); })
        .Default([](auto) { return std::nullopt; });
  }

  /// Says whether `op` combines as the contributions are combined, and may
  /// meet a whole value more than once.
  bool isOwnCombiner(Operation &op) const {
    if (!isIdempotent(kind))
      return false;
    switch (kind) {
    case Reduction::Max:
      return isa<arith::MaximumFOp, arith::MaxNumFOp, arith::MaxSIOp>(op);
    case Reduction::Min:
      return isa<arith::MinimumFOp, arith::MinNumFOp, arith::MinSIOp>(op);
    case Reduction::And:
      return isa<arith::AndIOp>(op);
    case Reduction::Or:
      return isa<arith::OrIOp>(op);
    default:
      return false;
    }
  }

  Reduction kind;
  llvm::SmallDenseMap<Value, State> states;
};

/// Interprets the body once; the accumulators of a reduction are Partial from
/// the second time on.
bool runLinalg(linalg::LinalgOp op, ArrayRef<bool> isPartial, Reduction kind,
               bool accumulates) {
  BodyFlow flow(kind);
  for (OpOperand &operand : op->getOpOperands()) {
    BlockArgument arg = op.getMatchingBlockArgument(&operand);
    if (arg.use_empty())
      continue;
    bool partial = isPartial[operand.getOperandNumber()] ||
                   (accumulates && op.isDpsInit(&operand));
    bool isZero = !partial && kind == Reduction::Sum &&
                  isSafeInit(getSplatElement(operand.get()), kind);
    flow.set(arg, partial  ? State::Partial
                  : isZero ? State::Zero
                           : State::Whole);
  }
  if (!flow.run(*op.getBlock()))
    return false;
  return llvm::all_of(
      op.getBlock()->getTerminator()->getOperands(),
      [&](Value value) { return flow.get(value) != State::Whole; });
}

bool keepsPartial(linalg::LinalgOp op, ArrayRef<bool> isPartial,
                  Reduction kind) {
  return runLinalg(op, isPartial, kind, /*accumulates=*/false) &&
         (op.getNumReductionLoops() == 0 ||
          runLinalg(op, isPartial, kind, /*accumulates=*/true));
}

/// Says whether the operand is a contribution, or zero and so may pass as one.
bool isPartialOrZero(OpOperand &operand, ArrayRef<bool> isPartial,
                     Reduction kind) {
  return isPartial[operand.getOperandNumber()] ||
         (kind == Reduction::Sum &&
          isSafeInit(getSplatElement(operand.get()), kind));
}

bool keepsPartial(tensor::PadOp op, ArrayRef<bool>, Reduction kind) {
  Value padding = op.getConstantPaddingValue();
  return kind == Reduction::Sum && padding &&
         isSafeInit(getSplatElement(padding), kind);
}

bool keepsPartial(ScatterAddOp op, ArrayRef<bool> isPartial, Reduction kind) {
  return kind == Reduction::Sum && !isPartial[1] && isPartial[2] &&
         isPartialOrZero(op.getInitMutable(), isPartial, kind);
}

/// Says whether contributions are rounded numbers whose combination has an
/// order: then it may not wait for an op that rounds again.
bool haveOrder(Operation *op, ArrayRef<bool> isPartial, Reduction kind) {
  if (isIdempotent(kind) || !getInvariance(op))
    return false;
  return llvm::any_of(llvm::zip(op->getOperands(), isPartial), [](auto entry) {
    auto [operand, partial] = entry;
    return partial && isa<FloatType>(getElementTypeOrSelf(operand.getType()));
  });
}

/// Says whether the op only moves its contributions.
bool movesOnly(Operation *op, ArrayRef<bool> isPartial) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp)
    return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp,
               tensor::ExtractSliceOp, ShardOp>(op);
  return linalgOp.getNumReductionLoops() == 0 &&
         llvm::all_of(linalgOp.getBlock()->getTerminator()->getOperands(),
                      [&](Value value) {
                        auto arg = dyn_cast<BlockArgument>(value);
                        return arg && arg.getOwner() == linalgOp.getBlock() &&
                               isPartial[arg.getArgNumber()];
                      });
}

} // namespace

bool mlir::weft::keepsPartial(Operation *op, ArrayRef<bool> isPartial,
                              Reduction kind) {
  if (haveOrder(op, isPartial, kind))
    return movesOnly(op, isPartial);
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](linalg::LinalgOp op) {
        return ::keepsPartial(op, isPartial, kind);
      })
      .Case([&](MatmulOp) {
        return kind == Reduction::Sum && isPartial[0] != isPartial[1];
      })
      .Case([&](TakeOp) {
        return kind == Reduction::Sum && isPartial[0] && !isPartial[1];
      })
      .Case(
          [&](ScatterAddOp op) { return ::keepsPartial(op, isPartial, kind); })
      .Case(
          [&](tensor::PadOp op) { return ::keepsPartial(op, isPartial, kind); })
      .Case<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp,
            tensor::ExtractSliceOp, ShardOp>([](auto) { return true; })
      .Case<tensor::ConcatOp, tensor::InsertSliceOp>([&](auto op) {
        return llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
          return !isa<RankedTensorType>(operand.get().getType()) ||
                 isPartialOrZero(operand, isPartial, kind);
        });
      })
      .Default([](auto) { return false; });
}
