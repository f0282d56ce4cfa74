// SPDX-License-Identifier: Apache-2.0

// Where gathered keys and values become pieces that travel: decides, and says
// why not where it does not (RingPieces.cpp builds).

#include "weft/Attention/Passes.h"

#include "RingBalance.h"
#include "RingPieces.h"
#include "weft/Rules/ReductionOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::weft {
#define GEN_PASS_DEF_RINGATTENTIONPASS
#include "weft/Attention/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

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

/// What is known of an attention that became a ring.
struct Made {
  Value k, v;
  AttentionAttr config;
  FlatSymbolRefAttr mesh;
  AxesAttr axes;
  SmallVector<int64_t> steps;
  bool isBalanced = false;
  /// The log-sum-exp of each block's keys.
  SmallVector<Value> sums;
};

/// By the log-sum-exp of all keys.
using MadeRings = DenseMap<Value, Made>;

/// Finds a ring in an op, or why there is none.
class RingFinder {
public:
  RingFinder(Operation *op, int64_t minSpared, const MadeRings &made)
      : minSpared(minSpared), made(made) {
    ring.op = op;
    ring.shape = getAttentionShape(op);
  }

  /// Returns false if the op stays. `reason` is empty then if nothing is
  /// gathered.
  bool find();

  Ring ring;
  std::string reason;

private:
  bool keep(std::string why) {
    reason = std::move(why);
    return false;
  }
  bool findPieces();
  bool checkGradients();
  bool findKeys();
  bool mayFillRows() const;
  bool findScatters();
  bool findScatter(Value sum, AttentionTensor tensor, Ring::Reduced &reduced);
  bool sparesMemory();
  void findSteps();
  bool findSums();
  bool startsWithPiece() const;

  int64_t minSpared;
  const MadeRings &made;
};

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
  if (!sparesMemory())
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
    RingFinder gradient(user, minSpared, made);
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

/// How much less memory a rank needs. Gathered: all keys and values, and all of
/// their gradients. In pieces: two of keys and values, the one that is computed
/// with and the next one; of their gradients three, what was added up, what
/// arrives, and the piece's own; and of the size of queries what is added up in
/// f32, the piece's own, and for a gradient that of the outputs.
bool RingFinder::sparesMemory() {
  auto getBytes = [](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    return type.getNumElements() * type.getElementTypeBitWidth() / 8;
  };
  auto getWide = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getNumElements() * 4;
  };
  const int64_t keys = getBytes(ring.k) + getBytes(ring.v);
  auto forward = dyn_cast<AttentionOp>(ring.op);
  bool isGradient = !forward || !forward.getLse().use_empty();
  // Outputs and queries have the same number of rows, and mostly of columns.
  Value rows = ring.shape.parts[0].value;
  const int64_t whole = keys * ring.ranks * (isGradient ? 2 : 1);
  const int64_t pieces = keys * (isGradient ? 5 : 2) + getWide(rows) +
                         getBytes(rows) * (isGradient ? 2 : 1);
  if (whole - pieces >= minSpared)
    return true;
  return keep(llvm::formatv("a rank needs {0} bytes for them, and in pieces "
                            "{1}: less than {2} would be spared",
                            whole, pieces, minSpared));
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
  Value sum = cast<AttentionGradOp>(ring.op).getLse();
  while (auto barrier = sum.getDefiningOp<OptimizationBarrierOp>())
    sum = barrier.getOperand(cast<OpResult>(sum).getResultNumber());
  auto it = made.find(sum);
  if (it == made.end())
    return keep("its log-sum-exp is not one of pieces");
  const Made &forward = it->second;
  if (forward.k != ring.k || forward.v != ring.v ||
      forward.config != ring.shape.config || forward.mesh != ring.mesh ||
      forward.axes != ring.axes || forward.steps != ring.steps ||
      (forward.isBalanced && !ring.isAligned))
    return keep("its log-sum-exp is one of other pieces");
  ring.isBalanced = forward.isBalanced;
  ring.sums = forward.sums;
  return true;
}

namespace {

struct RingAttentionPass
    : public weft::impl::RingAttentionPassBase<RingAttentionPass> {
  using Base::Base;

  void runOnOperation() override {
    if (when == "never")
      return;
    if (!llvm::is_contained({"always", "auto", "balanced"}, when)) {
      getOperation().emitError("has no ring attention '")
          << when << "', expected never, auto, always or balanced";
      return signalPassFailure();
    }
    std::string error;
    FailureOr<Machine> description = Machine::load(machine, error);
    if (failed(description)) {
      getOperation().emitError(error);
      return signalPassFailure();
    }
    auto meshes = getOperation().getOps<MeshOp>();
    CostModel model(*description,
                    meshes.empty() ? MeshAttr() : (*meshes.begin()).getMesh());
    cost = &model;
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<AttentionOp, AttentionGradOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops)
      run(op);
    eraseGathers();
    made.clear();
    cost = nullptr;
  }

private:
  static remark::RemarkOpts getRemarkOpts() {
    return remark::RemarkOpts::name("ring").category("weft-ring-attention");
  }

  /// Whether ranks exchange parts. A gradient does as its forward pass.
  void balance(Ring &ring) {
    if (!canBalance(ring))
      return;
    RingBalance weighed = weighBalance(ring, *cost);
    if (!ring.shape.isGradient())
      ring.isBalanced = when == "balanced" || weighed.pays();
    auto describe = [&](auto remark, StringRef what) {
      remark << remark::add(
          "{0} ranks have as much to do as the others: exchanging {1} bytes "
          "takes {2} ns and smaller blocks {3} ns, and the last rank computes "
          "{4} ns less",
          what, weighed.bytes, weighed.exchangeNs, weighed.blocksNs,
          weighed.sparedNs);
    };
    Location loc = ring.op->getLoc();
    if (ring.isBalanced)
      describe(remark::passed(loc, getRemarkOpts()), "all");
    else
      describe(remark::missed(loc, getRemarkOpts()), "not all");
  }

  void run(Operation *op) {
    RingFinder finder(
        op, when == "auto" ? minSpared : std::numeric_limits<int64_t>::min(),
        made);
    Location loc = op->getLoc();
    auto opts = getRemarkOpts();
    if (!finder.find()) {
      if (!finder.reason.empty())
        remark::missed(loc, opts)
            << remark::add("keys are gathered whole: {0}", finder.reason);
      return;
    }
    Ring &ring = finder.ring;
    for (Value value : {ring.shape.parts[1].value, ring.shape.parts[2].value})
      gathers.insert(value.getDefiningOp());
    size_t steps = ring.steps.size();
    remark::passed(loc, opts)
        << remark::add("keys travel around {0} ranks in {1} pieces of {2}",
                       ring.ranks, steps, ring.pieceKeys);
    balance(ring);
    ++(ring.shape.isGradient() ? numGradients : numForward);
    numBalanced += ring.isBalanced;
    SmallVector<Value> sums = buildRing(ring);
    if (sums.empty())
      return;
    Value all = sums.pop_back_val();
    made[all] = {ring.k,    ring.v,     ring.shape.config, ring.mesh,
                 ring.axes, ring.steps, ring.isBalanced,   std::move(sums)};
  }

  void eraseGathers() {
    for (Operation *gather : gathers)
      if (gather->use_empty())
        gather->erase();
    gathers.clear();
  }

  llvm::SetVector<Operation *> gathers;
  MadeRings made;
  const CostModel *cost = nullptr;
};

} // namespace
