// SPDX-License-Identifier: Apache-2.0

// A sum of x of 1048576 elements is one row, which one block of a GPU walks. As
// 512x2048 it has 512 rows; what they give is 512 elements, which one more
// kernel sums up. Loops that are reduced are cut from the outermost on: a part
// is one run of memory. Views of a tensor are made once, so that sums of one
// tensor can still be one kernel.

#include "SplitSums.h"

#include "weft/Codegen/Fusion/Orders.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// The least that is left to a block.
constexpr int64_t kLeastPart = 1 << 12;
/// Results that lie side by side are one block's, in such numbers.
constexpr int64_t kColumns = 32;
/// The most sums of parts that one block is left to join.
constexpr int64_t kMostParts = kLongSum / 2;

/// Views that were made, by their source and type.
using SeenViews = DenseMap<std::pair<Value, Type>, Value>;

class SplitSum {
public:
  SplitSum(linalg::GenericOp op, int64_t numParts, SeenViews &views)
      : op(op), builder(op), numParts(numParts), views(views) {}

  void run() {
    if (!isFree() || !choosePieces())
      return;
    linalg::GenericOp parts = sumParts();
    op->replaceAllUsesWith(joinParts(parts));
    op->erase();
  }

private:
  bool isFree();
  bool areColumns();
  bool choosePieces();
  bool chooseWholeLoops();
  int64_t findPiece(int64_t size, int64_t wanted);
  linalg::GenericOp sumParts();
  linalg::GenericOp joinParts(linalg::GenericOp parts);
  Value getCut(OpOperand &operand, SmallVectorImpl<AffineExpr> &exprs);
  void moveBody(linalg::GenericOp to);

  linalg::GenericOp op;
  OpBuilder builder;
  int64_t numParts;
  SeenViews &views;
  SmallVector<Combiner> combiners;
  SmallVector<int64_t> sizes;
  SmallVector<utils::IteratorType> iterators;
  /// Of each loop: how many parts it is cut into.
  SmallVector<int64_t> pieces;
  /// Of each loop: what takes its place in the sum of parts.
  SmallVector<SmallVector<AffineExpr, 2>> newLoops;
};

/// Says whether any order will do, and all results lie in the same way.
bool SplitSum::isFree() {
  if (op->hasAttr(WeftDialect::kOrderAttr) || !op.hasPureTensorSemantics() ||
      op.getNumReductionLoops() == 0 ||
      !llvm::all_of(op.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isProjectedPermutation(); }))
    return false;
  sizes = op.getStaticLoopRanges();
  iterators = op.getIteratorTypesArray();
  if (llvm::any_of(sizes, ShapedType::isDynamic))
    return false;
  auto reduction = cast<linalg::LinalgOp>(op.getOperation());
  AffineMap first = op.getIndexingMapMatchingResult(op->getResult(0));
  for (OpResult result : op->getResults()) {
    std::optional<Combiner> combiner =
        getCombiner(reduction, result.getResultNumber());
    if (!combiner || op.getIndexingMapMatchingResult(result) != first)
      return false;
    combiners.push_back(*combiner);
  }
  return first.getNumResults() == op.getNumParallelLoops();
}

/// Says whether results lie side by side, and what each sums up does not. What
/// all of them take alike, as factors of rows, plays no part.
bool SplitSum::areColumns() {
  for (OpOperand *operand : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    auto isReduced = [&](AffineExpr expr) {
      return iterators[cast<AffineDimExpr>(expr).getPosition()] ==
             utils::IteratorType::reduction;
    };
    if (!llvm::all_of(map.getResults(), isReduced) &&
        isReduced(map.getResults().back()))
      return false;
  }
  return true;
}

/// The smallest divisor of `size` that is not less than `wanted`, if that is
/// not far from it; a power of two where there is one. Else 1.
int64_t SplitSum::findPiece(int64_t size, int64_t wanted) {
  if (size <= wanted)
    return size;
  int64_t power = llvm::PowerOf2Ceil(wanted);
  if (size % power == 0)
    return power;
  for (int64_t piece = wanted; piece <= 4 * wanted; ++piece)
    if (size % piece == 0)
      return piece;
  return 1;
}

