// SPDX-License-Identifier: Apache-2.0

// Sharding rules per op, and the arithmetic between the shardings of tensors
// and the axes of factors.
//
// A rule is built in one walk over an op's maps and types; nothing is cached,
// and only reductions look beyond the op, at what makes their init.

#include "weft/Dialect/Weft/Transforms/ShardingRule.h"

#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Dialect/Weft/Transforms/ReductionOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::weft;

//===----------------------------------------------------------------------===//
// Splats and inits
//===----------------------------------------------------------------------===//

namespace {

/// Follows a linalg op whose result is one of its inputs, or a constant,
/// everywhere. Returns the input, or sets `element`.
Value getForwardedInput(linalg::LinalgOp op, TypedAttr &element) {
  if (op.getNumDpsInits() != 1 || op.getNumReductionLoops() != 0)
    return {};
  Value yielded = op.getBlock()->getTerminator()->getOperand(0);
  if (auto arg = dyn_cast<BlockArgument>(yielded);
      arg && arg.getOwner() == op.getBlock())
    return op.isDpsInput(op.getMatchingOpOperand(arg))
               ? op.getMatchingOpOperand(arg)->get()
               : Value();
  matchPattern(yielded, m_Constant(&element));
  return {};
}

/// Returns the value that has the same elements as `op`'s result, if they are
/// all one; null at the end of the way, where `element` may be set.
Value getSplatSource(Operation *op, TypedAttr &element) {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return getForwardedInput(linalgOp, element);
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp,
          tensor::ExtractSliceOp, tensor::SplatOp, ShardOp, ReshardOp>(op))
    return op->getOperand(0);
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    element = constant.getValue();
    if (auto splat = dyn_cast<SplatElementsAttr>(element))
      element = splat.getSplatValue<TypedAttr>();
    else if (isa<ElementsAttr>(element))
      element = {};
  }
  return {};
}

} // namespace

TypedAttr mlir::weft::getSplatElement(Value value) {
  TypedAttr element;
  while (value) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return {};
    value = getSplatSource(op, element);
  }
  return element;
}

namespace {

bool isScalarLike(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return !type || type.getRank() == 0;
}

/// A fill, an iota, a broadcast scalar: no input but scalars.
bool isFillLike(linalg::LinalgOp op) {
  return op.hasPureTensorSemantics() && op->getNumResults() == 1 &&
         op.getNumReductionLoops() == 0 &&
         llvm::all_of(op.getDpsInputs(), isScalarLike) &&
         llvm::all_of(*op.getBlock(), [](Operation &inner) {
           return llvm::all_of(inner.getOperandTypes(), [](Type type) {
             return !isa<ShapedType>(type);
           });
         });
}

} // namespace

bool mlir::weft::isRematerializable(Operation *op) {
  while (op) {
    if (isa<tensor::EmptyOp, tensor::SplatOp>(op))
      return true;
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      return isa<DenseElementsAttr>(constant.getValue());
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    if (!linalgOp || !isFillLike(linalgOp))
      return false;
    op = linalgOp.getDpsInits()[0].getDefiningOp();
  }
  return false;
}

