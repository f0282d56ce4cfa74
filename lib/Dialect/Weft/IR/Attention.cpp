// SPDX-License-Identifier: Apache-2.0

// What weft.attention and its gradient say by way of interfaces: all follows
// from the roles of loops.

#include "weft/Dialect/Weft/IR/Attention.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::weft;

//===----------------------------------------------------------------------===//
// Parts and loops
//===----------------------------------------------------------------------===//

static constexpr StringLiteral kTensorNames[] = {
    "q",          "k",          "v",         "bias",       "mask",
    "q_segments", "k_segments", "low_seeds", "high_seeds", "out",
    "lse",        "dout",       "dq",        "dk",         "dv"};

StringRef mlir::weft::stringifyAttentionTensor(AttentionTensor tensor) {
  return kTensorNames[static_cast<int>(tensor)];
}

std::optional<AttentionTensor>
mlir::weft::symbolizeAttentionTensor(StringRef name) {
  for (auto [i, known] : llvm::enumerate(kTensorNames))
    if (known == name)
      return static_cast<AttentionTensor>(i);
  return std::nullopt;
}

template <typename Op>
static SmallVector<std::pair<AttentionTensor, Value>> getInputs(Op op) {
  return {{AttentionTensor::Q, op.getQ()},
          {AttentionTensor::K, op.getK()},
          {AttentionTensor::V, op.getV()},
          {AttentionTensor::Bias, op.getBias()},
          {AttentionTensor::Mask, op.getMask()},
          {AttentionTensor::QSegments, op.getQSegments()},
          {AttentionTensor::KSegments, op.getKSegments()},
          {AttentionTensor::LowSeeds, op.getLowSeeds()},
          {AttentionTensor::HighSeeds, op.getHighSeeds()},
          {AttentionTensor::Out, op.getOut()},
          {AttentionTensor::Lse, op.getLse()}};
}

SmallVector<std::pair<AttentionTensor, Value>>
mlir::weft::getAttentionValues(Operation *op) {
  if (auto forward = dyn_cast<AttentionOp>(op))
    return getInputs(forward);
  auto gradient = cast<AttentionGradOp>(op);
  SmallVector<std::pair<AttentionTensor, Value>> values = getInputs(gradient);
  values.append({{AttentionTensor::DOut, gradient.getDout()},
                 {AttentionTensor::DQ, gradient.getDq()},
                 {AttentionTensor::DK, gradient.getDk()},
                 {AttentionTensor::DV, gradient.getDv()}});
  return values;
}

AttentionShape mlir::weft::makeAttentionShape(ArrayAttr maps,
                                              AttentionAttr config,
                                              AttentionValues values) {
  AttentionShape shape;
  shape.config = config;
  for (auto [tensor, value] : values)
    if (value)
      shape.parts.push_back(
          {tensor, value,
           cast<AffineMapAttr>(maps[shape.parts.size()]).getValue()});
  return shape;
}

AttentionShape mlir::weft::getAttentionShape(Operation *op) {
  return makeAttentionShape(op->getAttrOfType<ArrayAttr>("indexing_maps"),
                            op->getAttrOfType<AttentionAttr>("config"),
                            getAttentionValues(op));
}

AttentionRole AttentionShape::getRole(unsigned loop) const {
  if (loop >= getQuery())
    return static_cast<AttentionRole>(int(AttentionRole::Query) + loop -
                                      getQuery());
  return isGroup(loop) ? AttentionRole::Group : AttentionRole::Batch;
}

SmallVector<int64_t> AttentionShape::getLoopSizes() const {
  SmallVector<int64_t> sizes(getNumLoops(), 1);
  for (const AttentionPart &part : parts)
    for (auto [i, expr] : llvm::enumerate(part.map.getResults()))
      sizes[cast<AffineDimExpr>(expr).getPosition()] =
          part.getType().getDimSize(i);
  return sizes;
}

