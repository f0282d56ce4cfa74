// SPDX-License-Identifier: Apache-2.0

// One walk over the function makes the planned one. Each tensor gets a place
// when its op is met: a view of its operand, the memory of an operand that dies
// there, the caller's result, a part of the concatenation that it goes into, or
// a new root. Arena offsets are filled in at the end, when all lives are known.

#include "BufferPlan.h"
#include "KernelEmitter.h"

#include "weft/Conversion/WeftToHost/Passes.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::weft {
#define GEN_PASS_DEF_PLANBUFFERSPASS
#include "weft/Conversion/WeftToHost/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Where a value would like to lie: at an offset in the root of `target`, or
/// in an argument or result of the step.
struct Wish {
  Value target;
  int64_t offset = 0;
  SmallVector<int64_t> strides;
  int root = -1;
};

class Planner {
public:
  Planner(func::FuncOp source, func::FuncOp planned)
      : source(source), planned(planned), lifetimes(source),
        builder(planned.getBody()), entry(builder) {}

  LogicalResult run();
  int64_t getArenaBytes() const { return arenaBytes; }
  int64_t getNumCopies() const { return numCopies; }

private:
  // Before the walk.
  void addArguments();
  void collectWishes();
  void wishResult(OpOperand &operand);
  void wishConcat(tensor::ConcatOp concat);

  // One function per kind of op.
  LogicalResult visitBlock(Block &block);
  LogicalResult visit(Operation *op);
  LogicalResult visitFused(rt::FusedOp op);
  LogicalResult visitMatmul(MatmulOp op);
  LogicalResult visitScatterAdd(ScatterAddOp op);
  LogicalResult visitCollective(Operation *op);
  LogicalResult visitExtractSlice(tensor::ExtractSliceOp op);
  LogicalResult visitInsertSlice(tensor::InsertSliceOp op);
  LogicalResult visitReshape(Operation *op);
  LogicalResult visitConcat(tensor::ConcatOp op);
  LogicalResult visitConstant(arith::ConstantOp op);
  LogicalResult visitFromElements(tensor::FromElementsOp op);
  LogicalResult visitExtract(tensor::ExtractOp op);
  LogicalResult visitFor(scf::ForOp op);
  LogicalResult visitIf(scf::IfOp op);
  LogicalResult visitReturn(func::ReturnOp op);

  // Places.
  int newRoot(Type type, Operation *at);
  Place densePlace(int root, Type type);
  Place placeFor(Value result, Operation *op);
  std::optional<Place> placeByWish(Value result, Operation *op);
  void setPlace(Value value, Place place);
  bool diesAt(const Place &place, Operation *op);
  bool isFreeFor(int root, Value input, Operation *op);
  bool isDense(Value value);
  bool isTensor(Value value) { return isa<RankedTensorType>(value.getType()); }
  int findInPlaceInput(rt::FusedOp op, const KernelShape &shape,
                       unsigned resultNumber, const SmallVector<Place> &taken);

  // IR of the planned function.
  MemRefType getBufferType(RankedTensorType type, ArrayRef<int64_t> strides);
  Value emitBuffer(RankedTensorType type, const Place &place);
  Value emitBuffer(Value value) {
    return emitBuffer(cast<RankedTensorType>(value.getType()), places[value]);
  }
  Value emitRoot(int root, MemRefType type);
  void emitCopy(RankedTensorType type, const Place &from, const Place &to);
  void emitCopyTo(Value value, const Place &to) {
    emitCopy(cast<RankedTensorType>(value.getType()), places[value], to);
  }
  Value emitDenseInput(Value value, Operation *at);
  void carryTensors(ValueRange values, ArrayRef<Place> into, Operation *at);

  func::FuncOp source, planned;
  Lifetimes lifetimes;
  OpBuilder builder;
  /// Inserts at the top of the function, where buffers are named.
  OpBuilder entry;
  SmallVector<Root> roots;
  DenseMap<Value, Place> places;
  DenseMap<int, SmallVector<Value>> valuesOf;
  DenseMap<Value, Wish> wishes;
  /// Scalars of the planned function.
  IRMapping scalars;
  llvm::MapVector<std::pair<int, Type>, Value> rootValues;
  SmallVector<std::pair<rt::BufferOp, int>> bufferOps;
  int64_t arenaBytes = 0, numCopies = 0;
};

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

int Planner::newRoot(Type type, Operation *at) {
  Root root;
  root.bytes = getTensorBytes(cast<ShapedType>(type));
  root.begin = root.end = lifetimes.getPosition(at);
  roots.push_back(root);
  return roots.size() - 1;
}

