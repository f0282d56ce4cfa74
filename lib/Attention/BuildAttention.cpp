// SPDX-License-Identifier: Apache-2.0

// Operands are taken in the layout in which they are, with reshapes where a dim
// is of several loops; results are made in the layout of what they replace.

#include "BuildAttention.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::weft;

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

SmallVector<unsigned> weft::getResultLoops(const AttentionPlan &plan,
                                           WeightsUse *use) {
  bool ofKeys = use && (use == plan.dk || use == plan.dv);
  SmallVector<unsigned> loops;
  for (unsigned loop = 0; loop < plan.getQuery(); ++loop)
    if (!ofKeys || !plan.isGroup(loop))
      loops.push_back(loop);
  loops.push_back(ofKeys ? plan.getKey() : plan.getQuery());
  bool ofDepth = use && (use == plan.dq || use == plan.dk);
  loops.push_back(ofDepth ? plan.getDepth() : plan.getValue());
  return loops;
}

AffineMap AttentionBuilder::getMap(ArrayRef<unsigned> loops) const {
  SmallVector<AffineExpr> results;
  for (unsigned loop : loops)
    results.push_back(builder.getAffineDimExpr(loop));
  return AffineMap::get(plan.sizes.size(), 0, results, builder.getContext());
}

std::pair<AffineMap, RankedTensorType>
AttentionBuilder::getLayout(ArrayRef<unsigned> loops, Type type) const {
  SmallVector<int64_t> shape;
  for (unsigned loop : loops)
    shape.push_back(plan.sizes[loop]);
  return {getMap(loops), RankedTensorType::get(shape, type)};
}

std::pair<AffineMap, RankedTensorType>
AttentionBuilder::getLayout(const Replaced *replaced,
                            ArrayRef<unsigned> loops) const {
  if (!replaced)
    return getLayout(loops, element);
  Type type = getElementTypeOrSelf(replaced->old.value);
  bool isGradient = replaced->use != plan.out;
  return getLayout(replaced->old.getLoops(),
                   isGradient && type.isF32() ? type : element);
}

//===----------------------------------------------------------------------===//
// Reshapes
//===----------------------------------------------------------------------===//

/// Which dims are one: each of `counts` has so many; dims without one go with a
/// neighbour.
static SmallVector<ReassociationIndices> group(ArrayRef<unsigned> counts) {
  SmallVector<ReassociationIndices> groups;
  ReassociationIndices leading;
  int64_t dim = 0;
  for (unsigned count : counts) {
    if (count == 0 && groups.empty()) {
      leading.push_back(dim++);
      continue;
    }
    if (count != 0) {
      groups.push_back(std::move(leading));
      leading.clear();
    }
    for (unsigned i = 0; i < std::max(count, 1u); ++i)
      groups.back().push_back(dim++);
  }
  return groups;
}

static bool isPlain(ReassociationIndices indices) {
  return indices.size() == 1;
}

AttentionBuilder::Operand
AttentionBuilder::makeOperand(const Located &located) {
  Value value = located.value;
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> split, kept;
  SmallVector<unsigned> counts, units;
  SmallVector<ReassociationIndices> parts;
  for (const auto &dim : located.dims) {
    parts.emplace_back();
    for (unsigned i = 0; i < std::max<size_t>(dim.size(), 1); ++i) {
      parts.back().push_back(split.size());
      split.push_back(dim.empty() ? 1 : plan.sizes[dim[i]]);
      units.push_back(dim.empty() ? 0 : 1);
      if (!dim.empty())
        kept.push_back(split.back());
    }
  }
  if (!llvm::all_of(parts, isPlain))
    value = tensor::ExpandShapeOp::create(builder, loc, type.clone(split),
                                          value, parts);
  if (kept.size() != split.size())
    value = tensor::CollapseShapeOp::create(builder, loc, type.clone(kept),
                                            value, group(units));
  if (!located.repeats.empty())
    value = repeat(value, located.repeats);
  return {value, getMap(located.getLoops())};
}

/// The tensor for each step of loops, which become its first dims.
Value AttentionBuilder::repeat(Value value, ArrayRef<unsigned> loops) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape;
  for (unsigned loop : loops)
    shape.push_back(plan.sizes[loop]);
  llvm::append_range(shape, type.getShape());
  AffineMap all = builder.getMultiDimIdentityMap(shape.size());
  Value empty =
      tensor::EmptyOp::create(builder, loc, shape, type.getElementType());
  SmallVector<utils::IteratorType> parallel(shape.size(),
                                            utils::IteratorType::parallel);
  auto body = [](OpBuilder &inner, Location loc, ValueRange args) {
    linalg::YieldOp::create(inner, loc, args[0]);
  };
  return linalg::GenericOp::create(
             builder, loc, type.clone(shape), value, empty,
             ArrayRef{all.getMinorSubMap(type.getRank()), all}, parallel, body)
      .getResult(0);
}

