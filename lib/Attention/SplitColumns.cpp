// SPDX-License-Identifier: Apache-2.0

// From a tensor.concat or tensor.pad on, each op of elements is done once for
// each part, and each reduction over the columns goes on with the second part
// where the first one ended. That is done only if all that is reached ends in
// reductions and in slices of single parts.

#include "SplitColumns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Some columns.
struct Range {
  int64_t offset = 0, size = 0;

  bool operator==(const Range &other) const {
    return offset == other.offset && size == other.size;
  }
};

RankedTensorType getType(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

/// The dim of a reshape's result that is dim `dim` of its operand, or the other
/// way around, if nothing but dims of one element go with it.
std::optional<unsigned> getReshapedDim(Operation *op, unsigned dim,
                                       bool toResult) {
  auto find = [&](ArrayRef<ReassociationIndices> groups, RankedTensorType split,
                  bool fromSplit) -> std::optional<unsigned> {
    for (auto [whole, group] : llvm::enumerate(groups)) {
      SmallVector<int64_t> longer(llvm::make_filter_range(
          group, [&](int64_t part) { return split.getDimSize(part) != 1; }));
      std::optional<unsigned> only;
      if (longer.size() == 1)
        only = longer.front();
      if (fromSplit && llvm::is_contained(group, int64_t(dim)))
        return only == dim ? std::optional<unsigned>(whole) : std::nullopt;
      if (!fromSplit && whole == dim)
        return only;
    }
    return std::nullopt;
  };
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return find(expand.getReassociationIndices(), expand.getResultType(),
                !toResult);
  auto collapse = cast<tensor::CollapseShapeOp>(op);
  return find(collapse.getReassociationIndices(), collapse.getSrcType(),
              toResult);
}

/// The loop that indexes a dim of an operand, if that is all of the index.
std::optional<unsigned> getLoop(linalg::GenericOp op, OpOperand *operand,
                                unsigned dim) {
  auto expr = dyn_cast<AffineDimExpr>(
      op.getMatchingIndexingMap(operand).getResult(dim));
  return expr ? std::optional(expr.getPosition()) : std::nullopt;
}

/// The dim of an operand that the loop indexes; -1: none. Nullopt: not in a way
/// that can be cut.
std::optional<int> getDim(linalg::GenericOp op, OpOperand *operand,
                          unsigned loop) {
  int found = -1;
  for (auto [i, expr] :
       llvm::enumerate(op.getMatchingIndexingMap(operand).getResults())) {
    if (!expr.isFunctionOfDim(loop))
      continue;
    if (found >= 0 || !isa<AffineDimExpr>(expr))
      return std::nullopt;
    found = i;
  }
  return found;
}

/// Whether the loop may be cut: no index of it is read.
bool canCut(linalg::GenericOp op, unsigned loop) {
  for (auto index : op.getBody()->getOps<linalg::IndexOp>())
    if (index.getDim() == loop)
      return false;
  return op.hasPureTensorSemantics() && !op.hasDynamicShape() &&
         llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
           return getDim(op, &operand, loop).has_value();
         });
}

/// A tensor without dims of which a number is the element.
Value getScalarTensor(Value number) {
  auto extract = number.getDefiningOp<tensor::ExtractOp>();
  return extract && extract.getIndices().empty() ? extract.getTensor()
                                                 : Value();
}

/// Whether the padding of a tensor.pad can be made alone.
bool hasKnownPadding(tensor::PadOp pad) {
  Value number = pad.getConstantPaddingValue();
  auto isKnown = [](ArrayRef<int64_t> sizes) {
    return llvm::all_of(sizes, [](int64_t size) { return size >= 0; });
  };
  return number && pad.getSourceType().hasStaticShape() &&
         isKnown(pad.getStaticLow()) && isKnown(pad.getStaticHigh()) &&
         (matchPattern(number, m_Constant()) || getScalarTensor(number));
}

