// SPDX-License-Identifier: Apache-2.0

// In one walk over each block: ops of quantization become generics on tensors
// in blocks, and contractions take these as they are.

#include "weft/Quantize/Passes.h"

#include "BlockView.h"
#include "weft/Dialect/Weft/IR/Formulas.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace mlir::weft {
#define GEN_PASS_DEF_LOWERQUANTIZATIONPASS
#include "weft/Quantize/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

RankedTensorType getTensor(Value value) {
  return cast<RankedTensorType>(value.getType());
}

bool isNibble(Value value) {
  return isa<Float4E2M1FNType>(getTensor(value).getElementType());
}

/// Any float of at most 32 bits as f32.
Value toF32(OpBuilder &b, Location loc, Value value) {
  if (value.getType().isF32())
    return value;
  return arith::ExtFOp::create(b, loc, b.getF32Type(), value);
}

Value fromF32(OpBuilder &b, Location loc, Value value, Type element) {
  if (element.isF32())
    return value;
  return arith::TruncFOp::create(b, loc, element, value);
}

/// A loop that operands have in blocks.
struct LoopSplit {
  /// 0: not seen yet, or not cut.
  int64_t count = 0;
  bool isSplit() const { return count != 0; }
};

/// The f32 that a scale or an element of 8 bits stands for.
Value decode(OpBuilder &b, Location loc, Value value) {
  if (isa<Float8E8M0FNUType>(value.getType()))
    return DecodeOp::create(b, loc, b.getF32Type(), value, Value());
  return toF32(b, loc, value);
}

class Lowering {
public:
  explicit Lowering(func::FuncOp func) : builder(func.getContext()) {}

  LogicalResult run(Region &region) {
    if (failed(lowerAll(region)))
      return failure();
    // What packed elements were said to be.
    for (Operation *op : llvm::reverse(nibbles)) {
      if (!op->use_empty())
        return op->emitOpError("makes f4E2M1FN that '")
               << (*op->user_begin())->getName()
               << "' takes, expected weft.dequantize";
      op->erase();
    }
    eraseUnused();
    return success();
  }

private:
  LogicalResult lowerAll(Region &region) {
    for (Block &block : region)
      for (Operation &op : llvm::make_early_inc_range(block))
        if (failed(lower(&op)))
          return failure();
    return success();
  }

  LogicalResult lower(Operation *op) {
    builder.setInsertionPoint(op);
    if (auto amax = dyn_cast<AmaxOp>(op))
      lowerAmax(amax);
    else if (auto scale = dyn_cast<BlockScaleOp>(op))
      lowerScale(scale);
    else if (auto quantize = dyn_cast<QuantizeOp>(op))
      lowerQuantize(quantize);
    else if (auto dequantize = dyn_cast<DequantizeOp>(op))
      return lowerDequantize(dequantize);
    else if (auto matmul = dyn_cast<MatmulOp>(op))
      return lowerMatmul(matmul);
    else if (!isa<linalg::LinalgOp>(op))
      for (Region &region : op->getRegions())
        if (failed(lowerAll(region)))
          return failure();
    return success();
  }

  void lowerAmax(AmaxOp op);
  void eraseUnused();
  void lowerScale(BlockScaleOp op);
  void lowerQuantize(QuantizeOp op);
  Value toPairs(Location loc, Value value);
  std::pair<Value, AffineMap> pairScales(Location loc, const BlockView &view,
                                         Value scales);
  SmallVector<Value> makeRandomKeys(QuantizeOp op);
  Value makeNibbles(QuantizeOp op, const BlockView &view, Value input,
                    Value multiplier);
  LogicalResult lowerDequantize(DequantizeOp op);
  LogicalResult replaceDequantized(DequantizeOp op, const BlockView &view,
                                   Value blocked);
  bool noteSplits(Value operand, AffineMap map,
                  SmallVectorImpl<LoopSplit> &splits);
  Type getNarrowType(Value lhs, Value rhs) const;
  LogicalResult lowerMatmul(MatmulOp op);
  LogicalResult lowerScales(MatmulOp op);

  using Body =
      llvm::function_ref<SmallVector<Value>(OpBuilder &, Location, ValueRange)>;