Value AttentionBuilder::makeReplacement(Value result,
                                        const Replaced &replaced) {
  auto old = cast<RankedTensorType>(replaced.old.value.getType());
  SmallVector<unsigned> merged, units;
  SmallVector<int64_t> kept;
  for (const auto &[dim, size] :
       llvm::zip_equal(replaced.old.dims, old.getShape())) {
    units.push_back(dim.empty() ? 0 : 1);
    if (dim.empty())
      continue;
    merged.push_back(dim.size());
    kept.push_back(size);
  }
  Type type = getElementTypeOrSelf(result);
  if (llvm::any_of(merged, [](unsigned count) { return count != 1; }))
    result = tensor::CollapseShapeOp::create(
        builder, loc, RankedTensorType::get(kept, type), result, group(merged));
  if (kept.size() != size_t(old.getRank()))
    result = tensor::ExpandShapeOp::create(
        builder, loc, RankedTensorType::get(old.getShape(), type), result,
        group(units));
  return castTo(result, old.getElementType());
}

//===----------------------------------------------------------------------===//
// Terms as ops
//===----------------------------------------------------------------------===//

/// The number in another type, null if there is no op for it.
static Value castScalar(OpBuilder &builder, Location loc, Value in, Type to) {
  Type from = in.getType();
  if (from == to)
    return in;
  if (isa<FloatType>(from) && isa<FloatType>(to)) {
    if (from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth())
      return arith::ExtFOp::create(builder, loc, to, in);
    if (from.getIntOrFloatBitWidth() > to.getIntOrFloatBitWidth())
      return arith::TruncFOp::create(builder, loc, to, in);
    return Value();
  }
  if (isa<IndexType>(from) || isa<IndexType>(to))
    return isa<FloatType>(to) || isa<FloatType>(from)
               ? Value()
               : arith::IndexCastOp::create(builder, loc, to, in).getResult();
  if (isa<IntegerType>(from) && isa<FloatType>(to))
    return from.isInteger(1)
               ? arith::UIToFPOp::create(builder, loc, to, in).getResult()
               : arith::SIToFPOp::create(builder, loc, to, in).getResult();
  if (isa<FloatType>(from) ||
      from.getIntOrFloatBitWidth() > to.getIntOrFloatBitWidth())
    return Value();
  return from.isInteger(1)
             ? arith::ExtUIOp::create(builder, loc, to, in).getResult()
             : arith::ExtSIOp::create(builder, loc, to, in).getResult();
}

namespace {

/// Writes a term in the body of a linalg.generic.
struct TermWriter {
  OpBuilder &builder;
  Location loc;
  const LoopPlaces &places;
  ArrayRef<unsigned> loops;
  ArrayRef<TermRef> inputs;
  ValueRange args;

  Value write(TermRef term) {
    const auto *input = llvm::find(inputs, term);
    if (input != inputs.end())
      return args[input - inputs.begin()];
    if (term->kind == TermKind::Constant)
      return writeConstant(term);
    if (term->kind == TermKind::Index)
      return writeIndex(term);
    SmallVector<Value> operands;
    for (TermRef operand : term->operands) {
      operands.push_back(write(operand));
      if (!operands.back())
        return Value();
    }
    return writeOp(term, operands);
  }

  Value writeConstant(TermRef term) {
    TypedAttr attr;
    if (auto type = dyn_cast<FloatType>(term->type))
      attr = builder.getFloatAttr(type, term->number);
    else if (std::floor(term->number) == term->number)
      attr = builder.getIntegerAttr(term->type, int64_t(term->number));
    return attr ? arith::ConstantOp::create(builder, loc, attr).getResult()
                : Value();
  }

  Value writeIndex(TermRef term) {
    if (term->indices[0].size() != 1)
      return Value();
    std::optional<unsigned> place = places.getPlace(term->indices[0][0].loop);
    const auto *dim = place ? llvm::find(loops, *place) : loops.end();
    if (dim == loops.end())
      return Value();
    Value index = linalg::IndexOp::create(builder, loc, dim - loops.begin());
    return castScalar(builder, loc, index, term->type);
  }

  template <typename FloatOp, typename IntegerOp>
  Value writeEither(TermRef term, ArrayRef<Value> operands) {
    if (isa<FloatType>(term->type))
      return FloatOp::create(builder, loc, operands[0], operands[1]);
    return IntegerOp::create(builder, loc, operands[0], operands[1]);
  }

