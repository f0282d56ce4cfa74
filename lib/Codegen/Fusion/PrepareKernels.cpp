// SPDX-License-Identifier: Apache-2.0

// Upstream's patterns turn named ops into generics and drop dims of size 1;
// what is weft's own are lookups as generics, and transposes that move into the
// maps of contractions, where they cost nothing.

#include "ReadScalars.h"

#include "weft/Codegen/Fusion/Orders.h"

#include "weft/Canonicalize/MissingElements.h"
#include "weft/Codegen/Fusion/Passes.h"
#include "weft/Dialect/Weft/IR/Lookups.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Rules/ReductionOrder.h"
#include "weft/Target/Target.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::weft {
#define GEN_PASS_DEF_PREPAREKERNELSPASS
#include "weft/Codegen/Fusion/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

/// The index that a lookup finds, from the global one: `index - base`.
Value getLocalIndex(OpBuilder &builder, Location loc, Value index, Value base) {
  Value local =
      arith::IndexCastOp::create(builder, loc, builder.getIndexType(), index);
  return base ? arith::SubIOp::create(builder, loc, local, base).getResult()
              : local;
}

/// weft.take -> generic that looks into the table:
///   0 <= i - base < n ? table[.., i - base, ..] : -0
struct TakeToGeneric : OpRewritePattern<TakeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TakeOp op,
                                PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getResult().getType());
    auto tableType = cast<RankedTensorType>(op.getTable().getType());
    int64_t axis = op.getAxis();
    AffineMap tableMap = op.getTableMap();
    auto emitBody = [&](OpBuilder &b, Location loc, ValueRange args) {
      Value none = arith::ConstantOp::create(
          b, loc, getMissingElement(type.getElementType()));
      if (tableType.getNumElements() == 0) {
        linalg::YieldOp::create(b, loc, none);
        return;
      }
      Value index = getLocalIndex(b, loc, args[0], op.getBase());
      Value zero = arith::ConstantIndexOp::create(b, loc, 0);
      Value size =
          arith::ConstantIndexOp::create(b, loc, tableType.getDimSize(axis));
      // Unsigned: a negative index is a large one.
      Value inside =
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, index, size);
      Value safe = arith::SelectOp::create(b, loc, inside, index, zero);
      SmallVector<Value> subscripts;
      for (AffineExpr expr : tableMap.getResults())
        subscripts.push_back(linalg::IndexOp::create(
            b, loc, cast<AffineDimExpr>(expr).getPosition()));
      subscripts.insert(subscripts.begin() + axis, safe);
      Value element =
          tensor::ExtractOp::create(b, loc, op.getTable(), subscripts);
      Value result = arith::SelectOp::create(b, loc, inside, element, none);
      linalg::YieldOp::create(b, loc, result);
    };
    Value empty = tensor::EmptyOp::create(
        rewriter, op.getLoc(), type.getShape(), type.getElementType());
    SmallVector<utils::IteratorType> iterators(type.getRank(),
                                               utils::IteratorType::parallel);
    rewriter.replaceOpWithNewOp<linalg::GenericOp>(
        op, type, ValueRange{op.getIndices()}, ValueRange{empty},
        ArrayRef<AffineMap>{op.getIndexMap(),
                            rewriter.getMultiDimIdentityMap(type.getRank())},
        iterators, emitBody);
    return success();
  }
};

/// A tensor that loops index, without loops of size 1.
struct UnitFreeTensor {
  RankedTensorType type;
  AffineMap map;
  /// The dims of the whole tensor that became each dim of `type`.
  SmallVector<ReassociationIndices> groups;

