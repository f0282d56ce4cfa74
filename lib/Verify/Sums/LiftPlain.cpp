// SPDX-License-Identifier: Apache-2.0

// Most ops of a program compute each element of their results from the elements
// of their operands at the same place, where all of it is plain: no part of a
// sum, no index, no mask, no padding of which something is known. Their forms
// are those that LiftLinalg.cpp gives them, found without what other ops need.

#include "LocalLifter.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

/// Whether an op on scalars is told by its name, attributes and operands alone.
static bool isPlainScalar(Operation *op) {
  return isa_and_present<arith::ArithDialect, math::MathDialect>(
             op->getDialect()) &&
         op->getNumRegions() == 0 && op->getNumResults() == 1 &&
         op->getResult(0).getType().isIntOrFloat() &&
         !isa<arith::CmpIOp, arith::SelectOp, arith::AndIOp>(op);
}

/// Whether nothing of a value's elements is known but what they are.
static bool isPlain(const LocalValue &value) {
  return value.contribution.kind == Contribution::Whole &&
         value.form->kind != FormKind::Undefined &&
         llvm::none_of(value.dims, [&](const LocalDim &dim) {
           return dim.padding || (dim.chunk && value.form->shape.empty());
         });
}

/// The constant that a value is, or null.
static TypedAttr getConstant(Value value) {
  TypedAttr constant;
  bool isNumber = matchPattern(value, m_Constant(&constant)) &&
                  constant.getType().isIntOrFloat();
  return isNumber ? constant : TypedAttr();
}

static bool isPlain(Block &body) {
  auto isKnown = [&](Value value) {
    return value.getParentBlock() == &body || getConstant(value);
  };
  auto isPlainOp = [&](Operation &op) {
    return llvm::all_of(op.getOperands(), isKnown) &&
           (isPlainScalar(&op) || &op == body.getTerminator());
  };
  return llvm::all_of(body, isPlainOp);
}

/// The forms of what a plain body computes, of those of its arguments.
void LocalLifter::computePlainly(Block &body, PlainForms &scalars) {
  auto get = [&](Value value) {
    const Form *&form = scalars[value];
    if (!form)
      form = forms.getConstant(getConstant(value), value.getType());
    return form;
  };
  for (Operation &op : body.without_terminator()) {
    if (op.hasTrait<OpTrait::ConstantLike>())
      continue;
    Form form{FormKind::Scalar, op.getName().getStringRef().str()};
    for (Value operand : op.getOperands()) {
      form.operands.push_back(get(operand));
      form.dependsOnLoops |= form.operands.back()->dependsOnLoops;
    }
    if (DictionaryAttr attrs = attributes.get(&op); !attrs.empty())
      form.details = forms.getText(attrs).str();
    form.element = op.getResult(0).getType();
    form.op = &op;
    scalars[op.getResult(0)] = forms.get(std::move(form));
  }
  for (Value yielded : body.getTerminator()->getOperands())
    get(yielded);
}

/// How an op goes through its operands, if it takes all of them in one order.
const LocalLifter::PlainLoops &
LocalLifter::getPlainLoops(linalg::GenericOp op) {
  auto [it, isNew] =
      plainLoops.try_emplace({op.getIteratorTypes(), op.getIndexingMaps()});
  PlainLoops &plain = it->second;
  SmallVector<AffineMap> maps;
  if (isNew)
    maps = op.getIndexingMapsArray();
  if (!isNew || op.getNumReductionLoops() > 0 ||
      !llvm::all_of(maps, [](AffineMap map) { return map.isIdentity(); }))
    return plain;
  plain.map = maps.front();
  for (unsigned loop = 0; loop < plain.map.getNumDims(); ++loop)
    plain.details += "p ";
  plain.details += forms.getText(plain.map);
  return plain;
}

std::optional<LogicalResult> LocalLifter::liftPlainly(linalg::LinalgOp linalg) {
  auto op = dyn_cast<linalg::GenericOp>(linalg.getOperation());
  if (!op || !forms.isOfReals() || !op.hasPureTensorSemantics())
    return std::nullopt;
  const PlainLoops &plain = getPlainLoops(op);
  if (!plain.map)
    return std::nullopt;
  Block &body = *op.getBody();
  if (!isPlain(body) ||
      !llvm::all_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>))
    return std::nullopt;
  for (auto [operand, arg] :
       llvm::zip_equal(op->getOperands(), body.getArguments())) {
    const LocalValue &value = getTensor(operand);
    if (!arg.use_empty() && !isPlain(value))
      return std::nullopt;
  }
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  SmallVector<LocalDim, 4> loops;
  for (int64_t extent : type.getShape())
    loops.push_back({kAnySize, extent});
  PlainForms scalars;
  for (auto [operand, arg] :
       llvm::zip_equal(op->getOperands(), body.getArguments())) {
    const LocalValue &value = getTensor(operand);
    if (failed(meetLoops(op, value, plain.map, loops)))
      return failure();
    if (!arg.use_empty())
      scalars[arg] = forms.getRead(value.form, plain.map);
  }
  computePlainly(body, scalars);
  for (auto [result, yielded] :
       llvm::zip_equal(op->getResults(), body.getTerminator()->getOperands())) {
    LocalValue value;
    value.dims = loops;
    setMapped(op, scalars.at(yielded), plain.map, plain.details,
              /*changed=*/0, value);
    if (failed(setTensor(op, result, std::move(value))))
      return failure();
  }
  return success();
}