  Value writeOp(TermRef term, ArrayRef<Value> operands) {
    switch (term->kind) {
    case TermKind::Cast:
      return castScalar(builder, loc, operands[0], term->type);
    case TermKind::Add:
      return writeEither<arith::AddFOp, arith::AddIOp>(term, operands);
    case TermKind::Mul:
      return writeEither<arith::MulFOp, arith::MulIOp>(term, operands);
    case TermKind::Div:
      return arith::DivFOp::create(builder, loc, operands[0], operands[1]);
    case TermKind::Select:
      return arith::SelectOp::create(builder, loc, operands[0], operands[1],
                                     operands[2]);
    case TermKind::Compare:
      if (auto predicate = arith::symbolizeCmpIPredicate(term->name))
        return arith::CmpIOp::create(builder, loc, *predicate, operands[0],
                                     operands[1]);
      return Value();
    case TermKind::And:
      return arith::AndIOp::create(builder, loc, operands[0], operands[1]);
    case TermKind::Or:
      return arith::OrIOp::create(builder, loc, operands[0], operands[1]);
    case TermKind::Xor:
      return arith::XOrIOp::create(builder, loc, operands[0], operands[1]);
    default:
      return Value();
    }
  }
};

} // namespace

Value AttentionBuilder::castTo(Value value, Type type) {
  auto from = cast<RankedTensorType>(value.getType());
  if (from.getElementType() == type)
    return value;
  Value empty = tensor::EmptyOp::create(builder, loc, from.getShape(), type);
  SmallVector<AffineMap> maps(2,
                              builder.getMultiDimIdentityMap(from.getRank()));
  SmallVector<utils::IteratorType> parallel(from.getRank(),
                                            utils::IteratorType::parallel);
  auto body = [&](OpBuilder &inner, Location loc, ValueRange args) {
    linalg::YieldOp::create(inner, loc, castScalar(inner, loc, args[0], type));
  };
  return linalg::GenericOp::create(builder, loc, from.clone(type), value, empty,
                                   maps, parallel, body)
      .getResult(0);
}

/// A linalg.generic over the term's loops.
std::optional<AttentionBuilder::Operand>
AttentionBuilder::computeTerm(TermRef term, const LoopPlaces &places) {
  const TermTable &table = plan.use->getTable();
  SmallVector<unsigned> loops;
  for (unsigned loop : term->freeLoops) {
    std::optional<unsigned> place = places.getPlace(loop);
    if (!place)
      return std::nullopt;
    loops.push_back(*place);
  }
  llvm::sort(loops);
  SmallVector<TermRef> inputs;
  SmallVector<Value> values;
  SmallVector<AffineMap> maps;
  bool isWritable = true;
  walkTerms(term, [&](TermRef part) {
    bool isLeaf = part->kind == TermKind::Load;
    if (!part->origin || part->kind == TermKind::Constant ||
        part->kind == TermKind::Index)
      return !isLeaf;
    std::optional<Located> located =
        places.locate(table, part->origin, part->originIndices);
    if (!located) {
      isWritable &= !isLeaf;
      return !isLeaf;
    }
    Operand operand = makeOperand(*located);
    SmallVector<AffineExpr> results;
    for (unsigned loop : located->getLoops()) {
      const auto *dim = llvm::find(loops, loop);
      isWritable &= dim != loops.end();
      results.push_back(builder.getAffineDimExpr(dim - loops.begin()));
    }
    inputs.push_back(part);
    values.push_back(operand.value);
    maps.push_back(
        AffineMap::get(loops.size(), 0, results, builder.getContext()));
    return false;
  });
  if (!isWritable)
    return std::nullopt;
  auto [map, type] = getLayout(loops, term->type);
  maps.push_back(builder.getMultiDimIdentityMap(loops.size()));
  Value empty =
      tensor::EmptyOp::create(builder, loc, type.getShape(), term->type);
  SmallVector<utils::IteratorType> parallel(loops.size(),
                                            utils::IteratorType::parallel);
  auto body = [&](OpBuilder &inner, Location loc, ValueRange args) {
    Value result =
        TermWriter{inner, loc, places, loops, inputs, args}.write(term);
    isWritable = result != nullptr;
    linalg::YieldOp::create(inner, loc, isWritable ? result : args.back());
  };
  auto generic = linalg::GenericOp::create(builder, loc, type, values, empty,
                                           maps, parallel, body);
  if (!isWritable)
    return std::nullopt;
  return Operand{generic.getResult(0), map};
}