  /// `newLoops[l]`: what loop l becomes; null if it leaves.
  UnitFreeTensor(RankedTensorType whole, AffineMap wholeMap,
                 ArrayRef<AffineExpr> newLoops, unsigned numLoops) {
    SmallVector<AffineExpr> exprs;
    SmallVector<int64_t> shape;
    ReassociationIndices group;
    for (auto [dim, expr] : llvm::enumerate(wholeMap.getResults())) {
      AffineExpr loop = newLoops[cast<AffineDimExpr>(expr).getPosition()];
      if (loop && !exprs.empty())
        groups.push_back(std::exchange(group, {}));
      if (loop) {
        exprs.push_back(loop);
        shape.push_back(whole.getDimSize(dim));
      }
      group.push_back(dim);
    }
    if (!exprs.empty())
      groups.push_back(group);
    type = RankedTensorType::get(shape, whole.getElementType());
    map = AffineMap::get(numLoops, 0, exprs, whole.getContext());
  }

  Value collapse(OpBuilder &builder, Location loc, Value whole) const {
    if (whole.getType() == type)
      return whole;
    return tensor::CollapseShapeOp::create(builder, loc, type, whole, groups);
  }
};

/// If all dims of the updates that the table does not have are of size 1, they
/// leave: then each element gets at most one update, and can be seen to.
struct DropUnitUpdates : OpRewritePattern<ScatterAddOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ScatterAddOp op,
                                PatternRewriter &rewriter) const override {
    auto updates = cast<RankedTensorType>(op.getUpdates().getType());
    auto indices = cast<RankedTensorType>(op.getIndices().getType());
    SmallVector<AffineExpr> newLoops;
    unsigned numLoops = 0;
    for (auto [dim, size] : llvm::enumerate(updates.getShape())) {
      bool stays = op.getTableMap().isFunctionOfDim(dim);
      if (!stays && size != 1)
        return rewriter.notifyMatchFailure(op, "several updates per element");
      newLoops.push_back(stays ? rewriter.getAffineDimExpr(numLoops++)
                               : AffineExpr());
    }
    if (numLoops == newLoops.size())
      return rewriter.notifyMatchFailure(op, "no dims of size 1");
    UnitFreeTensor smallUpdates(
        updates, rewriter.getMultiDimIdentityMap(updates.getRank()), newLoops,
        numLoops);
    UnitFreeTensor smallIndices(indices, op.getIndexMap(), newLoops, numLoops);
    AffineMap tableMap = op.getTableMap().replaceDimsAndSymbols(
        llvm::map_to_vector(newLoops,
                            [&](AffineExpr loop) {
                              return loop ? loop
                                          : rewriter.getAffineConstantExpr(0);
                            }),
        {}, numLoops, 0);
    rewriter.replaceOpWithNewOp<ScatterAddOp>(
        op, op.getType(), op.getInit(),
        smallIndices.collapse(rewriter, op.getLoc(), op.getIndices()),
        smallUpdates.collapse(rewriter, op.getLoc(), op.getUpdates()),
        op.getBase(), op.getAxis(), tableMap, smallIndices.map);
    return success();
  }
};

