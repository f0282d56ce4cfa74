// SPDX-License-Identifier: Apache-2.0

// Parts of one sum over the reals that are rounded to narrow types, and added
// up in wide ones: what they are parts of is told without the rounding.

#include "LocalLifter.h"

#include "weft/Analysis/LoopSizes.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

/// Iterators and result map of an op on each element.
static std::string describeElementwise(FormTable &forms, size_t rank,
                                       MLIRContext *context) {
  std::string text;
  for (size_t i = 0; i < rank; ++i)
    text += "p ";
  AffineMap map = AffineMap::getMultiDimIdentityMap(rank, context);
  return text + forms.getText(map).str();
}

/// A tensor whose elements are rounded, as the op that does so says it.
const Form *LocalLifter::getRounded(const Form *form, Type element,
                                    Operation *op) {
  const size_t rank = form->shape.size();
  AffineMap map = AffineMap::getMultiDimIdentityMap(rank, op->getContext());
  Form rounded{FormKind::Scalar, "arith.truncf"};
  rounded.operands = {forms.getRead(form, map)};
  rounded.element = element;
  rounded.dependsOnLoops = true;
  rounded.op = op;
  Form mapped{FormKind::Map, "map",
              describeElementwise(forms, rank, op->getContext())};
  mapped.operands = {forms.get(std::move(rounded))};
  mapped.shape = form->shape;
  mapped.element = element;
  mapped.op = op;
  return forms.get(std::move(mapped));
}

/// What a tensor is of which each element was rounded, or widened.
const Form *LocalLifter::skipRounding(const Form *form) {
  while (form->kind == FormKind::Map &&
         form->details == describeElementwise(forms, form->shape.size(),
                                              func.getContext())) {
    const Form *cast = form->operands[0];
    bool isCast = cast->kind == FormKind::Scalar &&
                  (cast->name == "arith.truncf" || cast->name == "arith.extf");
    if (!isCast || cast->operands[0]->kind != FormKind::Read ||
        !cast->operands[0]->map.isIdentity())
      break;
    form = cast->operands[0]->operands[0];
  }
  return form;
}

Value proof::skipCast(Value value) {
  if (auto wider = value.getDefiningOp<arith::ExtFOp>())
    return wider.getIn();
  if (auto narrower = value.getDefiningOp<arith::TruncFOp>())
    return narrower.getIn();
  return value;
}

/// Whether an op adds what its two inputs are parts of, and only rounds before
/// and after.
bool LocalLifter::isRoundedJoin(linalg::LinalgOp op) {
  if (!forms.isOfReals() || op->getNumOperands() != 3 ||
      op->getNumResults() != 1 || countInputs(op) != 2)
    return false;
  auto a = tensors.find(op->getOperand(0));
  auto b = tensors.find(op->getOperand(1));
  auto isPart = [&](auto it) {
    return it != tensors.end() &&
           it->second.contribution.kind == Contribution::Exact &&
           it->second.contribution.reduction == ReduceKind::Sum;
  };
  // Most ops are told from joins by what they take.
  if (!isPart(a) || !isPart(b) ||
      a->second.contribution.parts != b->second.contribution.parts ||
      skipRounding(a->second.form) != skipRounding(b->second.form) ||
      op.getNumReductionLoops() != 0 || !op.hasPureTensorSemantics() ||
      !llvm::all_of(op.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return false;
  Block &body = *op.getBlock();
  auto sum = skipCast(body.getTerminator()->getOperand(0))
                 .getDefiningOp<arith::AddFOp>();
  return sum && skipCast(sum.getLhs()) == body.getArgument(0) &&
         skipCast(sum.getRhs()) == body.getArgument(1);
}

LogicalResult LocalLifter::liftRoundedJoin(linalg::LinalgOp op) {
  FailureOr<LocalValue> a = meetParts(op);
  if (failed(a))
    return failure();
  a->form = skipRounding(a->form);
  if (failed(unitePair(op, *a, getTensor(op.getDpsInputs()[1]))))
    return failure();
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  if (element != a->form->element)
    a->form = getRounded(a->form, element, op);
  return setTensor(op, op->getResult(0), std::move(*a));
}