Place Planner::densePlace(int root, Type type) {
  Place place;
  place.root = root;
  place.strides = getDenseStrides(cast<RankedTensorType>(type).getShape());
  return place;
}

void Planner::setPlace(Value value, Place place) {
  Root &root = roots[place.root];
  if (Operation *def = value.getDefiningOp())
    root.begin = std::min(root.begin, lifetimes.getPosition(def));
  root.end = std::max(root.end, lifetimes.getLastUse(value));
  valuesOf[place.root].push_back(value);
  places[value] = std::move(place);
}

/// Says whether no value in the place's root is used after `op`.
bool Planner::diesAt(const Place &place, Operation *op) {
  return llvm::all_of(valuesOf[place.root], [&](Value value) {
    return lifetimes.getLastUse(value) <= lifetimes.getPosition(op);
  });
}

/// Says whether the values in `root` die at `op`, which may overwrite them: it
/// uses none but `input`.
bool Planner::isFreeFor(int root, Value input, Operation *op) {
  for (Value value : valuesOf[root])
    if (lifetimes.getLastUse(value) > lifetimes.getPosition(op))
      return false;
  return llvm::none_of(op->getOperands(), [&](Value operand) {
    return isTensor(operand) && operand != input && places.count(operand) &&
           places[operand].root == root;
  });
}

bool Planner::isDense(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> dense = getDenseStrides(type.getShape());
  for (auto [size, stride, expected] :
       llvm::zip(type.getShape(), places[value].strides, dense))
    if (size != 1 && stride != expected)
      return false;
  return true;
}

std::optional<Place> Planner::placeByWish(Value result, Operation *op) {
  auto it = wishes.find(result);
  if (it == wishes.end())
    return std::nullopt;
  Wish wish = it->second;
  Place place;
  if (wish.target) {
    if (!places.count(wish.target)) {
      Place target = placeFor(wish.target, op);
      setPlace(wish.target, target);
    }
    place = places[wish.target];
    place.offset += wish.offset;
    // A target that itself lies in a larger one has that one's strides; only
    // the plain case is taken, in which the parts' strides are its own.
    if (place.strides != wish.strides)
      return std::nullopt;
    return place;
  }
  Value input;
  if (roots[wish.root].space == rt::Space::Argument)
    input = source.getArgument(roots[wish.root].position);
  if (!input && !valuesOf[wish.root].empty())
    return std::nullopt;
  if (input && !isFreeFor(wish.root, input, op))
    return std::nullopt;
  // An argument that the op itself reads is overwritten element by element
  // or not at all.
  if (input && llvm::is_contained(op->getOperands(), input)) {
    auto fused = dyn_cast<rt::FusedOp>(op);
    if (!fused)
      return std::nullopt;
    FailureOr<KernelShape> shape = analyzeFused(fused);
    Block &block = fused.getBody().front();
    unsigned position = llvm::find(op->getOperands(), input) -
                        op->getOperands().begin();
    auto yield = cast<rt::YieldOp>(block.getTerminator());
    Value yielded =
        yield.getValues()[cast<OpResult>(result).getResultNumber()];
    if (failed(shape) || places[input].strides != getDenseStrides(cast<RankedTensorType>(result.getType()).getShape()) ||
        !canUpdateInPlace(*shape, block.getArgument(position), yielded))
      return std::nullopt;
  }
  return densePlace(wish.root, source.getArgumentTypes().empty() && !input
                                   ? result.getType()
                                   : result.getType());
}

Place Planner::placeFor(Value result, Operation *op) {
  if (std::optional<Place> place = placeByWish(result, op))
    return *place;
  return densePlace(newRoot(result.getType(), op), result.getType());
}

//===----------------------------------------------------------------------===//
// IR of the planned function
//===----------------------------------------------------------------------===//

MemRefType Planner::getBufferType(RankedTensorType type,
                                  ArrayRef<int64_t> strides) {
  if (strides == ArrayRef<int64_t>(getDenseStrides(type.getShape())))
    return MemRefType::get(type.getShape(), type.getElementType());
  return MemRefType::get(
      type.getShape(), type.getElementType(),
      StridedLayoutAttr::get(type.getContext(), /*offset=*/0, strides));
}

Value Planner::emitRoot(int root, MemRefType type) {
  Value &value = rootValues[{root, type}];
  if (!value) {
    auto op = rt::BufferOp::create(entry, source.getLoc(), type,
                                   roots[root].space, 0);
    bufferOps.push_back({op, root});
    value = op;
  }
  return value;
}

