// SPDX-License-Identifier: Apache-2.0

// What linalg's structured ops say about how they may be sharded: their maps
// are the rule, and their bodies tell how they reduce and which contributions
// pass.
//
// Scalar bodies are interpreted over three states: a scalar is Whole (the same
// on all ranks of the group), Partial (a contribution), or Zero (a constant
// zero, which is both).

#include "Models.h"

#include "weft/Dialect/Weft/IR/ScaledContraction.h"
#include "weft/Rules/ReductionOrder.h"
#include "weft/Rules/ShardingRule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::weft;

//===----------------------------------------------------------------------===//
// The rule
//===----------------------------------------------------------------------===//

namespace {

/// Returns how `op` combines its accumulator, or nullopt if a collective
/// cannot do the same.
std::optional<Reduction> getCombinerKind(Operation *op) {
  if (op->getNumResults() == 1 && op->getResult(0).getType().isInteger(1))
    return llvm::TypeSwitch<Operation *, std::optional<Reduction>>(op)
        .Case<arith::AndIOp>([](auto) { return Reduction::And; })
        .Case<arith::OrIOp>([](auto) { return Reduction::Or; })
        .Default([](auto) { return std::nullopt; });
  return llvm::TypeSwitch<Operation *, std::optional<Reduction>>(op)
      .Case<arith::AddFOp, arith::AddIOp>([](auto) { return Reduction::Sum; })
      .Case<arith::MulFOp, arith::MulIOp>([](auto) { return Reduction::Prod; })
      // Not maxnumf and minnumf: they drop a NaN, which collectives keep.
      .Case<arith::MaximumFOp, arith::MaxSIOp>(
          [](auto) { return Reduction::Max; })
      .Case<arith::MinimumFOp, arith::MinSIOp>(
          [](auto) { return Reduction::Min; })
      .Case<arith::AndIOp>([](auto) { return Reduction::And; })
      .Case<arith::OrIOp>([](auto) { return Reduction::Or; })
      .Default([](auto) { return std::nullopt; });
}

/// Returns how a linalg op reduces, if all its results do it in one way that
/// ranks can share: accumulator and value combined by one op.
std::optional<Reduction> getReduction(linalg::LinalgOp op) {
  std::optional<Reduction> kind;
  Operation *yield = op.getBlock()->getTerminator();
  for (unsigned i = 0; i < op.getNumDpsInits(); ++i) {
    Operation *combiner = yield->getOperand(i).getDefiningOp();
    BlockArgument accumulator = op.getRegionOutputArgs()[i];
    if (!combiner || combiner->getBlock() != op.getBlock() ||
        !accumulator.hasOneUse() || *accumulator.user_begin() != combiner)
      return std::nullopt;
    std::optional<Reduction> own = getCombinerKind(combiner);
    if (!own || (kind && kind != own))
      return std::nullopt;
    kind = own;
  }
  return kind;
}

/// Replicates loops that no map treats as a plain dimension: used in a sum,
/// or twice in one tensor.
void putLinalgMap(RuleBuilder &builder, TensorFactors &tensor, AffineMap map,
                  ArrayRef<int64_t> shape, ArrayRef<int> loops) {
  llvm::SmallBitVector seen(map.getNumDims());
  for (auto [i, expr] : llvm::enumerate(map.getResults())) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
      builder.put(tensor[i], loops[dim.getPosition()]);
      if (seen.test(dim.getPosition()))
        builder.replicate(loops[dim.getPosition()]);
      seen.set(dim.getPosition());
      continue;
    }
    builder.put(tensor[i], builder.add(shape[i], FactorKind::Replicated));
    for (unsigned d = 0; d < map.getNumDims(); ++d)
      if (expr.isFunctionOfDim(d))
        builder.replicate(loops[d]);
  }
}

