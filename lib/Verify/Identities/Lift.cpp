// SPDX-License-Identifier: Apache-2.0

// Elements through ops that move, and through contractions and linalg.generic.

#include "weft/Verify/Identities/Lift.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::weft;

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

/// Takes the least significant digits that make up `size` from `index`.
static std::optional<DigitIndex> takeLow(DigitIndex &index, int64_t size) {
  DigitIndex low;
  while (size > 1) {
    if (index.empty())
      return std::nullopt;
    Digit digit = index.pop_back_val();
    if (size % digit.size == 0) {
      size /= digit.size;
      low.insert(low.begin(), digit);
      continue;
    }
    if (digit.size % size != 0)
      return std::nullopt;
    low.insert(low.begin(), Digit{digit.loop, digit.stride, size});
    index.push_back(Digit{digit.loop, digit.stride * size, digit.size / size});
    size = 1;
  }
  return low;
}

/// Appends less significant digits; parts of a loop that meet become one.
static void appendLow(DigitIndex &index, const DigitIndex &low) {
  for (Digit digit : low) {
    if (!index.empty() && index.back().loop == digit.loop &&
        index.back().stride == digit.stride * digit.size) {
      digit.size *= index.back().size;
      index.pop_back();
    }
    index.push_back(digit);
  }
}

/// The indices of the dims that were merged.
static std::optional<SmallVector<DigitIndex>>
splitIndices(ArrayRef<ReassociationIndices> groups, ArrayRef<int64_t> shape,
             ArrayRef<DigitIndex> indices) {
  SmallVector<DigitIndex> split(shape.size());
  for (auto [i, group] : llvm::enumerate(groups)) {
    DigitIndex rest = indices[i];
    for (int64_t dim : llvm::reverse(group)) {
      std::optional<DigitIndex> low = takeLow(rest, shape[dim]);
      if (!low)
        return std::nullopt;
      split[dim] = *low;
    }
  }
  return split;
}

static SmallVector<DigitIndex>
mergeIndices(ArrayRef<ReassociationIndices> groups,
             ArrayRef<DigitIndex> indices) {
  SmallVector<DigitIndex> merged(groups.size());
  for (auto [i, group] : llvm::enumerate(groups))
    for (int64_t dim : group)
      appendLow(merged[i], indices[dim]);
  return merged;
}

std::optional<SmallVector<DigitIndex>>
weft::getReshapedIndices(Operation *op, ArrayRef<DigitIndex> indices) {
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return mergeIndices(expand.getReassociationIndices(), indices);
  auto collapse = cast<tensor::CollapseShapeOp>(op);
  return splitIndices(collapse.getReassociationIndices(),
                      collapse.getSrcType().getShape(), indices);
}

std::optional<SmallVector<DigitIndex>>
weft::applyMap(AffineMap map, ArrayRef<DigitIndex> loops,
               ArrayRef<int64_t> shape) {
  SmallVector<DigitIndex> indices;
  for (auto [expr, size] : llvm::zip_equal(map.getResults(), shape)) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (dim)
      indices.push_back(loops[dim.getPosition()]);
    else if (size == 1)
      indices.emplace_back();
    else
      return std::nullopt;
  }
  return indices;
}

SmallVector<DigitIndex> Lifter::addLoops(ArrayRef<int64_t> shape) {
  SmallVector<DigitIndex> indices;
  for (int64_t size : shape)
    indices.push_back(table.getIndex(table.addLoop(size)));
  return indices;
}

