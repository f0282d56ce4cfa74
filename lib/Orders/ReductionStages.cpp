// SPDX-License-Identifier: Apache-2.0

// The first stage has the op's inputs and body; the others add up what it made.
// Each starts from the combiner's identity, but the last one: it starts from
// the op's init, as the op does.

#include "ReductionStages.h"

#include "weft/Rules/ReductionOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// The first stages have at least as many elements to a sum.
constexpr int64_t kMinStageSize = 16;

class StagedReduction {
public:
  explicit StagedReduction(linalg::GenericOp op)
      : op(op), builder(op), loc(op.getLoc()), sizes(op.getStaticLoopRanges()),
        combiner(op.getBody()->getTerminator()->getOperand(0).getDefiningOp()) {
    auto type = cast<RankedTensorType>(op.getResult(0).getType());
    element = type.getElementType();
    if (type.getNumElements() == 1 && element.isF32())
      element = builder.getF64Type();
    for (int loop : getReductionLoops(op))
      toReduce.push_back(loop);
    for (unsigned loop = 0; loop < sizes.size(); ++loop)
      loops.push_back(loop);
  }

  SmallVector<linalg::GenericOp> run() {
    SmallVector<int> first = takeStage();
    if (toReduce.empty() && !isWide())
      return {op};
    SmallVector<linalg::GenericOp> stages = {reduceInputs(first)};
    while (!toReduce.empty())
      stages.push_back(reduceAgain(stages.back().getResult(0), takeStage()));
    Value result = stages.back().getResult(0);
    if (isWide())
      result = narrow(result);
    op.getResult(0).replaceAllUsesWith(result);
    op.erase();
    return stages;
  }

private:
  bool isWide() {
    return element != getElementTypeOrSelf(op.getResult(0).getType());
  }

  /// Takes the loops of the next stage from those that are still to be reduced.
  SmallVector<int> takeStage() {
    SmallVector<int> taken;
    int64_t size = 1, left = 1;
    for (int loop : toReduce)
      left *= sizes[loop];
    while (!toReduce.empty() && (size < kMinStageSize || left == 1)) {
      taken.push_back(toReduce.front());
      toReduce.erase(toReduce.begin());
      size *= sizes[taken.back()];
      left /= std::max<int64_t>(1, sizes[taken.back()]);
    }
    return taken;
  }

  /// Returns the loops that a stage's result has as dimensions: all that are
  /// left, in the order of the op's result when nothing is left to reduce.
  SmallVector<int> getResultLoops(ArrayRef<int> reduced) {
    SmallVector<int> result;
    if (toReduce.empty()) {
      for (AffineExpr expr :
           op.getMatchingIndexingMap(op.getDpsInitOperand(0)).getResults())
        result.push_back(cast<AffineDimExpr>(expr).getPosition());
      return result;
    }
    for (int loop : loops)
      if (!llvm::is_contained(reduced, loop))
        result.push_back(loop);
    return result;
  }

  /// Makes the init of a stage with these result dimensions.
  Value makeInit(ArrayRef<int> resultLoops) {
    if (toReduce.empty() && !isWide())
      return op.getDpsInits()[0];
    SmallVector<int64_t> shape =
        llvm::map_to_vector(resultLoops, [&](int loop) { return sizes[loop]; });
    auto type = RankedTensorType::get(shape, element);
    Attribute identity =
        builder.getFloatAttr(element, isa<arith::MulFOp>(combiner) ? 1.0 : 0.0);
    return arith::ConstantOp::create(builder, loc,
                                     DenseElementsAttr::get(type, identity));
  }