/// weft.scatter_add where each element of the result gets at most one update:
///   result[.., j, ..] = init + (index - base == j ? update : 0)
struct ScatterAddToGeneric : OpRewritePattern<ScatterAddOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ScatterAddOp op,
                                PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getResult().getType());
    AffineMap tableMap = op.getTableMap();
    unsigned numDims = tableMap.getNumDims();
    if (!tableMap.isPermutation())
      return rewriter.notifyMatchFailure(op, "several updates per element");
    // Loops: the dims of the updates, then the looked-up dim.
    MLIRContext *context = op.getContext();
    auto widen = [&](AffineMap map) {
      return AffineMap::get(numDims + 1, 0, map.getResults(), context);
    };
    SmallVector<AffineExpr> resultExprs(tableMap.getResults());
    resultExprs.insert(resultExprs.begin() + op.getAxis(),
                       getAffineDimExpr(numDims, context));
    AffineMap resultMap = AffineMap::get(numDims + 1, 0, resultExprs, context);
    AffineMap updateMap =
        widen(AffineMap::getMultiDimIdentityMap(numDims, context));
    auto emitBody = [&](OpBuilder &b, Location loc, ValueRange args) {
      Value index = getLocalIndex(b, loc, args[1], op.getBase());
      Value here = linalg::IndexOp::create(b, loc, numDims);
      Value hit =
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, index, here);
      bool isFloat = isa<FloatType>(type.getElementType());
      Value sum =
          isFloat ? arith::AddFOp::create(b, loc, args[0], args[2]).getResult()
                  : arith::AddIOp::create(b, loc, args[0], args[2]).getResult();
      Value result = arith::SelectOp::create(b, loc, hit, sum, args[0]);
      linalg::YieldOp::create(b, loc, result);
    };
    Value empty = tensor::EmptyOp::create(
        rewriter, op.getLoc(), type.getShape(), type.getElementType());
    SmallVector<utils::IteratorType> iterators(numDims + 1,
                                               utils::IteratorType::parallel);
    rewriter.replaceOpWithNewOp<linalg::GenericOp>(
        op, type, ValueRange{op.getInit(), op.getIndices(), op.getUpdates()},
        ValueRange{empty},
        ArrayRef<AffineMap>{resultMap, widen(op.getIndexMap()), updateMap,
                            resultMap},
        iterators, emitBody);
    return success();
  }
};

/// Converts a tensor of floats to f32, or from it.
Value convertTensor(OpBuilder &builder, Location loc, Value value,
                    Type element) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getElementType() == element)
    return value;
  RankedTensorType newType = type.clone(element);
  Value empty =
      tensor::EmptyOp::create(builder, loc, newType.getShape(), element);
  AffineMap map = builder.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  auto emitBody = [&](OpBuilder &b, Location l, ValueRange args) {
    bool extends =
        element.getIntOrFloatBitWidth() > type.getElementTypeBitWidth();
    Value result =
        extends ? arith::ExtFOp::create(b, l, element, args[0]).getResult()
                : arith::TruncFOp::create(b, l, element, args[0]);
    linalg::YieldOp::create(b, l, result);
  };
  return linalg::GenericOp::create(builder, loc, newType, value, empty,
                                   ArrayRef<AffineMap>{map, map}, iterators,
                                   emitBody)
      .getResult(0);
}

/// On a contraction whose operands were widened for the host: the type that a
/// machine with products of narrow types computes it in, for its time.
constexpr StringLiteral kProductTypeAttr = "weft_rt.product_type";

/// A contraction that replaces another of the same loops adds up as that one.
void copyAttributes(MatmulOp from, MatmulOp to) {
  for (StringRef name :
       {StringRef(WeftDialect::kOrderAttr), StringRef(kProductTypeAttr)})
    if (Attribute attribute = from->getAttr(name))
      to->setAttr(name, attribute);
}

/// Notes what operands were before they became f32.
void noteProductType(MatmulOp wide, Type lhs, Type rhs) {
  unsigned bits = lhs.getIntOrFloatBitWidth();
  Type wider = bits < rhs.getIntOrFloatBitWidth() ? rhs : lhs;
  bool isShared =
      lhs == rhs || bits != rhs.getIntOrFloatBitWidth() || bits < 16;
  if (isa<FloatType>(lhs) && isa<FloatType>(rhs) && isShared &&
      wider.getIntOrFloatBitWidth() < 32)
    wide->setAttr(kProductTypeAttr, TypeAttr::get(wider));
}

/// Says whether the target of the op's module has such a contraction.
bool isOneCall(const Target &target, Operation *op, Type lhs, Type rhs,
               Type result) {
  return target.supportsGemm(op->getParentOfType<ModuleOp>(), lhs, rhs, result);
}

/// A contraction of types that the runtime does not multiply is one of f32,
/// with conversions around it; sums are in f32 all the same.
struct WidenContraction : OpRewritePattern<MatmulOp> {
  WidenContraction(MLIRContext *context, const Target &target)
      : OpRewritePattern(context), target(target) {}