  /// A generic that writes each element of new tensors once.
  linalg::GenericOp makeElementwise(Location loc, ArrayRef<Type> types,
                                    ValueRange inputs, ArrayRef<AffineMap> maps,
                                    Body body) {
    auto shaped = cast<RankedTensorType>(types.front());
    AffineMap identity = builder.getMultiDimIdentityMap(shaped.getRank());
    SmallVector<AffineMap> all(maps);
    SmallVector<Value> outs;
    for (Type type : types) {
      auto tensor = cast<RankedTensorType>(type);
      outs.push_back(tensor::EmptyOp::create(builder, loc, tensor.getShape(),
                                             tensor.getElementType()));
      all.push_back(identity);
    }
    return linalg::GenericOp::create(
        builder, loc, types, inputs, outs, all,
        SmallVector<utils::IteratorType>(shaped.getRank(),
                                         utils::IteratorType::parallel),
        [&](OpBuilder &b, Location l, ValueRange args) {
          linalg::YieldOp::create(b, l, body(b, l, args));
        });
  }

  /// One number of a tensor of one element.
  Value toScalarTensor(Location loc, Value value) {
    if (getTensor(value).getRank() == 0)
      return value;
    auto expanded = value.getDefiningOp<tensor::ExpandShapeOp>();
    if (expanded && expanded.getSrcType().getRank() == 0)
      return expanded.getSrc();
    return tensor::CollapseShapeOp::create(
        builder, loc,
        RankedTensorType::get({}, getTensor(value).getElementType()), value,
        ArrayRef<ReassociationIndices>());
  }

  /// Magnitudes as they were before they were widened.
  Value getNarrowAmax(Value amax) const {
    Value narrow = narrowAmax.lookup(amax);
    return narrow ? narrow : amax;
  }

  OpBuilder builder;
  /// Of magnitudes in f32 those of 16 bits, and what widens these.
  DenseMap<Value, Value> narrowAmax;
  SmallVector<Operation *> widenings;
  /// What joins scales that were made in pairs.
  SmallVector<Operation *> unpaired;
  /// f4E2M1FN tensors in blocks, as bytes; their ops go last.
  DenseMap<Value, Value> packed;
  SmallVector<Operation *> nibbles;
  /// What was dequantized in blocks, collapsed, from which elements.
  llvm::DenseMap<Value, Type> dequantized;
};

//===----------------------------------------------------------------------===//
// Pairs
//===----------------------------------------------------------------------===//

/// The dimensions of a tensor of `rank`, the last one as pairs.
SmallVector<ReassociationIndices> getPairGroups(unsigned rank) {
  SmallVector<ReassociationIndices> groups;
  for (unsigned dim = 0; dim < rank; ++dim)
    groups.push_back({dim});
  groups.back().push_back(rank);
  return groups;
}

/// The last dimension of a tensor as pairs, in one step with what cut it
/// before.
Value Lowering::toPairs(Location loc, Value value) {
  RankedTensorType type = getTensor(value);
  unsigned rank = type.getRank();
  SmallVector<int64_t> shape(type.getShape());
  shape.back() /= 2;
  shape.push_back(2);
  // What was joined from pairs is there already.
  auto joined = value.getDefiningOp<tensor::CollapseShapeOp>();
  if (joined && joined.getSrcType().getShape() == ArrayRef(shape))
    return joined.getSrc();
  SmallVector<ReassociationIndices> groups = getPairGroups(rank);
  if (auto expand = value.getDefiningOp<tensor::ExpandShapeOp>()) {
    groups = expand.getReassociationIndices();
    groups.back().push_back(rank);
    value = expand.getSrc();
  }
  return tensor::ExpandShapeOp::create(builder, loc, type.clone(shape), value,
                                       groups);
}

//===----------------------------------------------------------------------===//
// Magnitudes and scales
//===----------------------------------------------------------------------===//

/// Says whether scales are for casts to 4 bits whose blocks lie along another
/// dimension than the last: the two elements of a byte have scales of their
/// own.
bool isForPairs(BlockScaleOp op) {
  return llvm::any_of(op.getMultiplier().getUsers(), [](Operation *user) {
    auto quantize = dyn_cast<QuantizeOp>(user);
    return quantize && isNibble(quantize) &&
           getTensor(quantize).getShape().back() ==
               getTensor(quantize.getMultiplier()).getShape().back();
  });
}

/// Says whether magnitudes are for nothing but such scales.
bool isForPairs(AmaxOp op) {
  auto isScale = [](OpOperand &use) {
    auto scale = dyn_cast<BlockScaleOp>(use.getOwner());
    return scale && use.get() == scale.getAmax() && isForPairs(scale);
  };
  return !op->use_empty() && llvm::all_of(op->getUses(), isScale);
}