  /// Emits a stage whose loops are `loops`, of which it reduces some.
  linalg::GenericOp
  emitStage(ValueRange inputs, ArrayRef<AffineMap> inputMaps,
            ArrayRef<int> reduced,
            function_ref<Value(OpBuilder &, Block &)> makeValue) {
    SmallVector<int> resultLoops = getResultLoops(reduced);
    SmallVector<AffineExpr> exprs;
    for (int loop : resultLoops)
      exprs.push_back(
          builder.getAffineDimExpr(llvm::find(loops, loop) - loops.begin()));
    SmallVector<AffineMap> maps(inputMaps);
    maps.push_back(
        AffineMap::get(loops.size(), 0, exprs, builder.getContext()));
    SmallVector<utils::IteratorType> iterators =
        llvm::map_to_vector(loops, [&](int loop) {
          return llvm::is_contained(reduced, loop)
                     ? utils::IteratorType::reduction
                     : utils::IteratorType::parallel;
        });
    Value init = makeInit(resultLoops);
    auto buildBody = [&](OpBuilder &body, Location loc, ValueRange args) {
      Value value = makeValue(body, *body.getInsertionBlock());
      if (value.getType() != element)
        value = arith::ExtFOp::create(body, loc, element, value);
      Value next =
          isa<arith::MulFOp>(combiner)
              ? arith::MulFOp::create(body, loc, args.back(), value).getResult()
              : arith::AddFOp::create(body, loc, args.back(), value);
      linalg::YieldOp::create(body, loc, next);
    };
    auto stage = linalg::GenericOp::create(builder, loc, init.getType(), inputs,
                                           init, maps, iterators, buildBody);
    loops = resultLoops;
    return stage;
  }

  linalg::GenericOp reduceInputs(ArrayRef<int> reduced) {
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    maps.pop_back();
    BlockArgument accumulator = op.getRegionOutputArgs()[0];
    return emitStage(
        op.getInputs(), maps, reduced, [&](OpBuilder &body, Block &block) {
          IRMapping mapping;
          for (BlockArgument arg : op.getRegionInputArgs())
            mapping.map(arg, block.getArgument(arg.getArgNumber()));
          for (Operation &inner : op.getBody()->without_terminator())
            if (&inner != combiner)
              body.clone(inner, mapping);
          unsigned value = combiner->getOperand(0) == accumulator ? 1 : 0;
          return mapping.lookupOrDefault(combiner->getOperand(value));
        });
  }

  linalg::GenericOp reduceAgain(Value made, ArrayRef<int> reduced) {
    AffineMap identity = builder.getMultiDimIdentityMap(loops.size());
    return emitStage(made, identity, reduced, [](OpBuilder &, Block &block) {
      return block.getArgument(0);
    });
  }

  /// Combines the sum with the op's init, and rounds it.
  Value narrow(Value sum) {
    Value init = op.getDpsInits()[0];
    auto type = cast<RankedTensorType>(init.getType());
    bool startsEmpty = isSafeInit(getSplatElement(init), getKind());
    Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                          type.getElementType());
    auto buildBody = [&](OpBuilder &body, Location loc, ValueRange args) {
      Value value = args[0];
      if (!startsEmpty) {
        Value start = arith::ExtFOp::create(body, loc, element, args[1]);
        value = isa<arith::MulFOp>(combiner)
                    ? arith::MulFOp::create(body, loc, start, value).getResult()
                    : arith::AddFOp::create(body, loc, start, value);
      }
      Value rounded =
          arith::TruncFOp::create(body, loc, type.getElementType(), value);
      linalg::YieldOp::create(body, loc, rounded);
    };
    SmallVector<Value> inputs = {sum};
    if (!startsEmpty)
      inputs.push_back(init);
    SmallVector<AffineMap> maps(inputs.size() + 1,
                                builder.getMultiDimIdentityMap(type.getRank()));
    SmallVector<utils::IteratorType> iterators(type.getRank(),
                                               utils::IteratorType::parallel);
    return linalg::GenericOp::create(builder, loc, type, inputs, empty, maps,
                                     iterators, buildBody)
        .getResult(0);
  }

  Reduction getKind() const {
    return isa<arith::MulFOp>(combiner) ? Reduction::Prod : Reduction::Sum;
  }

  linalg::GenericOp op;
  OpBuilder builder;
  Location loc;
  SmallVector<int64_t> sizes;
  Operation *combiner;
  /// Of the sums.
  Type element;
  /// The op's loops that are left, and those of them that are to be reduced.
  SmallVector<int> loops, toReduce;
};

bool isSplittable(linalg::GenericOp op) {
  return op.getNumResults() == 1 && op.hasPureTensorSemantics() &&
         !op.hasDynamicShape() && isPlainReduction(op) &&
         op.getMatchingIndexingMap(op.getDpsInitOperand(0))
             .isProjectedPermutation();
}

} // namespace

SmallVector<linalg::GenericOp>
mlir::weft::splitReduction(linalg::GenericOp op) {
  if (!isSplittable(op))
    return {op};
  return StagedReduction(op).run();
}
