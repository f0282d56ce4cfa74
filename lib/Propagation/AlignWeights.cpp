// SPDX-License-Identifier: Apache-2.0

// weft-align-weights: a weight of several parts is laid out once as ranks need
// the parts, where that is cheaper than to cut and join products with it.
//
// Queries, keys and values may come from one weight, cut over ranks so that no
// shard has the columns of its own heads. Then the product, which has all
// tokens, is moved to cut it, and its gradient to put it together. The same is
// done here to the weight and to its gradient, which have no tokens: columns
// come in the order of a rank's queries, keys and values, the next rank's, and
// so on. On 2 ranks with parts of 4, 2 and 2 columns:
//   q0 q1 q2 q3 k0 k1 v0 v1  ->  q0 q1 k0 v0 | q2 q3 k1 v1
//
// Which dims are cut is what weft-propagate-shardings says: it runs on a copy.

#include "weft/Propagation/Passes.h"

#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Rules/OpSharding.h"
#include "weft/Rules/ReductionOrder.h"
#include "weft/Rules/ShardingConversion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::weft {
#define GEN_PASS_DEF_ALIGNWEIGHTSPASS
#include "weft/Propagation/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

//===----------------------------------------------------------------------===//
// What is cut and put together
//===----------------------------------------------------------------------===//

/// A part of a dim: what is cut out, or put in.
struct Part {
  int64_t offset = 0, size = 0;
  Value value;
};

using Parts = SmallVector<Part, 4>;

RankedTensorType getType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Puts the parts in order; false unless they are all of a dim of `size`, each
/// element once.
bool areAllOf(Parts &parts, int64_t size) {
  llvm::stable_sort(
      parts, [](const Part &a, const Part &b) { return a.offset < b.offset; });
  int64_t end = 0;
  for (const Part &part : parts) {
    if (part.offset != end)
      return false;
    end += part.size;
  }
  return end == size && parts.size() > 1;
}

/// Adds a part of one dim, the same as of the others. `shape` is that of the
/// part. False if it is none, or of several dims.
bool addPart(ArrayRef<int64_t> whole, ArrayRef<int64_t> shape,
             ArrayRef<int64_t> offsets, Value value,
             std::optional<unsigned> &dim, Parts &parts) {
  bool isPart = false;
  for (auto [d, size] : llvm::enumerate(whole)) {
    if (shape[d] == size)
      continue;
    if (isPart || (dim && *dim != d))
      return false;
    isPart = true;
    dim = d;
    parts.push_back({offsets[d], shape[d], value});
  }
  return isPart;
}

/// Returns the dim that slices cut which are all uses of `value`.
std::optional<unsigned> findSlices(Value value, Parts &parts) {
  std::optional<unsigned> dim;
  for (Operation *user : value.getUsers()) {
    auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
    if (!slice || !slice.hasUnitStride() || slice.getDroppedDims().any() ||
        !slice.getOffsets().empty() ||
        !addPart(getType(value).getShape(), slice.getStaticSizes(),
                 slice.getStaticOffsets(), slice, dim, parts))
      return std::nullopt;
  }
  if (!dim || !areAllOf(parts, getType(value).getDimSize(*dim)))
    return std::nullopt;
  return dim;
}