Value Planner::emitBuffer(RankedTensorType type, const Place &place) {
  MemRefType bufferType = getBufferType(type, place.strides);
  if (place.offset == 0 && !place.dynamicOffset)
    return emitRoot(place.root, bufferType);
  auto whole = MemRefType::get(
      {roots[place.root].bytes /
       getTensorBytes(RankedTensorType::get({1}, type.getElementType()))},
      type.getElementType());
  Value root = emitRoot(place.root, whole);
  return rt::ViewOp::create(builder, source.getLoc(), bufferType, root,
                            place.dynamicOffset, place.offset);
}

/// Emits a fused op that copies.
void Planner::emitCopy(RankedTensorType type, const Place &from,
                       const Place &to) {
  ++numCopies;
  Location loc = source.getLoc();
  auto copy = rt::FusedOp::create(builder, loc, TypeRange(),
                                  ValueRange{emitBuffer(type, from)},
                                  ValueRange{emitBuffer(type, to)});
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&copy.getBody(), {}, {type}, {loc});
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  AffineMap map = builder.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      builder, loc, type, block->getArguments(), empty,
      ArrayRef<AffineMap>{map, map}, iterators,
      [](OpBuilder &nested, Location nestedLoc, ValueRange args) {
        linalg::YieldOp::create(nested, nestedLoc, args[0]);
      });
  rt::YieldOp::create(builder, loc, generic.getResults());
}

/// The buffer of `value`, or of a dense copy of it.
Value Planner::emitDenseInput(Value value, Operation *at) {
  if (isDense(value))
    return emitBuffer(value);
  Place copy = densePlace(newRoot(value.getType(), at), value.getType());
  emitCopyTo(value, copy);
  return emitBuffer(cast<RankedTensorType>(value.getType()), copy);
}

//===----------------------------------------------------------------------===//
// Wishes
//===----------------------------------------------------------------------===//

void Planner::addArguments() {
  for (BlockArgument argument : source.getArguments()) {
    int root = newRoot(argument.getType(), source);
    roots[root].space = rt::Space::Argument;
    roots[root].position = argument.getArgNumber();
    setPlace(argument, densePlace(root, argument.getType()));
  }
}

/// A returned value wants to be computed in its result's memory.
void Planner::wishResult(OpOperand &operand) {
  unsigned number = operand.getOperandNumber();
  auto alias = source.getResultAttrOfType<IntegerAttr>(
      number, WeftDialect::kAliasAttr);
  int root;
  if (alias) {
    root = alias.getInt();
  } else {
    root = newRoot(operand.get().getType(), source);
    roots[root].space = rt::Space::Result;
    roots[root].position = number;
  }
  Value value = operand.get();
  while (Operation *def = value.getDefiningOp()) {
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp>(
            def))
      break;
    value = def->getOperand(0);
  }
  Operation *def = value.getDefiningOp();
  if (def && def->getParentOp() == source && !wishes.count(value)) {
    Wish wish;
    wish.root = root;
    wishes[value] = wish;
  }
}

/// The operands of a concatenation want to be computed as its parts.
void Planner::wishConcat(tensor::ConcatOp concat) {
  SmallVector<int64_t> strides =
      getDenseStrides(concat.getResultType().getShape());
  int64_t offset = 0;
  for (Value part : concat.getInputs()) {
    Operation *def = part.getDefiningOp();
    if (isa_and_nonnull<rt::FusedOp, MatmulOp>(def) && !wishes.count(part) &&
        def->getBlock() == concat->getBlock())
      wishes[part] = Wish{concat.getResult(), offset, strides, -1};
    offset += cast<RankedTensorType>(part.getType())
                  .getDimSize(concat.getDim()) *
              strides[concat.getDim()];
  }
}

void Planner::collectWishes() {
  for (OpOperand &operand : source.getBody().front().getTerminator()->getOpOperands())
    wishResult(operand);
  source.walk([&](tensor::ConcatOp concat) { wishConcat(concat); });
}

//===----------------------------------------------------------------------===//
// Ops that compute
//===----------------------------------------------------------------------===//

/// The input of a fused op that result `resultNumber` may overwrite, or -1.
int Planner::findInPlaceInput(rt::FusedOp op, const KernelShape &shape,
                              unsigned resultNumber,
                              const SmallVector<Place> &taken) {
  Value result = op.getResult(resultNumber);
  Block &block = op.getBody().front();
  Value yielded =
      cast<rt::YieldOp>(block.getTerminator()).getValues()[resultNumber];
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    if (!isTensor(input) || input.getType() != result.getType())
      continue;
    const Place &place = places[input];
    bool isTaken = llvm::any_of(
        taken, [&](const Place &other) { return other.root == place.root; });
    if (roots[place.root].space == rt::Space::Arena && !isTaken &&
        isDense(input) && isFreeFor(place.root, input, op) &&
        canUpdateInPlace(shape, block.getArgument(i), yielded))
      return i;
  }
  return -1;
}