/// The loops that the indices are, and others for the loops without one, which
/// are appended to `bound`.
static SmallVector<DigitIndex> bindLoops(TermTable &table, AffineMap map,
                                         ArrayRef<DigitIndex> indices,
                                         ArrayRef<int64_t> sizes,
                                         SmallVectorImpl<unsigned> &bound) {
  SmallVector<DigitIndex> loops(sizes.size());
  for (auto [i, size] : llvm::enumerate(sizes)) {
    std::optional<unsigned> result =
        map.getResultPosition(getAffineDimExpr(i, map.getContext()));
    if (result) {
      loops[i] = indices[*result];
      continue;
    }
    unsigned loop = table.addLoop(size);
    bound.push_back(loop);
    loops[i] = table.getIndex(loop);
  }
  return loops;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

TermRef Lifter::load(Value value, ArrayRef<DigitIndex> indices) {
  TermRef term = table.load(getElementTypeOrSelf(value), value, indices);
  table.setOrigin(term, value, indices);
  return term;
}

TermRef Lifter::lift(Value value, ArrayRef<DigitIndex> indices) {
  std::string key;
  llvm::raw_string_ostream os(key);
  os << value.getAsOpaquePointer();
  for (const DigitIndex &index : indices) {
    os << '|';
    for (const Digit &digit : index)
      os << digit.loop << '/' << digit.stride << '%' << digit.size << ';';
  }
  auto known = lifted.find(key);
  if (known != lifted.end())
    return known->second;
  TermRef term = cuts.contains(value) || table.size() > limit
                     ? nullptr
                     : liftUncached(value, indices);
  if (!term)
    term = load(value, indices);
  if (isa<RankedTensorType>(value.getType()))
    table.setOrigin(term, value, indices);
  lifted[key] = term;
  return term;
}

/// Null if all there is to say is that it is an element of the value.
TermRef Lifter::liftUncached(Value value, ArrayRef<DigitIndex> indices) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return nullptr;
  unsigned result = cast<OpResult>(value).getResultNumber();
  if (isa<arith::ConstantOp>(op))
    return liftConstant(value, indices);
  if (auto shard = dyn_cast<ShardOp>(op))
    return lift(shard->getOperand(0), indices);
  if (isa<OptimizationBarrierOp>(op))
    return lift(op->getOperand(result), indices);
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op)) {
    std::optional<SmallVector<DigitIndex>> inner =
        getReshapedIndices(op, indices);
    return inner ? lift(op->getOperand(0), *inner) : nullptr;
  }
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return liftGeneric(generic, result, indices);
  if (auto matmul = dyn_cast<MatmulOp>(op))
    return matmul.getScales().empty() ? liftMatmul(matmul, indices) : nullptr;
  if (isa<AttentionOp, AttentionGradOp>(op))
    return liftAttention(*this, op, result, indices);
  return nullptr;
}

/// The number that an attribute of one element is.
static std::optional<double> getNumber(Attribute attr) {
  if (auto splat = dyn_cast<SplatElementsAttr>(attr))
    attr = splat.getSplatValue<Attribute>();
  if (auto number = dyn_cast<FloatAttr>(attr))
    return number.getValueAsDouble();
  auto number = dyn_cast<IntegerAttr>(attr);
  if (!number)
    return std::nullopt;
  if (number.getType().isInteger(1))
    return number.getValue().isZero() ? 0 : 1;
  if (number.getValue().getSignificantBits() > 53)
    return std::nullopt; // a double has not all of it
  return double(number.getValue().getSExtValue());
}

/// The dim of which each element of a constant is the index, as of positions
/// that were computed while tracing.
static std::optional<unsigned> findIotaDim(Attribute attr) {
  auto elements = dyn_cast<DenseIntElementsAttr>(attr);
  if (!elements || elements.isSplat() || elements.size() > (1 << 20))
    return std::nullopt;
  ArrayRef<int64_t> shape = elements.getType().getShape();
  int64_t stride = 1;
  for (unsigned dim = shape.size(); dim-- > 0; stride *= shape[dim]) {
    int64_t place = 0;
    if (shape[dim] > 1 && llvm::all_of(elements, [&](const APInt &element) {
          return element == uint64_t(place++ / stride % shape[dim]);
        }))
      return dim;
  }
  return std::nullopt;
}