Value makePadding(OpBuilder &builder, tensor::PadOp pad,
                  RankedTensorType type) {
  Value number = pad.getConstantPaddingValue();
  TypedAttr constant;
  if (matchPattern(number, m_Constant(&constant)))
    return arith::ConstantOp::create(builder, pad.getLoc(),
                                     DenseElementsAttr::get(type, constant));
  Value empty = tensor::EmptyOp::create(builder, pad.getLoc(), type.getShape(),
                                        type.getElementType());
  AffineMap all = builder.getMultiDimIdentityMap(type.getRank()),
            none = AffineMap::get(type.getRank(), 0, builder.getContext());
  SmallVector<utils::IteratorType> parallel(type.getRank(),
                                            utils::IteratorType::parallel);
  auto body = [](OpBuilder &inner, Location loc, ValueRange args) {
    linalg::YieldOp::create(inner, loc, args[0]);
  };
  return linalg::GenericOp::create(builder, pad.getLoc(), type,
                                   getScalarTensor(number), empty,
                                   ArrayRef{none, all}, parallel, body)
      .getResult(0);
}

/// What a tensor.concat of two reaches, or a tensor.pad of one dim.
class Columns {
public:
  explicit Columns(Operation *start) : start(start) {}

  /// False if it cannot be taken apart.
  bool find() {
    Block *block = start->getBlock();
    if (!findParts())
      return false;
    dims[start->getResult(0)] = dim;
    bool hasExp = false;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (i == kMostValues)
        return false;
      auto [value, dim] = dims.begin()[i];
      for (OpOperand &use : value.getUses()) {
        Operation *user = use.getOwner();
        if (user->getBlock() != block || !follow(use, dim))
          return false;
        ops.insert(user);
        auto generic = dyn_cast<linalg::GenericOp>(user);
        hasExp |= generic && !generic.getBody()->getOps<math::ExpOp>().empty();
      }
    }
    return hasExp && hasEnd;
  }

  Operation *start;
  /// Of the start.
  unsigned dim = 0;
  SmallVector<Range, 2> parts;
  /// The values that have the columns, and which dim these are.
  llvm::MapVector<Value, unsigned> dims;
  /// What reads them, and where that is a linalg.generic, in which loop.
  llvm::SetVector<Operation *> ops;
  llvm::DenseMap<Operation *, unsigned> loops;

private:
  /// A softmax and its gradient are of about 30.
  static constexpr size_t kMostValues = 100;

  bool findParts() {
    if (auto concat = dyn_cast<tensor::ConcatOp>(start)) {
      dim = concat.getDim();
      if (!concat.getResultType().hasStaticShape())
        return false;
      for (Value input : concat.getInputs())
        addPart(getType(input).getDimSize(dim));
      return parts.size() == 2;
    }
    auto pad = dyn_cast<tensor::PadOp>(start);
    if (!pad || !hasKnownPadding(pad))
      return false;
    for (int64_t i = 0; i < pad.getSourceType().getRank(); ++i) {
      int64_t low = pad.getStaticLow()[i], high = pad.getStaticHigh()[i];
      if (low == 0 && high == 0)
        continue;
      if (!parts.empty() || (low != 0 && high != 0))
        return false;
      dim = i;
      int64_t inner = pad.getSourceType().getDimSize(i);
      addPart(low != 0 ? low : inner);
      addPart(low != 0 ? inner : high);
    }
    return parts.size() == 2;
  }

  void addPart(int64_t size) {
    int64_t offset =
        parts.empty() ? 0 : parts.back().offset + parts.back().size;
    parts.push_back({offset, size});
  }

  bool add(Value value, std::optional<unsigned> dim) {
    return dim && dims.insert({value, *dim}).first->second == *dim;
  }

  bool follow(OpOperand &use, unsigned dim) {
    Operation *op = use.getOwner();
    if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
      return add(op->getResult(0), getReshapedDim(op, dim, /*toResult=*/true));
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
      return isPart(slice, dim);
    auto generic = dyn_cast<linalg::GenericOp>(op);
    std::optional<unsigned> loop =
        generic ? getLoop(generic, &use, dim) : std::nullopt;
    // One of them alone can be cut.
    if (!loop || !canCut(generic, *loop) ||
        loops.insert({op, *loop}).first->second != *loop)
      return false;
    for (OpOperand &init : generic.getDpsInitsMutable()) {
      int of = *getDim(generic, &init, *loop);
      // Of a reduction, nothing is known between its parts but its result.
      bool isReduction = generic.getIteratorTypesArray()[*loop] ==
                         utils::IteratorType::reduction;
      hasEnd |= isReduction;
      if (isReduction ? of >= 0 || generic.getNumResults() != 1 : of < 0)
        return false;
      if (!isReduction && !add(generic.getTiedOpResult(&init), of))
        return false;
    }
    return true;
  }

  /// Whether a slice is one part, and all of the other dims.
  bool isPart(tensor::ExtractSliceOp slice, unsigned dim) {
    RankedTensorType source = slice.getSourceType();
    if (slice.getType().getRank() != source.getRank() ||
        !slice.hasUnitStride() ||
        ShapedType::isDynamicShape(slice.getStaticOffsets()) ||
        ShapedType::isDynamicShape(slice.getStaticSizes()))
      return false;
    hasEnd = true;
    for (int64_t i = 0; i < source.getRank(); ++i) {
      Range range{slice.getStaticOffset(i), slice.getStaticSize(i)};
      if (i != dim ? range.size != source.getDimSize(i)
                   : !llvm::is_contained(parts, range))
        return false;
    }
    return true;
  }

  bool hasEnd = false;
};

