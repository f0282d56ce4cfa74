// SPDX-License-Identifier: Apache-2.0

// weft-join-contractions: a sum of products with weights becomes one product.
//
// The gradient of a layer's input is a sum, dq Wq + dk Wk + dv Wv. Where a mesh
// cuts the three sums, ranks' parts of each would have to be joined by
// themselves: contributions of different sums do not add up in one order on
// all meshes. As one contraction they are joined once. Its K lists, for each
// leaf, the leaf's part of every product: a rank that holds 1/t of each holds
// 1/t of the whole, as a piece.

#include "weft/Orders/Passes.h"

#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Rules/ReductionOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"

#include <numeric>

namespace mlir::weft {
#define GEN_PASS_DEF_JOINCONTRACTIONSPASS
#include "weft/Orders/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Says whether the op adds two tensors element by element.
bool isAddition(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 2 || op.getNumResults() != 1 ||
      op.getNumReductionLoops() != 0 ||
      !llvm::all_of(op.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return false;
  Block *body = op.getBody();
  auto add = dyn_cast<arith::AddFOp>(body->front());
  return add && body->getTerminator()->getOperand(0) == add.getResult() &&
         llvm::equal(add.getOperands(), body->getArguments().take_front(2));
}

linalg::GenericOp getAddition(Value value) {
  auto op = value.getDefiningOp<linalg::GenericOp>();
  return op && isAddition(op) ? op : nullptr;
}

/// Says whether a value is an argument of the function, but for its type, its
/// shape and the order of its dims.
bool isWeight(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (!isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op) &&
        !(generic && generic.getNumDpsInputs() == 1 &&
          generic.getNumReductionLoops() == 0))
      return false;
    value = op->getOperand(0);
  }
  return true;
}

/// The dimension of a tensor that `map` indexes by `loop`.
int64_t getDim(AffineMap map, unsigned loop) {
  return *map.getResultPosition(getAffineDimExpr(loop, map.getContext()));
}

/// A contraction with a weight that may be joined with others: one sum, used
/// once, whose order is open.
MatmulOp getJoinable(Value value) {
  auto op = value.getDefiningOp<MatmulOp>();
  if (!op || !value.hasOneUse() || op->hasAttr(WeftDialect::kOrderAttr) ||
      getReductionLoops(op).size() != 1 ||
      !(isWeight(op.getLhs()) || isWeight(op.getRhs())))
    return nullptr;
  return op;
}

int64_t getLength(MatmulOp op) { return getReductionSizes(op).front(); }

/// Says whether two contractions differ in the lengths of their sums at most.
bool fitTogether(MatmulOp a, MatmulOp b) {
  auto sameElements = [](Value x, Value y) {
    return getElementTypeOrSelf(x) == getElementTypeOrSelf(y);
  };
  SmallVector<int64_t> sizes = a.getLoopSizes();
  sizes[getReductionLoops(b).front()] = getLength(b);
  return a.getIndexingMaps() == b.getIndexingMaps() &&
         a.getType() == b.getType() && sizes == b.getLoopSizes() &&
         sameElements(a.getLhs(), b.getLhs()) &&
         sameElements(a.getRhs(), b.getRhs());
}

/// The most of leaves, leaves / 2, ... that cut each of the sums.
int64_t countParts(ArrayRef<MatmulOp> ops, int64_t leaves) {
  int64_t common = 0;
  for (MatmulOp op : ops)
    common = std::gcd(common, getLength(op));
  return chooseLeaves(leaves, common, /*minLeaf=*/0);
}

class Joiner {
public:
  Joiner(linalg::GenericOp root, int64_t leaves)
      : root(root), leaves(leaves), builder(root) {}

  void run() {
    collect(root);
    bool changed = false;
    for (unsigned i = 0; i < addends.size(); ++i)
      changed |= joinWithLater(i);
    if (!changed)
      return;
    Value sum = addends.front();
    for (Value addend : ArrayRef<Value>(addends).drop_front())
      sum = add(sum, addend);
    root.getResult(0).replaceAllUsesWith(sum);
    for (Operation *op : dead)
      op->erase();
  }

private:
  /// Lists what is added, in order, and the additions.
  void collect(linalg::GenericOp op) {
    dead.push_back(op);
    for (Value input : op.getInputs()) {
      linalg::GenericOp inner = getAddition(input);
      if (inner && input.hasOneUse())
        collect(inner);
      else
        addends.push_back(input);
    }
  }