TermRef Lifter::liftConstant(Value value, ArrayRef<DigitIndex> indices) {
  Attribute attr = value.getDefiningOp<arith::ConstantOp>().getValue();
  if (!getElementTypeOrSelf(value).isInteger(1))
    if (std::optional<unsigned> dim = findIotaDim(attr))
      return table.index(getElementTypeOrSelf(value), indices[*dim]);
  std::optional<double> number = getNumber(attr);
  if (!number || std::isnan(*number))
    return nullptr;
  return table.constant(getElementTypeOrSelf(value), *number);
}

TermRef Lifter::liftMatmul(MatmulOp op, ArrayRef<DigitIndex> indices) {
  SmallVector<int64_t> sizes(op.getLhsMap().getNumDims(), 1);
  for (auto [operand, map] : {std::pair(op.getLhs(), op.getLhsMap()),
                              std::pair(op.getRhs(), op.getRhsMap())})
    for (auto [expr, size] :
         llvm::zip_equal(map.getResults(), operand.getType().getShape()))
      sizes[cast<AffineDimExpr>(expr).getPosition()] = size;
  SmallVector<unsigned> bound;
  SmallVector<DigitIndex> loops =
      bindLoops(table, op.getResultMap(), indices, sizes, bound);
  auto element = [&](TypedValue<RankedTensorType> operand, AffineMap map) {
    SmallVector<DigitIndex> own =
        *applyMap(map, loops, operand.getType().getShape());
    return followsOperands ? follow(operand, own) : lift(operand, own);
  };
  Type type = op.getType().getElementType();
  TermRef lhs = table.cast(type, element(op.getLhs(), op.getLhsMap()));
  TermRef rhs = table.cast(type, element(op.getRhs(), op.getRhsMap()));
  return table.over(TermKind::Sum, bound, table.mul(lhs, rhs), op);
}

//===----------------------------------------------------------------------===//
// Moved values
//===----------------------------------------------------------------------===//

Value Lifter::getMovedFrom(Value value) {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
    return op->getOperand(0);
  auto generic = dyn_cast_or_null<linalg::GenericOp>(op);
  if (!generic || generic.getInputs().size() != 1 ||
      generic.getNumResults() != 1 || generic.getNumReductionLoops() != 0 ||
      !isa<RankedTensorType>(generic.getInputs()[0].getType()) ||
      !generic.getIndexingMapsArray().back().isPermutation())
    return Value();
  Block *body = generic.getBody();
  Value yielded = body->getTerminator()->getOperand(0);
  if (auto widened = yielded.getDefiningOp<arith::ExtFOp>())
    yielded = widened.getIn();
  return yielded == body->getArgument(0) ? generic.getInputs()[0] : Value();
}

TermRef Lifter::follow(Value value, ArrayRef<DigitIndex> indices) {
  Value source = cuts.contains(value) ? Value() : getMovedFrom(value);
  if (!source)
    return load(value, indices);
  Operation *op = value.getDefiningOp();
  std::optional<SmallVector<DigitIndex>> inner;
  if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
    SmallVector<unsigned> bound;
    SmallVector<DigitIndex> loops =
        bindLoops(table, generic.getIndexingMapsArray().back(), indices,
                  generic.getStaticLoopRanges(), bound);
    inner = applyMap(generic.getIndexingMapsArray()[0], loops,
                     cast<RankedTensorType>(source.getType()).getShape());
  } else {
    inner = getReshapedIndices(op, indices);
  }
  if (!inner)
    return load(value, indices);
  return table.cast(getElementTypeOrSelf(value), follow(source, *inner));
}

//===----------------------------------------------------------------------===//
// linalg.generic
//===----------------------------------------------------------------------===//

namespace {

/// Reads a body, from what is yielded to the block's arguments.
class BodyLifter {
public:
  BodyLifter(Lifter &lifter, linalg::GenericOp op, ArrayRef<DigitIndex> loops)
      : lifter(lifter), op(op), loops(loops) {}