/// Magnitudes of 16 bits are compared as these, more at a time, and widened
/// last: what takes them knows both. Those for casts of pairs are found in the
/// shape of these, so that they can be one kernel.
void Lowering::lowerAmax(AmaxOp op) {
  Location loc = op.getLoc();
  BlockView view(getTensor(op.getInput()).getShape(), getTensor(op).getShape());
  Value input = view.expand(builder, loc, getNarrowAmax(op.getInput()));
  SmallVector<int64_t> counts;
  SmallVector<utils::IteratorType> iterators(view.getRank(),
                                             utils::IteratorType::reduction);
  for (unsigned dim : view.scaleDims) {
    counts.push_back(view.shape[dim]);
    iterators[dim] = utils::IteratorType::parallel;
  }
  AffineMap all = builder.getMultiDimIdentityMap(view.getRank());
  AffineMap map = view.getScaleMap(op.getContext());
  SmallVector<int64_t> whole(counts);
  bool inPairs = isForPairs(op);
  if (inPairs) {
    input = toPairs(loc, input);
    counts.back() /= 2;
    counts.push_back(2);
    iterators.push_back(utils::IteratorType::parallel);
    unsigned half = view.getRank();
    all = builder.getMultiDimIdentityMap(half + 1);
    map =
        AffineMap::get(half + 1, 0, map.getResults(), op.getContext())
            .insertResult(builder.getAffineDimExpr(half), map.getNumResults());
  }
  Type own = getTensor(input).getElementType();
  Type element = own.isBF16() || own.isF16() ? own : builder.getF32Type();
  auto type = RankedTensorType::get(counts, element);
  Value zero = arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(type, builder.getFloatAttr(element, 0)));
  auto generic = linalg::GenericOp::create(
      builder, loc, type, input, zero, ArrayRef<AffineMap>{all, map}, iterators,
      [&](OpBuilder &b, Location l, ValueRange args) {
        Value number = own == element ? args[0] : toF32(b, l, args[0]);
        Value magnitude = math::AbsFOp::create(b, l, number);
        Value max = arith::MaximumFOp::create(b, l, args[1], magnitude);
        linalg::YieldOp::create(b, l, max);
      });
  Value amax = generic.getResult(0);
  if (inPairs) {
    amax = tensor::CollapseShapeOp::create(builder, loc, type.clone(whole),
                                           amax, getPairGroups(whole.size()));
    unpaired.push_back(amax.getDefiningOp());
  }
  Value wide = amax;
  if (!element.isF32()) {
    auto widened = makeElementwise(
        loc, getTensor(amax).clone(cast<Type>(builder.getF32Type())), amax,
        builder.getMultiDimIdentityMap(whole.size()),
        [&](OpBuilder &b, Location l, ValueRange args) -> SmallVector<Value> {
          return {toF32(b, l, args[0])};
        });
    wide = widened.getResult(0);
    widenings.push_back(widened);
  }
  Value result = view.unsqueeze(builder, loc, wide);
  if (wide != amax)
    narrowAmax[result] = view.unsqueeze(builder, loc, amax);
  op.replaceAllUsesWith(result);
  op.erase();
}

/// Erases what takes no part in the program: scales took what was widened,
/// casts what was joined.
void Lowering::eraseUnused() {
  for (Operation *op : llvm::concat<Operation *>(widenings, unpaired)) {
    for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
      if (isa<tensor::ExpandShapeOp>(user) && user->use_empty())
        user->erase();
    if (op->use_empty())
      op->erase();
  }
  for (auto &[wide, narrow] : narrowAmax)
    if (narrow.use_empty() && narrow.getDefiningOp<tensor::ExpandShapeOp>())
      narrow.getDefiningOp()->erase();
}

