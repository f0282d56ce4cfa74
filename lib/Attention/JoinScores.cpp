// SPDX-License-Identifier: Apache-2.0

// sum_d q1[d] k1[d] + sum_e q2[e] k2[e] is sum_f q[f] k[f] of q = (q1, q2) and
// k = (k1, k2); where one of a side has fewer dims than the other (keys that
// all heads share) it is repeated. Of gradients, sum t k1 and sum t k2 of one
// tensor t are the parts of sum t k; what k2 was repeated over, its part is
// summed over.
//
// Dims are known by labels: those of the sum's result, or those of t.

#include "JoinScores.h"
#include "AttentionPlan.h"
#include "weft/Dialect/Weft/IR/OptimizationBarrier.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

#include <numeric>
#include <vector>

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Of the dim of which products are summed, last in what is joined.
constexpr int kDepth = -1;

using Labels = SmallVector<int>;

/// A tensor and a label for each of its dims.
struct Labeled {
  Value value;
  Labels labels;

  int64_t getSize(int label) const {
    auto type = cast<RankedTensorType>(value.getType());
    return type.getDimSize(llvm::find(labels, label) - labels.begin());
  }
  bool has(int label) const { return llvm::is_contained(labels, label); }
};

bool isPermuting(linalg::GenericOp op) {
  return op.getNumDpsInputs() == 1 && op->getNumResults() == 1 &&
         llvm::all_of(op.getIndexingMapsArray(),
                      [](AffineMap map) { return map.isPermutation(); }) &&
         op.getBody()->getTerminator()->getOperand(0) ==
             op.getBody()->getArgument(0) &&
         getElementTypeOrSelf(op->getOperand(0)) ==
             getElementTypeOrSelf(op->getResult(0));
}

/// Before transposes and barriers.
Labeled skipTransposes(Labeled tensor) {
  while (true) {
    tensor.value = skipBarriers(tensor.value);
    auto op = tensor.value.getDefiningOp<linalg::GenericOp>();
    if (!op || !isPermuting(op))
      return tensor;
    auto [from, to] =
        std::pair(op.getIndexingMapsArray()[0], op.getIndexingMapsArray()[1]);
    Labels ofLoops(from.getNumDims());
    for (auto [i, label] : llvm::enumerate(tensor.labels))
      ofLoops[to.getDimPosition(i)] = label;
    Labels labels;
    for (unsigned i = 0; i < from.getNumResults(); ++i)
      labels.push_back(ofLoops[from.getDimPosition(i)]);
    tensor = {op->getOperand(0), labels};
  }
}

/// The uses of a value, also those that barriers stand before.
SmallVector<OpOperand *> getUses(Value value) {
  SmallVector<OpOperand *> uses;
  SmallVector<Value> values = {value};
  while (!values.empty())
    for (OpOperand &use : values.pop_back_val().getUses()) {
      if (isa<OptimizationBarrierOp>(use.getOwner()))
        values.push_back(use.getOwner()->getResult(use.getOperandNumber()));
      else
        uses.push_back(&use);
    }
  return uses;
}

/// Whether both are one tensor, in forms that are the same, barriers aside.
bool haveSameForm(Value a, Value b) {
  a = skipBarriers(a), b = skipBarriers(b);
  if (a == b)
    return true;
  Value ofA = getUnformed(a), ofB = getUnformed(b);
  if (!ofA || !ofB || a.getType() != b.getType() ||
      ofA.getType() != ofB.getType())
    return false;
  Operation *opA = a.getDefiningOp(), *opB = b.getDefiningOp();
  return opA->getName() == opB->getName() &&
         opA->getAttrDictionary() == opB->getAttrDictionary() &&
         haveSameForm(ofA, ofB);
}

/// Two operands; products of narrow numbers stay as they are.
bool isPlain(MatmulOp op) {
  return op && op.getScales().empty() &&
         op->getDiscardableAttrDictionary().empty();
}

