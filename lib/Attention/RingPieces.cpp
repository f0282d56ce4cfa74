// SPDX-License-Identifier: Apache-2.0

// The pieces of ring attention. In step t rank r computes with piece (r - t)
// mod n of the keys, which came from its neighbour while the step before was
// computed with (RingJoins.cpp joins what steps make).
//
// The gradient of a piece is taken with the log-sum-exp of its own keys, which
// is what the op wants, and with `dout` times the weight of these keys in all:
// what it makes is linear in that. Gradients of keys and values travel with
// their piece, one permute after it. Those of the rank's own piece, which is
// the first one, stay where steps are left out, as they are of a window: there
// are few permutes, and this is one less.
//
// In a balanced ring all of this is done for two parts of the queries and two
// of a piece. Second parts are exchanged before, and what was made of them
// after.

#include "RingPieces.h"

#include "RingJoins.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

Type getElement(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getElementType();
}

class RingBuilder {
public:
  explicit RingBuilder(const Ring &ring)
      : ring(ring), shape(ring.shape), builder(ring.op), loc(ring.op->getLoc()),
        f32(builder.getF32Type()), joins(builder, loc, shape) {}

  SmallVector<Value> build() {
    cutOperands();
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
  AttentionGradOp makeGradient(int64_t step, RingBlock block, Value sum,
                               ValueRange before);

  // Parts.
  void cutOperands();
  Value cut(Value whole, unsigned dim, int64_t size, OpFoldResult begin);
  std::optional<unsigned> getDim(const AttentionPart &part, unsigned loop);
  const AttentionPart &getPart(AttentionTensor tensor);
  void exchangeSeconds();
  SmallVector<Value> exchange(ArrayRef<Value> values);
  Value concat(AttentionTensor tensor, unsigned loop, ArrayRef<Value> parts);

  // Pieces.
  SmallVector<Value> permute(ArrayRef<Value> values,
                             function_ref<int64_t(int64_t)> getSource);
  SmallVector<Value> pass(ArrayRef<Value> values, int64_t hops);
  Value makePiece(int64_t step);
  Value makeBegin(int64_t step, unsigned part);
  Value cutKeys(Value whole, const AttentionPart &part, int64_t step,
                unsigned number);
  template <typename Op> Op makeOp(int64_t step, RingBlock block);
  SmallVector<Value> passNext(unsigned index, ValueRange before);
  void addTo(Value &sum, Value part, Type element);
  void finishGradient(SmallVector<Value> dq, SmallVector<Value> sums,
                      ArrayRef<Value> stayed);
  void replace(const Ring::Reduced &reduced, Value part);
  SmallVector<Value> after(ArrayRef<Value> values, ValueRange others);

  const Ring &ring;
  const AttentionShape &shape;
  OpBuilder builder;
  Location loc;
  Type f32;
  RingJoins joins;
  /// Of each operand what it is for each part of the queries.
  SmallVector<SmallVector<Value, 2>> operands;
  /// Keys and values of the parts of the piece at hand.
  SmallVector<Value, 4> keys;
};

} // namespace

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// Which part of all keys a rank has at first.
static int64_t getNumber(const Ring &ring, int64_t rank, unsigned part) {
  if (!ring.isBalanced)
    return rank;
  return part == 0 ? 2 * rank : 2 * ring.ranks - 1 - 2 * rank;
}

/// Whether some rank's part of the queries sees a key of the part of its piece.
static bool isSeen(const Ring &ring, int64_t step, RingBlock block) {
  const AttentionAttr config = ring.shape.config;
  for (int64_t rank = 0; rank < ring.ranks; ++rank) {
    int64_t owner = (rank + ring.ranks - step) % ring.ranks;
    int64_t distance = getNumber(ring, rank, block.queries) -
                       getNumber(ring, owner, block.keys);
    std::optional<int64_t> bound =
        distance > 0 ? config.getLeft() : config.getRight();
    if (distance == 0 || !bound ||
        (std::abs(distance) - 1) * ring.getPartKeys() + 1 <= *bound)
      return true;
  }
  return false;
}