  LogicalResult matchAndRewrite(MatmulOp op,
                                PatternRewriter &rewriter) const override {
    Type lhs = getElementTypeOrSelf(op.getLhs().getType()),
         rhs = getElementTypeOrSelf(op.getRhs().getType()),
         result = getElementTypeOrSelf(op.getResult().getType());
    if (isOneCall(target, op, lhs, rhs, result))
      return failure();
    Location loc = op.getLoc();
    Type f32 = rewriter.getF32Type();
    Value a = op.getLhs(), b = op.getRhs();
    if (!isOneCall(target, op, lhs, rhs, f32)) {
      Type common = getCommonType(op, lhs, rhs);
      a = convertTensor(rewriter, loc, a, common);
      b = convertTensor(rewriter, loc, b, common);
    }
    auto type = cast<RankedTensorType>(op.getResult().getType());
    auto wide = MatmulOp::create(rewriter, loc, type.clone(f32), a, b,
                                 op.getIndexingMaps());
    copyAttributes(op, wide);
    if (a != op.getLhs() || b != op.getRhs())
      noteProductType(wide, lhs, rhs);
    rewriter.replaceOp(op, convertTensor(rewriter, loc, wide, result));
    return success();
  }

private:
  /// What both operands are converted to. bf16 holds each float of 8 bits.
  Type getCommonType(MatmulOp op, Type lhs, Type rhs) const {
    Type f32 = Float32Type::get(op.getContext()),
         bf16 = BFloat16Type::get(op.getContext());
    bool areNarrow =
        lhs.getIntOrFloatBitWidth() <= 8 && rhs.getIntOrFloatBitWidth() <= 8;
    return areNarrow && isOneCall(target, op, bf16, bf16, f32) ? bf16 : f32;
  }

  const Target &target;
};

/// Sums of several updates of a narrow type are f32, and are rounded once.
struct WidenScatterAdd : OpRewritePattern<ScatterAddOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ScatterAddOp op,
                                PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getResult().getType());
    auto element = dyn_cast<FloatType>(type.getElementType());
    if (!element || element.getWidth() >= 32 ||
        op.getTableMap().isPermutation())
      return failure();
    Location loc = op.getLoc();
    Type f32 = rewriter.getF32Type();
    Value init = convertTensor(rewriter, loc, op.getInit(), f32);
    Value updates = convertTensor(rewriter, loc, op.getUpdates(), f32);
    Operation *wide = rewriter.clone(*op);
    rewriter.modifyOpInPlace(wide, [&] {
      cast<ScatterAddOp>(wide).getInitMutable().assign(init);
      cast<ScatterAddOp>(wide).getUpdatesMutable().assign(updates);
      wide->getResult(0).setType(type.clone(f32));
    });
    rewriter.replaceOp(
        op, convertTensor(rewriter, loc, wide->getResult(0), element));
    return success();
  }
};

/// The permutation that a generic performs: one input, which it yields.
std::optional<AffineMap> matchTranspose(Operation *op) {
  auto generic = dyn_cast_or_null<linalg::GenericOp>(op);
  if (!generic || generic.getNumDpsInputs() != 1 ||
      generic.getNumResults() != 1 ||
      !llvm::hasSingleElement(*generic.getBody()))
    return std::nullopt;
  auto yield = cast<linalg::YieldOp>(generic.getBody()->getTerminator());
  AffineMap in = generic.getIndexingMapsArray()[0];
  AffineMap out = generic.getIndexingMapsArray()[1];
  if (yield.getOperand(0) != generic.getBody()->getArgument(0) ||
      !in.isPermutation() || !out.isPermutation())
    return std::nullopt;
  // From an output index to an input index.
  return in.compose(inversePermutation(out));
}