/// In the shape that casts read them in: so they can be one kernel with these.
void Lowering::lowerScale(BlockScaleOp op) {
  Location loc = op.getLoc();
  ArrayRef<int64_t> counts = getTensor(op.getAmax()).getShape();
  BlockView view(counts, counts);
  Value amax = view.squeeze(builder, loc, getNarrowAmax(op.getAmax()));
  ArrayRef<int64_t> whole = getTensor(amax).getShape();
  bool inPairs = isForPairs(op);
  if (inPairs)
    amax = toPairs(loc, amax);
  RankedTensorType type =
      getTensor(amax).clone(cast<Type>(builder.getF32Type()));
  Type scaleType = getTensor(op.getScale()).getElementType();
  SmallVector<Value> inputs = {amax};
  SmallVector<AffineMap> maps = {
      builder.getMultiDimIdentityMap(type.getRank())};
  if (op.getTensorAmax()) {
    inputs.push_back(toScalarTensor(loc, getNarrowAmax(op.getTensorAmax())));
    maps.push_back(AffineMap::get(type.getRank(), 0, op.getContext()));
  }
  auto generic = makeElementwise(
      loc, {type, type.clone(scaleType)}, inputs, maps,
      [&](OpBuilder &b, Location l, ValueRange args) -> SmallVector<Value> {
        Value tensorAmax = op.getTensorAmax() ? toF32(b, l, args[1]) : Value();
        Value amax = toF32(b, l, args[0]);
        Type element = op.getElement();
        bool powerOfTwo = op.getPowerOfTwo();
        Value multiplier =
            MultiplierOfOp::create(b, l, b.getF32Type(), amax, tensorAmax,
                                   element, scaleType, powerOfTwo);
        Value scale = ScaleOfOp::create(b, l, scaleType, amax, tensorAmax,
                                        element, powerOfTwo);
        return {multiplier, scale};
      });
  for (auto [result, made] :
       llvm::zip(op->getResults(), generic.getResults())) {
    Value joined = made;
    if (inPairs) {
      joined = tensor::CollapseShapeOp::create(
          builder, loc, getTensor(made).clone(whole), made,
          getPairGroups(whole.size()));
      unpaired.push_back(joined.getDefiningOp());
    }
    result.replaceAllUsesWith(view.unsqueeze(builder, loc, joined));
  }
  op.erase();
}

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

void Lowering::lowerQuantize(QuantizeOp op) {
  Location loc = op.getLoc();
  BlockView view(getTensor(op.getInput()).getShape(),
                 getTensor(op.getMultiplier()).getShape());
  Value input = view.expand(builder, loc, op.getInput());
  Value multiplier = view.squeeze(builder, loc, op.getMultiplier());
  if (isNibble(op)) {
    packed[op] = makeNibbles(op, view, input, multiplier);
    nibbles.push_back(op);
    return;
  }
  Type element = getTensor(op).getElementType();
  auto generic = makeElementwise(
      loc, RankedTensorType::get(view.shape, element), {input, multiplier},
      {builder.getMultiDimIdentityMap(view.getRank()),
       view.getScaleMap(op.getContext())},
      [&](OpBuilder &b, Location l, ValueRange args) -> SmallVector<Value> {
        Value product =
            arith::MulFOp::create(b, l, toF32(b, l, args[0]), args[1]);
        return {RoundF8Op::create(b, l, element, product).getResult()};
      });
  op.replaceAllUsesWith(view.collapse(builder, loc, generic.getResult(0)));
  op.erase();
}

/// The row-major index in the whole tensor of the element that the loops are
/// at; the last loop is cut in two. A dimension of size 1 has nothing to add.
Value emitPlace(OpBuilder &b, Location loc, ArrayRef<int64_t> shape) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  bool isShort = llvm::product_of(shape) <= kMost;
  SmallVector<Value> indices;
  SmallVector<int64_t> sizes;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    if (size == 1)
      continue;
    indices.push_back(linalg::IndexOp::create(b, loc, dim));
    sizes.push_back(size);
  }
  return PlaceOp::create(b, loc, isShort ? b.getI32Type() : b.getI64Type(),
                         indices, sizes);
}

/// Scales for loops over pairs and what is in them, with their map.
std::pair<Value, AffineMap>
Lowering::pairScales(Location loc, const BlockView &view, Value scales) {
  MLIRContext *context = builder.getContext();
  unsigned rank = view.getRank();
  SmallVector<AffineExpr> dims(view.getScaleMap(context).getResults());
  if (!view.scaleDims.empty() && view.scaleDims.back() == rank - 1) {
    scales = toPairs(loc, scales);
    dims.push_back(builder.getAffineDimExpr(rank));
  }
  return {scales, AffineMap::get(rank + 1, 0, dims, context)};
}