  /// Null if an op cannot be read.
  TermRef lift(Value value) {
    auto known = terms.find(value);
    if (known != terms.end())
      return known->second;
    TermRef term = liftUncached(value);
    terms[value] = term;
    return term;
  }

private:
  TermRef liftArgument(BlockArgument arg) {
    OpOperand &operand = op->getOpOperand(arg.getArgNumber());
    SmallVector<int64_t> shape;
    if (auto type = dyn_cast<RankedTensorType>(operand.get().getType()))
      shape.assign(type.getShape().begin(), type.getShape().end());
    std::optional<SmallVector<DigitIndex>> indices =
        applyMap(op.getMatchingIndexingMap(&operand), loops, shape);
    return indices ? lifter.lift(operand.get(), *indices) : nullptr;
  }

  TermRef liftUncached(Value value) {
    if (auto arg = dyn_cast<BlockArgument>(value))
      return arg.getOwner() == op.getBody() ? liftArgument(arg)
                                            : lifter.lift(arg, {});
    Operation *def = value.getDefiningOp();
    if (def->getBlock() != op.getBody())
      return lifter.lift(value, {});
    if (auto index = dyn_cast<linalg::IndexOp>(def))
      return lifter.table.index(index.getType(), loops[index.getDim()]);
    if (isa<arith::ConstantOp>(def))
      return lifter.lift(value, {});
    if (def->getNumRegions() != 0 || def->getNumResults() != 1)
      return nullptr;
    SmallVector<TermRef> operands;
    for (Value operand : def->getOperands()) {
      operands.push_back(lift(operand));
      if (!operands.back())
        return nullptr;
    }
    return liftScalarOp(lifter.table, *def, operands);
  }

  Lifter &lifter;
  linalg::GenericOp op;
  ArrayRef<DigitIndex> loops;
  llvm::DenseMap<Value, TermRef> terms;
};

/// A body that adds to what is there, or takes the larger: how, and what.
struct BodyReduction {
  TermKind kind = TermKind::Sum;
  Value body;
};

std::optional<BodyReduction> matchReduction(Value yielded, Value out) {
  Operation *def = yielded.getDefiningOp();
  if (!def || def->getNumOperands() != 2)
    return std::nullopt;
  BodyReduction reduction;
  if (isa<arith::MaximumFOp, arith::MaxNumFOp>(def))
    reduction.kind = TermKind::MaxOver;
  else if (!isa<arith::AddFOp>(def))
    return std::nullopt;
  bool isLeft = def->getOperand(0) == out;
  if (!isLeft && def->getOperand(1) != out)
    return std::nullopt;
  reduction.body = def->getOperand(isLeft ? 1 : 0);
  return reduction;
}

/// Says whether `value` is computed from the init: then it is no sum.
bool readsOut(Value value, Value out) {
  if (value == out)
    return true;
  Operation *def = value.getDefiningOp();
  return def && def->getBlock() == out.getParentBlock() &&
         llvm::any_of(def->getOperands(),
                      [&](Value operand) { return readsOut(operand, out); });
}

} // namespace

TermRef Lifter::liftGeneric(linalg::GenericOp op, unsigned result,
                            ArrayRef<DigitIndex> indices) {
  if (op.hasDynamicShape())
    return nullptr;
  OpOperand *init = op.getDpsInitOperand(result);
  AffineMap map = op.getMatchingIndexingMap(init);
  if (!map.isProjectedPermutation(/*allowZeroInResults=*/false))
    return nullptr;
  SmallVector<unsigned> bound;
  SmallVector<DigitIndex> loops =
      bindLoops(table, map, indices, op.getStaticLoopRanges(), bound);
  BodyLifter body(*this, op, loops);
  Value yielded = op.getBody()->getTerminator()->getOperand(result);
  if (bound.empty())
    return body.lift(yielded);
  Value out = op.getMatchingBlockArgument(init);
  std::optional<BodyReduction> reduction = matchReduction(yielded, out);
  if (!reduction || readsOut(reduction->body, out))
    return nullptr;
  TermRef each = body.lift(reduction->body);
  if (!each)
    return nullptr;
  TermRef all = table.over(reduction->kind, bound, each);
  TermRef start = lift(init->get(), indices);
  return reduction->kind == TermKind::Sum ? table.add(all, start)
                                          : table.max(all, start);
}
