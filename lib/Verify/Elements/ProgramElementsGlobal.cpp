// SPDX-License-Identifier: Apache-2.0

// What users' programs have and those of ranks do not, or mean otherwise. A
// branch is a choice for each element. Sums of floats are functions of what is
// summed, rounded once, so that it does not matter whether a contraction was
// recognized.

#include "ProgramElements.h"

#include "weft/Dialect/Weft/IR/Lookups.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

/// Ops of functions that are followed, once for each call: as many as
/// weft-raise would inline.
static constexpr int64_t kMaxCalled = 1 << 18;

LogicalResult ProgramElements::liftCall(func::CallOp op) {
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      op, op.getCalleeAttr());
  if (!callee || callee.isExternal() ||
      !llvm::hasSingleElement(callee.getBody()))
    return op.emitOpError("calls '")
           << op.getCallee() << "', which cannot be followed";
  if (callee == func || llvm::is_contained(calls, callee))
    return op.emitOpError("calls '")
           << op.getCallee() << "' recursively, which cannot be followed";
  Block &body = callee.getBody().front();
  numCalled += body.getOperations().size();
  if (numCalled > kMaxCalled)
    return op.emitOpError("calls '")
           << op.getCallee() << "', which makes more than " << kMaxCalled
           << " ops of functions that are called, too many to be followed";
  for (auto [operand, arg] : llvm::zip(op.getOperands(), body.getArguments()))
    values[arg] = get(operand);
  calls.push_back(callee);
  if (failed(liftBlock(body)))
    return failure();
  calls.pop_back();
  for (auto [result, returned] :
       llvm::zip(op.getResults(), body.getTerminator()->getOperands()))
    set(op, result, get(returned));
  return success();
}

/// What both ways give, and a choice for each element.
LogicalResult ProgramElements::liftIf(scf::IfOp op) {
  for (Region &region : op->getRegions())
    if (!region.empty() && failed(liftBlock(region.front())))
      return failure();
  for (OpResult result : op.getResults()) {
    unsigned i = result.getResultNumber();
    set(op, result,
        compute("arith.select", getElementTypeOrSelf(result.getType()),
                {get(op.getCondition()), get(op.thenYield().getOperand(i)),
                 get(op.elseYield().getOperand(i))}));
  }
  return success();
}

