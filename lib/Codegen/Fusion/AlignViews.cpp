// SPDX-License-Identifier: Apache-2.0

// Scales by rows and by columns need a tensor as 2048x32x32 and as 64x32x1024:
// two kernels, each of which reads it. Cut as 64x32x32x32, they have all loops
// in common. It takes two steps: the pieces of each value's dimensions follow
// from the tensor's, in program order; then ops are written again with loops
// for pieces. What others read has its old shape.

#include "AlignViews.h"

#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Elements of a tensor that is worth it, and of a piece but the outermost:
/// loops of fewer iterations are no vectors.
constexpr int64_t kMinElements = 1 << 12, kMinPiece = 8;

/// Sizes of the pieces of a dimension, outermost first.
using Pieces = SmallVector<int64_t, 2>;

/// The pieces of `size` that have an end wherever one of `cuts` has; empty if
/// there are none.
Pieces refine(int64_t size, ArrayRef<Pieces> cuts) {
  SmallVector<int64_t> ends = {size};
  for (const Pieces &cut : cuts) {
    int64_t end = 1;
    for (int64_t piece : llvm::reverse(ArrayRef(cut).drop_front()))
      ends.push_back(end *= piece);
  }
  llvm::sort(ends);
  ends.erase(llvm::unique(ends), ends.end());
  Pieces pieces;
  int64_t last = 1;
  for (int64_t end : ends) {
    if (end == 0 || end % last != 0)
      return {};
    if (end != size && end / last < kMinPiece)
      return {};
    if (end != last || ends.size() == 1)
      pieces.insert(pieces.begin(), end / last);
    last = end;
  }
  return pieces;
}

RankedTensorType getTensor(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

/// The pieces of all dimensions of a value.
struct Cut {
  SmallVector<Pieces> dims;

  bool isCut() const {
    return llvm::any_of(dims, [](const Pieces &d) { return d.size() > 1; });
  }
  RankedTensorType getType(RankedTensorType whole) const {
    SmallVector<int64_t> shape;
    for (const Pieces &pieces : dims)
      llvm::append_range(shape, pieces);
    return whole.clone(shape);
  }
  SmallVector<ReassociationIndices> getGroups() const {
    SmallVector<ReassociationIndices> groups;
    int64_t next = 0;
    for (const Pieces &pieces : dims) {
      groups.emplace_back();
      for (size_t i = 0; i < pieces.size(); ++i)
        groups.back().push_back(next++);
    }
    return groups;
  }
};

/// One tensor that generics read in several ways.
class Alignment {
public:
  /// `replaced` gets what takes the place of which value.
  Alignment(Value whole, ArrayRef<tensor::ExpandShapeOp> views,
            DenseMap<Value, Value> &replaced)
      : whole(whole), views(views), replaced(replaced),
        builder(whole.getContext()) {}

  /// What makes the tensor gets the loops of its one view.
  void runOnProducer(linalg::GenericOp producer);

  void run() {
    if (!cutViews())
      return;
    for (linalg::GenericOp op :
         readers[0]->getBlock()->getOps<linalg::GenericOp>())
      noteLoops(op);
    if (llvm::any_of(readers,
                     [&](linalg::GenericOp op) { return !loops.contains(op); }))
      return;
    makeViews();
    for (auto &[op, pieces] : loops)
      rewrite(op, pieces);
    for (auto &entry : llvm::reverse(loops))
      entry.first->erase();
    for (tensor::ExpandShapeOp view : views)
      if (view->use_empty())
        view->erase();
  }

private:
  bool cutViews();
  void noteLoops(linalg::GenericOp op);
  void makeViews();
  Value getCut(Value value, const Cut &cut, bool isInit);
  void rewrite(linalg::GenericOp op, ArrayRef<Pieces> pieces);

  Value whole;
  ArrayRef<tensor::ExpandShapeOp> views;
  DenseMap<Value, Value> &replaced;
  OpBuilder builder;
  SmallVector<linalg::GenericOp> readers;
  Cut ofWhole;
  DenseMap<Value, Cut> cuts;
  /// Pieces of the loops of ops that are written again, in program order.
  llvm::MapVector<linalg::GenericOp, SmallVector<Pieces>> loops;
  /// What takes the place of values, with pieces for dimensions.
  DenseMap<Value, Value> made;
};

bool Alignment::cutViews() {
  RankedTensorType type = getTensor(whole);
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    SmallVector<Pieces> all;
    for (tensor::ExpandShapeOp view : views) {
      all.emplace_back();
      ReassociationIndices group = view.getReassociationIndices()[dim];
      for (int64_t own : group)
        all.back().push_back(view.getResultType().getDimSize(own));
    }
    ofWhole.dims.push_back(refine(type.getDimSize(dim), all));
    if (ofWhole.dims.back().empty())
      return false;
  }
  for (tensor::ExpandShapeOp view : views) {
    Cut cut;
    for (auto [dim, group] : llvm::enumerate(view.getReassociationIndices())) {
      const Pieces &pieces = ofWhole.dims[dim];
      size_t next = 0;
      for (int64_t own : group) {
        int64_t size = view.getResultType().getDimSize(own), product = 1;
        cut.dims.emplace_back();
        while (next < pieces.size() && product < size) {
          product *= pieces[next];
          cut.dims.back().push_back(pieces[next++]);
        }
        if (cut.dims.back().empty())
          cut.dims.back().push_back(1);
        if (product != size)
          return false;
      }
    }
    for (Operation *user : view->getUsers())
      if (auto op = dyn_cast<linalg::GenericOp>(user))
        readers.push_back(op);
    cuts[view] = std::move(cut);
  }
  // One of them has all pieces: they share loops as they are.
  return llvm::none_of(views, [&](tensor::ExpandShapeOp view) {
    return view.getType() == ofWhole.getType(type);
  });
}