/// Does each op once for each part.
class Splitter {
public:
  explicit Splitter(Columns &columns)
      : columns(columns), builder(columns.start->getContext()) {}

  void run() {
    if (auto concat = dyn_cast<tensor::ConcatOp>(columns.start))
      for (auto [range, input] :
           llvm::zip_equal(columns.parts, concat.getInputs()))
        getMade(concat.getResult(), columns.dim, range) = input;
    SmallVector<Operation *> inOrder = columns.ops.takeVector();
    llvm::sort(inOrder, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
    for (Operation *op : inOrder)
      split(op);
  }

private:
  Value &getMade(Value value, unsigned dim, Range range) {
    return made[{value, dim, range.offset, range.size}];
  }

  /// How far what is read beside the columns is taken apart.
  static constexpr int kMostDepth = 16;

  void split(Operation *op) {
    builder.setInsertionPoint(op);
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
      unsigned dim = columns.dims.lookup(slice.getSource());
      Range range{slice.getStaticOffset(dim), slice.getStaticSize(dim)};
      slice.replaceAllUsesWith(getPart(slice.getSource(), dim, range, 0));
      return;
    }
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (!generic) {
      makeReshapes(op);
      return;
    }
    unsigned loop = columns.loops.lookup(op);
    if (generic.getIteratorTypesArray()[loop] ==
        utils::IteratorType::parallel) {
      for (Range range : columns.parts)
        makeGeneric(generic, loop, range, Value(), 0);
      return;
    }
    Value sum;
    for (Range range : columns.parts)
      sum = makeGeneric(generic, loop, range, sum, 0).getResult(0);
    generic.getResult(0).replaceAllUsesWith(sum);
  }

  void makeReshapes(Operation *op) {
    unsigned dim = columns.dims.lookup(op->getResult(0));
    for (Range range : columns.parts)
      getMade(op->getResult(0), dim, range) = makeReshape(op, dim, range, 0);
  }

  /// The columns of a reshape's result.
  Value makeReshape(Operation *op, unsigned dim, Range range, int depth) {
    unsigned before = *getReshapedDim(op, dim, /*toResult=*/false);
    Value source = getPart(op->getOperand(0), before, range, depth + 1);
    RankedTensorType type = resize(op->getResult(0), dim, range.size);
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
      return tensor::ExpandShapeOp::create(builder, op->getLoc(), type, source,
                                           expand.getReassociationIndices());
    return tensor::CollapseShapeOp::create(
        builder, op->getLoc(), type, source,
        cast<tensor::CollapseShapeOp>(op).getReassociationIndices());
  }

  static RankedTensorType resize(Value value, unsigned dim, int64_t size) {
    RankedTensorType type = getType(value);
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = size;
    return type.clone(shape);
  }

  /// The op on some columns; `init`: what a reduction goes on with.
  linalg::GenericOp makeGeneric(linalg::GenericOp op, unsigned loop,
                                Range range, Value init, int depth) {
    SmallVector<Value> operands;
    for (OpOperand &operand : op->getOpOperands()) {
      int dim = *getDim(op, &operand, loop);
      operands.push_back(dim < 0
                             ? operand.get()
                             : getPart(operand.get(), dim, range, depth + 1));
    }
    if (init)
      operands.back() = init;
    SmallVector<Type> types;
    for (auto [i, result] : llvm::enumerate(op.getResults())) {
      int dim = *getDim(op, op.getDpsInitOperand(i), loop);
      types.push_back(dim < 0 ? result.getType()
                              : Type(resize(result, dim, range.size)));
    }
    auto part = cast<linalg::GenericOp>(builder.clone(*op.getOperation()));
    part->setOperands(operands);
    for (auto [i, result] : llvm::enumerate(op.getResults())) {
      part.getResult(i).setType(types[i]);
      if (int dim = *getDim(op, op.getDpsInitOperand(i), loop); dim >= 0)
        getMade(result, dim, range) = part.getResult(i);
    }
    return part;
  }