/// The operands of a contraction over one dim, by the labels of its result.
struct Product {
  Labeled sides[2];
  MatmulOp op;

  static std::optional<Product> get(Labeled result) {
    result = skipTransposes(result);
    auto op = result.value.getDefiningOp<MatmulOp>();
    if (!isPlain(op))
      return std::nullopt;
    DenseMap<unsigned, int> labels;
    for (auto [i, label] : llvm::enumerate(result.labels))
      labels[op.getResultMap().getDimPosition(i)] = label;
    if (labels.size() + 1 != op.getResultMap().getNumDims())
      return std::nullopt;
    auto getSide = [&](Value value, AffineMap map) {
      Labeled side{value, {}};
      for (unsigned i = 0; i < map.getNumResults(); ++i) {
        auto it = labels.find(map.getDimPosition(i));
        side.labels.push_back(it == labels.end() ? kDepth : it->second);
      }
      return side;
    };
    Product product{{getSide(op.getLhs(), op.getLhsMap()),
                     getSide(op.getRhs(), op.getRhsMap())},
                    op};
    if (!product.sides[0].has(kDepth) || !product.sides[1].has(kDepth))
      return std::nullopt;
    return product;
  }
};

/// What a tensor has a dim for, and the other has none.
bool areOfOneSide(const Labeled &a, const Labeled &otherOfA, const Labeled &b,
                  const Labeled &otherOfB) {
  return llvm::any_of(a.labels, [&](int label) {
    return b.has(label) && !otherOfA.has(label) && !otherOfB.has(label);
  });
}

class ScoreJoiner {
public:
  explicit ScoreJoiner(linalg::GenericOp sum)
      : sum(sum), builder(sum), loc(sum.getLoc()) {}

  SmallVector<MatmulOp> getProducts() {
    if (!readProducts())
      return {};
    return {products[0].op, products[1].op};
  }

  void join(const ScoreJoins &leftOut,
            function_ref<void(int64_t number, MatmulOp)> note) {
    if (leftOut.contains(0) || !readProducts())
      return;
    for (int side : {0, 1})
      joined[side] =
          putBeside(products[0].sides[side], products[1].sides[side]);
    auto type = cast<RankedTensorType>(sum->getResult(0).getType());
    MatmulOp made = contract(joined[0], joined[1], getLabels(type.getRank()),
                             type.getElementType());
    sum->getResult(0).replaceAllUsesWith(made.getResult());
    int64_t number = 0;
    note(number, made);
    for (int side : {0, 1})
      for (auto [a, b] : findGradientPairs(side))
        // One op may be of several pairs: the first one that is joined has it.
        if (!leftOut.contains(++number) && !a.op->use_empty() &&
            !b.op->use_empty())
          note(number, join(a, b, side));
  }

private:
  static Labels getLabels(unsigned rank) {
    Labels labels(rank);
    std::iota(labels.begin(), labels.end(), 0);
    return labels;
  }

  bool readProducts() {
    if (sum.getNumDpsInputs() != 2 || sum->getNumResults() != 1 ||
        !llvm::all_of(sum.getIndexingMapsArray(),
                      [](AffineMap map) { return map.isPermutation(); }) ||
        !sum.getIndexingMapsArray()[2].isIdentity())
      return false;
    Block *body = sum.getBody();
    auto add =
        body->getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
    if (!add || add.getLhs() != body->getArgument(0) ||
        add.getRhs() != body->getArgument(1))
      return false;
    Type element = getElementTypeOrSelf(sum->getResult(0));
    for (int i : {0, 1}) {
      Labeled input{sum->getOperand(i), {}};
      AffineMap map = sum.getIndexingMapsArray()[i];
      for (unsigned dim = 0; dim < map.getNumResults(); ++dim)
        input.labels.push_back(map.getDimPosition(dim));
      std::optional<Product> product = Product::get(input);
      if (!product || getElementTypeOrSelf(product->op) != element)
        return false;
      products[i] = *product;
    }
    for (const Product &product : products)
      for (const Labeled &side : product.sides)
        if (getElementTypeOrSelf(side.value) !=
            getElementTypeOrSelf(products[0].sides[0].value))
          return false;
    Labeled *a = products[0].sides, *b = products[1].sides;
    bool isStraight = areOfOneSide(a[0], a[1], b[0], b[1]) &&
                      areOfOneSide(a[1], a[0], b[1], b[0]);
    bool isCrossed = areOfOneSide(a[0], a[1], b[1], b[0]) &&
                     areOfOneSide(a[1], a[0], b[0], b[1]);
    if (isCrossed)
      std::swap(b[0], b[1]);
    return isStraight != isCrossed;
  }