std::optional<ShardingRule> getLinalgRule(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics() || op.hasDynamicShape())
    return std::nullopt;
  RuleBuilder builder(op);
  SmallVector<int> loops = builder.addAll(op.getStaticLoopRanges());
  std::optional<Reduction> kind;
  if (op.getNumReductionLoops() != 0)
    kind = getReduction(op);
  for (auto [loop, iterator] : llvm::enumerate(op.getIteratorTypesArray())) {
    bool inResult = llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
      return op.getMatchingIndexingMap(&init).isFunctionOfDim(loop);
    });
    bool isParallel = iterator == utils::IteratorType::parallel;
    Factor &factor = builder.rule.factors[loops[loop]];
    if (isParallel != inResult || (!isParallel && !kind))
      factor.kind = FactorKind::Replicated;
    else if (!isParallel)
      factor = {factor.size, FactorKind::Reduction, *kind};
  }
  for (OpOperand &operand : op->getOpOperands())
    if (isa<RankedTensorType>(operand.get().getType()))
      putLinalgMap(builder, builder.rule.operands[operand.getOperandNumber()],
                   op.getMatchingIndexingMap(&operand),
                   getTensorShape(operand.get()), loops);
  for (auto [i, tensor] : llvm::enumerate(builder.rule.results)) {
    unsigned init = op.getDpsInitOperand(i)->getOperandNumber();
    tensor = builder.rule.operands[init];
    builder.rule.inits.push_back(init);
  }
  if (needsOrder(op)) {
    builder.rule.order.emplace();
    builder.rule.order->loops.assign(getReductionLoops(op));
  }
  return builder.rule;
}

//===----------------------------------------------------------------------===//
// Contributions
//===----------------------------------------------------------------------===//

using State = PartialState;
using MaybeState = std::optional<State>;

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

/// Says whether a product with `value` is nowhere larger, so that one of
/// contributions is in range where that of the whole is.
bool isAtMostOne(Value value) {
  FloatAttr number;
  return matchPattern(value, m_Constant(&number)) &&
         abs(number.getValue()) <=
             llvm::APFloat::getOne(number.getValue().getSemantics());
}

/// The same of a quotient.
bool isAtLeastOne(Value value) {
  FloatAttr number;
  return matchPattern(value, m_Constant(&number)) &&
         abs(number.getValue()) >=
             llvm::APFloat::getOne(number.getValue().getSemantics());
}

/// Interprets the body of a linalg op.
class BodyFlow {
public:
  BodyFlow(Reduction kind, bool isContraction)
      : kind(kind), isContraction(isContraction) {}

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
    if (isa<arith::ExtFOp>(op) || (isa<arith::TruncFOp>(op) && mayRound(op)))
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

  /// Says whether contributions may be rounded to a smaller type before they
  /// are combined: not where one of them may leave its range although the whole
  /// does not, or comes back from beyond it (a maximum, where that is NaN).
  /// Those of a contraction are of the type that the program gave it.
  bool mayRound(Operation &op) const {
    if (isContraction)
      return true;
    auto getSemantics = [](Value value) -> const llvm::fltSemantics & {
      return cast<FloatType>(getElementTypeOrSelf(value.getType()))
          .getFloatSemantics();
    };
    const llvm::fltSemantics &to = getSemantics(op.getResult(0));
    if (isIdempotent(kind))
      return llvm::APFloat::semanticsHasInf(to);
    return llvm::APFloat::semanticsMaxExponent(to) >=
           llvm::APFloat::semanticsMaxExponent(getSemantics(op.getOperand(0)));
  }

  /// The ops that a sum commutes with; nullopt for others and where it fails.
  MaybeState visitLinear(Operation &op) const {
    auto lhs = [&] { return get(op.getOperand(0)); };
    auto rhs = [&] { return get(op.getOperand(1)); };
    return llvm::TypeSwitch<Operation *, MaybeState>(&op)
        .Case<arith::AddFOp, arith::AddIOp, arith::SubFOp, arith::SubIOp>(
            [&](auto) { return joinAdditive(lhs(), rhs()); })
        .Case([&](arith::MulIOp) { return multiply(lhs(), rhs()); })
        .Case([&](arith::MulFOp op) -> MaybeState {
          // Zero is not a number that a product keeps: inf * 0 is NaN.
          bool mayGrow =
              (lhs() == State::Partial && !isAtMostOne(op.getRhs())) ||
              (rhs() == State::Partial && !isAtMostOne(op.getLhs()));
          if (mayGrow && !isContraction)
            return std::nullopt;
          return multiply(lhs(), rhs());
        })
        .Case([&](arith::DivFOp op) -> MaybeState {
          if (lhs() == State::Partial && !isAtLeastOne(op.getRhs()))
            return std::nullopt;
          return divide(lhs(), rhs());
        })
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
      return isa<arith::MaximumFOp, arith::MaxSIOp>(op);
    case Reduction::Min:
      return isa<arith::MinimumFOp, arith::MinSIOp>(op);
    case Reduction::And:
      return isa<arith::AndIOp>(op);
    case Reduction::Or:
      return isa<arith::OrIOp>(op);
    default:
      return false;
    }
  }

  Reduction kind;
  /// What is scaled is the end of a contraction.
  bool isContraction;
  llvm::SmallDenseMap<Value, State> states;
};