/// What a kernel needs of key and seed, as tensors: kernels that differ in
/// their seeds alone are one.
SmallVector<Value> Lowering::makeRandomKeys(QuantizeOp op) {
  auto type = RankedTensorType::get({}, builder.getI32Type());
  auto keys = makeElementwise(
      op.getLoc(), {type, type}, toScalarTensor(op.getLoc(), op.getKey()),
      builder.getEmptyAffineMap(),
      [&](OpBuilder &b, Location l, ValueRange args) -> SmallVector<Value> {
        auto bits = [&](uint32_t value) -> Value {
          return arith::ConstantOp::create(
              b, l, b.getI32IntegerAttr(static_cast<int32_t>(value)));
        };
        auto mix = [&](Value value, uint32_t other) -> Value {
          return MixBitsOp::create(
              b, l, b.getI32Type(),
              arith::XOrIOp::create(b, l, value, bits(other)));
        };
        Value first = mix(args[0], 0x9e3779b9);
        uint32_t seed = static_cast<uint32_t>(op.getSeed());
        return {first, mix(first, seed ^ uint32_t(0x85ebca6b))};
      });
  return {keys.getResult(0), keys.getResult(1)};
}

/// Two elements a byte: an or over both.
Value Lowering::makeNibbles(QuantizeOp op, const BlockView &view, Value input,
                            Value multiplier) {
  Location loc = op.getLoc();
  MLIRContext *context = op.getContext();
  unsigned rank = view.getRank();
  SmallVector<int64_t> bytes(view.shape);
  bytes.back() /= 2;
  Value pairs = toPairs(loc, input);
  ArrayRef<int64_t> halves = getTensor(pairs).getShape();
  auto [multipliers, multiplierMap] = pairScales(loc, view, multiplier);
  auto type = RankedTensorType::get(bytes, builder.getI8Type());
  Value zero = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(type, builder.getI8IntegerAttr(0)));
  SmallVector<Value> inputs = {pairs, multipliers};
  SmallVector<AffineMap> maps = {builder.getMultiDimIdentityMap(rank + 1),
                                 multiplierMap};
  if (op.getKey()) {
    llvm::append_range(inputs, makeRandomKeys(op));
    maps.append(2, AffineMap::get(rank + 1, 0, context));
  }
  maps.push_back(builder.getMultiDimIdentityMap(rank + 1).getMajorSubMap(rank));
  SmallVector<utils::IteratorType> iterators(rank + 1,
                                             utils::IteratorType::parallel);
  iterators.back() = utils::IteratorType::reduction;
  auto generic = linalg::GenericOp::create(
      builder, loc, type, inputs, zero, maps, iterators,
      [&](OpBuilder &b, Location l, ValueRange args) {
        Value product =
            arith::MulFOp::create(b, l, toF32(b, l, args[0]), args[1]);
        Value random;
        if (op.getKey())
          random = RandomBitsOp::create(b, l, b.getI32Type(), args[2], args[3],
                                        emitPlace(b, l, halves));
        Value half = linalg::IndexOp::create(b, l, rank);
        Value byte =
            RoundF4Op::create(b, l, b.getI8Type(), product, half, random);
        linalg::YieldOp::create(
            b, l, arith::OrIOp::create(b, l, args.back(), byte).getResult());
      });
  return generic.getResult(0);
}

