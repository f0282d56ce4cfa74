// SPDX-License-Identifier: Apache-2.0

// Attention by pieces of the keys, over the reals. With l(S) the logarithm of
// the sum of exp(s[j]) over the keys j of a set S, and o(S) their output:
//   l(A + B) = log(exp(l(A)) + exp(l(B)))
//   o(A + B) = exp(l(A) - l(A + B)) * o(A) + exp(l(B) - l(A + B)) * o(B)
// for sets without a common key. What ranks have is told by its set. Nothing
// but these expressions may be made of outputs and sums over some of the keys:
// the sum, a weight, the output, and a gradient of outputs times a weight,
// which is for the gradient over these keys.
//
// Worked example. Rank 0 of two has o and l of the keys {0} and {1}. Of both
// l({0, 1}) is made, and of that and l({0}) the weight of {0} in {0, 1}. An
// output that has another set than its weight, or the weight of another set
// than what becomes of it, is an error.

#include "LocalLifter.h"

#include "weft/Analysis/LoopSizes.h"

#include "weft/Dialect/Weft/IR/Attention.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

static bool isNumber(Value value, function_ref<bool(const APFloat &)> isRight) {
  FloatAttr number;
  return matchPattern(value, m_Constant(&number)) && isRight(number.getValue());
}

/// Whether `value` is `number`, or 0 where that is -inf.
static bool isFiniteOf(Value value, Value number) {
  auto choice = value.getDefiningOp<arith::SelectOp>();
  if (!choice || choice.getFalseValue() != number ||
      !isNumber(choice.getTrueValue(),
                [](const APFloat &x) { return x.isZero(); }))
    return false;
  auto compare = choice.getCondition().getDefiningOp<arith::CmpFOp>();
  return compare && compare.getPredicate() == arith::CmpFPredicate::OEQ &&
         compare.getLhs() == number &&
         isNumber(compare.getRhs(), [](const APFloat &x) {
           return x.isInfinity() && x.isNegative();
         });
}

/// Returns b if `value` is exp(number - b), else null.
static Value getBaseOfExp(Value value, Value number) {
  auto exp = value.getDefiningOp<math::ExpOp>();
  auto difference =
      exp ? exp.getOperand().getDefiningOp<arith::SubFOp>() : arith::SubFOp();
  return difference && difference.getLhs() == number ? difference.getRhs()
                                                     : Value();
}

/// Calls `matches` with the operands in both orders.
template <typename Op>
static bool matchEither(Value value, function_ref<bool(Value, Value)> matches) {
  auto op = value.getDefiningOp<Op>();
  return op && (matches(op->getOperand(0), op->getOperand(1)) ||
                matches(op->getOperand(1), op->getOperand(0)));
}

/// Whether `value` is b + log(exp(first - b) + exp(second - b)) for b, the
/// greater of both.
static bool isSumOf(Value value, Value first, Value second) {
  return matchEither<arith::AddFOp>(value, [&](Value base, Value rest) {
    auto log = rest.getDefiningOp<math::LogOp>();
    auto greater = [&](Value of) {
      return matchEither<arith::MaximumFOp>(
          of, [&](Value a, Value b) { return a == first && b == second; });
    };
    auto choice = base.getDefiningOp<arith::SelectOp>();
    return log && choice && greater(choice.getFalseValue()) &&
           isFiniteOf(base, choice.getFalseValue()) &&
           matchEither<arith::AddFOp>(log.getOperand(), [&](Value a, Value b) {
             return getBaseOfExp(a, first) == base &&
                    getBaseOfExp(b, second) == base;
           });
  });
}

/// Whether `value` is exp(part - whole).
static bool isWeightOf(Value value, Value part, Value whole) {
  Value base = getBaseOfExp(value, part);
  return base && isFiniteOf(base, whole);
}