/// Loops of size 1 leave contractions, so that reshapes around them meet those
/// of the neighbours, whose loops of size 1 leave too.
struct DropUnitLoops : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MatmulOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<AffineExpr> newLoops;
    unsigned numLoops = 0;
    for (int64_t size : op.getLoopSizes())
      newLoops.push_back(size == 1 ? AffineExpr()
                                   : rewriter.getAffineDimExpr(numLoops++));
    if (numLoops == newLoops.size())
      return failure();
    auto getUnitFree = [&](Value value, AffineMap map) {
      return UnitFreeTensor(cast<RankedTensorType>(value.getType()), map,
                            newLoops, numLoops);
    };
    UnitFreeTensor lhs = getUnitFree(op.getLhs(), op.getLhsMap()),
                   rhs = getUnitFree(op.getRhs(), op.getRhsMap()),
                   result = getUnitFree(op.getResult(), op.getResultMap());
    Location loc = op.getLoc();
    auto small = MatmulOp::create(
        rewriter, loc, result.type, lhs.collapse(rewriter, loc, op.getLhs()),
        rhs.collapse(rewriter, loc, op.getRhs()),
        rewriter.getAffineMapArrayAttr({lhs.map, rhs.map, result.map}));
    copyAttributes(op, small);
    if (result.type == op.getResult().getType())
      rewriter.replaceOp(op, small);
    else
      rewriter.replaceOpWithNewOp<tensor::ExpandShapeOp>(
          op, op.getResult().getType(), small, result.groups);
    return success();
  }
};

/// A generic that reads nothing and yields a constant is a constant.
struct FoldConstantGeneric : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    auto type = op->getNumResults() == 1
                    ? dyn_cast<RankedTensorType>(op->getResult(0).getType())
                    : nullptr;
    if (!type || !op.isAllParallelLoops())
      return failure();
    TypedAttr value;
    auto yield = cast<linalg::YieldOp>(op.getBody()->getTerminator());
    if (!matchPattern(yield.getOperand(0), m_Constant(&value)))
      return failure();
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(
        op, SplatElementsAttr::get(type, Attribute(value)));
    return success();
  }
};

/// Transposes of a contraction's operands move into its maps.
struct FoldOperandTranspose : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MatmulOp op,
                                PatternRewriter &rewriter) const override {
    bool changed = false;
    SmallVector<AffineMap> maps = {op.getLhsMap(), op.getRhsMap(),
                                   op.getResultMap()};
    SmallVector<Value> operands = {op.getLhs(), op.getRhs()};
    for (unsigned i = 0; i < 2; ++i) {
      Operation *def = operands[i].getDefiningOp();
      std::optional<AffineMap> transpose = matchTranspose(def);
      if (!transpose)
        continue;
      maps[i] = transpose->compose(maps[i]);
      operands[i] = def->getOperand(0);
      changed = true;
    }
    if (!changed)
      return failure();
    auto folded = MatmulOp::create(
        rewriter, op.getLoc(), op.getResult().getType(), operands[0],
        operands[1], rewriter.getAffineMapArrayAttr(maps));
    copyAttributes(op, folded);
    rewriter.replaceOp(op, folded);
    return success();
  }
};

/// Says whether the op is elementwise, from one tensor to one of its shape.
bool isUnaryElementwise(linalg::GenericOp op) {
  return op.getNumDpsInputs() == 1 && op->getNumResults() == 1 &&
         op.isAllParallelLoops() && !op.hasIndexSemantics() &&
         op.getBody()->getArgument(1).use_empty() &&
         llvm::all_of(op.getIndexingMapsArray(),
                      [](AffineMap map) { return map.isIdentity(); });
}

