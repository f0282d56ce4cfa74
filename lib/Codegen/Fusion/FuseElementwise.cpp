// SPDX-License-Identifier: Apache-2.0

// Upstream's patterns do the fusion. What is weft's own is what they leave
// alone: producers with several readers, which are copied for each where memory
// is spared.

#include "FuseElementwise.h"
#include "KeptInputs.h"

#include "ProgramOps.h"

#include "weft/Codegen/Fusion/Orders.h"
#include "weft/Dialect/Weft/IR/Formulas.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mlir::weft;

int64_t mlir::weft::getNumElements(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() ? type.getNumElements() : 1;
}

int64_t mlir::weft::getBytes(Value value) {
  Type element = getElementTypeOrSelf(value);
  return getNumElements(value) *
         (element.isIntOrFloat() ? rt::getElementBytes(element) : 8);
}

bool mlir::weft::isHeavyScalar(Operation &op) {
  auto extract = dyn_cast<tensor::ExtractOp>(op);
  return isa<math::ExpOp, math::LogOp, math::TanhOp, math::ErfOp, math::PowFOp,
             math::SinOp, math::CosOp, math::Log1pOp, math::ExpM1Op>(op) ||
         (extract && !extract.getIndices().empty()) || op.getNumRegions() != 0;
}

namespace {

bool isHeavy(linalg::GenericOp op) {
  return llvm::any_of(op.getBody()->getOperations(), isHeavyScalar);
}

/// Says whether the op is a formula of elements whose rows are too long to be
/// kept by a kernel, as exponentials of logits are: two readers would read from
/// memory what they can compute.
bool isFormulaOfLongRows(linalg::GenericOp op, int64_t scratchBytes) {
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || type.getRank() == 0 || !op->getResult(0).hasNUses(2) ||
      llvm::any_of(op.getBody()->getOperations(), [](Operation &inner) {
        return inner.getNumRegions() != 0 || isa<tensor::ExtractOp>(inner);
      }))
    return false;
  int64_t row = type.getShape().back();
  return row * rt::getElementBytes(type.getElementType()) > scratchBytes;
}

/// Ops of a body, with those that code is made of for formulas.
size_t countOps(linalg::GenericOp op) {
  size_t count = 0;
  for (Operation &inner : *op.getBody())
    count += getFormulaSize(&inner).value_or(1);
  return count;
}

/// Ops of a producer that may be computed again. Without a bound, a chain whose
/// links have two readers each, as random bits have, would double at each link.
constexpr unsigned kMaxRepeatedOps = 16;

/// Says whether the use is one that upstream fuses the producer into, and walks
/// over each element of it once.
bool readsOnce(OpOperand &use) {
  auto reader = dyn_cast<linalg::GenericOp>(use.getOwner());
  if (!reader || !reader.isDpsInput(&use) ||
      !linalg::areElementwiseOpsFusable(&use))
    return false;
  int64_t points = 1;
  for (int64_t size : reader.getStaticLoopRanges())
    points *= size;
  return points == getNumElements(use.get());
}

/// Says whether memory is spared if each reader computes the producer's result:
/// what it is made of takes no more bytes, and nobody needs the result itself:
/// `mayRepeat` says so of each use. Tensors that are much smaller than the
/// result are read from a cache.
bool sparesMemory(linalg::GenericOp producer, int64_t scratchBytes,
                  function_ref<bool(OpOperand &)> mayRepeat = readsOnce) {
  if (producer->getNumResults() != 1 || !producer.isAllParallelLoops() ||
      isJoin(producer) ||
      (isHeavy(producer) && !isFormulaOfLongRows(producer, scratchBytes)))
    return false;
  Value result = producer->getResult(0);
  int64_t read = 0, written = getBytes(result);
  for (Value input : producer.getDpsInputs())
    read += getBytes(input);
  return read * 8 <= written * 9 && llvm::all_of(result.getUses(), mayRepeat);
}

/// Says whether the producer may be computed again in each consumer: it only
/// moves, or it reads much less than it writes and does little.
bool isCheapToRepeat(linalg::GenericOp producer) {
  if (llvm::hasSingleElement(*producer.getBody()))
    return true;
  int64_t read = 0;
  for (Value input : producer.getDpsInputs())
    read += getNumElements(input);
  return read * 8 <= getNumElements(producer->getResult(0)) &&
         countOps(producer) <= kMaxRepeatedOps && !isHeavy(producer);
}

