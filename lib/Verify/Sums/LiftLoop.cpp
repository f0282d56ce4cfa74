// SPDX-License-Identifier: Apache-2.0

// Loops that stay loops, and branches. Their tensors are whole on every rank,
// so a loop is told by its bounds or condition, what it begins with, and what
// one pass makes of what it carries, which stands for itself; a branch by its
// condition and what both ways give.

#include "LocalLifter.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

/// The form of a scalar, or of a tensor of which every rank has all.
FailureOr<const Form *> LocalLifter::getWholeForm(Operation *op, Value value,
                                                  StringRef what) {
  if (!isa<RankedTensorType>(value.getType()))
    return BodyLifter(*this, {}).getForm(op, value);
  FailureOr<LocalValue> tensor = getWhole(op, value, what);
  if (failed(tensor))
    return failure();
  if (tensor->form->kind == FormKind::Undefined && !forms.isOfReals())
    return op->emitOpError("uses elements that nothing has defined"), failure();
  return tensor->form;
}

/// Notes what stands for an argument of a loop's body, or a result of the loop.
LogicalResult LocalLifter::setWhole(Operation *op, Value value, Form form) {
  form.element = getElementTypeOrSelf(value.getType());
  form.op = op;
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type) {
    scalars[value].form = forms.get(std::move(form));
    return success();
  }
  LocalValue whole;
  for (int64_t extent : type.getShape())
    whole.dims.push_back({extent, extent, uniform(0)});
  form.shape = getSizes(whole.dims);
  whole.form = forms.get(std::move(form));
  return setTensor(op, value, std::move(whole));
}

/// Adds the forms of values to what a loop or a branch is told by.
LogicalResult LocalLifter::addWhole(Operation *op, ValueRange values,
                                    Form &form) {
  for (Value value : values) {
    FailureOr<const Form *> whole = getWholeForm(op, value);
    if (failed(whole))
      return failure();
    form.operands.push_back(*whole);
  }
  return success();
}

LogicalResult LocalLifter::liftBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(liftOp(&op)))
      return failure();
  return success();
}

/// Lets the arguments of a loop's body stand for themselves. Loops inside of
/// one another carry different things.
void LocalLifter::setCarried(Operation *op, Block &block, StringRef name,
                             int64_t depth) {
  for (BlockArgument arg : block.getArguments())
    (void)setWhole(
        op, arg,
        {FormKind::Argument, name.str(),
         std::to_string(depth) + ", " + std::to_string(arg.getArgNumber())});
}

LogicalResult LocalLifter::liftFor(scf::ForOp op) {
  Form loop{FormKind::Tensor, "scf.for"};
  if (failed(addWhole(op, op->getOperands(), loop)))
    return failure();
  int64_t depth = loopDepth++;
  setCarried(op, *op.getBody(), "carried", depth);
  if (failed(liftBlock(*op.getBody())))
    return failure();
  --loopDepth;
  Operation *yield = op.getBody()->getTerminator();
  if (failed(addWhole(yield, yield->getOperands(), loop)))
    return failure();
  for (OpResult result : op.getResults()) {
    Form one = loop;
    one.details = (op.getUnsignedCmp() ? "unsigned depth " : "depth ") +
                  std::to_string(depth) + " result " +
                  std::to_string(result.getResultNumber());
    (void)setWhole(op, result, std::move(one));
  }
  return success();
}

/// A loop that runs as long as a condition holds, which is the same on all
/// ranks: it is made of what they all have.
LogicalResult LocalLifter::liftWhile(scf::WhileOp op) {
  Form loop{FormKind::Tensor, "scf.while"};
  if (failed(addWhole(op, op.getInits(), loop)))
    return failure();
  int64_t depth = loopDepth++;
  setCarried(op, *op.getBeforeBody(), "carried before", depth);
  setCarried(op, *op.getAfterBody(), "carried after", depth);
  Operation *condition = op.getConditionOp(), *yield = op.getYieldOp();
  if (failed(liftBlock(*op.getBeforeBody())) ||
      failed(addWhole(condition, condition->getOperands(), loop)) ||
      failed(liftBlock(*op.getAfterBody())) ||
      failed(addWhole(yield, yield->getOperands(), loop)))
    return failure();
  --loopDepth;
  for (OpResult result : op.getResults()) {
    Form one = loop;
    one.details = "depth " + std::to_string(depth) + " result " +
                  std::to_string(result.getResultNumber());
    (void)setWhole(op, result, std::move(one));
  }
  return success();
}

/// A branch is a choice between what both ways give, by a condition that is the
/// same on all ranks. So is a select between tensors by one condition, which a
/// branch becomes that computes nothing.
LogicalResult LocalLifter::setChoice(OpResult result, Value condition,
                                     Value first, Value second) {
  Form choice{FormKind::Tensor, "scf.if"};
  if (failed(addWhole(result.getOwner(), {condition, first, second}, choice)))
    return failure();
  return setWhole(result.getOwner(), result, std::move(choice));
}

/// A select between tensors of which ranks may have parts: each its part of
/// what is chosen.
LogicalResult LocalLifter::liftSelect(arith::SelectOp op) {
  FailureOr<LocalValue> value = getUncombined(op, op.getTrueValue());
  FailureOr<LocalValue> other = getUncombined(op, op.getFalseValue());
  if (failed(value) || failed(other))
    return failure();
  auto isCut = [](const LocalDim &dim) {
    return dim.chunk && (countChunks(dim) > 1 || hasPadding(dim));
  };
  if (llvm::none_of(value->dims, isCut) && llvm::none_of(other->dims, isCut))
    return setChoice(op->getResult(0), op.getCondition(), op.getTrueValue(),
                     op.getFalseValue());
  BodyLifter body(*this, {});
  FailureOr<const Form *> condition = body.getForm(op, op.getCondition());
  if (failed(condition))
    return failure();
  for (const Form *form : {value->form, other->form})
    if (form->kind == FormKind::Undefined && !forms.isOfReals())
      return op.emitOpError("uses elements that nothing has defined");
  for (auto [dim, otherDim] : llvm::zip(value->dims, other->dims)) {
    if (failed(meet(op, dim, otherDim)))
      return failure();
    fix(dim);
    dim.padding = nullptr;
    dim.isConstant = false;
  }
  Form choice{
      FormKind::Tensor, "scf.if", "", {*condition, value->form, other->form}};
  choice.element = value->form->element;
  choice.shape = getSizes(value->dims);
  choice.op = op;
  value->form = forms.get(std::move(choice));
  return setTensor(op, op.getResult(), std::move(*value));
}

LogicalResult LocalLifter::liftIf(scf::IfOp op) {
  for (Region &region : op->getRegions())
    if (!region.empty() && failed(liftBlock(region.front())))
      return failure();
  for (OpResult result : op.getResults()) {
    unsigned i = result.getResultNumber();
    if (failed(setChoice(result, op.getCondition(),
                         op.thenYield().getOperand(i),
                         op.elseYield().getOperand(i))))
      return failure();
  }
  return success();
}