/// The contraction that `value` is made of by nothing but the ops in `between`,
/// last first, which treat all dims alike and are what alone uses it.
MatmulOp findContraction(Value value, SmallVectorImpl<Operation *> &between) {
  while (Operation *def = value.getDefiningOp()) {
    if (!def->hasOneUse())
      return nullptr;
    if (auto matmul = dyn_cast<MatmulOp>(def))
      return matmul;
    auto generic = dyn_cast<linalg::GenericOp>(def);
    auto collective = dyn_cast<CollectiveOpInterface>(def);
    bool isCollective = collective && def->getNumOperands() == 1 &&
                        !isExchange(collective.getCollectiveKind());
    if (!isCollective && !(generic && isUnaryElementwise(generic)))
      return nullptr;
    between.push_back(def);
    value = def->getOperand(0);
  }
  return nullptr;
}

/// The type of a transposed tensor; `transpose` is from its index to the
/// tensor's.
RankedTensorType transposeType(Type type, AffineMap transpose) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(tensor.getRank());
  for (auto [dim, size] : llvm::enumerate(tensor.getShape()))
    shape[transpose.getDimPosition(dim)] = size;
  return tensor.clone(shape);
}

/// Copies an op that treats all dims alike, for a transposed operand.
Value cloneTransposed(OpBuilder &builder, Operation *op, Value operand,
                      AffineMap transpose) {
  builder.setInsertionPoint(op);
  RankedTensorType type = transposeType(op->getResult(0).getType(), transpose);
  SmallVector<Value> operands = {operand};
  if (isa<linalg::GenericOp>(op))
    operands.push_back(tensor::EmptyOp::create(
        builder, op->getLoc(), type.getShape(), type.getElementType()));
  Operation *copy = builder.clone(*op);
  copy->setOperands(operands);
  copy->getResult(0).setType(type);
  if (auto collective = dyn_cast<CollectiveOpInterface>(copy)) {
    auto transposed = [&](ArrayRef<int64_t> dims) {
      return llvm::map_to_vector(dims, [&](int64_t dim) -> int64_t {
        return transpose.getDimPosition(dim);
      });
    };
    collective.setGatheredDims(transposed(collective.getGatheredDims()));
    collective.setScatteredDims(transposed(collective.getScatteredDims()));
  }
  return copy->getResult(0);
}

/// A transpose of what is made of a contraction, by a conversion or
/// collectives, becomes the contraction's result map.
struct FoldResultTranspose : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<AffineMap> transpose = matchTranspose(op);
    if (!transpose)
      return failure();
    SmallVector<Operation *> between;
    MatmulOp matmul = findContraction(op->getOperand(0), between);
    if (!matmul)
      return failure();
    AffineMap resultMap =
        inversePermutation(*transpose).compose(matmul.getResultMap());
    rewriter.setInsertionPoint(matmul);
    auto folded = MatmulOp::create(
        rewriter, matmul.getLoc(), transposeType(matmul.getType(), *transpose),
        matmul.getLhs(), matmul.getRhs(),
        rewriter.getAffineMapArrayAttr(
            {matmul.getLhsMap(), matmul.getRhsMap(), resultMap}));
    copyAttributes(matmul, folded);
    Value value = folded;
    for (Operation *passed : llvm::reverse(between))
      value = cloneTransposed(rewriter, passed, value, *transpose);
    rewriter.replaceOp(op, value);
    for (Operation *passed : between)
      rewriter.eraseOp(passed);
    rewriter.eraseOp(matmul);
    return success();
  }
};