  /// The tensor with dims of these labels, and its depth last.
  Value arrange(const Labeled &tensor, const Labels &labels,
                ArrayRef<int64_t> sizes) {
    Labels all = labels;
    all.push_back(kDepth);
    if (tensor.labels == all)
      return tensor.value;
    SmallVector<int64_t> shape(sizes);
    shape.push_back(tensor.getSize(kDepth));
    auto type = cast<RankedTensorType>(tensor.value.getType());
    SmallVector<AffineExpr> exprs;
    for (int label : tensor.labels)
      exprs.push_back(
          builder.getAffineDimExpr(llvm::find(all, label) - all.begin()));
    return copy(tensor.value, exprs, type.clone(shape));
  }

  /// With the dims in another place, repeated, or rounded.
  Value copy(Value value, ArrayRef<AffineExpr> exprs, RankedTensorType type) {
    Type element = type.getElementType();
    Value empty =
        tensor::EmptyOp::create(builder, loc, type.getShape(), element);
    AffineMap maps[] = {
        AffineMap::get(type.getRank(), 0, exprs, builder.getContext()),
        builder.getMultiDimIdentityMap(type.getRank())};
    SmallVector<utils::IteratorType> iterators(type.getRank(),
                                               utils::IteratorType::parallel);
    return linalg::GenericOp::create(
               builder, loc, type, value, empty, maps, iterators,
               [&](OpBuilder &builder, Location loc, ValueRange args) {
                 Value in = args[0];
                 if (in.getType() != element)
                   in = arith::TruncFOp::create(builder, loc, element, in);
                 linalg::YieldOp::create(builder, loc, in);
               })
        .getResult(0);
  }

  Labeled putBeside(const Labeled &a, const Labeled &b) {
    Labels labels;
    SmallVector<int64_t> sizes;
    for (const Labeled *tensor : {&a, &b})
      for (int label : tensor->labels)
        if (label != kDepth && !llvm::is_contained(labels, label))
          labels.push_back(label);
    llvm::sort(labels);
    for (int label : labels)
      sizes.push_back(a.has(label) ? a.getSize(label) : b.getSize(label));
    Value parts[] = {arrange(a, labels, sizes), arrange(b, labels, sizes)};
    Value whole = tensor::ConcatOp::create(builder, loc, labels.size(), parts);
    labels.push_back(kDepth);
    return {whole, labels};
  }

  /// The product with a dim for each of `result`, summed over all others.
  MatmulOp contract(const Labeled &a, const Labeled &b, const Labels &result,
                    Type element) {
    Labels loops = result;
    for (const Labeled *tensor : {&a, &b})
      for (int label : tensor->labels)
        if (!llvm::is_contained(loops, label))
          loops.push_back(label);
    auto getMap = [&](const Labels &labels) {
      SmallVector<AffineExpr> exprs;
      for (int label : labels)
        exprs.push_back(
            builder.getAffineDimExpr(llvm::find(loops, label) - loops.begin()));
      return AffineMap::get(loops.size(), 0, exprs, builder.getContext());
    };
    SmallVector<int64_t> shape;
    for (int label : result)
      shape.push_back(a.has(label) ? a.getSize(label) : b.getSize(label));
    return MatmulOp::create(
        builder, loc, RankedTensorType::get(shape, element), a.value, b.value,
        builder.getAffineMapArrayAttr(
            {getMap(a.labels), getMap(b.labels), getMap(result)}));
  }