/// Interprets the body once; the accumulators of a reduction are Partial from
/// the second time on.
bool runLinalg(linalg::LinalgOp op, ArrayRef<State> operands, Reduction kind,
               bool accumulates) {
  BodyFlow flow(kind, op->hasAttr(kScalesContractionAttr));
  for (OpOperand &operand : op->getOpOperands())
    flow.set(op.getMatchingBlockArgument(&operand),
             accumulates && op.isDpsInit(&operand)
                 ? State::Partial
                 : operands[operand.getOperandNumber()]);
  if (!flow.run(*op.getBlock()))
    return false;
  return llvm::all_of(
      op.getBlock()->getTerminator()->getOperands(),
      [&](Value value) { return flow.get(value) != State::Whole; });
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

template <typename Op>
struct LinalgModel
    : ShardingRuleOpInterface::ExternalModel<LinalgModel<Op>, Op> {
  std::optional<ShardingRule> getShardingRule(Operation *op) const {
    return getLinalgRule(cast<linalg::LinalgOp>(op));
  }

  bool keepsPartial(Operation *op, ArrayRef<PartialState> operands,
                    Reduction kind) const {
    auto linalgOp = cast<linalg::LinalgOp>(op);
    return runLinalg(linalgOp, operands, kind, /*accumulates=*/false) &&
           (linalgOp.getNumReductionLoops() == 0 ||
            runLinalg(linalgOp, operands, kind, /*accumulates=*/true));
  }

  bool movesPartial(Operation *op, ArrayRef<PartialState> operands) const {
    auto linalgOp = cast<linalg::LinalgOp>(op);
    Block *body = linalgOp.getBlock();
    return linalgOp.getNumReductionLoops() == 0 &&
           llvm::all_of(body->getTerminator()->getOperands(), [&](Value value) {
             auto arg = dyn_cast<BlockArgument>(value);
             return arg && arg.getOwner() == body &&
                    operands[arg.getArgNumber()] == PartialState::Partial;
           });
  }

  SmallVector<int64_t> getLoopSizes(Operation *op) const {
    return cast<linalg::LinalgOp>(op).getStaticLoopRanges();
  }

  SmallVector<int> getReductionLoops(Operation *op) const {
    SmallVector<int> loops;
    for (auto [loop, kind] :
         llvm::enumerate(cast<linalg::LinalgOp>(op).getIteratorTypesArray()))
      if (kind == utils::IteratorType::reduction)
        loops.push_back(loop);
    return loops;
  }

  bool needsOrder(Operation *op) const {
    auto linalgOp = cast<linalg::LinalgOp>(op);
    return linalgOp.getNumReductionLoops() != 0 &&
           llvm::any_of(llvm::seq(linalgOp.getNumDpsInits()),
                        [&](unsigned i) { return isInexact(linalgOp, i); });
  }
};

template <typename... Ops> void attachTo(MLIRContext *context) {
  (Ops::template attachInterface<LinalgModel<Ops>>(*context), ...);
}

} // namespace

void mlir::weft::registerLinalgRuleModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, linalg::LinalgDialect *) {
    attachTo<
#define GET_OP_LIST
#include "mlir/Dialect/Linalg/IR/LinalgStructuredOps.cpp.inc"
        >(context);
  });
}