  /// Joins the addend with all that fit; returns whether there are any.
  bool joinWithLater(unsigned first) {
    MatmulOp op = getJoinable(addends[first]);
    if (!op)
      return false;
    SmallVector<MatmulOp> group = {op};
    for (Value addend : ArrayRef<Value>(addends).drop_front(first + 1))
      if (MatmulOp other = getJoinable(addend); other && fitTogether(op, other))
        group.push_back(other);
    int64_t parts = countParts(group, leaves);
    if (group.size() == 1 || parts == 1)
      return false;
    addends[first] = join(group, parts);
    for (MatmulOp member : group) {
      llvm::erase(addends, member.getResult());
      dead.push_back(member);
    }
    return true;
  }

  Value join(ArrayRef<MatmulOp> group, int64_t parts) {
    MatmulOp first = group.front();
    unsigned loop = getReductionLoops(first).front();
    auto getLhs = [](MatmulOp op) -> Value { return op.getLhs(); };
    auto getRhs = [](MatmulOp op) -> Value { return op.getRhs(); };
    Value lhs = concat(llvm::map_to_vector(group, getLhs),
                       getDim(first.getLhsMap(), loop), parts);
    Value rhs = concat(llvm::map_to_vector(group, getRhs),
                       getDim(first.getRhsMap(), loop), parts);
    SmallVector<AffineMap> maps = {splitLoop(first.getLhsMap(), loop),
                                   splitLoop(first.getRhsMap(), loop),
                                   splitLoop(first.getResultMap(), loop)};
    return MatmulOp::create(builder, root.getLoc(), first.getType(), lhs, rhs,
                            builder.getAffineMapArrayAttr(maps));
  }

  /// Cuts dimension `dim` of each tensor in parts, and puts the i-th parts of
  /// all beside each other.
  Value concat(ArrayRef<Value> tensors, int64_t dim, int64_t parts) {
    SmallVector<Value> cut;
    for (Value tensor : tensors)
      cut.push_back(expand(tensor, dim, parts));
    return tensor::ConcatOp::create(builder, root.getLoc(), dim + 1, cut);
  }

  Value expand(Value tensor, int64_t dim, int64_t parts) {
    auto type = cast<RankedTensorType>(tensor.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] /= parts;
    shape.insert(shape.begin() + dim, parts);
    SmallVector<ReassociationIndices> groups;
    for (int64_t i = 0, next = 0; i < type.getRank(); ++i) {
      groups.push_back({next++});
      if (i == dim)
        groups.back().push_back(next++);
    }
    return tensor::ExpandShapeOp::create(builder, root.getLoc(),
                                         type.clone(shape), tensor, groups);
  }

  /// A new last loop runs within the parts that `loop` counts.
  AffineMap splitLoop(AffineMap map, unsigned loop) {
    unsigned inner = map.getNumDims();
    SmallVector<AffineExpr> results;
    for (AffineExpr expr : map.getResults()) {
      results.push_back(expr);
      if (expr == builder.getAffineDimExpr(loop))
        results.push_back(builder.getAffineDimExpr(inner));
    }
    return AffineMap::get(inner + 1, 0, results, builder.getContext());
  }

  Value add(Value a, Value b) {
    auto copy = cast<linalg::GenericOp>(builder.clone(*root));
    copy.getInputsMutable().assign({a, b});
    return copy.getResult(0);
  }

  linalg::GenericOp root;
  int64_t leaves;
  OpBuilder builder;
  SmallVector<Value> addends;
  /// What is replaced, users first.
  SmallVector<Operation *> dead;
};

/// Says whether the sum is only an addend of another.
bool isInner(linalg::GenericOp op) {
  if (!op->hasOneUse())
    return false;
  auto user = dyn_cast<linalg::GenericOp>(*op->user_begin());
  return user && isAddition(user) &&
         llvm::is_contained(user.getInputs(), op.getResult(0));
}

struct JoinContractionsPass
    : weft::impl::JoinContractionsPassBase<JoinContractionsPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<linalg::GenericOp> roots;
    getOperation().walk([&](linalg::GenericOp op) {
      if (isAddition(op) && !isInner(op))
        roots.push_back(op);
    });
    for (linalg::GenericOp root : roots)
      Joiner(root, leaves).run();
  }
};

} // namespace