/// A contraction of which only a rounded copy is used rounds its sums itself.
struct FoldResultRounding : OpRewritePattern<linalg::GenericOp> {
  FoldResultRounding(MLIRContext *context, const Target &target)
      : OpRewritePattern(context), target(target) {}

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (!isUnaryElementwise(op))
      return failure();
    auto matmul = op->getOperand(0).getDefiningOp<MatmulOp>();
    auto truncate = dyn_cast<arith::TruncFOp>(op.getBody()->front());
    if (!matmul || !matmul->hasOneUse() || !truncate ||
        truncate.getIn() != op.getBody()->getArgument(0) ||
        op.getBody()->getTerminator()->getOperand(0) != truncate.getOut() ||
        truncate.getRoundingmode() || !truncate.getType().isBF16() ||
        !isOneCall(target, op, getElementTypeOrSelf(matmul.getLhs().getType()),
                   getElementTypeOrSelf(matmul.getRhs().getType()),
                   truncate.getType()))
      return failure();
    // With a narrow result, leaves of such an order would be rounded too.
    auto order = matmul->getAttrOfType<OrderAttr>(WeftDialect::kOrderAttr);
    if (order && order.getRounded())
      return failure();
    auto folded = MatmulOp::create(rewriter, op.getLoc(),
                                   op->getResult(0).getType(), matmul.getLhs(),
                                   matmul.getRhs(), matmul.getIndexingMaps());
    copyAttributes(matmul, folded);
    rewriter.replaceOp(op, folded);
    return success();
  }

private:
  const Target &target;
};

/// Rewrites until nothing is left to do: a limit of rounds would be a failure
/// that nobody explains. There are no branches to simplify.
LogicalResult applyPatterns(func::FuncOp func, RewritePatternSet &&patterns) {
  GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  config.setMaxIterations(GreedyRewriteConfig::kNoLimit);
  return applyPatternsGreedily(func, std::move(patterns), config);
}

LogicalResult generalize(func::FuncOp func, const Target &target) {
  MLIRContext *context = func.getContext();
  RewritePatternSet patterns(context);
  linalg::populateElementwiseToLinalgConversionPatterns(patterns);
  linalg::populateLinalgNamedOpsGeneralizationPatterns(patterns);
  linalg::populateDecomposePadPatterns(patterns);
  patterns.add<TakeToGeneric, ScatterAddToGeneric, WidenScatterAdd>(context);
  patterns.add<DropUnitUpdates>(context);
  patterns.add<WidenContraction>(context, target);
  // Most ops are generic, and there is nothing to do in or about them.
  SmallVector<Operation *> ops;
  func.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<linalg::GenericOp>(op))
      return WalkResult::skip();
    ops.push_back(op);
    return WalkResult::advance();
  });
  return applyOpPatternsGreedily(ops, std::move(patterns));
}