LogicalResult Planner::visitFused(rt::FusedOp op) {
  FailureOr<KernelShape> shape = analyzeFused(op);
  if (failed(shape))
    return failure();
  SmallVector<Value> inputs, outs;
  for (Value input : op.getInputs())
    inputs.push_back(emitBuffer(input));
  SmallVector<Place> taken;
  for (OpResult result : op->getResults()) {
    Place place;
    if (std::optional<Place> wished = placeByWish(result, op)) {
      place = *wished;
    } else if (int input = findInPlaceInput(
                   op, *shape, result.getResultNumber(), taken);
               input >= 0) {
      place = places[op.getInputs()[input]];
    } else {
      place = densePlace(newRoot(result.getType(), op), result.getType());
    }
    taken.push_back(place);
    outs.push_back(emitBuffer(cast<RankedTensorType>(result.getType()), place));
  }
  for (auto [result, place] : llvm::zip(op->getResults(), taken))
    setPlace(result, place);
  auto onBuffers =
      rt::FusedOp::create(builder, op.getLoc(), TypeRange(), inputs, outs);
  IRMapping mapping;
  op.getBody().cloneInto(&onBuffers.getBody(), mapping);
  return success();
}

LogicalResult Planner::visitMatmul(MatmulOp op) {
  Value lhs = emitBuffer(op.getLhs()), rhs = emitBuffer(op.getRhs());
  setPlace(op.getResult(), placeFor(op.getResult(), op));
  rt::GemmOp::create(builder, op.getLoc(), lhs, rhs,
                     emitBuffer(op.getResult()), op.getIndexingMaps());
  return success();
}

LogicalResult Planner::visitScatterAdd(ScatterAddOp op) {
  Value init = op.getInit();
  Place place;
  std::optional<Place> wished = placeByWish(op.getResult(), op);
  bool inPlace = roots[places[init].root].space == rt::Space::Arena &&
                 isDense(init) && isFreeFor(places[init].root, init, op);
  if (inPlace && !wished) {
    place = places[init];
  } else {
    place = wished ? *wished
                   : densePlace(newRoot(init.getType(), op), init.getType());
    emitCopyTo(init, place);
  }
  setPlace(op.getResult(), place);
  Value base;
  if (op.getBase()) {
    auto type = RankedTensorType::get({}, builder.getIndexType());
    base = emitBuffer(type, densePlace(newRoot(type, op), type));
    memref::StoreOp::create(builder, op.getLoc(),
                            scalars.lookup(op.getBase()), base);
  }
  rt::ScatterAddOp::create(builder, op.getLoc(), emitBuffer(op.getResult()),
                           emitBuffer(op.getIndices()),
                           emitBuffer(op.getUpdates()), base, op.getAxisAttr(),
                           op.getTableMapAttr(), op.getIndexMapAttr());
  return success();
}

LogicalResult Planner::visitCollective(Operation *op) {
  SmallVector<Value> ins, outs;
  for (Value input : op->getOperands())
    ins.push_back(emitDenseInput(input, op));
  for (auto [input, result] : llvm::zip(op->getOperands(), op->getResults())) {
    std::optional<Place> wished = placeByWish(result, op);
    Place place;
    if (!wished && isa<AllReduceOp>(op) && isDense(input) &&
        roots[places[input].root].space == rt::Space::Arena &&
        isFreeFor(places[input].root, input, op) &&
        llvm::count(op->getOperands(), input) == 1)
      place = places[input];
    else
      place = wished ? *wished
                     : densePlace(newRoot(result.getType(), op),
                                  result.getType());
    setPlace(result, place);
    outs.push_back(emitBuffer(result));
  }
  auto start = rt::StartOp::create(
      builder, op->getLoc(), builder.getI64Type(),
      builder.getStringAttr(op->getName().stripDialect()), ins, outs,
      op->getAttrDictionary());
  rt::WaitOp::create(builder, op->getLoc(), start);
  return success();
}

//===----------------------------------------------------------------------===//
// Ops that move or reshape
//===----------------------------------------------------------------------===//