/// Whether an op can have other loops: it has no order, and only asks where it
/// is in loops that stay.
bool isFree(linalg::GenericOp op, ArrayRef<Pieces> pieces) {
  if (op->hasAttr(WeftDialect::kOrderAttr) || !op.hasPureTensorSemantics() ||
      !llvm::all_of(op.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isProjectedPermutation(); }))
    return false;
  WalkResult walked = op.getBody()->walk([&](Operation *inner) {
    auto index = dyn_cast<linalg::IndexOp>(inner);
    bool isFixed = (index && pieces[index.getDim()].size() > 1) ||
                   isa<tensor::ExtractOp>(inner);
    return isFixed ? WalkResult::interrupt() : WalkResult::advance();
  });
  return !walked.wasInterrupted();
}

/// If the op reads what is cut, finds the pieces of its loops and results.
void Alignment::noteLoops(linalg::GenericOp op) {
  SmallVector<Pieces> pieces;
  for (int64_t size : op.getStaticLoopRanges())
    pieces.push_back({size});
  bool isReader = false;
  for (OpOperand &operand : op->getOpOperands()) {
    auto it = cuts.find(operand.get());
    if (it == cuts.end())
      continue;
    isReader = true;
    for (auto [expr, own] :
         llvm::zip(op.getMatchingIndexingMap(&operand).getResults(),
                   it->second.dims)) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim)
        return;
      Pieces &loop = pieces[dim.getPosition()];
      if (loop.size() > 1 && loop != own)
        return;
      loop = own;
    }
  }
  if (!isReader || !isFree(op, pieces))
    return;
  for (OpResult result : op->getResults()) {
    Cut cut;
    for (AffineExpr expr : op.getIndexingMapMatchingResult(result).getResults())
      cut.dims.push_back(pieces[cast<AffineDimExpr>(expr).getPosition()]);
    if (cut.isCut())
      cuts[result] = std::move(cut);
  }
  loops[op] = std::move(pieces);
}

/// One view for all; others than generics keep theirs.
void Alignment::makeViews() {
  builder.setInsertionPointAfterValue(whole);
  RankedTensorType type = ofWhole.getType(getTensor(whole));
  Value all = whole;
  if (type != whole.getType())
    all = tensor::ExpandShapeOp::create(builder, whole.getLoc(), type, whole,
                                        ofWhole.getGroups());
  for (tensor::ExpandShapeOp view : views)
    made[view] = all;
}

/// The value with pieces for dimensions.
Value Alignment::getCut(Value value, const Cut &cut, bool isInit) {
  if (!cut.isCut())
    return value;
  if (Value known = made.lookup(value))
    return known;
  Location loc = value.getLoc();
  RankedTensorType type = cut.getType(getTensor(value));
  if (isInit && value.getDefiningOp<tensor::EmptyOp>())
    return tensor::EmptyOp::create(builder, loc, type.getShape(),
                                   type.getElementType());
  if (auto constant = value.getDefiningOp<arith::ConstantOp>())
    if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
      return arith::ConstantOp::create(
          builder, loc,
          SplatElementsAttr::get(type, splat.getSplatValue<Attribute>()));
  if (auto fill = value.getDefiningOp<linalg::FillOp>()) {
    Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                          type.getElementType());
    return linalg::FillOp::create(builder, loc, fill.getInputs()[0], empty)
        .getResult(0);
  }
  return tensor::ExpandShapeOp::create(builder, loc, type, value,
                                       cut.getGroups());
}