/// Ops after which a tensor's memory is taken to be still its own.
constexpr unsigned kSoon = 32;

/// Says whether two readers at most, and soon, read what is made narrow of a
/// tensor that is in memory as it is. They read no more than this op and they
/// would read and write; if they become one kernel, half of it.
bool isReadSoon(linalg::GenericOp producer) {
  Block *body = producer.getBody();
  if (producer.getNumDpsInputs() != 1 || producer->getNumResults() != 1 ||
      !llvm::hasNItems(body->getOperations(), 2) ||
      !isa<arith::TruncFOp>(body->front()))
    return false;
  Value source = producer.getDpsInputs()[0];
  while (isa_and_present<tensor::ExtractSliceOp, tensor::ExpandShapeOp,
                         tensor::CollapseShapeOp>(source.getDefiningOp()))
    source = source.getDefiningOp()->getOperand(0);
  Value result = producer->getResult(0);
  if (!source.getDefiningOp() || source.getDefiningOp<linalg::GenericOp>() ||
      llvm::range_size(result.getUses()) > 2 ||
      !llvm::all_of(result.getUses(), readsOnce))
    return false;
  SmallPtrSet<Operation *, 2> readers(result.user_begin(), result.user_end());
  Operation *next = producer;
  for (unsigned i = 0; i < kSoon && next && !readers.empty(); ++i) {
    readers.erase(next);
    next = next->getNextNode();
  }
  return readers.empty();
}

/// Ops of a body that fusion makes. Each fusion copies both bodies, and each
/// round of the rewriter visits all ops: without a bound, the time of a chain
/// would grow with the cube of its length. What is not fused here is computed
/// in one kernel all the same, if its group has room.
constexpr size_t kMaxBodyOps = 64;

/// Says whether the producer does little, with all that is computed again for
/// it: producers that are repeated in turn, up to what is in memory. Of a long
/// chain whose links have two readers each, as sums that are subtracted from
/// what they are of, the links after the first few are stored: each reader
/// would compute all of the chain that a body has room for.
bool isShortChain(linalg::GenericOp producer, int64_t scratchBytes) {
  SmallVector<linalg::GenericOp> repeated = {producer};
  size_t count = 0;
  for (size_t i = 0; i < repeated.size(); ++i) {
    count += countOps(repeated[i]);
    if (count > kMaxRepeatedOps)
      return false;
    for (Value input : repeated[i].getDpsInputs()) {
      auto def = input.getDefiningOp<linalg::GenericOp>();
      if (def && !llvm::is_contained(repeated, def) &&
          sparesMemory(def, scratchBytes))
        repeated.push_back(def);
    }
  }
  return true;
}

/// Says whether the producer may be computed again in this consumer. What is
/// repeated to spare memory has to become one body with it: copies that stay
/// would double at each link of a chain with two readers each.
bool shouldRepeat(linalg::GenericOp producer, linalg::GenericOp consumer,
                  int64_t scratchBytes) {
  if (isCheapToRepeat(producer) || isReadSoon(producer))
    return true;
  return countOps(producer) + countOps(consumer) <= kMaxBodyOps &&
         sparesMemory(producer, scratchBytes) &&
         isShortChain(producer, scratchBytes);
}

/// Says whether each loop of the fused op has an operand that says how long it
/// is. Constants do not: they become part of the body. Of others upstream keeps
/// the producer's result, over loops that a reduction may not have.
bool hasLengths(linalg::GenericOp producer, linalg::GenericOp consumer,
                OpOperand *operand) {
  AffineMap toElement = inversePermutation(
      producer.getIndexingMapMatchingResult(cast<OpResult>(operand->get())));
  if (!toElement)
    return false;
  auto hasAllLoops = [&](OpOperand &init) {
    return consumer.getMatchingIndexingMap(&init).isPermutation();
  };
  if (llvm::any_of(consumer.getDpsInitsMutable(), hasAllLoops))
    return true;
  toElement = toElement.compose(consumer.getMatchingIndexingMap(operand));
  SmallVector<AffineMap> maps;
  auto add = [&](OpOperand *other, AffineMap map) {
    if (other != operand && !matchPattern(other->get(), m_Constant()))
      maps.push_back(map);
  };
  for (OpOperand *input : consumer.getDpsInputOperands())
    add(input, consumer.getMatchingIndexingMap(input));
  for (OpOperand *input : producer.getDpsInputOperands())
    add(input, producer.getMatchingIndexingMap(input).compose(toElement));
  for (OpOperand &init : consumer.getDpsInitsMutable())
    maps.push_back(consumer.getMatchingIndexingMap(&init));
  return bool(
      inversePermutation(concatAffineMaps(maps, producer.getContext())));
}