bool mlir::weft::isSafeInit(TypedAttr element, Reduction kind) {
  auto asFloat = dyn_cast_if_present<FloatAttr>(element);
  auto asInt = dyn_cast_if_present<IntegerAttr>(element);
  switch (kind) {
  case Reduction::Sum:
    return (asFloat && asFloat.getValue().isZero()) ||
           (asInt && asInt.getValue().isZero());
  case Reduction::Prod:
    return (asFloat && asFloat.getValue().isExactlyValue(1.0)) ||
           (asInt && asInt.getValue().isOne());
  case Reduction::Max:
  case Reduction::Min:
  case Reduction::And:
  case Reduction::Or:
    return true;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Building a rule
//===----------------------------------------------------------------------===//

namespace {

ArrayRef<int64_t> getShape(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getShape() : ArrayRef<int64_t>();
}

/// Collects the factors of one op. Dimensions of size 1 get none.
class RuleBuilder {
public:
  explicit RuleBuilder(Operation *op) {
    rule.operands.resize(op->getNumOperands());
    rule.results.resize(op->getNumResults());
    for (auto [i, operand] : llvm::enumerate(op->getOperands()))
      rule.operands[i].resize(getShape(operand).size());
    for (auto [i, result] : llvm::enumerate(op->getResults()))
      rule.results[i].resize(getShape(result).size());
  }

  int add(int64_t size, FactorKind kind = FactorKind::Parallel,
          Reduction reduction = Reduction::Sum) {
    rule.factors.push_back({size, kind, reduction});
    return static_cast<int>(rule.factors.size()) - 1;
  }

  SmallVector<int> addAll(ArrayRef<int64_t> sizes,
                          FactorKind kind = FactorKind::Parallel) {
    return llvm::map_to_vector(sizes,
                               [&](int64_t size) { return add(size, kind); });
  }

  /// Makes a factor that is never sharded.
  void replicate(int factor) {
    rule.factors[factor].kind = FactorKind::Replicated;
  }

  /// Says that the dimension is made of the factor (and of those before).
  void put(DimFactors &dim, int factor) {
    if (rule.factors[factor].size > 1)
      dim.push_back(factor);
  }

  void putAll(TensorFactors &tensor, ArrayRef<int> factors) {
    for (auto [dim, factor] : llvm::zip_equal(tensor, factors))
      put(dim, factor);
  }

  /// Puts the factors that a projected permutation names.
  void putMap(TensorFactors &tensor, AffineMap map, ArrayRef<int> factors) {
    for (unsigned i = 0; i < map.getNumResults(); ++i)
      put(tensor[i], factors[map.getDimPosition(i)]);
  }

  ShardingRule rule;
};

/// Returns how `op` combines its accumulator, or nullopt if a collective
/// cannot do the same.
std::optional<Reduction> getCombinerKind(Operation *op) {
  if (op->getNumResults() == 1 && op->getResult(0).getType().isInteger(1))
    return llvm::TypeSwitch<Operation *, std::optional<Reduction>>(op)
        .Case<arith::AndIOp>([](auto) { return Reduction::And; })
        .Case<arith::OrIOp>([](auto) { return Reduction::Or; })
        .Default([](auto) { return std::nullopt; });
  return llvm::TypeSwitch<Operation *, std::optional<Reduction>>(op)
      .Case<arith::AddFOp, arith::AddIOp>([](auto) { return Reduction::Sum; })
      .Case<arith::MulFOp, arith::MulIOp>([](auto) { return Reduction::Prod; })
      .Case<arith::MaximumFOp, arith::MaxNumFOp, arith::MaxSIOp>(
          [](auto) { return Reduction::Max; })
      .Case<arith::MinimumFOp, arith::MinNumFOp, arith::MinSIOp>(
          [](auto) { return Reduction::Min; })
      .Case<arith::AndIOp>([](auto) { return Reduction::And; })
      .Case<arith::OrIOp>([](auto) { return Reduction::Or; })
      .Default([](auto) { return std::nullopt; });
}

/// Returns how a linalg op reduces, if all its results do it in one way that
/// ranks can share: accumulator and value combined by one op, from an init
/// that every rank may start from.
std::optional<Reduction> getReduction(linalg::LinalgOp op) {
  std::optional<Reduction> kind;
  Operation *yield = op.getBlock()->getTerminator();
  for (auto [i, init] : llvm::enumerate(op.getDpsInits())) {
    Operation *combiner = yield->getOperand(i).getDefiningOp();
    BlockArgument accumulator = op.getRegionOutputArgs()[i];
    if (!combiner || combiner->getBlock() != op.getBlock() ||
        !accumulator.hasOneUse() || *accumulator.user_begin() != combiner)
      return std::nullopt;
    std::optional<Reduction> own = getCombinerKind(combiner);
    if (!own || (kind && kind != own) ||
        !isSafeInit(getSplatElement(init), *own))
      return std::nullopt;
    kind = own;
  }
  return kind;
}

/// Replicates loops that no map treats as a plain dimension: used in a sum,
/// or twice in one tensor.
void putLinalgMap(RuleBuilder &builder, TensorFactors &tensor, AffineMap map,
                  ArrayRef<int64_t> shape, ArrayRef<int> loops) {
  llvm::SmallBitVector seen(map.getNumDims());
  for (auto [i, expr] : llvm::enumerate(map.getResults())) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
      builder.put(tensor[i], loops[dim.getPosition()]);
      if (seen.test(dim.getPosition()))
        builder.replicate(loops[dim.getPosition()]);
      seen.set(dim.getPosition());
      continue;
    }
    builder.put(tensor[i], builder.add(shape[i], FactorKind::Replicated));
    for (unsigned d = 0; d < map.getNumDims(); ++d)
      if (expr.isFunctionOfDim(d))
        builder.replicate(loops[d]);
  }
}

std::optional<ShardingRule> getLinalgRule(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics() || op.hasDynamicShape())
    return std::nullopt;
  RuleBuilder builder(op);
  SmallVector<int> loops = builder.addAll(op.getStaticLoopRanges());
  std::optional<Reduction> kind;
  if (op.getNumReductionLoops() != 0)
    kind = getReduction(op);
  for (auto [loop, iterator] : llvm::enumerate(op.getIteratorTypesArray())) {
    bool inResult = llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
      return op.getMatchingIndexingMap(&init).isFunctionOfDim(loop);
    });
    bool isParallel = iterator == utils::IteratorType::parallel;
    Factor &factor = builder.rule.factors[loops[loop]];
    if (isParallel != inResult || (!isParallel && !kind))
      factor.kind = FactorKind::Replicated;
    else if (!isParallel)
      factor = {factor.size, FactorKind::Reduction, *kind};
  }
  for (OpOperand &operand : op->getOpOperands())
    if (isa<RankedTensorType>(operand.get().getType()))
      putLinalgMap(builder, builder.rule.operands[operand.getOperandNumber()],
                   op.getMatchingIndexingMap(&operand), getShape(operand.get()),
                   loops);
  for (auto [i, tensor] : llvm::enumerate(builder.rule.results))
    tensor = builder.rule.operands[op.getDpsInitOperand(i)->getOperandNumber()];
  if (needsOrder(op))
    builder.rule.order = getSumOrder(op, getReductionLoops(op));
  return builder.rule;
}