/// Parts that are whole loops need no view: what makes the tensor, as a cast of
/// weights does, becomes one kernel with the sum. Says whether there are enough
/// of them, and not too many.
bool SplitSum::chooseWholeLoops() {
  if (op.getNumParallelLoops() != 0)
    return false;
  int64_t parts = 1;
  for (int64_t size : ArrayRef(sizes).drop_back()) {
    bool isTaken = parts < numParts / 8;
    pieces.push_back(isTaken ? size : 1);
    if (isTaken)
      parts *= size;
  }
  pieces.push_back(1);
  if (parts >= numParts / 8 && parts <= kMostParts)
    return true;
  pieces.clear();
  return false;
}

bool SplitSum::choosePieces() {
  int64_t results = 1, elements = 1;
  for (auto [size, iterator] : llvm::zip(sizes, iterators))
    (iterator == utils::IteratorType::reduction ? elements : results) *= size;
  int64_t blocks = areColumns() ? llvm::divideCeil(results, kColumns) : results;
  if (results == 0 || elements == 0 || blocks > numParts / 8)
    return false;
  int64_t perBlock = results * elements / blocks;
  if (perBlock < kLongSum)
    return false;
  if (chooseWholeLoops())
    return true;
  int64_t wanted = std::min(numParts / blocks, perBlock / kLeastPart);
  bool isCut = false;
  for (auto [size, iterator] : llvm::zip(sizes, iterators)) {
    bool isReduced = iterator == utils::IteratorType::reduction;
    int64_t piece = isReduced && wanted > 1 ? findPiece(size, wanted) : 1;
    pieces.push_back(piece);
    isCut |= piece > 1;
    // What is cut is one run of what is summed.
    bool isWhole = piece == size;
    if (isReduced)
      wanted = isWhole ? llvm::divideCeil(wanted, piece) : 1;
  }
  return isCut;
}

/// The operand with a dimension for each new loop, which `exprs` gets.
Value SplitSum::getCut(OpOperand &operand, SmallVectorImpl<AffineExpr> &exprs) {
  Value whole = operand.get();
  auto type = dyn_cast<RankedTensorType>(whole.getType());
  SmallVector<int64_t> shape;
  SmallVector<ReassociationIndices> groups;
  for (AffineExpr expr : op.getMatchingIndexingMap(&operand).getResults()) {
    unsigned loop = cast<AffineDimExpr>(expr).getPosition();
    ReassociationIndices &group = groups.emplace_back();
    for (AffineExpr own : newLoops[loop]) {
      group.push_back(exprs.size());
      exprs.push_back(own);
    }
    if (group.size() > 1)
      shape.push_back(pieces[loop]);
    shape.push_back(group.size() > 1 ? sizes[loop] / pieces[loop]
                                     : sizes[loop]);
  }
  if (!type || shape.size() == static_cast<size_t>(type.getRank()))
    return whole;
  RankedTensorType cut = type.clone(shape);
  Value &view = views[{whole, cut}];
  if (!view) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfterValue(whole);
    view =
        tensor::ExpandShapeOp::create(builder, op.getLoc(), cut, whole, groups);
  }
  return view;
}

/// Moves the body to the sum of parts. The index of a loop that is cut is that
/// of its two loops together.
void SplitSum::moveBody(linalg::GenericOp to) {
  to.getRegion().takeBody(op.getRegion());
  SmallVector<linalg::IndexOp> indices;
  to.getBody()->walk([&](linalg::IndexOp index) { indices.push_back(index); });
  for (linalg::IndexOp index : indices) {
    unsigned loop = index.getDim();
    OpBuilder inside(index);
    Location loc = index.getLoc();
    Value all;
    for (AffineExpr own : newLoops[loop]) {
      Value next = linalg::IndexOp::create(
          inside, loc, cast<AffineDimExpr>(own).getPosition());
      if (!all) {
        all = next;
        continue;
      }
      Value size = arith::ConstantIndexOp::create(inside, loc,
                                                  sizes[loop] / pieces[loop]);
      all = arith::MulIOp::create(inside, loc, all, size);
      all = arith::AddIOp::create(inside, loc, all, next);
    }
    index.replaceAllUsesWith(all);
    index.erase();
  }
}