LogicalResult Planner::visitExtractSlice(tensor::ExtractSliceOp op) {
  Place place = places[op.getSource()];
  SmallVector<int64_t> strides = place.strides;
  Location loc = op.getLoc();
  for (auto [offset, stride] : llvm::zip(op.getMixedOffsets(), strides)) {
    if (std::optional<int64_t> constant = getConstantIntValue(offset)) {
      place.offset += *constant * stride;
      continue;
    }
    Value term = arith::MulIOp::create(
        builder, loc, scalars.lookup(cast<Value>(offset)),
        arith::ConstantIndexOp::create(builder, loc, stride));
    place.dynamicOffset =
        place.dynamicOffset
            ? Value(arith::AddIOp::create(builder, loc, place.dynamicOffset,
                                          term))
            : term;
  }
  llvm::SmallBitVector dropped = op.getDroppedDims();
  place.strides.clear();
  for (unsigned dim = 0; dim < strides.size(); ++dim)
    if (!dropped.test(dim))
      place.strides.push_back(strides[dim] * op.getStaticStride(dim));
  setPlace(op.getResult(), place);
  return success();
}

LogicalResult Planner::visitInsertSlice(tensor::InsertSliceOp op) {
  Value dest = op.getDest();
  Place place;
  bool isUndefined = dest.getDefiningOp<tensor::EmptyOp>() != nullptr;
  std::optional<Place> wished = placeByWish(op.getResult(), op);
  if (!wished && places.count(dest) && isDense(dest) &&
      roots[places[dest].root].space == rt::Space::Arena &&
      isFreeFor(places[dest].root, dest, op)) {
    place = places[dest];
  } else {
    place = wished ? *wished
                   : densePlace(newRoot(dest.getType(), op), dest.getType());
    if (!isUndefined)
      emitCopyTo(dest, place);
  }
  setPlace(op.getResult(), place);
  Place part = place;
  SmallVector<int64_t> strides = place.strides;
  Location loc = op.getLoc();
  for (auto [offset, stride] : llvm::zip(op.getMixedOffsets(), strides)) {
    if (std::optional<int64_t> constant = getConstantIntValue(offset)) {
      part.offset += *constant * stride;
      continue;
    }
    Value term = arith::MulIOp::create(
        builder, loc, scalars.lookup(cast<Value>(offset)),
        arith::ConstantIndexOp::create(builder, loc, stride));
    part.dynamicOffset =
        part.dynamicOffset ? Value(arith::AddIOp::create(
                                 builder, loc, part.dynamicOffset, term))
                           : term;
  }
  llvm::SmallBitVector dropped = op.getDroppedDims();
  part.strides.clear();
  for (unsigned dim = 0; dim < strides.size(); ++dim)
    if (!dropped.test(dim))
      part.strides.push_back(strides[dim] * op.getStaticStride(dim));
  emitCopyTo(op.getSource(), part);
  return success();
}

/// Strides of `to`, the same elements as `from` with `strides` in another
/// shape; nullopt if they do not lie so that strides exist.
std::optional<SmallVector<int64_t>>
getReshapedStrides(ArrayRef<int64_t> from, ArrayRef<int64_t> strides,
                   ArrayRef<int64_t> to) {
  SmallVector<int64_t> result(to.size(), 1);
  int i = from.size() - 1, j = to.size() - 1;
  while (j >= 0) {
    while (i >= 0 && from[i] == 1)
      --i;
    if (i < 0) {
      // Only dims of size 1 are left.
      result[j--] = 1;
      continue;
    }
    // Take dims of `from` that lie behind each other until they fill whole
    // dims of `to`.
    int64_t stride = strides[i], have = from[i];
    int64_t want = 1;
    while (j >= 0 && want < have) {
      result[j] = stride * want;
      want *= to[j--];
      while (want > have) {
        int previous = i - 1;
        while (previous >= 0 && from[previous] == 1)
          --previous;
        if (previous < 0 || strides[previous] != stride * have)
          return std::nullopt;
        have *= from[previous];
        i = previous;
      }
    }
    if (want != have)
      return std::nullopt;
    --i;
  }
  return result;
}

LogicalResult Planner::visitReshape(Operation *op) {
  Value input = op->getOperand(0), result = op->getResult(0);
  auto from = cast<RankedTensorType>(input.getType());
  auto to = cast<RankedTensorType>(result.getType());
  if (!to.hasStaticShape())
    return op->emitOpError("has a dynamic shape: ") << to;
  Place place = places[input];
  auto strides =
      getReshapedStrides(from.getShape(), place.strides, to.getShape());
  if (!strides) {
    place = densePlace(newRoot(from, op), from);
    emitCopyTo(input, place);
    strides = getDenseStrides(to.getShape());
  }
  place.strides = *strides;
  setPlace(result, place);
  return success();
}

