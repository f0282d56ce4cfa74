// SPDX-License-Identifier: Apache-2.0

// Sees that keys and values are gathered for an attention alone, and that
// pieces of them make the same.

#include "RingFinder.h"

#include "AttentionPlan.h"
#include "weft/Rules/ReductionOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::weft;

//===----------------------------------------------------------------------===//
// Rings that were made
//===----------------------------------------------------------------------===//

const RingSet::Made *RingSet::find(Value sum) const {
  auto it = made.find(sum);
  return it == made.end() ? nullptr : &it->second;
}

void RingSet::build(const Ring &ring) {
  for (unsigned operand : {1, 2})
    gathers.insert(ring.shape.parts[operand].value.getDefiningOp());
  SmallVector<Value> sums = buildRing(ring);
  if (sums.empty())
    return;
  Value all = sums.pop_back_val();
  made[all] = {ring.k,    ring.v,     ring.shape.config, ring.mesh,
               ring.axes, ring.steps, ring.isBalanced,   std::move(sums)};
}

void RingSet::eraseGathers() {
  for (Operation *gather : gathers)
    if (gather->use_empty())
      gather->erase();
  gathers.clear();
}

//===----------------------------------------------------------------------===//
// Rings that can be made
//===----------------------------------------------------------------------===//

namespace {

/// One operand of a gather.
struct Gathered {
  AllGatherOp gather;
  Value local;
  int64_t dim = 0;
};

/// Sees what is gathered along its keys; nullopt: it is no gather, or along
/// another dimension.
std::optional<Gathered> findGather(const AttentionShape &shape,
                                   AttentionTensor tensor) {
  const AttentionPart *part = llvm::find_if(
      shape.parts, [&](const AttentionPart &p) { return p.tensor == tensor; });
  auto gather = part->value.getDefiningOp<AllGatherOp>();
  if (!gather)
    return std::nullopt;
  unsigned index = cast<OpResult>(part->value).getResultNumber();
  Gathered found{gather, gather->getOperand(index), gather.getDims()[index]};
  auto key = cast<AffineDimExpr>(part->map.getResult(found.dim));
  if (key.getPosition() != shape.getKey())
    return std::nullopt;
  return found;
}

} // namespace

bool RingFinder::findPieces() {
  if (!findKeys())
    return false;
  if (getInvariance(ring.op) || ring.op->hasAttr(WeftDialect::kOrderAttr))
    return keep("its keys are added up in a declared order");
  if (ring.shape.config.getDropout())
    return keep("what is dropped depends on a key's number");
  if (mayFillRows())
    return keep("a bias or a fill may leave a query keys whose log-sum-exp is "
                "too large to say how many they are");
  if (ring.shape.isGradient() && !findScatters())
    return false;
  findSteps();
  return true;
}

bool RingFinder::find() {
  if (!findPieces())
    return false;
  return ring.shape.isGradient() ? findSums() : checkGradients();
}

/// A gradient with whole keys needs the whole log-sum-exp, and a forward pass
/// in pieces beside it would spare nothing.
bool RingFinder::checkGradients() {
  for (Operation *user : cast<AttentionOp>(ring.op).getLse().getUsers()) {
    if (!isa<AttentionGradOp>(user))
      continue;
    RingFinder gradient(user, rings);
    if (!gradient.findPieces() && !gradient.reason.empty())
      return keep("its gradient needs them: " + gradient.reason);
  }
  return true;
}

bool RingFinder::findKeys() {
  std::optional<Gathered> k = findGather(ring.shape, AttentionTensor::K);
  std::optional<Gathered> v = findGather(ring.shape, AttentionTensor::V);
  if (!k || !v)
    return k || v ? keep("keys or values are gathered, but not both") : false;
  if (k->gather.getMeshAttr() != v->gather.getMeshAttr() ||
      k->gather.getAxesAttr() != v->gather.getAxesAttr())
    return keep("keys are gathered over other axes than values");
  ring.mesh = k->gather.getMeshAttr();
  ring.axes = k->gather.getAxesAttr();
  ring.ranks =
      getNumShards(lookupMesh(ring.op, ring.mesh), ring.axes.getAxes());
  ring.k = k->local;
  ring.v = v->local;
  ring.pieceKeys = cast<RankedTensorType>(ring.k.getType()).getDimSize(k->dim);
  return ring.ranks > 1 && ring.pieceKeys > 0;
}

/// Whether all scores of a query may be as low as what stands for "not seen".
/// With scores of -1e30, log-sum-exps of one key and of a hundred are the same
/// f32, and pieces could not be weighed by them.
bool RingFinder::mayFillRows() const {
  FloatAttr fill = ring.shape.config.getFill();
  return (fill && !fill.getValue().isInfinity()) ||
         llvm::any_of(ring.shape.parts, [](const AttentionPart &part) {
           return part.tensor == AttentionTensor::Bias;
         });
}