/// The sums of parts: tensors whose outermost dims are the parts.
linalg::GenericOp SplitSum::sumParts() {
  MLIRContext *context = op.getContext();
  SmallVector<utils::IteratorType> kinds;
  SmallVector<AffineExpr> resultExprs;
  SmallVector<int64_t> shape;
  auto addLoop = [&](unsigned loop, utils::IteratorType kind) {
    newLoops[loop].push_back(getAffineDimExpr(kinds.size(), context));
    kinds.push_back(kind);
  };
  newLoops.resize(sizes.size());
  for (unsigned loop = 0; loop < sizes.size(); ++loop) {
    if (pieces[loop] > 1) {
      addLoop(loop, utils::IteratorType::parallel);
      resultExprs.push_back(newLoops[loop].back());
      shape.push_back(pieces[loop]);
    }
    if (pieces[loop] == 1 || pieces[loop] < sizes[loop])
      addLoop(loop, iterators[loop]);
  }
  AffineMap ofResults = op.getIndexingMapMatchingResult(op->getResult(0));
  for (AffineExpr expr : ofResults.getResults()) {
    unsigned loop = cast<AffineDimExpr>(expr).getPosition();
    resultExprs.push_back(newLoops[loop].front());
    shape.push_back(sizes[loop]);
  }
  SmallVector<Value> inputs, inits;
  SmallVector<AffineMap> maps;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    SmallVector<AffineExpr> exprs;
    inputs.push_back(getCut(*operand, exprs));
    maps.push_back(AffineMap::get(kinds.size(), 0, exprs, context));
  }
  for (auto [result, combiner] : llvm::zip(op->getResults(), combiners)) {
    Location loc = op.getLoc();
    Value empty = tensor::EmptyOp::create(
        builder, loc, shape, getElementTypeOrSelf(result.getType()));
    Value identity = arith::ConstantOp::create(builder, loc, combiner.identity);
    inits.push_back(
        linalg::FillOp::create(builder, loc, identity, empty).getResult(0));
    maps.push_back(AffineMap::get(kinds.size(), 0, resultExprs, context));
  }
  return linalg::GenericOp::create(builder, op.getLoc(),
                                   TypeRange(ValueRange(inits)), inputs, inits,
                                   maps, kinds, /*bodyBuilder=*/nullptr,
                                   llvm::to_vector(op->getDiscardableAttrs()));
}

/// The sums of the sums of parts, which start from what the whole ones do.
linalg::GenericOp SplitSum::joinParts(linalg::GenericOp parts) {
  unsigned numLoops =
               cast<RankedTensorType>(parts->getResult(0).getType()).getRank(),
           numResults = combiners.size(),
           numCut = numLoops - op.getNumParallelLoops();
  SmallVector<utils::IteratorType> kinds(numLoops,
                                         utils::IteratorType::parallel);
  std::fill_n(kinds.begin(), numCut, utils::IteratorType::reduction);
  AffineMap all = builder.getMultiDimIdentityMap(numLoops);
  SmallVector<AffineMap> maps(numResults, all);
  maps.append(numResults, all.getSliceMap(numCut, numLoops - numCut));
  auto emitBody = [&](OpBuilder &b, Location loc, ValueRange args) {
    SmallVector<Value> sums;
    for (auto [i, combiner] : llvm::enumerate(combiners)) {
      IRMapping mapping;
      Value accumulator = args[numResults + i];
      for (Value operand : combiner.op->getOperands())
        mapping.map(operand, operand == combiner.term ? args[i] : accumulator);
      sums.push_back(b.clone(*combiner.op, mapping)->getResult(0));
    }
    linalg::YieldOp::create(b, loc, sums);
  };
  auto joined = linalg::GenericOp::create(
      builder, op.getLoc(), op->getResultTypes(), parts->getResults(),
      op.getDpsInits(), maps, kinds, emitBody,
      llvm::to_vector(op->getDiscardableAttrs()));
  moveBody(parts);
  return joined;
}

} // namespace

void mlir::weft::splitSums(Block &block, int64_t numParts) {
  SeenViews views;
  for (linalg::GenericOp op :
       llvm::make_early_inc_range(block.getOps<linalg::GenericOp>()))
    SplitSum(op, numParts, views).run();
}