  //===--------------------------------------------------------------------===//
  // Gradients
  //===--------------------------------------------------------------------===//

  /// A product of a part of a side with what is `whole`, by labels of it.
  struct Gradient {
    MatmulOp op;
    Labeled whole, part;
    Labels result;
  };

  /// Where products that are computed later read a tensor, in its form.
  SmallVector<OpOperand *> findReadings(Value value) {
    SmallVector<OpOperand *> readings;
    for (Operation *op = sum->getNextNode(); op; op = op->getNextNode())
      if (auto matmul = dyn_cast<MatmulOp>(op))
        for (OpOperand *use :
             {&matmul.getLhsMutable(), &matmul.getRhsMutable()})
          if (haveSameForm(use->get(), value))
            readings.push_back(use);
    return readings;
  }

  /// The products of a part with others; `whole` has a label for each dim that
  /// the part has too, the others have none yet (less than kDepth).
  SmallVector<Gradient> findGradients(const Labeled &part) {
    SmallVector<Gradient> found;
    for (OpOperand *use : findReadings(part.value)) {
      auto op = cast<MatmulOp>(use->getOwner());
      if (!isPlain(op) || op.getLhs() == op.getRhs())
        continue;
      bool isLeft = use->getOperandNumber() == 0;
      AffineMap map = isLeft ? op.getLhsMap() : op.getRhsMap(),
                other = isLeft ? op.getRhsMap() : op.getLhsMap();
      SmallVector<int> ofLoops(map.getNumDims(), kDepth - 1);
      for (auto [i, label] : llvm::enumerate(part.labels))
        ofLoops[map.getDimPosition(i)] = label;
      Gradient gradient{op, {isLeft ? op.getRhs() : op.getLhs(), {}}, part, {}};
      // Dims of the other tensor alone get labels by their places in it, after
      // transposes: negative ones, for now that of their loop.
      for (unsigned i = 0; i < other.getNumResults(); ++i) {
        unsigned loop = other.getDimPosition(i);
        int label = ofLoops[loop];
        gradient.whole.labels.push_back(label < kDepth ? kDepth - 1 - int(loop)
                                                       : label);
      }
      for (unsigned i = 0; i < op.getResultMap().getNumResults(); ++i) {
        unsigned loop = op.getResultMap().getDimPosition(i);
        int label = ofLoops[loop];
        gradient.result.push_back(label < kDepth ? kDepth - 1 - int(loop)
                                                 : label);
      }
      if (gradient.whole.has(kDepth) ||
          !llvm::is_contained(gradient.result, kDepth))
        continue;
      gradient.whole = skipTransposes(gradient.whole);
      found.push_back(gradient);
    }
    llvm::sort(found, [](const Gradient &a, const Gradient &b) {
      return a.op->isBeforeInBlock(b.op);
    });
    return found;
  }

  /// Gives both the same labels: dims of the whole that one knows are known to
  /// the other. False if they differ.
  static bool unify(Gradient &a, Gradient &b) {
    if (a.whole.value != b.whole.value)
      return false;
    Labels labels;
    for (auto [i, own, other] :
         llvm::enumerate(a.whole.labels, b.whole.labels)) {
      if (own >= 0 && other >= 0 && own != other)
        return false;
      // Of neither: after all labels of the sum.
      labels.push_back(own >= 0 ? own : other >= 0 ? other : 1000 + int(i));
    }
    if (llvm::SmallSet<int, 8>(labels.begin(), labels.end()).size() !=
        labels.size())
      return false;
    for (Gradient *gradient : {&a, &b}) {
      for (int &label : gradient->result) {
        auto it = llvm::find(gradient->whole.labels, label);
        if (it != gradient->whole.labels.end())
          label = labels[it - gradient->whole.labels.begin()];
        else if (label != kDepth)
          return false;
      }
      gradient->whole.labels = labels;
    }
    return true;
  }