LogicalResult Planner::visitConcat(tensor::ConcatOp op) {
  if (!places.count(op.getResult()))
    setPlace(op.getResult(), placeFor(op.getResult(), op));
  Place whole = places[op.getResult()];
  for (Value part : op.getInputs()) {
    Place place = whole;
    const Place &have = places[part];
    if (have.root != place.root || have.offset != place.offset)
      emitCopyTo(part, place);
    whole.offset += cast<RankedTensorType>(part.getType())
                        .getDimSize(op.getDim()) *
                    whole.strides[op.getDim()];
  }
  return success();
}

LogicalResult Planner::visitFromElements(tensor::FromElementsOp op) {
  Place place = placeFor(op.getResult(), op);
  setPlace(op.getResult(), place);
  Value buffer = emitBuffer(op.getResult());
  auto type = cast<RankedTensorType>(op.getResult().getType());
  for (auto [i, element] : llvm::enumerate(op.getElements())) {
    SmallVector<Value> subscripts;
    int64_t rest = i;
    for (int64_t stride : getDenseStrides(type.getShape())) {
      subscripts.push_back(
          arith::ConstantIndexOp::create(builder, op.getLoc(), rest / stride));
      rest %= stride;
    }
    memref::StoreOp::create(builder, op.getLoc(), scalars.lookup(element),
                            buffer, subscripts);
  }
  return success();
}

LogicalResult Planner::visitExtract(tensor::ExtractOp op) {
  SmallVector<Value> subscripts;
  for (Value subscript : op.getIndices())
    subscripts.push_back(scalars.lookup(subscript));
  scalars.map(op.getResult(),
              Value(memref::LoadOp::create(builder, op.getLoc(),
                                           emitBuffer(op.getTensor()),
                                           subscripts)));
  return success();
}

LogicalResult Planner::visitConstant(arith::ConstantOp op) {
  auto type = dyn_cast<RankedTensorType>(op.getType());
  if (!type) {
    scalars.map(op.getResult(), builder.clone(*op)->getResult(0));
    return success();
  }
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!elements)
    return op.emitOpError("has a value that is not dense");
  setPlace(op.getResult(), placeFor(op.getResult(), op));
  Value buffer = emitBuffer(op.getResult());
  // A named constant, copied to where the value lies.
  auto module = planned->getParentOfType<ModuleOp>();
  OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
  std::string name =
      "weft_c" + std::to_string(llvm::range_size(module.getOps<memref::GlobalOp>()));
  auto memrefType = MemRefType::get(type.getShape(), type.getElementType());
  memref::GlobalOp::create(top, op.getLoc(), name,
                           top.getStringAttr("private"), memrefType, elements,
                           /*constant=*/true, IntegerAttr());
  Value global =
      memref::GetGlobalOp::create(builder, op.getLoc(), memrefType, name);
  memref::CopyOp::create(builder, op.getLoc(), global, buffer);
  return success();
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

/// Copies `values` to the places that carry them to the next iteration or out
/// of a branch. All are read before the first is written.
void Planner::carryTensors(ValueRange values, ArrayRef<Place> into,
                           Operation *at) {
  SmallVector<std::pair<Place, Place>> late;
  SmallVector<RankedTensorType> types;
  for (auto [value, place] : llvm::zip(values, into)) {
    auto type = cast<RankedTensorType>(value.getType());
    if (places[value].root == place.root &&
        places[value].offset == place.offset)
      continue;
    bool conflicts = llvm::any_of(into, [&, from = places[value].root](
                                            const Place &other) {
      return other.root == from;
    });
    Place from = places[value];
    if (conflicts) {
      Place staged = densePlace(newRoot(type, at), type);
      emitCopy(type, from, staged);
      from = staged;
      roots[staged.root].end = lifetimes.getEnd(at);
    }
    late.push_back({from, place});
    types.push_back(type);
  }
  for (auto [move, type] : llvm::zip(late, types))
    emitCopy(type, move.first, move.second);
}