/// Upstream's fusion computes a producer with other readers once, as another
/// result of the consumer, which may have loops that the result has not. What
/// is joined is joined at once: its parts would have to wait for the consumer.
/// So is what takes up less memory than what it is made of, if the consumer is
/// far.
bool shouldFuse(OpOperand *operand) {
  auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
  auto consumer = dyn_cast<linalg::GenericOp>(operand->getOwner());
  return producer && consumer && producer->hasOneUse() && !isJoin(producer) &&
         countOps(producer) + countOps(consumer) <= kMaxBodyOps &&
         hasLengths(producer, consumer, operand) &&
         !keepsMore(producer, consumer);
}

/// Gives a consumer its own copy of a producer that is cheap to repeat.
struct RepeatCheapProducer : OpRewritePattern<linalg::GenericOp> {
  RepeatCheapProducer(MLIRContext *context, int64_t scratchBytes)
      : OpRewritePattern(context), scratchBytes(scratchBytes) {}

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    for (OpOperand *operand : op.getDpsInputOperands()) {
      auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
      if (!producer || producer->hasOneUse() ||
          producer->getNumResults() != 1 ||
          !shouldRepeat(producer, op, scratchBytes) ||
          !linalg::areElementwiseOpsFusable(operand))
        continue;
      Operation *copy = rewriter.clone(*producer);
      rewriter.modifyOpInPlace(op, [&] { operand->set(copy->getResult(0)); });
      return success();
    }
    return failure();
  }

  int64_t scratchBytes;
};

/// Says whether the op converts each element to a wider type.
bool isWidening(linalg::GenericOp op) {
  Block *body = op.getBody();
  if (op.getNumDpsInputs() != 1 || op->getNumResults() != 1 ||
      !llvm::hasNItems(body->getOperations(), 2))
    return false;
  return isa<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp>(body->front()) &&
         body->front().getOperand(0) == body->getArgument(0);
}

/// Each reader of what was widened widens what it reads. Before other fusion:
/// a conversion that has become one with its producer cannot leave it again,
/// and what the producer makes would be stored wide.
void widenInReaders(func::FuncOp func, int64_t scratchBytes) {
  SmallVector<linalg::GenericOp> ops;
  forEachOp<linalg::GenericOp>(func, [&](linalg::GenericOp op) {
    if (isWidening(op) && sparesMemory(op, scratchBytes))
      ops.push_back(op);
  });
  for (linalg::GenericOp op : ops) {
    OpBuilder builder(op);
    SmallVector<OpOperand *> uses(
        llvm::make_pointer_range(op->getResult(0).getUses()));
    for (OpOperand *use : llvm::drop_begin(uses, uses.empty() ? 0 : 1))
      use->set(builder.clone(*op)->getResult(0));
  }
}

/// Makes several ops of one that computes a few numbers of others, as of a
/// magnitude what elements are multiplied by and what undoes that: each can be
/// computed again where it is read, without a kernel of its own.
void splitNumbers(func::FuncOp func) {
  SmallVector<linalg::GenericOp> ops;
  forEachOp<linalg::GenericOp>(func, [&](linalg::GenericOp op) {
    if (op.getNumLoops() == 0 && op->getNumResults() > 1 &&
        op.hasPureTensorSemantics() && !isHeavy(op) && !isJoin(op) &&
        countOps(op) <= kMaxRepeatedOps &&
        llvm::all_of(op.getRegionOutputArgs(),
                     [](Value out) { return out.use_empty(); }))
      ops.push_back(op);
  });
  for (linalg::GenericOp op : ops) {
    OpBuilder builder(op);
    for (OpResult result : op->getResults()) {
      SmallVector<Value> inputs(op.getDpsInputs());
      SmallVector<AffineMap> maps(inputs.size() + 1,
                                  builder.getEmptyAffineMap());
      auto emitBody = [&](OpBuilder &b, Location loc, ValueRange args) {
        IRMapping mapping;
        mapping.map(op.getRegionInputArgs(), args.drop_back());
        for (Operation &inner : op.getBody()->without_terminator())
          b.clone(inner, mapping);
        Value number =
            op.getBody()->getTerminator()->getOperand(result.getResultNumber());
        linalg::YieldOp::create(b, loc, mapping.lookupOrDefault(number));
      };
      auto own = linalg::GenericOp::create(
          builder, op.getLoc(), result.getType(), inputs,
          op.getDpsInits()[result.getResultNumber()], maps,
          ArrayRef<utils::IteratorType>(), emitBody);
      SmallVector<Operation *> made;
      for (Operation &inner : own.getBody()->without_terminator())
        made.push_back(&inner);
      for (Operation *inner : llvm::reverse(made))
        if (isOpTriviallyDead(inner))
          inner->erase();
      result.replaceAllUsesWith(own->getResult(0));
    }
    op.erase();
  }
}