  std::vector<std::pair<Gradient, Gradient>> findGradientPairs(int side) {
    std::vector<std::pair<Gradient, Gradient>> pairs;
    SmallVector<Gradient> firsts = findGradients(products[0].sides[side]),
                          seconds = findGradients(products[1].sides[side]);
    for (const Gradient &first : firsts)
      for (const Gradient &second : seconds) {
        Gradient a = first, b = second;
        if (a.op != b.op && canJoin(a, b, side))
          pairs.push_back({a, b});
      }
    return pairs;
  }

  bool canJoin(Gradient &a, Gradient &b, int side) {
    return getElementTypeOrSelf(a.op) == getElementTypeOrSelf(b.op) &&
           unify(a, b) && llvm::all_of(joined[side].labels, [&](int label) {
             return label == kDepth ||
                    (a.whole.has(label) &&
                     a.whole.getSize(label) == joined[side].getSize(label));
           });
  }

  /// Sums over what both sum over, and then, of each part, over the rest.
  MatmulOp join(Gradient &a, Gradient &b, int side) {
    builder.setInsertionPoint(a.op->isBeforeInBlock(b.op) ? a.op : b.op);
    Labels result;
    for (int label : a.whole.labels)
      if (llvm::is_contained(a.result, label) ||
          llvm::is_contained(b.result, label))
        result.push_back(label);
    result.push_back(kDepth);
    MatmulOp made =
        contract(a.whole, joined[side], result, getElementTypeOrSelf(a.op));
    Labeled whole{made.getResult(), result};
    int64_t begin = 0;
    for (Gradient *gradient : {&a, &b}) {
      int64_t size = gradient->part.getSize(kDepth);
      Value part =
          transpose(sumOver(slice(whole, begin, size), gradient->result),
                    gradient->result, getElementTypeOrSelf(gradient->op));
      gradient->op.getResult().replaceAllUsesWith(part);
      begin += size;
    }
    return made;
  }