bool RingFinder::findScatters() {
  auto gradient = cast<AttentionGradOp>(ring.op);
  return findScatter(gradient.getDk(), AttentionTensor::DK, ring.dk) &&
         findScatter(gradient.getDv(), AttentionTensor::DV, ring.dv);
}

/// The dim that has all of dim `dim` of the operand; nullopt: it is split.
static std::optional<int64_t> getExpanded(tensor::ExpandShapeOp op,
                                          int64_t dim) {
  for (int64_t made : op.getReassociationIndices()[dim])
    if (op.getResultType().getDimSize(made) == op.getSrcType().getDimSize(dim))
      return made;
  return std::nullopt;
}

/// Of what a rank makes of a gradient it must need the sum over the ring, and
/// nothing else.
bool RingFinder::findScatter(Value sum, AttentionTensor tensor,
                             Ring::Reduced &reduced) {
  if (sum.use_empty())
    return true;
  const AttentionPart *part =
      llvm::find_if(ring.shape.parts,
                    [&](const AttentionPart &p) { return p.tensor == tensor; });
  AffineExpr key = getAffineDimExpr(ring.shape.getKey(), ring.op->getContext());
  std::optional<int64_t> dim = *part->map.getResultPosition(key);
  auto getUser = [](Value value) {
    return value.hasOneUse() ? *value.user_begin() : nullptr;
  };
  Operation *user = getUser(sum);
  if (auto expand = dyn_cast_if_present<tensor::ExpandShapeOp>(user)) {
    reduced.expand = expand;
    dim = getExpanded(expand, *dim);
    user = getUser(expand.getResult());
  }
  auto isOverRing = [&](auto op) {
    return op && op->getNumOperands() == 1 && op.getKind() == ReduceKind::Sum &&
           op.getMeshAttr() == ring.mesh && op.getAxesAttr() == ring.axes;
  };
  auto scatter = dyn_cast_if_present<ReduceScatterOp>(user);
  bool isRight = isOverRing(dyn_cast_if_present<AllReduceOp>(user)) ||
                 (isOverRing(scatter) && dim && scatter.getDims()[0] == *dim);
  if (!isRight || !dim)
    return keep(llvm::formatv("{0} is not summed over the ranks that keys are "
                              "gathered from",
                              stringifyAttentionTensor(tensor)));
  reduced.reduce = user;
  reduced.dim = *dim;
  return true;
}

/// Whether the rank's queries begin where its own piece of the keys does.
bool RingFinder::startsWithPiece() const {
  Value start = isa<AttentionOp>(ring.op)
                    ? cast<AttentionOp>(ring.op).getStart()
                    : cast<AttentionGradOp>(ring.op).getStart();
  auto product = start ? start.getDefiningOp<arith::MulIOp>() : arith::MulIOp();
  APInt keys;
  if (!product || !matchPattern(product.getRhs(), m_ConstantInt(&keys)))
    return false;
  auto rank = product.getLhs().getDefiningOp<AxisIndexOp>();
  return rank && rank.getMeshAttr() == ring.mesh &&
         rank.getAxesAttr() == ring.axes && keys == ring.pieceKeys;
}

void RingFinder::findSteps() {
  int64_t queries = ring.shape.getLoopSizes()[ring.shape.getQuery()];
  ring.isAligned = queries == ring.pieceKeys && startsWithPiece();
  for (int64_t step = 0; step < ring.ranks; ++step)
    if (!getBlocks(ring, step).empty())
      ring.steps.push_back(step);
}

/// A gradient needs the log-sum-exp of each piece, which the forward pass has
/// if it took the same ones.
bool RingFinder::findSums() {
  Value sum = skipBarriers(cast<AttentionGradOp>(ring.op).getLse());
  const RingSet::Made *found = rings.find(sum);
  if (!found)
    return keep(sum.getDefiningOp<AttentionOp>()
                    ? "its forward pass gathers them"
                    : "its log-sum-exp is not one of pieces");
  const RingSet::Made &forward = *found;
  if (forward.k != ring.k || forward.v != ring.v ||
      forward.config != ring.shape.config || forward.mesh != ring.mesh ||
      forward.axes != ring.axes || forward.steps != ring.steps ||
      (forward.isBalanced && !ring.isAligned))
    return keep("its log-sum-exp is one of other pieces");
  ring.isBalanced = forward.isBalanced;
  ring.sums = forward.sums;
  return true;
}