LogicalResult Lowering::lowerDequantize(DequantizeOp op) {
  Location loc = op.getLoc();
  MLIRContext *context = op.getContext();
  BlockView view(getTensor(op.getInput()).getShape(),
                 getTensor(op.getScale()).getShape());
  Value scale = view.squeeze(builder, loc, op.getScale());
  Type to = getTensor(op).getElementType();
  auto type = RankedTensorType::get(view.shape, to);
  unsigned rank = view.getRank();
  if (!isNibble(op.getInput())) {
    Value input = view.expand(builder, loc, op.getInput());
    auto generic = makeElementwise(
        loc, type, {input, scale},
        {builder.getMultiDimIdentityMap(rank), view.getScaleMap(context)},
        [&](OpBuilder &b, Location l, ValueRange args) -> SmallVector<Value> {
          Value product = arith::MulFOp::create(b, l, decode(b, l, args[0]),
                                                decode(b, l, args[1]));
          return {fromF32(b, l, product, to)};
        });
    return replaceDequantized(op, view, generic.getResult(0));
  }
  Value bytes = packed.lookup(op.getInput());
  if (!bytes || getTensor(bytes).getShape().drop_back() !=
                    ArrayRef(view.shape).drop_back())
    return op.emitOpError("expected f4E2M1FN from a weft.quantize with the "
                          "blocks of ")
           << scale.getType();
  // Loops over pairs and what is in them.
  SmallVector<int64_t> halves(view.shape);
  halves.back() /= 2;
  halves.push_back(2);
  AffineMap all = builder.getMultiDimIdentityMap(rank + 1);
  auto [scales, scaleMap] = pairScales(loc, view, scale);
  auto generic = makeElementwise(
      loc, RankedTensorType::get(halves, to), {bytes, scales},
      {all.getMajorSubMap(rank), scaleMap},
      [&](OpBuilder &b, Location l, ValueRange args) -> SmallVector<Value> {
        Value half = linalg::IndexOp::create(b, l, rank);
        Value number = DecodeOp::create(b, l, b.getF32Type(), args[0], half);
        Value product =
            arith::MulFOp::create(b, l, number, decode(b, l, args[1]));
        return {fromF32(b, l, product, to)};
      });
  Value blocked = tensor::CollapseShapeOp::create(
      builder, loc, type, generic.getResult(0), getPairGroups(rank));
  return replaceDequantized(op, view, blocked);
}