SmallVector<int> AttentionShape::getSummedLoops() const {
  SmallVector<int> loops;
  for (unsigned loop = 0; loop < getQuery(); ++loop)
    if (isGroup(loop))
      loops.push_back(loop);
  loops.push_back(getQuery());
  return loops;
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

/// Keys, depths and values are never cut: K and V are gathered. Tensors are
/// parts in the order of operands and results.
static ShardingRule makeRule(Operation *op, const AttentionShape &shape) {
  RuleBuilder builder(op);
  SmallVector<int> loops = builder.addAll(shape.getLoopSizes());
  for (unsigned loop = shape.getKey(); loop < shape.getNumLoops(); ++loop)
    builder.replicate(loops[loop]);
  unsigned numInputs = shape.parts.size() - op->getNumResults();
  for (auto [i, part] : llvm::enumerate(shape.parts))
    builder.putMap(i < numInputs ? builder.rule.operands[i]
                                 : builder.rule.results[i - numInputs],
                   part.map, loops);
  builder.rule.order.emplace();
  return builder.rule;
}

std::optional<ShardingRule> AttentionOp::getShardingRule() {
  return makeRule(*this, getAttentionShape(*this));
}

std::optional<ShardingRule> AttentionGradOp::getShardingRule() {
  AttentionShape shape = getAttentionShape(*this);
  ShardingRule rule = makeRule(*this, shape);
  for (int loop : shape.getSummedLoops()) {
    rule.factors[loop].kind = FactorKind::Reduction;
    rule.order->loops.push_back(loop);
  }
  return rule;
}

SmallVector<int64_t> AttentionOp::getLoopSizes() {
  return getAttentionShape(*this).getLoopSizes();
}

SmallVector<int64_t> AttentionGradOp::getLoopSizes() {
  return getAttentionShape(*this).getLoopSizes();
}

/// Keys are added up in an order, but no rank has a part of that sum.
bool AttentionOp::needsOrder() { return true; }

bool AttentionGradOp::needsOrder() { return true; }

SmallVector<int> AttentionGradOp::getReductionLoops() {
  return getAttentionShape(*this).getSummedLoops();
}

ComputeClass AttentionOp::getComputeClass() {
  return ComputeClass::Contraction;
}

ComputeClass AttentionGradOp::getComputeClass() {
  return ComputeClass::Contraction;
}

//===----------------------------------------------------------------------===//
// Partitioning
//===----------------------------------------------------------------------===//

/// Where the rank's queries begin, if that matters.
static Value makeStart(LocalBuilder &local, Operation *op,
                       const AttentionShape &shape) {
  const AttentionPart &queries = shape.parts[0];
  std::optional<unsigned> dim = queries.map.getResultPosition(
      getAffineDimExpr(shape.getQuery(), op->getContext()));
  DimCut cut = local.getCut(queries.value, *dim);
  if (!shape.config.hasWindow() || !cut.isSharded())
    return Value();
  return local.chunkOffset(op->getLoc(), cut);
}

/// Fails if the op has a start already: then it is local.
static LogicalResult checkNoStart(Operation *op, Value start) {
  if (start)
    return op->emitOpError("has a start, but its queries are the global ones");
  return success();
}

LogicalResult AttentionOp::partition(LocalBuilder &local) {
  if (failed(checkNoStart(*this, getStart())))
    return failure();
  Value start = makeStart(local, *this, getAttentionShape(*this));
  auto cut = cast<AttentionOp>(local.cloneLocal(*this));
  if (start)
    cut.getStartMutable().assign(start);
  return success();
}

/// What lies past the end of groups and queries must not enter the sums: with
/// zeros for all that is there, each query adds zero times one.
LogicalResult AttentionGradOp::partition(LocalBuilder &local) {
  if (failed(checkNoStart(*this, getStart())))
    return failure();
  AttentionShape shape = getAttentionShape(*this);
  Value start = makeStart(local, *this, shape);
  SmallVector<int> summed = shape.getSummedLoops();
  SmallVector<Value> inputs;
  for (const AttentionPart &part :
       ArrayRef(shape.parts).drop_back(getNumResults())) {
    Value value = local.getLocal(part.value);
    Type element = getElementTypeOrSelf(value);
    SmallVector<DimCut> cuts(part.map.getNumResults());
    if (isa<FloatType>(element))
      for (auto [i, expr] : llvm::enumerate(part.map.getResults()))
        if (llvm::is_contained(summed, cast<AffineDimExpr>(expr).getPosition()))
          cuts[i] = local.getCut(part.value, i);
    inputs.push_back(local.maskPadding(getLoc(), value, cuts,
                                       local.builder.getZeroAttr(element)));
  }
  auto cut = cast<AttentionGradOp>(local.cloneLocal(*this));
  for (auto [i, input] : llvm::enumerate(inputs))
    cut->setOperand(i, input);
  if (start)
    cut.getStartMutable().assign(start);
  return success();
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

/// How many of the keys the queries see on average. Queries of which nothing
/// says where they begin lie evenly among the keys.
static double countSeen(AttentionAttr config, int64_t queries, int64_t keys,
                        std::optional<int64_t> start) {
  if (!config.hasWindow() || queries == 0 || keys == 0)
    return double(keys);
  double step = start ? 1 : double(keys) / double(queries), seen = 0;
  for (int64_t i = 0; i < queries; ++i) {
    double at = double(start.value_or(0)) + double(i) * step;
    double last = double(keys - 1);
    double from = config.getLeft() ? at - double(*config.getLeft()) : 0;
    double to = config.getRight() ? at + double(*config.getRight()) : last;
    seen += std::max(0.0, std::min(to, last) - std::max(from, 0.0) + 1);
  }
  return seen / double(queries);
}

/// The ops one after another of which a start of queries is computed at most.
static constexpr int kMostSteps = 12;

/// A number that is computed of indices of ranks in a few steps, on the last or
/// the first of all; nullopt if it is not, or too large.
static std::optional<int64_t> evaluateOnRank(Value number, bool isLast,
                                             int steps = 0) {
  Operation *op = number.getDefiningOp();
  APInt constant;
  if (matchPattern(number, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  if (auto index = dyn_cast_if_present<AxisIndexOp>(op))
    return isLast ? getNumShards(lookupMesh(op, index.getMeshAttr()),
                                 index.getAxesAttr().getAxes()) -
                        1
                  : 0;
  if (steps == kMostSteps ||
      !isa_and_present<arith::AddIOp, arith::SubIOp, arith::MulIOp,
                       arith::RemUIOp>(op))
    return std::nullopt;
  auto evaluate = [&](unsigned operand) {
    return evaluateOnRank(op->getOperand(operand), isLast, steps + 1);
  };
  std::optional<int64_t> a = evaluate(0);
  std::optional<int64_t> b = a ? evaluate(1) : std::nullopt;
  if (!b || (isa<arith::RemUIOp>(op) && (*a < 0 || *b <= 0)))
    return std::nullopt;
  if (isa<arith::RemUIOp>(op))
    return *a % *b;
  int64_t result = 0;
  bool isTooLarge = isa<arith::AddIOp>(op) ? llvm::AddOverflow(*a, *b, result)
                    : isa<arith::SubIOp>(op)
                        ? llvm::SubOverflow(*a, *b, result)
                        : llvm::MulOverflow(*a, *b, result);
  return isTooLarge ? std::nullopt : std::optional(result);
}

/// Where the queries of the rank begin that has most to do: of contiguous parts
/// the last one sees most of what is before it, and the first one of what is
/// after it.
static std::optional<int64_t> getBusiestStart(AttentionAttr config,
                                              Value start) {
  if (!start)
    return 0;
  return evaluateOnRank(start, /*isLast=*/config.getRight().has_value());
}

/// Forward two products of the scores' size, backward five; an exponential and
/// some additions for each score, and where keys are dropped half of what
/// threefry does for two.
OpWork AttentionShape::getWork(Value start) const {
  OpWork work;
  SmallVector<int64_t> sizes = getLoopSizes();
  ProductWork product;
  for (unsigned loop = 0; loop < getQuery(); ++loop)
    product.batch *= double(sizes[loop]);
  product.m = double(sizes[getQuery()]);
  product.n = countSeen(config, sizes[getQuery()], sizes[getKey()],
                        getBusiestStart(config, start));
  product.k = double(sizes[getDepth()]);
  double depth = double(sizes[getDepth()]), value = double(sizes[getValue()]);
  double depths = isGradient() ? 3 * depth + 2 * value : depth + value;
  double scores = product.batch * product.m * product.n;
  work.operations = scores * (config.getDropout() ? 24 + 40 : 24);
  if (depth > 0)
    product.batch *= depths / depth;
  product.lhs = product.rhs = parts[0].getType().getElementType();
  for (const AttentionPart &part : parts) {
    bool isMade = isGradient() ? part.tensor >= AttentionTensor::DQ
                               : part.tensor >= AttentionTensor::Out;
    (isMade ? work.bytesWritten : work.bytesRead) +=
        double(getBufferBytes(part.getType()));
  }
  if (product.n == 0) // nothing of what no query sees is read
    work.bytesRead = 0;
  work.product = product;
  return work;
}

std::optional<OpWork> AttentionOp::getWork() {
  return getAttentionShape(*this).getWork(getStart());
}

std::optional<OpWork> AttentionGradOp::getWork() {
  return getAttentionShape(*this).getWork(getStart());
}

bool AttentionOp::isComputedInPlace() { return true; }

bool AttentionGradOp::isComputedInPlace() { return true; }