std::optional<AttentionBuilder::Operand>
AttentionBuilder::makeTerm(TermRef term, Type type) {
  std::optional<LoopPlaces> places =
      LoopPlaces::get(plan, *plan.use, plan.getValue());
  if (!places)
    return std::nullopt;
  std::optional<Operand> operand;
  if (term->origin)
    if (std::optional<Located> located = places->locate(
            plan.use->getTable(), term->origin, term->originIndices))
      operand = makeOperand(*located);
  if (!operand)
    operand = computeTerm(term, *places);
  if (operand && type)
    operand->value = castTo(operand->value, type);
  return operand;
}

//===----------------------------------------------------------------------===//
// The ops
//===----------------------------------------------------------------------===//

bool AttentionBuilder::makeOperands() {
  for (auto [operand, located] :
       {std::pair(&q, &plan.q), std::pair(&k, &plan.k),
        std::pair(&v, &plan.v)}) {
    *operand = makeOperand(*located);
    operand->value = castTo(operand->value, element);
  }
  auto makeOptional = [&](Operand &operand, TermRef term, Type type) {
    if (!term)
      return true;
    std::optional<Operand> made = makeTerm(term, type);
    if (made)
      operand = *made;
    return made.has_value();
  };
  Type biasType = plan.bias && plan.bias->type == element
                      ? element
                      : Type(builder.getF32Type());
  return makeOptional(bias, plan.bias, biasType) &&
         makeOptional(mask, plan.mask, Type()) &&
         makeOptional(querySegments, plan.querySegments, Type()) &&
         makeOptional(keySegments, plan.keySegments, Type()) &&
         makeOptional(sink, plan.sink, builder.getF32Type());
}

AttentionAttr AttentionBuilder::makeConfig() {
  auto number = [&](std::optional<double> value) {
    return value ? builder.getF32FloatAttr(float(*value)) : FloatAttr();
  };
  return AttentionAttr::get(builder.getContext(), number(plan.scale),
                            number(plan.softcap), number(plan.fill), plan.left,
                            plan.right, /*dropout=*/FloatAttr());
}

SmallVector<Attribute> AttentionBuilder::getMaps() const {
  SmallVector<Attribute> maps;
  for (const Operand *operand :
       {&q, &k, &v, &bias, &mask, &querySegments, &keySegments})
    if (operand->value)
      maps.push_back(AffineMapAttr::get(operand->map));
  return maps;
}

AttentionOp AttentionBuilder::makeForward(const Replaced *out) {
  SmallVector<unsigned> loops = getResultLoops(plan, nullptr);
  auto [outMap, outType] = getLayout(out, loops);
  auto [lseMap, lseType] =
      getLayout(ArrayRef(loops).drop_back(), builder.getF32Type());
  SmallVector<Attribute> maps = getMaps();
  maps.push_back(AffineMapAttr::get(outMap));
  maps.push_back(AffineMapAttr::get(lseMap));
  return AttentionOp::create(
      builder, loc, outType, lseType, q.value, k.value, v.value, bias.value,
      mask.value, querySegments.value, keySegments.value, /*low_seeds=*/Value(),
      /*high_seeds=*/Value(), /*start=*/Value(), makeConfig(),
      builder.getArrayAttr(maps));
}

AttentionGradOp AttentionBuilder::makeGradient(AttentionOp forward,
                                               Value result, const Replaced *dq,
                                               const Replaced *dk,
                                               const Replaced *dv) {
  Operand dout = makeOperand(plan.dout);
  dout.value = castTo(dout.value, element);
  if (sink.value)
    dout = scale(dout, forward);
  SmallVector<Attribute> maps = getMaps();
  for (Attribute map : forward.getIndexingMaps().getValue().take_back(2))
    maps.push_back(map);
  maps.push_back(AffineMapAttr::get(dout.map));
  SmallVector<Type> types;
  for (auto [replaced, operand] :
       {std::pair(dq, &q), std::pair(dk, &k), std::pair(dv, &v)}) {
    AffineMap map = operand->map;
    auto type = cast<RankedTensorType>(operand->value.getType());
    if (replaced)
      std::tie(map, type) = getLayout(replaced, {});
    maps.push_back(AffineMapAttr::get(map));
    types.push_back(type);
  }
  return AttentionGradOp::create(
      builder, loc, types[0], types[1], types[2], q.value, k.value, v.value,
      bias.value, mask.value, querySegments.value, keySegments.value,
      /*low_seeds=*/Value(), /*high_seeds=*/Value(), result, forward.getLse(),
      dout.value, /*start=*/Value(), makeConfig(), builder.getArrayAttr(maps));
}