/// Says whether an op adds all its inputs, element by element.
bool isSum(linalg::GenericOp op) {
  if (op.getNumResults() != 1 || op.getNumReductionLoops() != 0 ||
      !llvm::all_of(op.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return false;
  Block *body = op.getBody();
  auto isUsedOnce = [](Value value) { return value.hasOneUse(); };
  return llvm::all_of(body->without_terminator(),
                      [&](Operation &inner) {
                        return isa<arith::AddFOp>(inner) &&
                               isUsedOnce(inner.getResult(0));
                      }) &&
         llvm::all_of(body->getArguments().drop_back(), isUsedOnce) &&
         body->getArguments().back().use_empty() &&
         body->getTerminator()->getOperand(0).getDefiningOp();
}

/// Finds the paddings with zeros whose sum a value is; false if it is anything
/// else. A product does not tell -0.0 from 0.0 in what it sums.
bool findPaddings(Value value, std::optional<unsigned> &dim, Parts &parts) {
  if (auto sum = value.getDefiningOp<linalg::GenericOp>())
    return isSum(sum) && llvm::all_of(sum.getInputs(), [&](Value input) {
             return input.hasOneUse() && findPaddings(input, dim, parts);
           });
  auto pad = value.getDefiningOp<tensor::PadOp>();
  Value zero = pad ? pad.getConstantPaddingValue() : Value();
  return zero && matchPattern(zero, m_AnyZeroFloat()) && pad.getLow().empty() &&
         pad.getHigh().empty() &&
         addPart(pad.getResultType().getShape(), pad.getSourceType().getShape(),
                 pad.getStaticLow(), pad.getSource(), dim, parts);
}

/// Erases a sum of paddings that nobody uses.
void erasePaddings(Value value) {
  Operation *op = value.getDefiningOp();
  if (!isa<linalg::GenericOp, tensor::PadOp>(op) || !op->use_empty())
    return;
  SmallVector<Value> operands;
  if (auto sum = dyn_cast<linalg::GenericOp>(op))
    llvm::append_range(operands, sum.getInputs());
  op->erase();
  llvm::for_each(operands, erasePaddings);
}

/// Returns the dim of a tensor that a loop runs over.
std::optional<unsigned> findDim(AffineMap map, unsigned loop) {
  for (auto [dim, expr] : llvm::enumerate(map.getResults()))
    if (cast<AffineDimExpr>(expr).getPosition() == loop)
      return dim;
  return std::nullopt;
}

/// Where a dim of one operand of a contraction is: in the other operand, which
/// it is summed with, or in the result.
struct Partner {
  Value other, moved;
  unsigned dim = 0;
  bool isSummed = false;
};

std::optional<Partner> findPartner(MatmulOp op, Value operand, unsigned dim) {
  bool isLeft = op.getLhs() == operand;
  Value other = isLeft ? op.getRhs() : op.getLhs();
  AffineMap map = isLeft ? op.getLhsMap() : op.getRhsMap();
  unsigned loop = cast<AffineDimExpr>(map.getResult(dim)).getPosition();
  std::optional<unsigned> otherDim =
      findDim(isLeft ? op.getRhsMap() : op.getLhsMap(), loop);
  std::optional<unsigned> resultDim = findDim(op.getResultMap(), loop);
  if (other == operand || otherDim.has_value() == resultDim.has_value())
    return std::nullopt;
  if (otherDim)
    return Partner{other, other, *otherDim, true};
  return Partner{other, op.getResult(), *resultDim, false};
}

//===----------------------------------------------------------------------===//
// Another order of a dim
//===----------------------------------------------------------------------===//

/// Emits the parts of a dim, and puts them together, in the order of `ranks`.
class DimOrder {
public:
  DimOrder(OpBuilder &builder, Location loc, unsigned dim, int64_t ranks)
      : builder(builder), loc(loc), dim(dim), ranks(ranks) {}

  Value slice(Value value, unsigned at, int64_t offset, int64_t size) {
    SmallVector<int64_t> shape(getType(value).getShape());
    SmallVector<int64_t> offsets(shape.size(), 0), strides(shape.size(), 1);
    offsets[at] = offset;
    shape[at] = size;
    auto toFold = [&](ArrayRef<int64_t> values) {
      return getAsIndexOpFoldResult(builder.getContext(), values);
    };
    return tensor::ExtractSliceOp::create(
        builder, loc, getType(value).clone(shape), value, toFold(offsets),
        toFold(shape), toFold(strides));
  }

  /// What each rank has of each part, beside each other.
  Value join(ArrayRef<Value> parts) {
    SmallVector<Value> cut =
        llvm::map_to_vector(parts, [&](Value part) { return expand(part); });
    return collapse(tensor::ConcatOp::create(builder, loc, dim + 1, cut));
  }

  /// The part that has the elements from `offset` on in the other order.
  Value take(Value joined, const Part &part) {
    return collapse(
        slice(expand(joined), dim + 1, part.offset / ranks, part.size / ranks));
  }

private:
  SmallVector<ReassociationIndices> getGroups(unsigned rank) const {
    SmallVector<ReassociationIndices> groups;
    for (unsigned d = 0; d < rank; ++d)
      groups.push_back(d < dim    ? ReassociationIndices{d}
                       : d == dim ? ReassociationIndices{d, d + 1}
                                  : ReassociationIndices{d + 1});
    return groups;
  }

  Value expand(Value value) {
    RankedTensorType type = getType(value);
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] /= ranks;
    shape.insert(shape.begin() + dim, ranks);
    return tensor::ExpandShapeOp::create(builder, loc, type.clone(shape), value,
                                         getGroups(type.getRank()));
  }

  Value collapse(Value value) {
    return tensor::CollapseShapeOp::create(
        builder, loc, value, getGroups(getType(value).getRank() - 1));
  }

  OpBuilder &builder;
  Location loc;
  unsigned dim;
  int64_t ranks;
};

//===----------------------------------------------------------------------===//
// One function
//===----------------------------------------------------------------------===//

class WeightAlignment {
public:
  WeightAlignment(func::FuncOp func, func::FuncOp copy, const NamedMesh &mesh)
      : func(func), mesh(mesh), builder(func.getContext()) {
    noteAll(func.getArguments(), copy.getArguments());
    for (auto [own, other] :
         llvm::zip_equal(func.getBody().front(), copy.getBody().front()))
      noteAll(own.getResults(), other.getResults());
  }

  int64_t run() {
    for (MatmulOp op : llvm::make_early_inc_range(func.getOps<MatmulOp>()))
      alignResult(op);
    llvm::MapVector<Value, SmallVector<MatmulOp>> sums;
    for (MatmulOp op : func.getOps<MatmulOp>())
      for (Value operand : op->getOperands())
        if (operand.getDefiningOp<linalg::GenericOp>())
          sums[operand].push_back(op);
    for (auto &[sum, users] : sums)
      alignOperand(sum, users);
    return numAligned;
  }

private:
  void noteAll(ValueRange own, ValueRange copies) {
    for (auto [value, copy] : llvm::zip_equal(own, copies))
      if (isa<RankedTensorType>(value.getType()))
        if (auto wish = getStatedSharding(copy, mesh.mesh))
          wishes[value] = wish->closed();
  }

  AxisList getAxes(Value value, unsigned dim) const {
    auto it = wishes.find(value);
    return it == wishes.end() ? AxisList() : it->second.dims[dim];
  }

  /// All parts are wished to be cut along the dim by these axes, and can be.
  bool areCut(ArrayRef<Part> parts, unsigned dim, const AxisList &axes) const {
    return !axes.empty() && llvm::all_of(parts, [&](const Part &part) {
      return getAxes(part.value, dim) == axes &&
             part.size % numShards(axes) == 0;
    });
  }

  /// The bytes that a rank receives to have a dim whole, and then cut in
  /// another way: by a gather, or by two exchanges.
  double getMoved(Value value, unsigned dim) const {
    const Sharding &sharding = wishes.at(value);
    RankedTensorType type = getType(value);
    double bytes = getElementBits(type) / 8.0;
    for (int64_t size : sharding.localShape(type.getShape()))
      bytes *= size;
    double ranks = numShards(sharding.dims[dim]);
    return (ranks - 1) * std::min(1.0, 2 / ranks) * bytes;
  }

  Value shard(Value value, Value like) {
    return ShardOp::create(builder, value.getLoc(), value,
                           mesh.toAttr(wishes.at(like)));
  }

  Value getAligned(Value weight, unsigned dim, ArrayRef<Part> parts);
  Value restore(Value aligned, Value like, unsigned dim, ArrayRef<Part> parts);
  void alignResult(MatmulOp op);
  void alignOperand(Value sum, MutableArrayRef<MatmulOp> users);

  func::FuncOp func;
  const NamedMesh &mesh;
  OpBuilder builder;
  DenseMap<Value, Sharding> wishes;
  /// Weights in the order of ranks, by the dim and where its second part
  /// begins.
  DenseMap<std::tuple<Value, unsigned, int64_t>, Value> aligned;
  int64_t numAligned = 0;
};

/// A weight in the order of ranks, made where it rests; one for all uses.
Value WeightAlignment::getAligned(Value weight, unsigned dim,
                                  ArrayRef<Part> parts) {
  Value &made = aligned[{weight, dim, parts[1].offset}];
  if (made)
    return made;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(weight);
  DimOrder order(builder, weight.getLoc(), dim,
                 numShards(getAxes(weight, dim)));
  SmallVector<Value> cut;
  for (const Part &part : parts)
    cut.push_back(
        shard(order.slice(weight, dim, part.offset, part.size), weight));
  made = shard(order.join(cut), weight);
  return made;
}

/// What is in the order of ranks, in that of `like`, as that rests.
Value WeightAlignment::restore(Value aligned, Value like, unsigned dim,
                               ArrayRef<Part> parts) {
  DimOrder order(builder, aligned.getLoc(), dim, numShards(getAxes(like, dim)));
  Value atRest = shard(aligned, like);
  SmallVector<Value> cut;
  for (const Part &part : parts)
    cut.push_back(shard(order.take(atRest, part), like));
  return tensor::ConcatOp::create(builder, aligned.getLoc(), dim, cut);
}

/// Slices of x W: W is put in order, and slices have parts of each rank's
/// columns.
void WeightAlignment::alignResult(MatmulOp op) {
  Parts parts;
  std::optional<unsigned> dim = findSlices(op.getResult(), parts);
  if (!dim)
    return;
  unsigned loop =
      cast<AffineDimExpr>(op.getResultMap().getResult(*dim)).getPosition();
  std::optional<unsigned> left = findDim(op.getLhsMap(), loop),
                          right = findDim(op.getRhsMap(), loop);
  if (left.has_value() == right.has_value())
    return;
  OpOperand &weight = op->getOpOperand(left ? 0 : 1);
  unsigned weightDim = left ? *left : *right;
  AxisList axes = getAxes(weight.get(), weightDim);
  if (!areCut(parts, *dim, axes) || getAxes(op.getResult(), *dim) != axes ||
      getMoved(weight.get(), weightDim) >= getMoved(op.getResult(), *dim))
    return;
  weight.set(getAligned(weight.get(), weightDim, parts));
  builder.setInsertionPointAfter(op);
  DimOrder order(builder, op.getLoc(), *dim, numShards(axes));
  for (Part &part : parts)
    part.value.replaceAllUsesWith(order.take(op.getResult(), part));
  for (Part &part : parts)
    part.value.getDefiningOp()->erase();
  ++numAligned;
}

/// Products with a sum of paddings: it is put together in the order of ranks,
/// and so is what it is multiplied with; the gradient of a weight is put back.
void WeightAlignment::alignOperand(Value sum, MutableArrayRef<MatmulOp> users) {
  Parts parts;
  std::optional<unsigned> dim;
  if (!llvm::all_of(sum.getUsers(), llvm::IsaPred<MatmulOp>) ||
      !findPaddings(sum, dim, parts) ||
      !areAllOf(parts, getType(sum).getDimSize(*dim)))
    return;
  AxisList axes = getAxes(sum, *dim);
  if (!areCut(parts, *dim, axes))
    return;
  SmallVector<Partner> partners;
  double bytes = 0;
  for (MatmulOp op : users) {
    std::optional<Partner> partner = findPartner(op, sum, *dim);
    if (!partner || getAxes(partner->moved, partner->dim) != axes)
      return;
    partners.push_back(*partner);
    if (!aligned.contains({partner->moved, partner->dim, parts[1].offset}))
      bytes += getMoved(partner->moved, partner->dim);
  }
  if (bytes >= getMoved(sum, *dim))
    return;
  builder.setInsertionPointAfterValue(sum);
  Value joined = DimOrder(builder, sum.getLoc(), *dim, numShards(axes))
                     .join(llvm::map_to_vector(
                         parts, [](const Part &part) { return part.value; }));
  for (auto [op, partner] : llvm::zip_equal(users, partners)) {
    op->replaceUsesOfWith(sum, joined);
    if (partner.isSummed) {
      op->replaceUsesOfWith(partner.other,
                            getAligned(partner.other, partner.dim, parts));
      continue;
    }
    builder.setInsertionPointAfter(op);
    SmallVector<OpOperand *> uses =
        llvm::map_to_vector(op->getUses(), [](OpOperand &use) { return &use; });
    Value restored =
        restore(op.getResult(), op.getResult(), partner.dim, parts);
    for (OpOperand *use : uses)
      use->set(restored);
  }
  erasePaddings(sum);
  ++numAligned;
}

struct AlignWeightsPass : weft::impl::AlignWeightsPassBase<AlignWeightsPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::optional<NamedMesh> mesh = findMesh(module);
    if (!mesh || mesh->mesh.numRanks() == 1 || getInvariance(module))
      return;
    ModuleOp copy = module.clone();
    module.getBody()->push_back(copy);
    OpPassManager pm(ModuleOp::getOperationName());
    pm.addPass(createPropagateShardingsPass());
    if (failed(runPipeline(pm, copy)))
      return signalPassFailure();
    for (auto [func, other] :
         llvm::zip(module.getOps<func::FuncOp>(), copy.getOps<func::FuncOp>()))
      if (!func.isDeclaration())
        numAligned += WeightAlignment(func, other, *mesh).run();
    copy.erase();
  }
};

} // namespace