  Labeled slice(const Labeled &whole, int64_t begin, int64_t size) {
    auto type = cast<RankedTensorType>(whole.value.getType());
    SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0)),
        sizes, strides(type.getRank(), builder.getIndexAttr(1));
    for (int64_t dim : type.getShape())
      sizes.push_back(builder.getIndexAttr(dim));
    offsets.back() = builder.getIndexAttr(begin);
    sizes.back() = builder.getIndexAttr(size);
    return {tensor::ExtractSliceOp::create(builder, loc, whole.value, offsets,
                                           sizes, strides),
            whole.labels};
  }

  /// Sums over all dims but those of these labels, in f32 at least.
  Labeled sumOver(const Labeled &tensor, const Labels &labels) {
    auto type = cast<RankedTensorType>(tensor.value.getType());
    Type wide = type.getElementTypeBitWidth() < 32 ? builder.getF32Type()
                                                   : type.getElementType();
    Labels kept;
    SmallVector<int64_t> shape;
    SmallVector<AffineExpr> exprs;
    SmallVector<utils::IteratorType> iterators;
    for (auto [i, label] : llvm::enumerate(tensor.labels)) {
      bool isKept = llvm::is_contained(labels, label);
      iterators.push_back(isKept ? utils::IteratorType::parallel
                                 : utils::IteratorType::reduction);
      if (!isKept)
        continue;
      kept.push_back(label);
      shape.push_back(type.getDimSize(i));
      exprs.push_back(builder.getAffineDimExpr(i));
    }
    if (kept.size() == tensor.labels.size())
      return tensor;
    Value zero =
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(wide));
    Value empty = tensor::EmptyOp::create(builder, loc, shape, wide);
    Value init = linalg::FillOp::create(builder, loc, zero, empty).getResult(0);
    AffineMap maps[] = {
        builder.getMultiDimIdentityMap(type.getRank()),
        AffineMap::get(type.getRank(), 0, exprs, builder.getContext())};
    auto summed = linalg::GenericOp::create(
        builder, loc, RankedTensorType::get(shape, wide), tensor.value, init,
        maps, iterators,
        [&](OpBuilder &builder, Location loc, ValueRange args) {
          Value in = args[0];
          if (in.getType() != wide)
            in = arith::ExtFOp::create(builder, loc, wide, in);
          Value added = arith::AddFOp::create(builder, loc, args[1], in);
          linalg::YieldOp::create(builder, loc, added);
        });
    return {summed.getResult(0), kept};
  }

  /// With dims of these labels, of a type of elements.
  Value transpose(const Labeled &tensor, const Labels &labels, Type element) {
    if (tensor.labels == labels &&
        getElementTypeOrSelf(tensor.value) == element)
      return tensor.value;
    SmallVector<int64_t> shape;
    SmallVector<AffineExpr> exprs;
    for (int label : labels)
      shape.push_back(tensor.getSize(label));
    for (int label : tensor.labels)
      exprs.push_back(
          builder.getAffineDimExpr(llvm::find(labels, label) - labels.begin()));
    return copy(tensor.value, exprs, RankedTensorType::get(shape, element));
  }

  linalg::GenericOp sum;
  OpBuilder builder;
  Location loc;
  Product products[2];
  Labeled joined[2];
};

} // namespace

SmallVector<MatmulOp> mlir::weft::getScoreProducts(linalg::GenericOp op) {
  return ScoreJoiner(op).getProducts();
}

Value mlir::weft::getUnformed(Value value) {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
    return op->getOperand(0);
  auto generic = dyn_cast_or_null<linalg::GenericOp>(op);
  if (!generic || generic.getNumDpsInputs() != 1 || op->getNumResults() != 1)
    return Value();
  Block *body = generic.getBody();
  return body->getTerminator()->getOperand(0) == body->getArgument(0)
             ? generic->getOperand(0)
             : Value();
}

llvm::SetVector<Operation *> mlir::weft::findOpsToExponential(Operation *op) {
  constexpr size_t kMostOps = 32;
  llvm::SetVector<Operation *> seen;
  seen.insert(op);
  auto getCount = [](Operation *op) {
    return cast<RankedTensorType>(op->getResult(0).getType()).getNumElements();
  };
  for (size_t i = 0; i < seen.size() && i < kMostOps; ++i)
    for (OpOperand *use : getUses(seen[i]->getResult(0))) {
      auto generic = dyn_cast<linalg::GenericOp>(use->getOwner());
      if (!generic || !generic.hasPureTensorSemantics() ||
          getCount(generic) != getCount(op))
        continue;
      seen.insert(generic);
      if (!generic.getBody()->getOps<math::ExpOp>().empty())
        return seen;
    }
  return {};
}

bool mlir::weft::reachesExponential(Operation *op) {
  return !findOpsToExponential(op).empty();
}

SmallVector<linalg::GenericOp> mlir::weft::findScoreSums(func::FuncOp func) {
  SmallVector<linalg::GenericOp> sums;
  func.walk([&](linalg::GenericOp op) {
    if (!getScoreProducts(op).empty() && reachesExponential(op))
      sums.push_back(op);
  });
  return sums;
}

void mlir::weft::joinScores(linalg::GenericOp sum, const ScoreJoins &leftOut,
                            function_ref<void(int64_t number, MatmulOp)> note) {
  ScoreJoiner(sum).join(leftOut, note);
}