//===----------------------------------------------------------------------===//
// Lookups and barriers
//===----------------------------------------------------------------------===//

/// Says whether the use is by the body of a generic, which looks up elements.
bool isLookup(OpOperand &use) {
  auto extract = dyn_cast<tensor::ExtractOp>(use.getOwner());
  return extract && extract->getParentOfType<linalg::GenericOp>() &&
         extract->getBlock() != use.get().getParentBlock();
}

/// Says whether the use is one that a producer can be repeated for.
bool canReach(OpOperand &use) {
  auto barrier = dyn_cast<OptimizationBarrierOp>(use.getOwner());
  if (!barrier)
    return isLookup(use) || readsOnce(use);
  if (barrier.getOffload())
    return false;
  // What is there only to be waited for is in memory.
  Value result = barrier.getResult(use.getOperandNumber());
  return llvm::count(barrier.getOperands(), use.get()) == 1 &&
         !result.use_empty() &&
         llvm::all_of(result.getUses(), [](OpOperand &held) {
           auto reader = dyn_cast<linalg::GenericOp>(held.getOwner());
           return isLookup(held) ||
                  (reader && reader.isDpsInput(&held) &&
                   reader.getMatchingIndexingMap(&held).isPermutation());
         });
}

/// Computes the element that is looked up from those of the inputs.
void repeatInLookup(linalg::GenericOp producer, tensor::ExtractOp extract) {
  OpBuilder builder(extract);
  Location loc = extract.getLoc();
  IRMapping mapping;
  for (OpOperand *input : producer.getDpsInputOperands()) {
    SmallVector<Value> indices;
    for (AffineExpr expr : producer.getMatchingIndexingMap(input).getResults())
      indices.push_back(
          extract.getIndices()[cast<AffineDimExpr>(expr).getPosition()]);
    Value element = input->get();
    if (isa<RankedTensorType>(element.getType()))
      element = tensor::ExtractOp::create(builder, loc, element, indices);
    mapping.map(producer.getMatchingBlockArgument(input), element);
  }
  for (Operation &op : producer.getBody()->without_terminator())
    builder.clone(op, mapping);
  Value yielded = producer.getBody()->getTerminator()->getOperand(0);
  extract.getResult().replaceAllUsesWith(mapping.lookupOrDefault(yielded));
  extract.erase();
}

/// Has the barrier hold what the producer reads instead of what it makes.
void repeatAfterBarrier(linalg::GenericOp producer,
                        OptimizationBarrierOp barrier, unsigned number) {
  OpBuilder builder(barrier);
  SmallVector<Value> operands(barrier.getOperands());
  unsigned numInputs = producer.getNumDpsInputs();
  operands.erase(operands.begin() + number);
  llvm::append_range(operands, producer.getDpsInputs());
  auto holding = OptimizationBarrierOp::create(
      builder, barrier.getLoc(), TypeRange(ValueRange(operands)), operands,
      /*offload=*/UnitAttr());
  Operation *copy = builder.clone(*producer);
  copy->setOperands(0, numInputs, holding->getResults().take_back(numInputs));
  SmallVector<Value> results(holding->getResults().drop_back(numInputs));
  results.insert(results.begin() + number, copy->getResult(0));
  barrier->replaceAllUsesWith(results);
  barrier->erase();
}

/// Says whether the body that looks up has room for what the producer does.
/// Without a bound, a chain whose links are read twice would double at each.
bool hasRoom(linalg::GenericOp producer, tensor::ExtractOp extract) {
  auto reader = extract->getParentOfType<linalg::GenericOp>();
  return countOps(producer) + countOps(reader) <= kMaxBodyOps;
}