ShardingRule getMatmulRule(MatmulOp op) {
  RuleBuilder builder(op);
  SmallVector<int> loops = builder.addAll(op.getLoopSizes());
  for (auto [dim, loop] : llvm::enumerate(loops))
    if (!op.getResultMap().isFunctionOfDim(dim))
      builder.rule.factors[loop].kind = FactorKind::Reduction;
  builder.putMap(builder.rule.operands[0], op.getLhsMap(), loops);
  builder.putMap(builder.rule.operands[1], op.getRhsMap(), loops);
  builder.putMap(builder.rule.results[0], op.getResultMap(), loops);
  builder.rule.order = getSumOrder(op, getReductionLoops(op));
  return builder.rule;
}

/// Puts the factors of a lookup's table: those of the map, and `axisFactor`.
void putTable(RuleBuilder &builder, TensorFactors &table, AffineMap map,
              ArrayRef<int> loops, int64_t axis, int axisFactor) {
  for (unsigned i = 0; i < map.getNumResults(); ++i)
    builder.put(table[i < axis ? i : i + 1], loops[map.getDimPosition(i)]);
  builder.put(table[axis], axisFactor);
}

ShardingRule getTakeRule(TakeOp op) {
  RuleBuilder builder(op);
  SmallVector<int> loops = builder.addAll(getShape(op.getResult()));
  bool canSum = !getElementTypeOrSelf(op.getType()).isInteger(1);
  int rows =
      builder.add(getShape(op.getTable())[op.getAxis()],
                  canSum ? FactorKind::Reduction : FactorKind::Replicated);
  putTable(builder, builder.rule.operands[0], op.getTableMap(), loops,
           op.getAxis(), rows);
  builder.putMap(builder.rule.operands[1], op.getIndexMap(), loops);
  builder.putAll(builder.rule.results[0], loops);
  return builder.rule;
}