void Alignment::rewrite(linalg::GenericOp op, ArrayRef<Pieces> pieces) {
  builder.setInsertionPoint(op);
  MLIRContext *context = op.getContext();
  SmallVector<SmallVector<AffineExpr>> newLoops;
  SmallVector<utils::IteratorType> iterators;
  for (auto [own, iterator] : llvm::zip(pieces, op.getIteratorTypesArray())) {
    newLoops.emplace_back();
    for (size_t i = 0; i < own.size(); ++i) {
      newLoops.back().push_back(getAffineDimExpr(iterators.size(), context));
      iterators.push_back(iterator);
    }
  }
  SmallVector<Value> operands;
  SmallVector<AffineMap> maps;
  for (OpOperand &operand : op->getOpOperands()) {
    Cut cut;
    SmallVector<AffineExpr> exprs;
    for (AffineExpr expr : op.getMatchingIndexingMap(&operand).getResults()) {
      unsigned loop = cast<AffineDimExpr>(expr).getPosition();
      cut.dims.push_back(pieces[loop]);
      llvm::append_range(exprs, newLoops[loop]);
    }
    operands.push_back(getCut(operand.get(), cut, op.isDpsInit(&operand)));
    maps.push_back(AffineMap::get(iterators.size(), 0, exprs, context));
  }
  unsigned numInputs = op.getNumDpsInputs();
  ArrayRef<Value> inits = ArrayRef(operands).drop_front(numInputs);
  auto cut = linalg::GenericOp::create(
      builder, op.getLoc(), TypeRange(ValueRange(inits)),
      ArrayRef(operands).take_front(numInputs), inits, maps, iterators,
      /*bodyBuilder=*/nullptr, llvm::to_vector(op->getDiscardableAttrs()));
  cut.getRegion().takeBody(op.getRegion());
  cut.getBody()->walk([&](linalg::IndexOp index) {
    index.setDim(
        cast<AffineDimExpr>(newLoops[index.getDim()][0]).getPosition());
  });
  for (auto [old, result] : llvm::zip(op->getResults(), cut->getResults())) {
    Value whole = result;
    auto it = cuts.find(old);
    if (it != cuts.end()) {
      made[old] = result;
      whole = tensor::CollapseShapeOp::create(
          builder, op.getLoc(), old.getType(), result, it->second.getGroups());
    }
    replaced[old] = whole;
    old.replaceUsesWithIf(whole, [&](OpOperand &use) {
      auto reader = dyn_cast<linalg::GenericOp>(use.getOwner());
      return !reader || !loops.contains(reader) || it == cuts.end();
    });
    // What nobody else reads is not to be stored.
    if (it != cuts.end() && whole.use_empty()) {
      replaced.erase(old);
      whole.getDefiningOp()->erase();
    }
  }
}

void Alignment::runOnProducer(linalg::GenericOp producer) {
  tensor::ExpandShapeOp first = views.front();
  ArrayRef<int64_t> shape = first.getResultType().getShape();
  for (const ReassociationIndices &group : first.getReassociationIndices())
    ofWhole.dims.push_back(
        llvm::map_to_vector<2>(group, [&](int64_t dim) { return shape[dim]; }));
  AffineMap map = producer.getIndexingMapMatchingResult(cast<OpResult>(whole));
  SmallVector<Pieces> pieces(producer.getNumLoops());
  for (auto [expr, own] : llvm::zip(map.getResults(), ofWhole.dims))
    pieces[cast<AffineDimExpr>(expr).getPosition()] = own;
  if (!isFree(producer, pieces))
    return;
  for (OpResult result : producer->getResults()) {
    Cut cut;
    for (AffineExpr expr :
         producer.getIndexingMapMatchingResult(result).getResults())
      cut.dims.push_back(pieces[cast<AffineDimExpr>(expr).getPosition()]);
    if (cut.isCut())
      cuts[result] = std::move(cut);
  }
  rewrite(producer, pieces);
  Value now = made.lookup(whole);
  for (tensor::ExpandShapeOp view : views) {
    Operation *collapsed = view.getSrc().getDefiningOp();
    view.getResult().replaceAllUsesWith(now);
    view->erase();
    if (collapsed->use_empty())
      collapsed->erase();
  }
  producer->erase();
}

/// Values with several views.
using Views = SmallVector<std::pair<Value, SmallVector<tensor::ExpandShapeOp>>>;