/// Repeats producers for lookups and after barriers, where all that is read of
/// them can be computed by the readers. Says whether there were any.
bool repeatForReaders(func::FuncOp func, int64_t scratchBytes) {
  SmallVector<linalg::GenericOp> producers;
  forEachOp<linalg::GenericOp>(func, [&](linalg::GenericOp op) {
    if (countOps(op) > kMaxRepeatedOps ||
        !sparesMemory(op, scratchBytes, canReach) ||
        sparesMemory(op, scratchBytes) || op.hasIndexSemantics() ||
        !op.getIndexingMapMatchingResult(op->getResult(0)).isIdentity() ||
        !op.getMatchingBlockArgument(op.getDpsInitOperand(0)).use_empty())
      return;
    bool areSimple = llvm::all_of(op.getIndexingMapsArray(), [](AffineMap map) {
      return map.isProjectedPermutation();
    });
    if (areSimple)
      producers.push_back(op);
  });
  for (linalg::GenericOp producer : llvm::reverse(producers)) {
    SmallVector<OpOperand *> uses(
        llvm::make_pointer_range(producer->getResult(0).getUses()));
    for (OpOperand *use : uses) {
      auto extract = dyn_cast<tensor::ExtractOp>(use->getOwner());
      if (extract && hasRoom(producer, extract))
        repeatInLookup(producer, extract);
      else if (auto barrier = dyn_cast<OptimizationBarrierOp>(use->getOwner()))
        repeatAfterBarrier(producer, barrier, use->getOperandNumber());
    }
  }
  return !producers.empty();
}

/// Applies patterns of generics until nothing changes. Bodies are looked at
/// only where they are made: rounds would go through all their ops. The first
/// round goes backwards, so that consumers take what they can. Later ones go
/// forwards: what a change of one link of a chain makes possible at the next
/// one is then done in the same round.
LogicalResult rewriteGenerics(func::FuncOp func,
                              const FrozenRewritePatternSet &patterns,
                              GreedyRewriteConfig config) {
  config.setScope(&func.getBody());
  bool changed = true;
  for (int round = 0; changed; ++round) {
    SmallVector<Operation *> ops;
    func.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
      ops.push_back(op);
      return isa<linalg::LinalgOp>(op) ? WalkResult::skip()
                                       : WalkResult::advance();
    });
    if (round > 0) // The last of them is the first to be visited.
      std::reverse(ops.begin(), ops.end());
    if (failed(applyOpPatternsGreedily(ops, patterns, config, &changed)))
      return failure();
  }
  return success();
}

/// What computes a number from others is no part of what reads it: these are
/// read in its body again.
LogicalResult readScalarsInBodies(func::FuncOp func) {
  RewritePatternSet patterns(func.getContext());
  linalg::populateInlineConstantOperandsPatterns(patterns);
  SmallVector<Operation *> numbers;
  for (auto op : func.getBody().getOps<linalg::GenericOp>())
    if (op.getNumLoops() == 0 && op.getNumDpsInputs() > 0)
      numbers.push_back(op);
  GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
  config.enableFolding(false);
  return applyOpPatternsGreedily(numbers, std::move(patterns), config);
}

LogicalResult fuseOnce(func::FuncOp func, int64_t scratchBytes) {
  widenInReaders(func, scratchBytes);
  RewritePatternSet patterns(func.getContext());
  linalg::populateElementwiseOpsFusionPatterns(patterns, shouldFuse);
  linalg::populateInlineConstantOperandsPatterns(patterns);
  patterns.add<RepeatCheapProducer>(func.getContext(), scratchBytes);
  // A chain of n ops takes about n rounds, and each round makes fewer of them.
  // There are no branches to simplify.
  GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  config.setMaxIterations(GreedyRewriteConfig::kNoLimit);
  config.enableFolding(false);
  if (failed(rewriteGenerics(func, std::move(patterns), config)))
    return failure();
  // Afterwards: a result that lost its last reader is not visited again. What
  // can be folded was so before; the rest is where bodies came together.
  config.enableFolding(true);
  RewritePatternSet cleanup(func.getContext());
  linalg::populateEraseUnusedOperandsAndResultsPatterns(cleanup);
  return applyPatternsGreedily(func, std::move(cleanup), config);
}

} // namespace

LogicalResult mlir::weft::fuseElementwise(func::FuncOp func,
                                          int64_t scratchBytes) {
  if (failed(readScalarsInBodies(func)))
    return failure();
  splitNumbers(func);
  if (failed(fuseOnce(func, scratchBytes)))
    return failure();
  return repeatForReaders(func, scratchBytes) ? fuseOnce(func, scratchBytes)
                                              : success();
}