/// Whether `value` is out * weight.
static bool isWeighted(Value value, Value out, Value weight) {
  return matchEither<arith::MulFOp>(value, [&](Value a, Value b) {
    return skipCast(a) == out && b == weight;
  });
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Whether some operand is an output or a sum of attention over some keys.
bool LocalLifter::hasKeyParts(linalg::LinalgOp op) const {
  auto inputs = op->getOperands().take_front(countInputs(op));
  return llvm::any_of(inputs, [&](Value input) {
    auto it = tensors.find(input);
    return it != tensors.end() &&
           it->second.contribution.kind == Contribution::Attention;
  });
}

LogicalResult LocalLifter::liftKeyParts(linalg::LinalgOp op) {
  bool isElementwise = op->getNumResults() == 1 &&
                       op.getNumReductionLoops() == 0 &&
                       op.hasPureTensorSemantics() &&
                       op.getIndexingMapsArray().back().isIdentity();
  Block &body = *op.getBlock();
  Value made = body.getTerminator()->getOperand(0);
  if (isElementwise && op.getNumDpsInputs() == 2) {
    Value a = body.getArgument(0), b = body.getArgument(1);
    if (isSumOf(made, a, b))
      return joinSums(op);
    if (isWeightOf(made, a, b))
      return weighPart(op);
    if (isWeighted(skipCast(made), a, b))
      return weigh(op);
    if (matchEither<arith::AddFOp>(
            skipCast(made), [&](Value x, Value y) { return x == a && y == b; }))
      return joinOutputs(op);
  }
  return op->emitOpError("does with attention over some of the keys something "
                         "else than to join it with that over others");
}

static bool hasIdentityMaps(linalg::LinalgOp op) {
  return llvm::all_of(op.getIndexingMapsArray(),
                      [](AffineMap map) { return map.isIdentity(); });
}

static LogicalResult refuseJoin(Operation *op, const LocalValue &a,
                                const LocalValue &b) {
  return op->emitOpError("joins ")
         << a.form->str() << " and " << b.form->str()
         << ", which are not one attention over two sets of keys";
}

/// Makes of `a` what it is over its keys and those of `b`.
LogicalResult LocalLifter::uniteKeys(linalg::LinalgOp op, LocalValue &a,
                                     const LocalValue &b) {
  if (a.form != b.form || a.contribution.kind != Contribution::Attention ||
      b.contribution.kind != Contribution::Attention)
    return refuseJoin(op, a, b);
  for (auto [dim, other] : llvm::zip_equal(a.dims, b.dims)) {
    if (failed(meet(op, dim, other)))
      return failure();
    dim.padding = nullptr;
  }
  RankVector own = a.contribution.part, other = b.contribution.part;
  return uniteParts(
      op, a, [](int64_t rank) { return rank; },
      [&](int64_t rank) {
        return SmallVector<int64_t>{(*own)[rank], (*other)[rank]};
      });
}

static bool isSumForm(const Form *form) {
  return form->name == "attention" &&
         StringRef(form->details)
             .ends_with(stringifyAttentionTensor(AttentionTensor::Lse));
}

LogicalResult LocalLifter::joinSums(linalg::LinalgOp op) {
  LocalValue a = getTensor(op.getDpsInputs()[0]);
  const LocalValue &b = getTensor(op.getDpsInputs()[1]);
  if (!hasIdentityMaps(op) || !isSumForm(a.form))
    return refuseJoin(op, a, b);
  if (failed(uniteKeys(op, a, b)))
    return failure();
  return setTensor(op, op->getResult(0), std::move(a));
}

/// The keys of a value; null: all of them.
static RankVector getKeys(const LocalValue &value) {
  return value.contribution.kind == Contribution::Whole
             ? nullptr
             : value.contribution.part;
}

LogicalResult LocalLifter::weighPart(linalg::LinalgOp op) {
  LocalValue part = getTensor(op.getDpsInputs()[0]);
  const LocalValue &whole = getTensor(op.getDpsInputs()[1]);
  bool isKnown = whole.contribution.kind == Contribution::Whole ||
                 whole.contribution.kind == Contribution::Attention;
  if (!hasIdentityMaps(op) || !isSumForm(part.form) || !isKnown ||
      part.contribution.kind != Contribution::Attention ||
      part.form != whole.form)
    return op->emitOpError("weighs ")
           << part.form->str() << " by " << whole.form->str()
           << ", which are not one log-sum-exp over some keys and over more";
  for (auto [dim, other] : llvm::zip_equal(part.dims, whole.dims))
    if (failed(meet(op, dim, other)))
      return failure();
  AttentionWeight weight{part.form, getKeys(part), getKeys(whole), AffineMap()};
  Form form{FormKind::Tensor, "weight of attention"};
  form.operands = {part.form};
  form.shape = part.form->shape;
  form.element = part.form->element;
  form.op = op;
  part.form = forms.get(std::move(form));
  weights[op->getResult(0)] = weight;
  return setTensor(op, op->getResult(0), std::move(part));
}

/// An output over some of the keys, or a gradient of outputs, times a weight:
/// of the former only sums are made, and the latter is for a gradient over
/// these keys.
LogicalResult LocalLifter::weigh(linalg::LinalgOp op) {
  SmallVector<Value> inputs = op.getDpsInputs();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  LocalValue value = getTensor(inputs[0]);
  const LocalValue &factor = getTensor(inputs[1]);
  AttentionWeight weight = weights.lookup(inputs[1]);
  if (!weight.sum || !maps[0].isIdentity())
    return op->emitOpError("multiplies by what is no weight of attention");
  bool isOutput = value.contribution.kind == Contribution::Attention;
  auto [sum, rows] = rowSums.lookup(value.form);
  if (isOutput && (sum != weight.sum || rows != maps[1] ||
                   value.contribution.part != weight.from))
    return op->emitOpError("multiplies ")
           << value.form->str() << " by what is not the weight of its keys";
  if (!isOutput && failed(getUncombined(op, inputs[0])))
    return failure();
  if (failed(meetLoops(op, factor, maps[1], value.dims)))
    return failure();
  weight.rows = maps[1];
  LocalValue part = value;
  part.contribution = factor.contribution;
  Form form{FormKind::Tensor, "weighted"};
  form.operands = {value.form, factor.form};
  form.shape = value.form->shape;
  form.element = value.form->element;
  form.op = op;
  part.form = forms.get(std::move(form));
  weighted[op->getResult(0)] = {value, weight};
  return setTensor(op, op->getResult(0), std::move(part));
}

/// Two outputs, each times the weight of its keys in those of both.
LogicalResult LocalLifter::joinOutputs(linalg::LinalgOp op) {
  SmallVector<Value> inputs = op.getDpsInputs();
  auto first = weighted.find(inputs[0]), second = weighted.find(inputs[1]);
  if (first == weighted.end() || second == weighted.end() ||
      !hasIdentityMaps(op))
    return op->emitOpError("adds outputs of attention without their weights");
  LocalValue a = first->second.first;
  if (failed(uniteKeys(op, a, second->second.first)))
    return failure();
  for (const auto &[value, weight] : {first->second, second->second})
    if (weight.to != getKeys(a))
      return op->emitOpError("adds ")
             << value.form->str()
             << " with a weight among other keys than those of both";
  return setTensor(op, op->getResult(0), std::move(a));
}