/// Views of a tensor that generics of its block read: the tensor is worth it if
/// there are any.
SmallVector<tensor::ExpandShapeOp> getViews(Value whole,
                                            DenseSet<Type> &types) {
  SmallVector<tensor::ExpandShapeOp> views;
  RankedTensorType type = getTensor(whole);
  if (!type || !type.hasStaticShape() || type.getNumElements() < kMinElements)
    return views;
  for (Operation *user : whole.getUsers()) {
    auto view = dyn_cast<tensor::ExpandShapeOp>(user);
    if (!view || !view.getResultType().hasStaticShape() ||
        view->getBlock() != whole.getParentBlock() ||
        llvm::none_of(view->getUsers(), llvm::IsaPred<linalg::GenericOp>) ||
        llvm::any_of(view->getUsers(), [&](Operation *reader) {
          return reader->getBlock() != view->getBlock();
        }))
      continue;
    views.push_back(view);
    types.insert(view.getType());
  }
  return views;
}

/// Views by other pieces.
void findViews(Value whole, Views &found) {
  DenseSet<Type> types;
  SmallVector<tensor::ExpandShapeOp> views = getViews(whole, types);
  if (types.size() > 1)
    found.push_back({whole, std::move(views)});
}

bool takesSums(Operation *op) {
  auto generic = dyn_cast_if_present<linalg::GenericOp>(op);
  return generic && generic.getNumReductionLoops() > 0;
}

/// Says whether a view is another one, or that with its last dim cut.
bool isWithin(RankedTensorType type, RankedTensorType other) {
  unsigned rank = other.getRank();
  return type == other ||
         (type.getRank() == rank + 1 &&
          type.getShape().take_front(rank - 1) == other.getShape().drop_back());
}

/// The views of the one type, or that the first sum takes, if all are within
/// it: casts to 4 bits read pairs of what magnitudes read in blocks.
SmallVector<tensor::ExpandShapeOp> getFirstViews(Value whole) {
  DenseSet<Type> types;
  SmallVector<tensor::ExpandShapeOp> views = getViews(whole, types);
  if (types.size() == 1)
    return views;
  Operation *first = nullptr;
  RankedTensorType type;
  for (tensor::ExpandShapeOp view : views)
    for (Operation *user : view->getUsers())
      if (takesSums(user) && (!first || user->isBeforeInBlock(first))) {
        first = user;
        type = view.getResultType();
      }
  bool isShared = first && llvm::all_of(views, [&](tensor::ExpandShapeOp view) {
                    return isWithin(view.getResultType(), type);
                  });
  llvm::erase_if(views, [&](tensor::ExpandShapeOp view) {
    return !isShared || view.getResultType() != type;
  });
  return views;
}

/// Says whether blocks end within rows. A core that walks what does not lie
/// together to sum it up is slower than one that reads it again.
bool cutsRows(tensor::ExpandShapeOp view) {
  auto groups = view.getReassociationIndices();
  return !groups.empty() && groups.back().size() > 1;
}

/// Whether the op computes elements that stand by themselves. What takes sums
/// of rows, and what sums them up, is to stay one kernel with these.
bool isElementwise(linalg::GenericOp op) {
  return op.isAllParallelLoops() && op.getNumLoops() > 0 &&
         llvm::none_of(
             op.getDpsInputs(),
             [](Value input) { return takesSums(input.getDefiningOp()); }) &&
         llvm::none_of(op->getUsers(), takesSums);
}

} // namespace

void mlir::weft::alignViews(Block &block) {
  Views found;
  for (BlockArgument argument : block.getArguments())
    findViews(argument, found);
  for (Operation &op : block)
    for (Value result : op.getResults())
      findViews(result, found);
  DenseMap<Value, Value> replaced;
  for (auto &[whole, views] : found) {
    Value now = whole;
    while (Value newer = replaced.lookup(now))
      now = newer;
    Alignment(now, views, replaced).run();
  }
}

void mlir::weft::alignProducers(Block &block, bool inRows) {
  SmallVector<linalg::GenericOp> ops(block.getOps<linalg::GenericOp>());
  DenseMap<Value, Value> replaced;
  // What they take may get a view of the same kind.
  for (linalg::GenericOp op : llvm::reverse(ops)) {
    if (!isElementwise(op))
      continue;
    for (OpResult result : op->getResults()) {
      SmallVector<tensor::ExpandShapeOp> views = getFirstViews(result);
      if (views.empty() || (inRows && !cutsRows(views.front())) ||
          !op.getIndexingMapMatchingResult(result).isPermutation())
        continue;
      Alignment(result, views, replaced).runOnProducer(op);
      break;
    }
  }
}