LogicalResult Lowering::replaceDequantized(DequantizeOp op,
                                           const BlockView &view,
                                           Value blocked) {
  Value collapsed = view.collapse(builder, op.getLoc(), blocked);
  dequantized[collapsed] = getTensor(op.getInput()).getElementType();
  op.replaceAllUsesWith(collapsed);
  op.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

/// Notes how an operand cuts the loops of its dimensions. Returns false if that
/// does not go with the other operand.
bool Lowering::noteSplits(Value operand, AffineMap map,
                          SmallVectorImpl<LoopSplit> &splits) {
  auto blocks = operand.getDefiningOp<tensor::CollapseShapeOp>();
  if (!blocks || !dequantized.contains(operand))
    return true;
  for (auto [dim, group] : llvm::enumerate(blocks.getReassociationIndices())) {
    if (group.size() != 2)
      continue;
    LoopSplit &split = splits[map.getDimPosition(dim)];
    int64_t count = blocks.getSrcType().getDimSize(group[0]);
    if (split.isSplit() && split.count != count)
      return false;
    split.count = count;
  }
  return true;
}

/// The wider of what two operands were before they were dequantized, in which a
/// machine with such products multiplies them; null if one of them was wide.
Type Lowering::getNarrowType(Value lhs, Value rhs) const {
  Type a = dequantized.lookup(lhs), b = dequantized.lookup(rhs);
  if (!a || !b)
    return {};
  return a.getIntOrFloatBitWidth() < b.getIntOrFloatBitWidth() ? b : a;
}

/// On a contraction whose operands were widened: what they were, for its time
/// on a machine that has products of that type.
constexpr StringLiteral kProductTypeAttr = "weft_rt.product_type";

/// A contraction over blocks: loops that are cut become two.
class BlockedContraction {
public:
  BlockedContraction(OpBuilder &builder, MatmulOp op,
                     ArrayRef<LoopSplit> splits)
      : builder(builder), op(op), splits(splits) {
    for (const LoopSplit &split : splits) {
      firsts.push_back(numLoops);
      numLoops += split.isSplit() ? 2 : 1;
    }
  }

  /// `narrow`: what the operands were before, or null.
  Value build(Type narrow) {
    Value lhs = getBlocked(op.getLhs(), op.getLhsMap()),
          rhs = getBlocked(op.getRhs(), op.getRhsMap());
    RankedTensorType type = getTensor(op);
    BlockView view(type.getShape(), getCounts(type, op.getResultMap()));
    SmallVector<Attribute> maps;
    for (AffineMap map : {op.getLhsMap(), op.getRhsMap(), op.getResultMap()})
      maps.push_back(AffineMapAttr::get(getMap(map)));
    auto made = MatmulOp::create(builder, op.getLoc(), type.clone(view.shape),
                                 lhs, rhs, builder.getArrayAttr(maps));
    if (narrow)
      made->setAttr(kProductTypeAttr, TypeAttr::get(narrow));
    return view.collapse(builder, op.getLoc(), made);
  }

private:
  /// For BlockView: dimensions that are not cut count as one block.
  SmallVector<int64_t> getCounts(RankedTensorType type, AffineMap map) const {
    SmallVector<int64_t> counts(type.getRank(), 1);
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (splits[map.getDimPosition(dim)].isSplit())
        counts[dim] = splits[map.getDimPosition(dim)].count;
    return counts;
  }

  Value getBlocked(Value operand, AffineMap map) {
    RankedTensorType type = getTensor(operand);
    return BlockView(type.getShape(), getCounts(type, map))
        .expand(builder, op.getLoc(), operand);
  }

  AffineMap getMap(AffineMap map) const {
    SmallVector<AffineExpr> results;
    for (unsigned dim = 0; dim < map.getNumResults(); ++dim) {
      unsigned loop = map.getDimPosition(dim);
      results.push_back(builder.getAffineDimExpr(firsts[loop]));
      if (splits[loop].isSplit())
        results.push_back(builder.getAffineDimExpr(firsts[loop] + 1));
    }
    return AffineMap::get(numLoops, 0, results, builder.getContext());
  }

  OpBuilder &builder;
  MatmulOp op;
  ArrayRef<LoopSplit> splits;
  SmallVector<unsigned> firsts;
  unsigned numLoops = 0;
};

/// Scales become weft.dequantize on operands that have a dimension of size 1 or
/// all of it for each scale's: the loops say which.
LogicalResult Lowering::lowerScales(MatmulOp op) {
  SmallVector<Value> operands;
  for (auto [i, scale] : llvm::enumerate(op.getScales())) {
    Value operand = op->getOperand(i);
    if (isNibble(operand))
      return op.emitOpError("has scales of f4E2M1FN that is no result of "
                            "weft.quantize, expected weft.dequantize");
    AffineMap scaleMap = op.getScaleMap(i);
    AffineMap own = i ? op.getRhsMap() : op.getLhsMap();
    // The dimensions of the operand that the scale's are.
    SmallVector<AffineExpr> dims;
    for (unsigned dim = 0; dim < scaleMap.getNumResults(); ++dim)
      dims.push_back(builder.getAffineDimExpr(
          *own.getResultPosition(scaleMap.getResult(dim))));
    RankedTensorType type = getTensor(operand);
    Type scaleType = getTensor(scale).getElementType();
    Type to = scaleType.isF32() ? Type(builder.getF32Type())
                                : Type(builder.getBF16Type());
    auto generic = makeElementwise(
        op.getLoc(), type.clone(to), {operand, scale},
        {builder.getMultiDimIdentityMap(type.getRank()),
         AffineMap::get(type.getRank(), 0, dims, op.getContext())},
        [&](OpBuilder &b, Location l, ValueRange args) -> SmallVector<Value> {
          Value product = arith::MulFOp::create(b, l, decode(b, l, args[0]),
                                                decode(b, l, args[1]));
          return {fromF32(b, l, product, to)};
        });
    operands.push_back(generic.getResult(0));
  }
  auto maps =
      builder.getArrayAttr(op.getIndexingMaps().getValue().take_front(3));
  auto made = MatmulOp::create(builder, op.getLoc(), op.getType(), operands[0],
                               operands[1], maps);
  op.replaceAllUsesWith(made.getResult());
  op.erase();
  return success();
}

LogicalResult Lowering::lowerMatmul(MatmulOp op) {
  if (!op.getScales().empty())
    return lowerScales(op);
  SmallVector<LoopSplit> splits(op.getLhsMap().getNumDims());
  if (!noteSplits(op.getLhs(), op.getLhsMap(), splits) ||
      !noteSplits(op.getRhs(), op.getRhsMap(), splits))
    return success();
  Type narrow = getNarrowType(op.getLhs(), op.getRhs());
  // Of operands that are one block each no loop is cut.
  if (llvm::none_of(splits, [](const LoopSplit &s) { return s.isSplit(); })) {
    if (narrow)
      op->setAttr(kProductTypeAttr, TypeAttr::get(narrow));
    return success();
  }
  Value blocked = BlockedContraction(builder, op, splits).build(narrow);
  op.replaceAllUsesWith(blocked);
  op.erase();
  return success();
}

struct LowerQuantizationPass
    : weft::impl::LowerQuantizationPassBase<LowerQuantizationPass> {
  using Base::Base;

  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (failed(Lowering(func).run(func.getBody())))
        return signalPassFailure();
  }
};

} // namespace
