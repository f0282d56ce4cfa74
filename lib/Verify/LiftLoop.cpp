// SPDX-License-Identifier: Apache-2.0

// Loops that stay loops. Their tensors are whole on every rank, so a loop is
// told by its bounds, what it begins with, and what one pass makes of what it
// carries, which stands for itself.

#include "LocalLifter.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

/// The form of a scalar, or of a tensor of which every rank has all.
FailureOr<const Form *> LocalLifter::getWholeForm(Operation *op, Value value) {
  if (!isa<RankedTensorType>(value.getType()))
    return BodyLifter(*this, {}).getForm(op, value);
  FailureOr<LocalValue> tensor = getWhole(op, value);
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

LogicalResult LocalLifter::liftFor(scf::ForOp op) {
  Form loop{FormKind::Tensor, "scf.for"};
  auto addOperands = [&](Operation *user, ValueRange values) -> LogicalResult {
    for (Value value : values) {
      FailureOr<const Form *> form = getWholeForm(user, value);
      if (failed(form))
        return failure();
      loop.operands.push_back(*form);
    }
    return success();
  };
  if (failed(addOperands(op, op->getOperands())))
    return failure();
  // Loops inside of one another carry different things.
  std::string depth = std::to_string(loopDepth++);
  for (BlockArgument arg : op.getBody()->getArguments())
    (void)setWhole(op, arg,
                   {FormKind::Argument, "carried",
                    depth + ", " + std::to_string(arg.getArgNumber())});
  for (Operation &inner : op.getBody()->without_terminator())
    if (failed(liftOp(&inner)))
      return failure();
  --loopDepth;
  Operation *yield = op.getBody()->getTerminator();
  if (failed(addOperands(yield, yield->getOperands())))
    return failure();
  for (OpResult result : op.getResults()) {
    Form one = loop;
    one.details = (op.getUnsignedCmp() ? "unsigned depth " : "depth ") + depth +
                  " result " + std::to_string(result.getResultNumber());
    (void)setWhole(op, result, std::move(one));
  }
  return success();
}