ShardingRule getScatterAddRule(ScatterAddOp op) {
  RuleBuilder builder(op);
  SmallVector<int> loops = builder.addAll(getShape(op.getUpdates()));
  bool canSum = isSafeInit(getSplatElement(op.getInit()), Reduction::Sum);
  SmallVector<int> summed;
  for (auto [dim, loop] : llvm::enumerate(loops))
    if (!op.getTableMap().isFunctionOfDim(dim)) {
      builder.rule.factors[loop].kind =
          canSum ? FactorKind::Reduction : FactorKind::Replicated;
      summed.push_back(loop);
    }
  if (isa<FloatType>(getElementTypeOrSelf(op.getType())))
    builder.rule.order = getSumOrder(op, summed);
  int rows = builder.add(getShape(op.getInit())[op.getAxis()]);
  putTable(builder, builder.rule.operands[0], op.getTableMap(), loops,
           op.getAxis(), rows);
  builder.putMap(builder.rule.operands[1], op.getIndexMap(), loops);
  builder.putAll(builder.rule.operands[2], loops);
  builder.rule.results[0] = builder.rule.operands[0];
  return builder.rule;
}

/// The rule of a reshape: `expanded` dims are the factors, and each dim of the
/// other side is a group of them.
ShardingRule getReshapeRule(Operation *op, Value expanded,
                            ArrayRef<ReassociationIndices> groups) {
  RuleBuilder builder(op);
  bool expands = expanded == op->getResult(0);
  TensorFactors &many =
      expands ? builder.rule.results[0] : builder.rule.operands[0];
  TensorFactors &few =
      expands ? builder.rule.operands[0] : builder.rule.results[0];
  SmallVector<int> factors = builder.addAll(getShape(expanded));
  builder.putAll(many, factors);
  for (auto [dim, group] : llvm::zip(few, groups))
    for (int64_t d : group)
      builder.put(dim, factors[d]);
  return builder.rule;
}

ShardingRule getExtractSliceRule(tensor::ExtractSliceOp op) {
  RuleBuilder builder(op);
  llvm::SmallBitVector dropped = op.getDroppedDims();
  ArrayRef<int64_t> source = getShape(op.getSource());
  int64_t resultDim = 0;
  for (int64_t d = 0; d < static_cast<int64_t>(source.size()); ++d) {
    bool isWhole =
        op.getStaticSizes()[d] == source[d] && op.getStaticStrides()[d] == 1;
    int factor = builder.add(source[d], isWhole ? FactorKind::Parallel
                                                : FactorKind::Replicated);
    builder.put(builder.rule.operands[0][d], factor);
    if (dropped.test(d))
      continue;
    int own = isWhole ? factor
                      : builder.add(getShape(op.getResult())[resultDim],
                                    FactorKind::Replicated);
    builder.put(builder.rule.results[0][resultDim++], own);
  }
  return builder.rule;
}

ShardingRule getInsertSliceRule(tensor::InsertSliceOp op) {
  RuleBuilder builder(op);
  llvm::SmallBitVector dropped = op.getDroppedDims();
  ArrayRef<int64_t> dest = getShape(op.getDest());
  int64_t sourceDim = 0;
  for (int64_t d = 0; d < static_cast<int64_t>(dest.size()); ++d) {
    bool isWhole =
        op.getStaticSizes()[d] == dest[d] && op.getStaticStrides()[d] == 1;
    int factor = builder.add(dest[d], isWhole ? FactorKind::Parallel
                                              : FactorKind::Replicated);
    builder.put(builder.rule.operands[1][d], factor);
    builder.put(builder.rule.results[0][d], factor);
    if (dropped.test(d))
      continue;
    int own = isWhole ? factor
                      : builder.add(getShape(op.getSource())[sourceDim],
                                    FactorKind::Replicated);
    builder.put(builder.rule.operands[0][sourceDim++], own);
  }
  return builder.rule;
}

