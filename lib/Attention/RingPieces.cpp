// SPDX-License-Identifier: Apache-2.0

// The pieces of ring attention. In step t rank r computes with piece (r - t)
// mod n of the keys, which came from its neighbour while the step before was
// computed with. Outputs of two sets of keys join by their log-sum-exps a and
// b: with c = log(exp(a) + exp(b)) they weigh exp(a - c) and exp(b - c).
//
// The gradient of a piece is taken with the log-sum-exp of its own keys, which
// is what the op wants, and with `dout` times the weight of these keys in all:
// what it makes is linear in that. Gradients of keys and values travel with
// their piece, one permute after it.

#include "RingPieces.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

Type getElement(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getElementType();
}

using BodyBuilder = function_ref<Value(OpBuilder &, Location, ValueRange)>;

class RingBuilder {
public:
  explicit RingBuilder(const Ring &ring)
      : ring(ring), shape(ring.shape), builder(ring.op), loc(ring.op->getLoc()),
        f32(builder.getF32Type()) {}

  SmallVector<Value> build() {
    SmallVector<Value> sums;
    if (shape.isGradient())
      buildGradient();
    else
      sums = buildForward();
    ring.op->erase();
    return sums;
  }

private:
  SmallVector<Value> buildForward();
  void buildGradient();
  AttentionGradOp makeGradient(unsigned index, ArrayRef<Value> keys,
                               Value before);

  // Pieces.
  SmallVector<Value> pass(ArrayRef<Value> values, int64_t hops);
  Value makePiece(int64_t step);
  Value makeKeyBegin(int64_t step);
  Value cutKeys(Value whole, AttentionTensor tensor, int64_t step);
  template <typename Op> Op makeOp(int64_t step, ArrayRef<Value> keys);
  SmallVector<Value> passNext(unsigned index, ArrayRef<Value> keys,
                              Value before);
  void replace(const Ring::Reduced &reduced, Value part);
  SmallVector<Value> after(ArrayRef<Value> values, Value other);

  // Elementwise ops.
  linalg::GenericOp map(RankedTensorType type, ArrayRef<Value> inputs,
                        ArrayRef<AffineMap> maps, BodyBuilder body);
  linalg::GenericOp map(Type element, ArrayRef<Value> inputs, BodyBuilder body);
  Value joinNow(linalg::GenericOp op);
  AffineMap getRows(AttentionTensor tensor);
  Value joinSums(Value a, Value b);
  Value makeWeight(Value part, Value whole);
  Value weigh(Value value, AttentionTensor tensor, Value weight, Type element);
  Value add(Value a, Value b, Type element, bool isLast = false);

  const Ring &ring;
  const AttentionShape &shape;
  OpBuilder builder;
  Location loc;
  Type f32;
};

} // namespace

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

/// Each rank gets what the rank `hops` before it has.
SmallVector<Value> RingBuilder::pass(ArrayRef<Value> values, int64_t hops) {
  SmallVector<int64_t> sources;
  for (int64_t i = 0; i < ring.ranks; ++i)
    sources.push_back((i + ring.ranks - hops) % ring.ranks);
  SmallVector<Type> types =
      llvm::map_to_vector(values, [](Value value) { return value.getType(); });
  auto permute = PermuteOp::create(
      builder, loc, types, values, ring.mesh, ring.axes,
      builder.getDenseI64ArrayAttr(sources), FlatSymbolRefAttr());
  return llvm::to_vector_of<Value>(permute->getResults());
}

/// The number of the rank's piece in a step.
Value RingBuilder::makePiece(int64_t step) {
  Value rank = AxisIndexOp::create(builder, loc, builder.getIndexType(),
                                   ring.mesh, ring.axes);
  if (step == 0)
    return rank;
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Value sum =
      arith::AddIOp::create(builder, loc, rank, number(ring.ranks - step));
  return arith::RemUIOp::create(builder, loc, sum, number(ring.ranks));
}

/// Where the rank's piece begins in a step, in keys.
Value RingBuilder::makeKeyBegin(int64_t step) {
  return arith::MulIOp::create(
      builder, loc, makePiece(step),
      arith::ConstantIndexOp::create(builder, loc, ring.pieceKeys));
}