LogicalResult Planner::visitFor(scf::ForOp op) {
  SmallVector<Value> inits, tensorInits;
  SmallVector<Place> into;
  for (auto [init, argument, result] :
       llvm::zip(op.getInitArgs(), op.getRegionIterArgs(), op.getResults())) {
    if (!isTensor(init)) {
      inits.push_back(scalars.lookup(init));
      continue;
    }
    Place place = densePlace(newRoot(init.getType(), op), init.getType());
    roots[place.root].end = lifetimes.getEnd(op);
    if (!init.getDefiningOp<tensor::EmptyOp>())
      emitCopyTo(init, place);
    setPlace(argument, place);
    setPlace(result, place);
    into.push_back(place);
  }
  auto loop = scf::ForOp::create(
      builder, op.getLoc(), scalars.lookup(op.getLowerBound()),
      scalars.lookup(op.getUpperBound()), scalars.lookup(op.getStep()), inits);
  scalars.map(op.getInductionVar(), loop.getInductionVar());
  unsigned next = 0;
  for (auto [argument, result] :
       llvm::zip(op.getRegionIterArgs(), op.getResults()))
    if (!isTensor(argument)) {
      scalars.map(argument, loop.getRegionIterArg(next));
      scalars.map(result, loop.getResult(next++));
    }
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  if (!inits.empty() == false && !loop.getBody()->empty())
    loop.getBody()->getTerminator()->erase();
  builder.setInsertionPointToEnd(loop.getBody());
  if (failed(visitBlock(*op.getBody())))
    return failure();
  Operation *yield = op.getBody()->getTerminator();
  SmallVector<Value> tensorValues, scalarValues;
  for (Value value : yield->getOperands())
    if (isTensor(value))
      tensorValues.push_back(value);
    else
      scalarValues.push_back(scalars.lookup(value));
  carryTensors(tensorValues, into, yield);
  scf::YieldOp::create(builder, op.getLoc(), scalarValues);
  return success();
}

LogicalResult Planner::visitIf(scf::IfOp op) {
  SmallVector<Type> types;
  SmallVector<Place> into;
  for (Value result : op.getResults()) {
    if (!isTensor(result)) {
      types.push_back(result.getType());
      continue;
    }
    Place place = densePlace(newRoot(result.getType(), op), result.getType());
    roots[place.root].end = lifetimes.getEnd(op);
    setPlace(result, place);
    into.push_back(place);
  }
  bool hasElse = !op.getElseRegion().empty();
  auto branch = scf::IfOp::create(builder, op.getLoc(), types,
                                  scalars.lookup(op.getCondition()),
                                  /*addThenBlock=*/true,
                                  /*addElseBlock=*/hasElse);
  unsigned next = 0;
  for (Value result : op.getResults())
    if (!isTensor(result))
      scalars.map(result, branch.getResult(next++));
  for (unsigned i = 0; i < (hasElse ? 2u : 1u); ++i) {
    OpBuilder::InsertionGuard guard(builder);
    Block &to = branch->getRegion(i).front(), &from = op->getRegion(i).front();
    to.clear();
    builder.setInsertionPointToEnd(&to);
    if (failed(visitBlock(from)))
      return failure();
    SmallVector<Value> tensorValues, scalarValues;
    for (Value value : from.getTerminator()->getOperands())
      if (isTensor(value))
        tensorValues.push_back(value);
      else
        scalarValues.push_back(scalars.lookup(value));
    carryTensors(tensorValues, into, from.getTerminator());
    scf::YieldOp::create(builder, op.getLoc(), scalarValues);
  }
  return success();
}

LogicalResult Planner::visitReturn(func::ReturnOp op) {
  SmallVector<std::pair<Value, Place>> moves;
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    auto alias = source.getResultAttrOfType<IntegerAttr>(
        number, WeftDialect::kAliasAttr);
    int root = -1;
    for (auto [i, candidate] : llvm::enumerate(roots))
      if (alias ? static_cast<int64_t>(i) == alias.getInt()
                : candidate.space == rt::Space::Result &&
                      candidate.position == number)
        root = i;
    Place target = densePlace(root, operand.get().getType());
    const Place &have = places[operand.get()];
    if (have.root == root && have.offset == 0)
      continue;
    moves.push_back({operand.get(), target});
  }
  SmallVector<Value> values;
  SmallVector<Place> into;
  for (auto &[value, place] : moves) {
    values.push_back(value);
    into.push_back(place);
  }
  carryTensors(values, into, op);
  func::ReturnOp::create(builder, op.getLoc());
  return success();
}

LogicalResult Planner::visit(Operation *op) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](rt::FusedOp o) { return visitFused(o); })
      .Case([&](MatmulOp o) { return visitMatmul(o); })
      .Case([&](ScatterAddOp o) { return visitScatterAdd(o); })
      .Case<AllGatherOp, ReduceScatterOp, AllReduceOp, AllToAllOp, PermuteOp>(
          [&](Operation *o) { return visitCollective(o); })
      .Case<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp>(
          [&](Operation *o) { return visitReshape(o); })
      .Case([&](tensor::ExtractSliceOp o) { return visitExtractSlice(o); })
      .Case([&](tensor::InsertSliceOp o) { return visitInsertSlice(o); })
      .Case([&](tensor::ConcatOp o) { return visitConcat(o); })
      .Case([&](tensor::FromElementsOp o) { return visitFromElements(o); })
      .Case([&](tensor::ExtractOp o) { return visitExtract(o); })
      .Case([&](arith::ConstantOp o) { return visitConstant(o); })
      .Case([&](tensor::EmptyOp) { return success(); })
      .Case([&](scf::ForOp o) { return visitFor(o); })
      .Case([&](scf::IfOp o) { return visitIf(o); })
      .Case([&](func::ReturnOp o) { return visitReturn(o); })
      .Default([&](Operation *o) -> LogicalResult {
        bool isScalar =
            o->getNumRegions() == 0 &&
            llvm::none_of(o->getOperands(), [&](Value v) { return isTensor(v); }) &&
            llvm::none_of(o->getResults(), [&](Value v) { return isTensor(v); });
        if (!isScalar)
          return o->emitOpError("has no form on buffers");
        builder.clone(*o, scalars);
        return success();
      });
}