ShardingRule getPadRule(tensor::PadOp op) {
  RuleBuilder builder(op);
  ArrayRef<int64_t> source = getShape(op.getSource());
  for (auto [d, size] : llvm::enumerate(getShape(op.getResult()))) {
    bool isWhole = op.getStaticLow()[d] == 0 && op.getStaticHigh()[d] == 0;
    int factor = builder.add(size, isWhole ? FactorKind::Parallel
                                           : FactorKind::Replicated);
    builder.put(builder.rule.results[0][d], factor);
    int own = isWhole ? factor : builder.add(source[d], FactorKind::Replicated);
    builder.put(builder.rule.operands[0][d], own);
  }
  return builder.rule;
}

ShardingRule getConcatRule(tensor::ConcatOp op) {
  RuleBuilder builder(op);
  SmallVector<int> factors = builder.addAll(getShape(op.getResult()));
  int64_t concatDim = op.getDim();
  builder.replicate(factors[concatDim]);
  builder.putAll(builder.rule.results[0], factors);
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    SmallVector<int> own = factors;
    own[concatDim] =
        builder.add(getShape(input)[concatDim], FactorKind::Replicated);
    builder.putAll(builder.rule.operands[i], own);
  }
  return builder.rule;
}

/// The rule of ops whose tensors all have the shape of the result.
std::optional<ShardingRule> getIdentityRule(Operation *op) {
  RuleBuilder builder(op);
  ArrayRef<int64_t> shape = getShape(op->getResult(0));
  SmallVector<int> factors = builder.addAll(shape);
  auto putSame = [&](Value value, TensorFactors &tensor) {
    if (!isa<RankedTensorType>(value.getType()))
      return true;
    if (getShape(value) != shape)
      return false;
    builder.putAll(tensor, factors);
    return true;
  };
  for (auto [value, tensor] :
       llvm::zip(op->getOperands(), builder.rule.operands))
    if (!putSame(value, tensor))
      return std::nullopt;
  for (auto [value, tensor] : llvm::zip(op->getResults(), builder.rule.results))
    if (!putSame(value, tensor))
      return std::nullopt;
  return builder.rule;
}

bool isIdentityLike(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return isa<DenseElementsAttr>(constant.getValue());
  return op->getNumResults() > 0 &&
         (isa<tensor::EmptyOp, tensor::SplatOp, tensor::CastOp, ShardOp>(op) ||
          op->hasTrait<OpTrait::Elementwise>());
}

/// The shape of values that no rank may hold a part of.
bool hasStaticTensors(Operation *op) {
  auto isStatic = [](Type type) {
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      return tensor.hasStaticShape();
    return !isa<ShapedType>(type);
  };
  return llvm::all_of(op->getOperandTypes(), isStatic) &&
         llvm::all_of(op->getResultTypes(), isStatic);
}

} // namespace

std::optional<ShardingRule> mlir::weft::getShardingRule(Operation *op) {
  using Rule = std::optional<ShardingRule>;
  if (!hasStaticTensors(op))
    return std::nullopt;
  if (isIdentityLike(op))
    return getIdentityRule(op);
  return llvm::TypeSwitch<Operation *, Rule>(op)
      .Case([](linalg::LinalgOp op) { return getLinalgRule(op); })
      .Case([](MatmulOp op) -> Rule { return getMatmulRule(op); })
      .Case([](TakeOp op) -> Rule { return getTakeRule(op); })
      .Case([](ScatterAddOp op) -> Rule { return getScatterAddRule(op); })
      .Case([](tensor::ExpandShapeOp op) -> Rule {
        return getReshapeRule(op, op.getResult(), op.getReassociationIndices());
      })
      .Case([](tensor::CollapseShapeOp op) -> Rule {
        return getReshapeRule(op, op.getSrc(), op.getReassociationIndices());
      })
      .Case([](tensor::ExtractSliceOp op) -> Rule {
        return getExtractSliceRule(op);
      })
      .Case([](tensor::InsertSliceOp op) -> Rule {
        return getInsertSliceRule(op);
      })
      .Case([](tensor::PadOp op) -> Rule { return getPadRule(op); })
      .Case([](tensor::ConcatOp op) -> Rule { return getConcatRule(op); })
      .Default([](Operation *) -> Rule { return std::nullopt; });
}