/// A tensor of which only the keys of the rank's piece are taken.
Value RingBuilder::cutKeys(Value whole, AttentionTensor tensor, int64_t step) {
  AffineExpr key = builder.getAffineDimExpr(shape.getKey());
  const AttentionPart *part = llvm::find_if(
      shape.parts, [&](const AttentionPart &p) { return p.tensor == tensor; });
  std::optional<unsigned> dim = part->map.getResultPosition(key);
  if (!dim)
    return whole;
  auto type = cast<RankedTensorType>(whole.getType());
  SmallVector<OpFoldResult> begins(type.getRank(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(type.getRank(), builder.getIndexAttr(1));
  SmallVector<int64_t> sizes(type.getShape());
  sizes[*dim] = ring.pieceKeys;
  begins[*dim] = makeKeyBegin(step);
  return tensor::ExtractSliceOp::create(
      builder, loc, type.clone(sizes), whole, begins,
      getAsIndexOpFoldResult(builder.getContext(), sizes), strides);
}

/// The op with one piece of keys and values; queries begin, seen from there,
/// before or after its first key.
template <typename Op>
Op RingBuilder::makeOp(int64_t step, ArrayRef<Value> keys) {
  auto piece = cast<Op>(builder.clone(*ring.op));
  builder.setInsertionPoint(piece);
  piece.getKMutable().assign(keys[0]);
  piece.getVMutable().assign(keys[1]);
  if (Value mask = piece.getMask())
    piece.getMaskMutable().assign(cutKeys(mask, AttentionTensor::Mask, step));
  if (Value ids = piece.getKSegments())
    piece.getKSegmentsMutable().assign(
        cutKeys(ids, AttentionTensor::KSegments, step));
  if (step == 0 && ring.isAligned) {
    piece.getStartMutable().clear();
  } else if (shape.config.hasWindow()) {
    Value start = piece.getStart();
    if (!start)
      start = arith::ConstantIndexOp::create(builder, loc, 0);
    piece.getStartMutable().assign(
        arith::SubIOp::create(builder, loc, start, makeKeyBegin(step)));
  }
  builder.setInsertionPointAfter(piece);
  return piece;
}

/// The pieces of the step after: on their way while this one is computed with,
/// and not before what was made `before` it. So a rank has no more than three.
SmallVector<Value> RingBuilder::passNext(unsigned index, ArrayRef<Value> keys,
                                         Value before) {
  if (index + 1 == ring.steps.size())
    return {};
  return pass(after(keys, before), ring.steps[index + 1] - ring.steps[index]);
}

/// The values, not before `other`, if there is one.
SmallVector<Value> RingBuilder::after(ArrayRef<Value> values, Value other) {
  SmallVector<Value> all(values);
  if (!other)
    return all;
  all.push_back(other);
  auto barrier = OptimizationBarrierOp::create(builder, loc,
                                               TypeRange(ValueRange(all)), all,
                                               /*offload=*/UnitAttr());
  return llvm::to_vector_of<Value>(barrier.getResults().drop_back());
}

//===----------------------------------------------------------------------===//
// Elementwise ops
//===----------------------------------------------------------------------===//

linalg::GenericOp RingBuilder::map(RankedTensorType type,
                                   ArrayRef<Value> inputs,
                                   ArrayRef<AffineMap> inputMaps,
                                   BodyBuilder body) {
  SmallVector<AffineMap> maps(inputMaps);
  maps.push_back(builder.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> parallel(type.getRank(),
                                            utils::IteratorType::parallel);
  Value init = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                       type.getElementType());
  return linalg::GenericOp::create(
      builder, loc, type, inputs, init, maps, parallel,
      [&](OpBuilder &inner, Location loc, ValueRange args) {
        linalg::YieldOp::create(inner, loc, body(inner, loc, args));
      });
}

/// Of inputs of one shape.
linalg::GenericOp RingBuilder::map(Type element, ArrayRef<Value> inputs,
                                   BodyBuilder body) {
  auto type = cast<RankedTensorType>(inputs[0].getType());
  SmallVector<AffineMap> maps(inputs.size(),
                              builder.getMultiDimIdentityMap(type.getRank()));
  return map(RankedTensorType::get(type.getShape(), element), inputs, maps,
             body);
}

/// An op that fusion does not put off: what it joins would have to wait.
Value RingBuilder::joinNow(linalg::GenericOp op) {
  op->setAttr(WeftDialect::kOrderAttr,
              OrderAttr::get(op.getContext(), /*leaves=*/2, /*lanes=*/1,
                             /*rounded=*/false));
  return op.getResult(0);
}

/// The number, or 0 where it is -inf: what may be taken off of exponents.
static Value makeFinite(OpBuilder &builder, Location loc, Value number) {
  Type type = number.getType();
  Value none = arith::ConstantOp::create(
      builder, loc,
      builder.getFloatAttr(type, -std::numeric_limits<double>::infinity()));
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getFloatAttr(type, 0.0));
  Value isNone = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ,
                                       number, none);
  return arith::SelectOp::create(builder, loc, isNone, zero, number);
}