/// Quantization is written out in the global phase: here it is as any other op.
LogicalResult checkLowered(func::FuncOp func) {
  auto walked = func.walk([](Operation *op) {
    auto matmul = dyn_cast<MatmulOp>(op);
    if (!isa<AmaxOp, BlockScaleOp, QuantizeOp, DequantizeOp>(op) &&
        !(matmul && !matmul.getScales().empty()))
      return WalkResult::advance();
    op->emitOpError(matmul ? "has scales" : "quantizes")
        << ", which weft-lower-quantization writes out in the global phase";
    return WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}

/// Proofs of the local phase alone need to see them.
void foldPartOffsets(func::FuncOp func) {
  func.walk([](PartOffsetOp op) {
    op.replaceAllUsesWith(op.getOffset());
    op.erase();
  });
}

/// A sum in f32 that is rounded once has no leaves that are rounded.
LogicalResult checkRounded(func::FuncOp func, const Target &target) {
  auto walked = func.walk([&](MatmulOp op) {
    auto order = op->getAttrOfType<OrderAttr>(WeftDialect::kOrderAttr);
    if (!order || !order.getRounded())
      return WalkResult::advance();
    Type lhs = getElementTypeOrSelf(op.getLhs().getType()),
         rhs = getElementTypeOrSelf(op.getRhs().getType()),
         result = getElementTypeOrSelf(op.getResult().getType());
    if (isOneCall(target, op, lhs, rhs, result))
      return WalkResult::advance();
    if (order.getLeaves() != 1) {
      op.emitOpError() << "has " << order.getLeaves()
                       << " rounded leaves, but a product of " << lhs << " and "
                       << rhs << " that is " << result
                       << " is computed in f32 and rounded once";
      return WalkResult::interrupt();
    }
    op->setAttr(WeftDialect::kOrderAttr,
                OrderAttr::get(op.getContext(), 1, 1, /*rounded=*/false));
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

/// Whether an index is 0 for certain. Others may point to an element that is
/// not there, also along a dim of size 1.
bool isFirst(Value index) {
  if (matchPattern(index, m_Zero()))
    return true;
  auto loop = index.getDefiningOp<linalg::IndexOp>();
  auto op = loop ? dyn_cast<linalg::LinalgOp>(loop->getParentOp()) : nullptr;
  return op && op.getStaticLoopRanges()[loop.getDim()] == 1;
}

/// A lookup into a tensor that only has more dims of size 1 than another looks
/// into that one: what makes it and looks into it may be one kernel.
struct LookIntoUnitFree : OpRewritePattern<tensor::ExtractOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::ExtractOp op,
                                PatternRewriter &rewriter) const override {
    auto expand = op.getTensor().getDefiningOp<tensor::ExpandShapeOp>();
    if (!expand)
      return failure();
    ArrayRef<int64_t> shape = expand.getResultType().getShape();
    SmallVector<Value> indices;
    for (const ReassociationIndices &group : expand.getReassociationIndices()) {
      const auto *kept =
          llvm::find_if(group, [&](int64_t dim) { return shape[dim] != 1; });
      if (kept == group.end())
        kept = group.begin();
      for (int64_t dim : group)
        if (dim != *kept && (shape[dim] != 1 || !isFirst(op.getIndices()[dim])))
          return failure();
      indices.push_back(op.getIndices()[*kept]);
    }
    rewriter.replaceOpWithNewOp<tensor::ExtractOp>(op, expand.getSrc(),
                                                   indices);
    return success();
  }
};

LogicalResult simplify(func::FuncOp func, const Target &target) {
  MLIRContext *context = func.getContext();
  RewritePatternSet patterns(context);
  linalg::ControlDropUnitDims options;
  linalg::populateFoldUnitExtentDimsPatterns(patterns, options);
  linalg::populateFoldUnitExtentDimsCanonicalizationPatterns(patterns, options);
  linalg::populateInlineConstantOperandsPatterns(patterns);
  // A sum over dims of size 1 is elementwise: its start is one more input.
  linalg::populateMoveInitOperandsToInputPattern(patterns);
  patterns.add<DropUnitLoops, FoldConstantGeneric, FoldOperandTranspose,
               FoldResultTranspose, LookIntoUnitFree>(context);
  patterns.add<FoldResultRounding>(context, target);
  return applyPatterns(func, std::move(patterns));
}

struct PrepareKernelsPass
    : public weft::impl::PrepareKernelsPassBase<PrepareKernelsPass> {
  using Base::Base;

  void runOnOperation() override {
    const Target *target = lookupTarget(getOperation());
    if (!target)
      return signalPassFailure();
    // Only the proof of invariance needs it, and that is after.
    if (auto oneRank = getOperation().lookupSymbol<ModuleOp>(kOneRankModule))
      oneRank.erase();
    // Nor is it proved yet of what is made here.
    getOperation()->removeAttr(WeftDialect::kCertificateAttr);
    // Indices that became constants when ranks did: the plan has no read of
    // what is not there.
    readMissingAsZero(getOperation());
    for (func::FuncOp func : getOperation().getOps<func::FuncOp>())
      if (failed(checkLowered(func)) || failed(checkRounded(func, *target)) ||
          failed(prepare(func, *target)) || failed(checkOrders(func)))
        return signalPassFailure();
  }

  LogicalResult prepare(func::FuncOp func, const Target &target) {
    foldPartOffsets(func);
    makeUnitReductionsElementwise(func);
    moveOrdersIntoBodies(func);
    LogicalResult result = failure(failed(generalize(func, target)) ||
                                   failed(simplify(func, target)));
    moveOrdersOutOfBodies(func);
    readScalarsAsOperands(func);
    return result;
  }
};

} // namespace