LogicalResult Planner::visitBlock(Block &block) {
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>() && !isa<func::ReturnOp>(op))
      break;
    // Values that only exist as undefined contents get memory where they are
    // used as such.
    for (Value operand : op.getOperands())
      if (operand.getDefiningOp<tensor::EmptyOp>() && !places.count(operand) &&
          !isa<tensor::InsertSliceOp, scf::ForOp>(op))
        setPlace(operand, densePlace(newRoot(operand.getType(), &op),
                                     operand.getType()));
    if (failed(visit(&op)))
      return failure();
  }
  return success();
}

LogicalResult Planner::run() {
  for (Type type : llvm::concat<const Type>(source.getArgumentTypes(),
                                            source.getResultTypes())) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape())
      return source.emitOpError("has an argument or result of type ")
             << type << ", expected a tensor of static shape";
  }
  Block *block = planned.addEntryBlock();
  builder.setInsertionPointToEnd(block);
  // Buffers are named before everything else.
  Operation *mark = arith::ConstantIndexOp::create(builder, source.getLoc(), 0);
  entry.setInsertionPoint(mark);
  addArguments();
  collectWishes();
  if (failed(visitBlock(source.getBody().front())))
    return failure();
  mark->erase();
  arenaBytes = placeRoots(roots);
  for (auto [op, root] : bufferOps)
    op.setPosition(roots[root].position);
  return success();
}

struct PlanBuffersPass
    : public weft::impl::PlanBuffersPassBase<PlanBuffersPass> {
  using Base::Base;

  void runOnOperation() override;
  LogicalResult plan(func::FuncOp source);
};

/// What the program table says about an argument or result.
DictionaryAttr describeTensor(OpBuilder &builder, Type local,
                              DictionaryAttr attributes) {
  NamedAttrList entry;
  auto get = [&](StringRef name) {
    return attributes ? attributes.get(name) : Attribute();
  };
  entry.set("local", TypeAttr::get(local));
  Attribute global = get("weft.global_type");
  entry.set("global", global ? global : TypeAttr::get(local));
  if (Attribute name = get(WeftDialect::kNameAttr))
    entry.set("name", name);
  if (Attribute sharding = get(WeftDialect::kShardingAttr))
    entry.set("sharding", sharding);
  if (Attribute alias = get(WeftDialect::kAliasAttr))
    entry.set("alias", alias);
  return entry.getDictionary(builder.getContext());
}

LogicalResult PlanBuffersPass::plan(func::FuncOp source) {
  OpBuilder builder(source);
  auto planned = func::FuncOp::create(builder, source.getLoc(),
                                      source.getSymName(),
                                      builder.getFunctionType({}, {}));
  SmallVector<Attribute> args, results;
  for (unsigned i = 0; i < source.getNumArguments(); ++i)
    args.push_back(describeTensor(builder, source.getArgumentTypes()[i],
                                  source.getArgAttrDict(i)));
  for (unsigned i = 0; i < source.getNumResults(); ++i)
    results.push_back(describeTensor(builder, source.getResultTypes()[i],
                                     source.getResultAttrDict(i)));
  planned->setAttr("weft_rt.args", builder.getArrayAttr(args));
  planned->setAttr("weft_rt.results", builder.getArrayAttr(results));
  Planner planner(source, planned);
  if (failed(planner.run()))
    return failure();
  planned->setAttr("weft_rt.arena_bytes",
                   builder.getI64IntegerAttr(planner.getArenaBytes()));
  arenaBytes += planner.getArenaBytes();
  numCopies += planner.getNumCopies();
  source.erase();
  return success();
}

void PlanBuffersPass::runOnOperation() {
  for (func::FuncOp func :
       llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
    if (failed(plan(func)))
      return signalPassFailure();
}

} // namespace