/// A region that stands where it does once.
LogicalResult ProgramElements::liftHere(scf::ExecuteRegionOp op) {
  Block &body = op.getRegion().front();
  if (failed(liftBlock(body)))
    return failure();
  for (auto [result, yielded] :
       llvm::zip(op.getResults(), body.getTerminator()->getOperands()))
    set(op, result, get(yielded));
  return success();
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// What a float was before it was widened, which is exact.
static const Element *skipWidening(const Element *element) {
  while (element->isOp("arith.extf"))
    element = element->operands[0];
  return element;
}

/// Whether an op that rounds may round otherwise: it is no plain sum then, and
/// compared as what it is.
static bool hasFastMath(const Element *element) {
  if (element->kind != ElementKind::Scalar)
    return false;
  auto flags = cast<DictionaryAttr>(element->details)
                   .getAs<arith::FastMathFlagsAttr>("fastmath");
  return flags && flags.getValue() != arith::FastMathFlags::none;
}

/// What `name`, a sum or a product, makes of a summand over `reduced`.
const Element *ProgramElements::addUp(StringRef name, const Element *summand,
                                      const Elements &reduced,
                                      OrderAttr order) {
  SmallVector<const Element *> bound;
  Element made{ElementKind::Contraction};
  made.details = order;
  made.type = summand->type;
  made.operands = {summand};
  for (const Element *variable : reduced)
    if (variable->kind == ElementKind::Variable) {
      bound.push_back(variable);
      made.numbers.push_back(variable->numbers[1]);
    }
  if (llvm::is_contained(made.numbers, 0))
    return table.getConstant(
        FloatAttr::get(made.type, name == "arith.addf" ? 0.0 : 1.0));
  if (table.isOfReals())
    return table.combine(StringAttr::get(table.getContext(), name), summand,
                         bound);
  return bound.empty() ? summand : table.apply(std::move(made), bound);
}

/// What a sum, or over the reals a product, combines with what it has so far;
/// null if it is neither. `name` is set to the op.
static const Element *getSummand(ElementTable &table, const Element *yielded,
                                 const Element *accumulator, StringRef &name) {
  name = "arith.addf";
  if (hasFastMath(yielded))
    return nullptr;
  // A sum, or a product of products, is rounded as a whole.
  if (table.isOfReals() && yielded->kind == ElementKind::Rounded)
    yielded = yielded->operands[0];
  if (table.isOfReals() && yielded->isOp("arith.mulf"))
    name = "arith.mulf";
  else if (yielded->kind != ElementKind::Total && !yielded->isOp("arith.addf"))
    return nullptr;
  SmallVector<const Element *> rest(yielded->operands.begin(),
                                    yielded->operands.end());
  auto *own = llvm::find(rest, accumulator);
  if (rest.size() < 2 || own == rest.end())
    return nullptr;
  rest.erase(own);
  for (const Element *element : rest)
    for (const Element *variable : element->variables)
      if (!variable->type.isIndex())
        return nullptr;
  if (rest.size() == 1)
    return rest[0];
  return name == "arith.addf" ? table.getTotal(rest) : nullptr;
}

/// A reduction that adds floats, or null: f32 or f64 sums of what enters, each
/// factor of a product widened by itself, rounded once.
const Element *ProgramElements::sum(linalg::LinalgOp op, const Element *yielded,
                                    const Element *accumulator,
                                    const Element *init,
                                    const Elements &reduced) {
  // Zeros are added: what it begins with is left.
  if (table.isOfReals() && ElementTable::skipRounding(yielded) == accumulator)
    return init;
  StringRef name;
  const Element *summand = getSummand(table, yielded, accumulator, name);
  if (!summand || hasFastMath(summand))
    return nullptr;
  // What is added to 0.0 is 0.0 if all of it is -0.0: a sum is one from there.
  auto begin = dyn_cast_if_present<FloatAttr>(table.getConstantValue(init));
  if (!table.isOfReals() && begin && begin.getValue().isNegZero())
    return nullptr;
  // Nothing enters: what it begins with is left.
  if (llvm::any_of(reduced, [](const Element *variable) {
        return variable->kind == ElementKind::Variable &&
               variable->numbers[1] == 0;
      }))
    return init;
  Builder builder(op.getContext());
  Type type = yielded->type;
  if (table.isOfReals())
    summand = ElementTable::skipRounding(summand);
  bool isLong = (table.isOfReals() ? summand->type : type).isF64();
  Type wide = isLong ? builder.getF64Type() : builder.getF32Type();
  auto widen = [&](const Element *element) {
    return convert(skipWidening(element), wide);
  };
  if (summand->isOp("arith.mulf"))
    summand =
        compute("arith.mulf", wide,
                {widen(summand->operands[0]), widen(summand->operands[1])});
  else
    summand = widen(summand);
  const Element *total =
      addUp(name, summand, reduced,
            op->getAttrOfType<OrderAttr>(WeftDialect::kOrderAttr));
  bool isNeutral =
      begin && (name == "arith.addf" ? begin.getValue().isZero()
                                     : begin.getValueAsDouble() == 1.0);
  if (!isNeutral)
    total = compute(name, wide, {convert(init, wide), convert(total, wide)});
  return convert(total, type);
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

/// The index above which a choice takes its second value, if that is all that
/// the choice depends on.
static std::optional<int64_t> getBound(const Element *condition,
                                       const Element *variable) {
  if (!condition->isOp("arith.cmpi") || condition->operands[0] != variable)
    return std::nullopt;
  auto predicate = cast<DictionaryAttr>(condition->details)
                       .getAs<arith::CmpIPredicateAttr>("predicate")
                       .getValue();
  auto bound = dyn_cast_if_present<IntegerAttr>(
      ElementTable::getConstantValue(condition->operands[1]));
  if (!bound || (predicate != arith::CmpIPredicate::slt &&
                 predicate != arith::CmpIPredicate::ult))
    return std::nullopt;
  return bound.getInt();
}

/// A choice by the place along a dimension is a tensor of two parts.
const Element *ProgramElements::splitChoice(const Element *element,
                                            ArrayRef<int64_t> shape) {
  if (!element->isOp("arith.select"))
    return element;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    const Element *variable = table.getVariable(dim, size);
    std::optional<int64_t> bound = getBound(element->operands[0], variable);
    if (!bound || *bound <= 0 || *bound >= size)
      continue;
    SmallVector<Part> parts;
    SmallVector<int64_t> offsets(shape.size(), 0), sizes(shape);
    auto addPart = [&](const Element *value, int64_t begin, int64_t end) {
      offsets[dim] = begin;
      sizes[dim] = end - begin;
      const Element *index =
          table.add(table.getVariable(dim, end - begin), table.getIndex(begin));
      value = table.substitute(value, {{variable, index}});
      appendParts(splitChoice(value, sizes), sizes, offsets, parts);
    };
    addPart(element->operands[1], 0, *bound);
    addPart(element->operands[2], *bound, size);
    return assemble(table.getUndefined(element->type), std::move(parts), shape);
  }
  return element;
}

/// An element of a tensor, or what lookups give where there is none.
const Element *ProgramElements::readInside(Value tensor,
                                           ArrayRef<const Element *> indices) {
  auto type = cast<RankedTensorType>(tensor.getType());
  const Element *zero =
      table.getConstant(getMissingElement(type.getElementType()));
  if (type.getNumElements() == 0)
    return zero;
  SmallVector<const Element *> safe;
  const Element *isInside =
      table.getConstant(Builder(table.getContext()).getBoolAttr(true));
  for (auto [index, size] : llvm::zip(indices, type.getShape())) {
    const Element *is =
        compare(arith::CmpIPredicate::ult, index, table.getIndex(size));
    safe.push_back(
        compute("arith.select", index->type, {is, index, table.getIndex(0)}));
    isInside = compute("arith.andi", is->type, {isInside, is});
  }
  const Element *found = readTensor(tensor, safe);
  return compute("arith.select", found->type, {isInside, found, zero});
}

/// The nearest of 0, ..., last.
const Element *ProgramElements::clamp(const Element *offset, int64_t last) {
  if (offset->range && offset->range->first >= 0 &&
      offset->range->second <= last)
    return offset;
  if (last == 0)
    return table.getIndex(0);
  Type type = offset->type;
  const Element *end = table.getIndex(last);
  const Element *clamped =
      compute("arith.maxsi", type,
              {compute("arith.minsi", type, {offset, end}), table.getIndex(0)});
  // What was clamped before is the same afterwards.
  if (offset->isOp("arith.maxsi"))
    for (const Element *inner : offset->operands)
      if (inner->isOp("arith.minsi") &&
          llvm::is_contained(inner->operands, end) &&
          llvm::is_contained(offset->operands, table.getIndex(0)))
        return offset;
  return clamped;
}