SmallVector<RingBlock> mlir::weft::getBlocks(const Ring &ring, int64_t step) {
  SmallVector<RingBlock> blocks;
  for (unsigned queries = 0; queries < ring.getNumParts(); ++queries)
    for (unsigned keys = 0; keys < ring.getNumParts(); ++keys)
      if (!ring.isAligned || isSeen(ring, step, {queries, keys}))
        blocks.push_back({queries, keys});
  return blocks;
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// Which dimension the loop indexes.
std::optional<unsigned> RingBuilder::getDim(const AttentionPart &part,
                                            unsigned loop) {
  return part.map.getResultPosition(builder.getAffineDimExpr(loop));
}

const AttentionPart &RingBuilder::getPart(AttentionTensor tensor) {
  return *llvm::find_if(shape.parts, [&](const AttentionPart &part) {
    return part.tensor == tensor;
  });
}

/// `size` elements of a dimension.
Value RingBuilder::cut(Value whole, unsigned dim, int64_t size,
                       OpFoldResult begin) {
  auto type = cast<RankedTensorType>(whole.getType());
  SmallVector<OpFoldResult> begins(type.getRank(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(type.getRank(), builder.getIndexAttr(1));
  SmallVector<int64_t> sizes(type.getShape());
  sizes[dim] = size;
  begins[dim] = begin;
  return tensor::ExtractSliceOp::create(
      builder, loc, type.clone(sizes), whole, begins,
      getAsIndexOpFoldResult(builder.getContext(), sizes), strides);
}

/// Each rank gets what the rank at the other end has.
SmallVector<Value> RingBuilder::exchange(ArrayRef<Value> values) {
  return permute(values, [&](int64_t rank) { return ring.ranks - 1 - rank; });
}

/// Cuts what has queries, and the rank's piece of keys.
void RingBuilder::cutOperands() {
  keys = {ring.k, ring.v};
  auto cutPart = [&](Value whole, unsigned dim, int64_t part) {
    int64_t size = cast<RankedTensorType>(whole.getType()).getDimSize(dim) / 2;
    return cut(whole, dim, size, builder.getIndexAttr(part * size));
  };
  for (const AttentionPart &part :
       ArrayRef(shape.parts).drop_back(ring.op->getNumResults())) {
    SmallVector<Value, 2> &values = operands.emplace_back();
    values.assign(ring.getNumParts(), part.value);
    std::optional<unsigned> dim = getDim(part, shape.getQuery());
    if (!dim || !ring.isBalanced)
      continue;
    for (unsigned i : {0, 1})
      values[i] = cutPart(part.value, *dim, i);
  }
  if (!ring.isBalanced)
    return;
  for (auto [i, tensor] :
       {std::pair(0, AttentionTensor::K), {1, AttentionTensor::V}}) {
    unsigned dim = *getDim(getPart(tensor), shape.getKey());
    Value whole = keys[i];
    keys[i] = cutPart(whole, dim, 0);
    keys.push_back(cutPart(whole, dim, 1));
  }
  exchangeSeconds();
}

/// Of what the forward pass reads as well, and of what is there later.
void RingBuilder::exchangeSeconds() {
  SmallVector<Value *> early = {&keys[2], &keys[3]}, late;
  for (auto [part, values] : llvm::zip(shape.parts, operands))
    if (getDim(part, shape.getQuery()))
      (part.tensor < AttentionTensor::Out ? early : late).push_back(&values[1]);
  for (ArrayRef<Value *> places : {early, late}) {
    if (places.empty())
      continue;
    SmallVector<Value> values =
        exchange(llvm::map_to_vector(places, [](Value *at) { return *at; }));
    for (auto [at, value] : llvm::zip(places, values))
      *at = value;
  }
}

/// Puts parts of tensors together again along a loop.
Value RingBuilder::concat(AttentionTensor tensor, unsigned loop,
                          ArrayRef<Value> parts) {
  if (parts.size() == 1)
    return parts[0];
  return tensor::ConcatOp::create(builder, loc, *getDim(getPart(tensor), loop),
                                  parts);
}

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

SmallVector<Value>
RingBuilder::permute(ArrayRef<Value> values,
                     function_ref<int64_t(int64_t)> getSource) {
  SmallVector<int64_t> sources;
  for (int64_t rank = 0; rank < ring.ranks; ++rank)
    sources.push_back(getSource(rank));
  SmallVector<Type> types =
      llvm::map_to_vector(values, [](Value value) { return value.getType(); });
  auto permute = PermuteOp::create(
      builder, loc, types, values, ring.mesh, ring.axes,
      builder.getDenseI64ArrayAttr(sources), FlatSymbolRefAttr());
  return llvm::to_vector_of<Value>(permute->getResults());
}

/// Each rank gets what the rank `hops` before it has.
SmallVector<Value> RingBuilder::pass(ArrayRef<Value> values, int64_t hops) {
  return permute(values, [&](int64_t rank) {
    return (rank + ring.ranks - hops) % ring.ranks;
  });
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

/// Where a part of the rank's piece begins in a step, in keys: the second one
/// is as far from the end as the first one is from the beginning.
Value RingBuilder::makeBegin(int64_t step, unsigned part) {
  Value begin = arith::MulIOp::create(
      builder, loc, makePiece(step),
      arith::ConstantIndexOp::create(builder, loc, ring.pieceKeys));
  if (part == 0)
    return begin;
  Value last = arith::ConstantIndexOp::create(
      builder, loc, ring.ranks * ring.pieceKeys - ring.getPartKeys());
  return arith::SubIOp::create(builder, loc, last, begin);
}

/// A tensor of which only the keys of a part of the rank's piece are taken.
Value RingBuilder::cutKeys(Value whole, const AttentionPart &part, int64_t step,
                           unsigned number) {
  std::optional<unsigned> dim = getDim(part, shape.getKey());
  return dim ? cut(whole, *dim, ring.getPartKeys(), makeBegin(step, number))
             : whole;
}

/// The op for one block; queries begin, seen from there, before or after its
/// first key.
template <typename Op> Op RingBuilder::makeOp(int64_t step, RingBlock block) {
  auto piece = cast<Op>(builder.clone(*ring.op));
  builder.setInsertionPoint(piece);
  for (auto [i, values] : llvm::enumerate(operands)) {
    const AttentionPart &part = shape.parts[i];
    Value value = values[block.queries];
    if (part.tensor == AttentionTensor::K || part.tensor == AttentionTensor::V)
      value = keys[2 * block.keys + (part.tensor == AttentionTensor::V)];
    else
      value = cutKeys(value, part, step, block.keys);
    piece->setOperand(i, value);
  }
  for (auto [result, part] :
       llvm::zip(piece->getResults(),
                 ArrayRef(shape.parts).take_back(piece->getNumResults()))) {
    auto type = cast<RankedTensorType>(result.getType());
    SmallVector<int64_t> sizes(type.getShape());
    if (std::optional<unsigned> dim = getDim(part, shape.getQuery()))
      sizes[*dim] /= ring.getNumParts();
    if (std::optional<unsigned> dim = getDim(part, shape.getKey()))
      sizes[*dim] = ring.getPartKeys();
    result.setType(type.clone(sizes));
  }
  if (step == 0 && ring.isAligned && block.queries == block.keys) {
    piece.getStartMutable().clear();
  } else if (shape.config.hasWindow()) {
    Value start = piece.getStart();
    if (block.queries > 0)
      start = makeBegin(0, block.queries);
    else if (!start)
      start = arith::ConstantIndexOp::create(builder, loc, 0);
    piece.getStartMutable().assign(arith::SubIOp::create(
        builder, loc, start, makeBegin(step, block.keys)));
  }
  builder.setInsertionPointAfter(piece);
  return piece;
}

/// The pieces of the step after: on their way while this one is computed with,
/// and not before what was made `before` it. So a rank has no more than three.
SmallVector<Value> RingBuilder::passNext(unsigned index, ValueRange before) {
  if (index + 1 == ring.steps.size())
    return {};
  return pass(after(keys, before), ring.steps[index + 1] - ring.steps[index]);
}

/// The values, not before `others`, if there are some.
SmallVector<Value> RingBuilder::after(ArrayRef<Value> values,
                                      ValueRange others) {
  SmallVector<Value> all(values);
  if (others.empty())
    return all;
  llvm::append_range(all, others);
  auto barrier = OptimizationBarrierOp::create(builder, loc,
                                               TypeRange(ValueRange(all)), all,
                                               /*offload=*/UnitAttr());
  return llvm::to_vector_of<Value>(
      barrier.getResults().take_front(values.size()));
}

//===----------------------------------------------------------------------===//
// The ring
//===----------------------------------------------------------------------===//

SmallVector<Value> RingBuilder::buildForward() {
  auto forward = cast<AttentionOp>(ring.op);
  Type element = getElement(forward.getOut());
  SmallVector<Value> sums, outs;
  SmallVector<AttentionRows, 2> rows(ring.getNumParts());
  for (auto [index, step] : llvm::enumerate(ring.steps)) {
    SmallVector<Value> next = passNext(index, outs);
    SmallVector<AttentionRows, 2> made(ring.getNumParts());
    for (RingBlock block : getBlocks(ring, step)) {
      auto piece = makeOp<AttentionOp>(step, block);
      sums.push_back(piece.getLse());
      AttentionRows own{piece.getOut(), piece.getLse()};
      AttentionRows &others = made[block.queries];
      others = others.out ? joins.join(others, own, f32, /*isLast=*/true) : own;
    }
    keys.assign(next);
    bool isLast = index + 1 == ring.steps.size();
    outs.clear();
    for (auto [all, own] : llvm::zip(rows, made)) {
      all =
          all.out ? joins.join(all, own, isLast ? element : f32, isLast) : own;
      outs.push_back(all.out);
    }
  }
  SmallVector<Value> lses =
      llvm::map_to_vector(rows, [](AttentionRows part) { return part.lse; });
  if (ring.isBalanced) {
    SmallVector<Value> seconds = {outs[1]};
    if (!forward.getLse().use_empty())
      seconds.push_back(lses[1]);
    seconds = exchange(seconds);
    outs[1] = seconds[0];
    if (seconds.size() > 1)
      lses[1] = seconds[1];
  }
  forward.getOut().replaceAllUsesWith(
      concat(AttentionTensor::Out, shape.getQuery(), outs));
  Value lse = lses[0];
  if (!forward.getLse().use_empty()) {
    lse = concat(AttentionTensor::Lse, shape.getQuery(), lses);
    forward.getLse().replaceAllUsesWith(lse);
  }
  sums.push_back(lse);
  return sums;
}

/// A sum within a step, which is not computed apart from what it is added to.
void RingBuilder::addTo(Value &sum, Value part, Type element) {
  sum = sum ? joins.add(sum, part, element, /*isLast=*/true) : part;
}

void RingBuilder::buildGradient() {
  auto gradient = cast<AttentionGradOp>(ring.op);
  Type element = getElement(gradient.getDq());
  // Of dk and dv those that are used, of the parts of the piece at hand.
  SmallVector<AttentionTensor, 2> used;
  if (ring.dk.reduce)
    used.push_back(AttentionTensor::DK);
  if (ring.dv.reduce)
    used.push_back(AttentionTensor::DV);
  SmallVector<Value> sums, stayed, dq;
  unsigned number = 0;
  for (auto [index, step] : llvm::enumerate(ring.steps)) {
    // What was added up before follows its piece.
    if (index > 0 && !sums.empty())
      sums = pass(sums, step - ring.steps[index - 1]);
    SmallVector<Value> next = passNext(index, dq);
    bool isFirst = index == 0, isLast = index + 1 == ring.steps.size();
    SmallVector<Value> rows(ring.getNumParts());
    SmallVector<Value> columns(used.size() * ring.getNumParts());
    for (RingBlock block : getBlocks(ring, step)) {
      AttentionGradOp piece =
          makeGradient(step, block, ring.sums[number++], dq);
      addTo(rows[block.queries], piece.getDq(), f32);
      for (auto [i, tensor] : llvm::enumerate(used)) {
        Value part =
            tensor == AttentionTensor::DK ? piece.getDk() : piece.getDv();
        addTo(columns[block.keys * used.size() + i], part,
              isFirst ? getElement(part) : f32);
      }
    }
    keys.assign(next);
    for (auto [i, own] : llvm::enumerate(rows))
      rows[i] =
          isFirst ? own : joins.add(dq[i], own, isLast ? element : f32, isLast);
    dq = rows;
    if (!sums.empty())
      for (auto [i, own] : llvm::enumerate(columns))
        columns[i] = joins.add(sums[i], own, getElement(sums[i]));
    sums = columns;
    if (isFirst && ring.keepsOwnGradient())
      stayed = std::exchange(sums, {});
  }
  finishGradient(dq, sums, stayed);
}

/// Brings the gradients of queries, and of the keys of the piece at hand, to
/// the rank that has these, where they are added to what stayed.
void RingBuilder::finishGradient(SmallVector<Value> dq, SmallVector<Value> sums,
                                 ArrayRef<Value> stayed) {
  const int64_t ranks = ring.ranks, last = ring.steps.back();
  const size_t half = sums.size() / ring.getNumParts();
  ArrayRef<Value> all = sums;
  SmallVector<Value> home(all.take_front(half)), seconds;
  if (last != 0 && half > 0)
    home = pass(home, ranks - last);
  for (auto [sum, own] : llvm::zip_first(stayed, home))
    own = joins.add(sum, own, getElement(own), /*isLast=*/true);
  if (ring.isBalanced) {
    dq[1] = exchange({dq[1]})[0];
    if (half > 0)
      seconds = permute(all.drop_front(half), [&](int64_t rank) {
        return (ranks - 1 - rank + last) % ranks;
      });
  }
  cast<AttentionGradOp>(ring.op).getDq().replaceAllUsesWith(
      concat(AttentionTensor::DQ, shape.getQuery(), dq));
  unsigned number = 0;
  for (auto [tensor, reduced] : {std::pair(AttentionTensor::DK, &ring.dk),
                                 {AttentionTensor::DV, &ring.dv}}) {
    if (!reduced->reduce)
      continue;
    SmallVector<Value> parts = {home[number]};
    if (ring.isBalanced)
      parts.push_back(seconds[number]);
    replace(*reduced, concat(tensor, shape.getKey(), parts));
    ++number;
  }
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

/// The gradient over the keys of a block, by their log-sum-exp, after `before`.
AttentionGradOp RingBuilder::makeGradient(int64_t step, RingBlock block,
                                          Value sum, ValueRange before) {
  auto piece = makeOp<AttentionGradOp>(step, block);
  if (ring.steps.size() == 1)
    return piece;
  builder.setInsertionPoint(piece);
  Value weight = joins.makeWeight(sum, piece.getLse());
  // Fusion makes what is computed of one tensor at one time: those of all steps
  // would have to wait.
  Value dout = after({piece.getDout()}, before)[0];
  piece.getDoutMutable().assign(
      joins.weigh(dout, AttentionTensor::DOut, weight, getElement(dout)));
  piece.getLseMutable().assign(sum);
  builder.setInsertionPointAfter(piece);
  return piece;
}

SmallVector<Value> mlir::weft::buildRing(const Ring &ring) {
  return RingBuilder(ring).build();
}