  /// Some columns of a value.
  Value getPart(Value value, unsigned dim, Range range, int depth) {
    if (Value known = getMade(value, dim, range))
      return known;
    OpBuilder::InsertionGuard guard(builder);
    // As early as the value, as others may read the columns as well.
    builder.setInsertionPointAfterValue(value);
    Value part =
        depth < kMostDepth ? makePart(value, dim, range, depth) : Value();
    if (!part)
      part = makeSlice(value, dim, range);
    return getMade(value, dim, range) = part;
  }

  Value makeSlice(Value value, unsigned dim, Range range) {
    SmallVector<OpFoldResult> offsets, sizes, strides;
    for (auto [i, size] : llvm::enumerate(getType(value).getShape())) {
      offsets.push_back(builder.getIndexAttr(i == dim ? range.offset : 0));
      sizes.push_back(builder.getIndexAttr(i == dim ? range.size : size));
      strides.push_back(builder.getIndexAttr(1));
    }
    return tensor::ExtractSliceOp::create(builder, value.getLoc(), value,
                                          offsets, sizes, strides);
  }

  /// Null where a slice is all there is.
  Value makePart(Value value, unsigned dim, Range range, int depth) {
    Operation *op = value.getDefiningOp();
    RankedTensorType type = resize(value, dim, range.size);
    SplatElementsAttr splat;
    if (matchPattern(value, m_Constant(&splat)))
      return arith::ConstantOp::create(builder, value.getLoc(),
                                       splat.resizeSplat(type));
    if (isa_and_nonnull<tensor::EmptyOp>(op))
      return tensor::EmptyOp::create(builder, value.getLoc(), type.getShape(),
                                     type.getElementType());
    if (auto pad = dyn_cast_or_null<tensor::PadOp>(op))
      return makePartOfPad(pad, dim, range);
    if (isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
      return getReshapedDim(op, dim, /*toResult=*/false)
                 ? makeReshape(op, dim, range, depth)
                 : Value();
    auto generic = dyn_cast_or_null<linalg::GenericOp>(op);
    if (!generic || generic.getNumResults() != 1)
      return Value();
    std::optional<unsigned> loop =
        getLoop(generic, generic.getDpsInitOperand(0), dim);
    if (!loop || !canCut(generic, *loop))
      return Value();
    return makeGeneric(generic, *loop, range, Value(), depth).getResult(0);
  }

  /// What was padded, or padding alone; null if both.
  Value makePartOfPad(tensor::PadOp pad, unsigned dim, Range range) {
    if (!hasKnownPadding(pad))
      return Value();
    for (int64_t i = 0; i < pad.getSourceType().getRank(); ++i)
      if (i != dim &&
          (pad.getStaticLow()[i] != 0 || pad.getStaticHigh()[i] != 0))
        return Value();
    Range inner{pad.getStaticLow()[dim], pad.getSourceType().getDimSize(dim)};
    if (range == inner)
      return pad.getSource();
    if (range.offset + range.size > inner.offset &&
        range.offset < inner.offset + inner.size)
      return Value();
    return makePadding(builder, pad, resize(pad.getResult(), dim, range.size));
  }

  Columns &columns;
  OpBuilder builder;
  llvm::DenseMap<std::tuple<Value, unsigned, int64_t, int64_t>, Value> made;
};

} // namespace

/// The ops of a block that may put scores and other columns together.
static SmallVector<Operation *> findStarts(Block &block) {
  SmallVector<Operation *> starts;
  for (Operation &op : block)
    if (isa<tensor::ConcatOp, tensor::PadOp>(op))
      starts.push_back(&op);
  return starts;
}

bool mlir::weft::hasSplitColumns(Block &block) {
  return llvm::any_of(findStarts(block),
                      [](Operation *start) { return Columns(start).find(); });
}

void mlir::weft::splitColumns(Block &block) {
  for (Operation *start : findStarts(block)) {
    Columns columns(start);
    if (columns.find())
      Splitter(columns).run();
  }
}