static Value makeExp(OpBuilder &builder, Location loc, Value number,
                     Value base) {
  return math::ExpOp::create(builder, loc,
                             arith::SubFOp::create(builder, loc, number, base));
}

/// The log-sum-exp of two sets of keys: log(exp(a) + exp(b)).
Value RingBuilder::joinSums(Value a, Value b) {
  return map(f32, {a, b},
             [](OpBuilder &inner, Location loc, ValueRange args) -> Value {
               Value base = makeFinite(
                   inner, loc,
                   arith::MaximumFOp::create(inner, loc, args[0], args[1]));
               Value first = makeExp(inner, loc, args[0], base);
               Value second = makeExp(inner, loc, args[1], base);
               Value sum = arith::AddFOp::create(inner, loc, first, second);
               return arith::AddFOp::create(
                   inner, loc, base, math::LogOp::create(inner, loc, sum));
             })
      .getResult(0);
}

/// What the output of some keys counts in that of more, by their log-sum-exps.
Value RingBuilder::makeWeight(Value part, Value whole) {
  return map(f32, {part, whole},
             [](OpBuilder &inner, Location loc, ValueRange args) {
               return makeExp(inner, loc, args[0],
                              makeFinite(inner, loc, args[1]));
             })
      .getResult(0);
}

static Value castTo(OpBuilder &builder, Location loc, Value value, Type type) {
  unsigned from = value.getType().getIntOrFloatBitWidth();
  if (value.getType() == type)
    return value;
  if (from < type.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(builder, loc, type, value);
  return arith::TruncFOp::create(builder, loc, type, value);
}

/// From the dims of a tensor with the loops of outputs to those of the
/// log-sum-exp.
AffineMap RingBuilder::getRows(AttentionTensor tensor) {
  auto getMap = [&](AttentionTensor tensor) {
    return llvm::find_if(
               shape.parts,
               [&](const AttentionPart &part) { return part.tensor == tensor; })
        ->map;
  };
  AffineMap out = getMap(tensor);
  SmallVector<AffineExpr> places;
  for (AffineExpr loop : getMap(AttentionTensor::Lse).getResults())
    places.push_back(builder.getAffineDimExpr(*out.getResultPosition(loop)));
  return AffineMap::get(out.getNumResults(), 0, places, builder.getContext());
}

/// A tensor with the loops of outputs, each row times its weight.
Value RingBuilder::weigh(Value value, AttentionTensor tensor, Value weight,
                         Type element) {
  auto type = cast<RankedTensorType>(value.getType());
  return map(RankedTensorType::get(type.getShape(), element), {value, weight},
             {builder.getMultiDimIdentityMap(type.getRank()), getRows(tensor)},
             [&](OpBuilder &inner, Location loc, ValueRange args) {
               Value product = arith::MulFOp::create(
                   inner, loc, castTo(inner, loc, args[0], f32), args[1]);
               return castTo(inner, loc, product, element);
             })
      .getResult(0);
}

/// Adds in f32, and rounds to `element`. The last sum may be put off, as
/// nothing follows.
Value RingBuilder::add(Value a, Value b, Type element, bool isLast) {
  linalg::GenericOp sum = map(
      element, {a, b}, [&](OpBuilder &inner, Location loc, ValueRange args) {
        Value first = castTo(inner, loc, args[0], f32);
        Value second = castTo(inner, loc, args[1], f32);
        Value sum = arith::AddFOp::create(inner, loc, first, second);
        return castTo(inner, loc, sum, element);
      });
  return isLast ? sum.getResult(0) : joinNow(sum);
}

//===----------------------------------------------------------------------===//
// The ring
//===----------------------------------------------------------------------===//

SmallVector<Value> RingBuilder::buildForward() {
  auto forward = cast<AttentionOp>(ring.op);
  Type element = getElement(forward.getOut());
  SmallVector<Value> keys = {ring.k, ring.v}, sums;
  Value out, lse;
  for (auto [index, step] : llvm::enumerate(ring.steps)) {
    SmallVector<Value> next = passNext(index, keys, out);
    auto piece = makeOp<AttentionOp>(step, keys);
    keys = std::move(next);
    sums.push_back(piece.getLse());
    if (!out) {
      out = piece.getOut();
      lse = piece.getLse();
      continue;
    }
    bool isLast = index + 1 == ring.steps.size();
    Value joined = joinSums(lse, piece.getLse());
    Value first =
        weigh(out, AttentionTensor::Out, makeWeight(lse, joined), f32);
    Value second = weigh(piece.getOut(), AttentionTensor::Out,
                         makeWeight(piece.getLse(), joined), f32);
    out = add(first, second, isLast ? element : f32, isLast);
    lse = joined;
  }
  forward.getOut().replaceAllUsesWith(out);
  forward.getLse().replaceAllUsesWith(lse);
  sums.push_back(lse);
  return sums;
}

void RingBuilder::buildGradient() {
  auto gradient = cast<AttentionGradOp>(ring.op);
  SmallVector<Value> keys = {ring.k, ring.v};
  // Of dk and dv those that are used, of the piece at hand.
  SmallVector<Value> sums;
  Value dq;
  for (auto [index, step] : llvm::enumerate(ring.steps)) {
    // What was added up before follows its piece.
    if (index > 0 && !sums.empty())
      sums = pass(sums, step - ring.steps[index - 1]);
    SmallVector<Value> next = passNext(index, keys, dq);
    AttentionGradOp piece = makeGradient(index, keys, dq);
    keys = std::move(next);
    bool isLast = index + 1 == ring.steps.size();
    dq = dq ? add(dq, piece.getDq(), isLast ? getElement(piece.getDq()) : f32,
                  isLast)
            : Value(piece.getDq());
    SmallVector<Value> parts;
    if (ring.dk.reduce)
      parts.push_back(piece.getDk());
    if (ring.dv.reduce)
      parts.push_back(piece.getDv());
    for (auto [i, part] : llvm::enumerate(parts))
      if (index == 0)
        sums.push_back(part);
      else
        sums[i] = add(sums[i], part, getElement(part));
  }
  if (int64_t last = ring.steps.back(); last != 0 && !sums.empty())
    sums = pass(sums, ring.ranks - last);
  gradient.getDq().replaceAllUsesWith(dq);
  unsigned number = 0;
  for (const Ring::Reduced &reduced : {ring.dk, ring.dv})
    if (reduced.reduce)
      replace(reduced, sums[number++]);
}

/// Gives the rank's part of a gradient of keys or values, or all parts, to
/// whoever reads the sum.
void RingBuilder::replace(const Ring::Reduced &reduced, Value part) {
  tensor::ExpandShapeOp expand = reduced.expand;
  if (expand) {
    SmallVector<int64_t> sizes(expand.getResultType().getShape());
    sizes[reduced.dim] = ring.pieceKeys;
    part = tensor::ExpandShapeOp::create(
        builder, loc, RankedTensorType::get(sizes, getElement(part)), part,
        expand.getReassociationIndices());
  }
  Operation *reduce = reduced.reduce;
  if (isa<AllReduceOp>(reduce))
    part = AllGatherOp::create(builder, loc, reduce->getResultTypes(), part,
                               ring.mesh, ring.axes,
                               builder.getDenseI64ArrayAttr({reduced.dim}),
                               FlatSymbolRefAttr())
               ->getResult(0);
  reduce->getResult(0).replaceAllUsesWith(part);
  reduce->erase();
  if (expand)
    expand.erase();
}

/// The gradient over the keys of a step, after `before`, if that is there.
AttentionGradOp RingBuilder::makeGradient(unsigned index, ArrayRef<Value> keys,
                                          Value before) {
  auto gradient = cast<AttentionGradOp>(ring.op);
  auto piece = makeOp<AttentionGradOp>(ring.steps[index], keys);
  auto setSizes = [](Value value, Value like) {
    auto sizes = cast<RankedTensorType>(like.getType());
    value.setType(sizes.clone(getElement(value)));
  };
  setSizes(piece.getDk(), keys[0]);
  setSizes(piece.getDv(), keys[1]);
  if (ring.steps.size() == 1)
    return piece;
  builder.setInsertionPoint(piece);
  Value weight = makeWeight(ring.sums[index], gradient.getLse());
  // Fusion makes what is computed of one tensor at one time: those of all steps
  // would have to wait.
  Value dout = after(Value(gradient.getDout()), before)[0];
  piece.getDoutMutable().assign(
      weigh(dout, AttentionTensor::DOut, weight, getElement(dout)));
  piece.getLseMutable().assign(ring.sums[index]);
  builder.setInsertionPointAfter(piece);
  return piece;
}

SmallVector<Value> mlir::weft::buildRing(const Ring &ring) {
  return RingBuilder(ring).build();
}
