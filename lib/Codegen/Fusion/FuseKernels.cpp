// SPDX-License-Identifier: Apache-2.0

// Three steps. Elementwise producers are fused into their consumers by
// upstream's patterns, where that does not repeat work. Parts of concatenations
// are made to be computed in place. Then ops are grouped greedily in program
// order: an op joins the group of a producer or of a sibling if the group still
// has one loop structure (KernelShape), little scratch memory, no value leaves
// the group and comes back, no value that leaves it waits for a collective
// only because of others in the group (what is computed early is not to be
// late, for it may run, or feed a collective, beside that one), and nothing
// large is kept for a member that is far (KeptInputs). Groups become
// weft_rt.fused, placed in an order that keeps the program's wherever
// dependences allow.

#include "AlignViews.h"
#include "ComputeByParts.h"
#include "FuseElementwise.h"
#include "GroupGraph.h"
#include "JoinNumbers.h"
#include "KeptInputs.h"
#include "ProgramOps.h"
#include "ReadScalars.h"
#include "SplitSums.h"
#include "weft/Codegen/Fusion/KernelShape.h"
#include "weft/Codegen/Fusion/Orders.h"

#include "weft/Analysis/MergeEqualOps.h"
#include "weft/Analysis/Traffic.h"
#include "weft/Codegen/Fusion/Passes.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"
#include "weft/Target/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::weft {
#define GEN_PASS_DEF_FUSEKERNELSPASS
#include "weft/Codegen/Fusion/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

/// How far apart in the program ops may be that only read the same operand.
constexpr unsigned kMaxSiblingDistance = 96;

/// Ops become one kernel for what both read if that is one part in so many of
/// the largest tensor that one of them takes.
constexpr int64_t kMinSharedPart = 8;

//===----------------------------------------------------------------------===//
// Parts of concatenations
//===----------------------------------------------------------------------===//

/// Says whether `operand` is a result that only goes into concatenations, in
/// another shape, of an op that can be computed in that shape.
bool shouldExpand(OpOperand *operand) {
  auto expand = dyn_cast<tensor::ExpandShapeOp>(operand->getOwner());
  auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
  return expand && producer && producer.isAllParallelLoops() &&
         !producer.hasIndexSemantics() && !isJoin(producer) &&
         llvm::all_of(expand->getUsers(), llvm::IsaPred<tensor::ConcatOp>);
}

/// Says whether a part that is computed in place would be copied for others
/// that use it: kernels and contractions read it there.
bool isShared(OpOperand &part) {
  auto op = part.get().getDefiningOp<linalg::GenericOp>();
  return op && op->getBlock() == part.getOwner()->getBlock() && !isJoin(op) &&
         llvm::any_of(part.get().getUses(), [&](OpOperand &use) {
           return &use != &part &&
                  !isa<linalg::LinalgOp, MatmulOp>(use.getOwner());
         });
}

/// A part that others need elsewhere gets a copy of its own, which the kernel
/// that computes it writes along with it: a pass over memory is spared.
void copySharedParts(func::FuncOp func) {
  SmallVector<OpOperand *> parts;
  forEachOp<tensor::ConcatOp>(func, [&](tensor::ConcatOp concat) {
    for (OpOperand &part : concat->getOpOperands())
      if (isShared(part))
        parts.push_back(&part);
  });
  for (OpOperand *part : parts) {
    Value value = part->get();
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    part->set(createCopy(builder, value.getLoc(), value).getResult(0));
  }
}

/// Prepares parts to be computed where the concatenation has them.
LogicalResult prepareParts(func::FuncOp func) {
  SmallVector<Operation *> reshapes;
  forEachOp<tensor::ExpandShapeOp>(func, [&](tensor::ExpandShapeOp op) {
    if (shouldExpand(&op.getSrcMutable()))
      reshapes.push_back(op);
  });
  if (!reshapes.empty()) {
    RewritePatternSet patterns(func.getContext());
    linalg::populateFoldReshapeOpsByExpansionPatterns(patterns, shouldExpand);
    tensor::populateFoldTensorEmptyPatterns(patterns);
    GreedyRewriteConfig config;
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    if (failed(applyPatternsGreedily(func, std::move(patterns), config)))
      return failure();
    // Ops that read one tensor read one reshape of it.
    mergeEqualOps(func);
  }
  copySharedParts(func);
  return success();
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// Turns generic ops that write one scalar everywhere into fills: sums start
/// from these without reading memory.
void nameFills(func::FuncOp func) {
  SmallVector<linalg::GenericOp> ops;
  forEachOp<linalg::GenericOp>(func, [&](linalg::GenericOp op) {
    if (op->getNumResults() != 1 || op.getNumDpsInputs() != 0 ||
        op.getNumParallelLoops() != op.getNumLoops() ||
        !op.getIndexingMapsArray()[0].isPermutation())
      return;
    Block *body = op.getBody();
    Value scalar = body->getTerminator()->getOperand(0);
    if (llvm::hasSingleElement(*body) && scalar.getParentBlock() != body)
      ops.push_back(op);
  });
  for (linalg::GenericOp op : ops) {
    OpBuilder builder(op);
    Value scalar = op.getBody()->getTerminator()->getOperand(0);
    auto fill = linalg::FillOp::create(builder, op.getLoc(), scalar,
                                       op.getDpsInits()[0]);
    op->replaceAllUsesWith(fill);
    op.erase();
  }
}

/// The scalar that a fill or a splat constant repeats; null for other ops.
Value getSplatScalar(Operation *op, OpBuilder &builder) {
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return fill.getInputs()[0];
  auto constant = dyn_cast<arith::ConstantOp>(op);
  if (!constant || !isa<RankedTensorType>(constant.getType()))
    return {};
  auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
  return splat ? arith::ConstantOp::create(
                     builder, op->getLoc(),
                     cast<TypedAttr>(splat.getSplatValue<Attribute>()))
                     .getResult()
               : Value();
}

/// A generic op that writes `scalar` everywhere.
Value createSplat(OpBuilder &builder, Location loc, RankedTensorType type,
                  Value scalar) {
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, type, ValueRange(), empty,
             builder.getMultiDimIdentityMap(type.getRank()), iterators,
             [&](OpBuilder &nested, Location nestedLoc, ValueRange) {
               linalg::YieldOp::create(nested, nestedLoc, scalar);
             })
      .getResult(0);
}

/// Says whether the op writes its result over what it takes here.
bool isUpdated(OpOperand &use) {
  auto insert = dyn_cast<tensor::InsertSliceOp>(use.getOwner());
  auto scatter = dyn_cast<ScatterAddOp>(use.getOwner());
  return (insert && &use == &insert.getDestMutable()) ||
         (scatter && &use == &scatter.getInitMutable());
}

/// What is updated is overwritten: several updates each get a splat of their
/// own, which is less to do than a copy, and can be done at any time.
void splitUpdated(Value whole, Value scalar) {
  auto type = cast<RankedTensorType>(whole.getType());
  for (OpOperand &use : llvm::make_early_inc_range(whole.getUses()))
    if (isUpdated(use) && !whole.hasOneUse()) {
      OpBuilder builder(use.getOwner());
      use.set(createSplat(builder, whole.getLoc(), type, scalar));
    }
}

/// Splats that ops start from become fills, which kernels take as a scalar;
/// splats that are read become generic ops.
void materializeSplats(func::FuncOp func) {
  SmallVector<Operation *> ops;
  func.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<arith::ConstantOp, linalg::FillOp>(op))
      ops.push_back(op);
    return isa<linalg::LinalgOp>(op) ? WalkResult::skip()
                                     : WalkResult::advance();
  });
  auto isInit = [](OpOperand &use) {
    auto user = dyn_cast<linalg::GenericOp>(use.getOwner());
    return user && user.isDpsInit(&use);
  };
  for (Operation *op : ops) {
    OpBuilder builder(op);
    Location loc = op->getLoc();
    Value scalar = getSplatScalar(op, builder);
    if (!scalar)
      continue;
    Value whole = op->getResult(0);
    auto type = cast<RankedTensorType>(whole.getType());
    splitUpdated(whole, scalar);
    if (!isa<linalg::FillOp>(op) && llvm::any_of(whole.getUses(), isInit)) {
      Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                            type.getElementType());
      auto fill = linalg::FillOp::create(builder, loc, scalar, empty);
      whole.replaceUsesWithIf(fill.getResult(0), isInit);
    }
    // A kernel has a splat of its own, not one that it shares with others: they
    // would become one kernel for its sake.
    for (OpOperand &use : llvm::make_early_inc_range(whole.getUses()))
      if (isa<linalg::GenericOp>(use.getOwner()) && !isInit(use)) {
        builder.setInsertionPoint(use.getOwner());
        use.set(createSplat(builder, loc, type, scalar));
      }
    builder.setInsertionPoint(op);
    if (llvm::all_of(whole.getUses(), isInit))
      continue;
    Value splat = createSplat(builder, loc, type, scalar);
    whole.replaceUsesWithIf(splat,
                            [&](OpOperand &use) { return !isInit(use); });
  }
}

/// Tensors of scalars become fills, of parts if they have several elements: a
/// kernel writes them, which gets the scalars with its launch.
void fillElements(func::FuncOp func) {
  SmallVector<tensor::FromElementsOp> ops;
  forEachOp<tensor::FromElementsOp>(
      func, [&](tensor::FromElementsOp op) { ops.push_back(op); });
  for (tensor::FromElementsOp op : ops) {
    OpBuilder builder(op);
    Location loc = op.getLoc();
    RankedTensorType type = op.getType();
    bool isWhole = type.getNumElements() == 1;
    SmallVector<int64_t> shape(type.getShape());
    if (!isWhole)
      shape.assign(1, 1);
    SmallVector<Value> parts;
    for (Value element : op.getElements()) {
      Value empty =
          tensor::EmptyOp::create(builder, loc, shape, type.getElementType());
      parts.push_back(
          linalg::FillOp::create(builder, loc, element, empty).getResult(0));
    }
    Value all = isWhole ? parts.front() : Value();
    if (parts.empty())
      all = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                    type.getElementType());
    if (!all)
      all = tensor::ConcatOp::create(builder, loc, /*dim=*/0, parts);
    if (!isWhole && type.getRank() > 1 && !parts.empty()) {
      ReassociationIndices dims(
          llvm::to_vector(llvm::seq<int64_t>(0, type.getRank())));
      all = tensor::ExpandShapeOp::create(builder, loc, type, all,
                                          ArrayRef<ReassociationIndices>(dims));
    }
    op.getResult().replaceAllUsesWith(all);
    op.erase();
  }
}

size_t getCompileCost(linalg::GenericOp op) {
  constexpr size_t costOfFormula = 32;
  size_t cost = 0;
  for (Operation &inner : *op.getBody())
    cost += isHeavyScalar(inner) ? costOfFormula : 1;
  return cost;
}

/// The groups of one block.
class Grouping {
public:
  Grouping(Block &block, const FusionLimits &limits)
      : block(block), limits(limits), graph(block) {}

  void run();
  unsigned getNumGroups() const { return numGroups; }
  unsigned getNumFused() const { return numFused; }

private:
  void findCollectives();
  void tryJoin(linalg::GenericOp op);
  bool tryJoinGroup(linalg::GenericOp op, unsigned group, bool sharesLittle);
  KernelShape tile(const KernelShape &shape, bool isNear);
  bool isProfitable(const KernelShape &shape, bool isNear);
  bool delays(ArrayRef<linalg::GenericOp> ops);
  SmallVector<Operation *> getOps(unsigned group) const;
  void reorder();
  void build(unsigned group);

  Block &block;
  const FusionLimits limits;
  GroupGraph graph;
  /// By an op's position, that of the last collective in program order that it
  /// waits for; -1: none.
  std::vector<int> lastCollectives;
  /// For each value the generic ops that were visited so far and take it.
  DenseMap<Value, SmallVector<linalg::GenericOp>> readers;
  unsigned numGroups = 0, numFused = 0;
};

void Grouping::findCollectives() {
  DenseSet<Operation *> collectives;
  block.walk([&](Operation *op) {
    if (getCollectiveKind(op))
      collectives.insert(block.findAncestorOpInBlock(*op));
  });
  for (unsigned position = 0; position < graph.getNumOps(); ++position) {
    int last = -1;
    for (unsigned def : graph.getDependences(position))
      last = std::max(last, collectives.contains(graph.getOp(def))
                                ? static_cast<int>(def)
                                : lastCollectives[def]);
    lastCollectives.push_back(last);
  }
}

SmallVector<Operation *> Grouping::getOps(unsigned group) const {
  return llvm::map_to_vector(graph.getMembers(group), [&](unsigned position) {
    return graph.getOp(position);
  });
}

/// Says whether a value that leaves the group of `ops` would wait for a later
/// collective than it does by itself. What is used in the group alone may.
bool Grouping::delays(ArrayRef<linalg::GenericOp> ops) {
  int last = -1;
  for (Operation *op : ops)
    last = std::max(last, lastCollectives[graph.getPosition(op)]);
  return llvm::any_of(ops, [&](Operation *op) {
    return lastCollectives[graph.getPosition(op)] != last &&
           llvm::any_of(op->getUsers(), [&](Operation *user) {
             return !llvm::is_contained(ops, user);
           });
  });
}

/// The loop structure of ops on tensors that lie dense.
FailureOr<KernelShape> analyzeDense(ArrayRef<linalg::GenericOp> ops) {
  return analyzeKernel(ops, [](Value value) {
    return rt::getDenseStrides(
        cast<RankedTensorType>(value.getType()).getShape());
  });
}

/// Says whether there is much to do, and little of it can be shared out.
bool isOneThreads(const KernelShape &shape) {
  return shape.getExtent() < 8 && shape.getWork() > (1 << 16);
}

/// Bytes of a row that wait for later phases.
int64_t getScratchBytes(const KernelShape &shape) {
  int64_t scratch = 0;
  for (auto &[value, dims] : shape.valueDims) {
    bool waits = false;
    for (const Member &member : shape.members)
      if (llvm::is_contained(linalg::GenericOp(member.op)->getOperands(),
                             value))
        waits |= !shape.isForwarded(value, member) && !shape.isRowScalar(value);
    if (waits)
      scratch += shape.getRowElements(value) *
                 rt::getElementBytes(getElementTypeOrSelf(value));
  }
  return scratch;
}

/// The shape in which the target makes code of a joint kernel. Rows are cut for
/// ops that are near each other: in place of what waits for a far one, as what
/// is quantized for the backward pass, what it is made of would be kept, which
/// may be wider.
KernelShape Grouping::tile(const KernelShape &shape, bool isNear) {
  KernelShape tiled = shape;
  if (limits.tileRows && isNear)
    limits.tileRows(tiled);
  return tiled;
}

/// What a joint kernel must keep: enough rows to share out, little scratch.
bool Grouping::isProfitable(const KernelShape &shape, bool isNear) {
  bool isLong = getScratchBytes(shape) > limits.scratchBytes;
  bool isFew = shape.phases.size() > 1 && isOneThreads(shape);
  if (!isLong && !isFew)
    return true;
  KernelShape tiled = tile(shape, isNear);
  return !(isFew && isOneThreads(tiled)) &&
         getScratchBytes(tiled) <= limits.scratchBytes;
}

/// Says whether a row has several results of a sum.
bool hasSumsInRows(const KernelShape &shape) {
  if (shape.phases.size() < 2) // what is parallel in it is as good as a row
    return false;
  return llvm::any_of(shape.members, [&](const Member &member) {
    return member.isReduction() &&
           llvm::any_of(shape.phases[member.phase].loops, [&](int dim) {
             return !(member.reductionDims >> dim & 1);
           });
  });
}

/// Says whether a row has as much to do as is cut into parts of a row each.
bool hasLongRows(const KernelShape &shape) {
  return shape.getWork() >= kLongSum * shape.getExtent();
}

bool Grouping::tryJoinGroup(linalg::GenericOp op, unsigned group,
                            bool sharesLittle) {
  unsigned own = graph.getGroup(graph.getPosition(op));
  SmallVector<linalg::GenericOp> ops;
  for (Operation *member : getOps(group)) {
    auto generic = dyn_cast<linalg::GenericOp>(member);
    if (!generic || isJoin(generic)) // which is not to be later
      return false;
    ops.push_back(generic);
  }
  if (group == own || ops.size() >= limits.numOps)
    return false;
  auto isNear = [&](linalg::GenericOp member) {
    return graph.getPosition(op) - graph.getPosition(member) <
           kMaxSiblingDistance;
  };
  bool areNear = llvm::all_of(ops, isNear);
  if (keepsMore(ops, op))
    return false;
  ops.push_back(op);
  size_t cost = 0;
  for (linalg::GenericOp member : ops)
    cost += getCompileCost(member);
  if (cost > limits.compileCost)
    return false;
  llvm::sort(ops, [&](Operation *a, Operation *b) {
    return graph.getPosition(a) < graph.getPosition(b);
  });
  if (delays(ops))
    return false;
  FailureOr<KernelShape> shape = analyzeDense(ops);
  if (failed(shape) || !isProfitable(*shape, areNear))
    return false;
  if (limits.spreadsSums && (sharesLittle || hasLongRows(*shape)) &&
      hasSumsInRows(*shape))
    return false;
  // Sums by rows and by columns would be one thread's together.
  if (isOneThreads(*shape) && isOneThreads(tile(*shape, areNear))) {
    FailureOr<KernelShape> alone = analyzeDense(op);
    llvm::erase(ops, op);
    FailureOr<KernelShape> others = analyzeDense(ops);
    if (succeeded(alone) && succeeded(others) && !isOneThreads(*alone) &&
        !isOneThreads(*others))
      return false;
  }
  return graph.merge(own, group);
}

/// Joins `op` to the group of one of its producers, or of a sibling that reads
/// the same operand.
void Grouping::tryJoin(linalg::GenericOp op) {
  SmallVector<std::pair<int64_t, unsigned>> candidates;
  auto add = [&](Operation *other, Value shared) {
    if (!isa<linalg::GenericOp>(other) || other->getBlock() != &block)
      return;
    candidates.push_back(
        {-getNumElements(shared), graph.getGroup(graph.getPosition(other))});
  };
  int64_t most = 0;
  for (Value operand : op->getOperands())
    most = std::max(most, getNumElements(operand));
  for (Value operand : op->getOperands()) {
    if (!isa<RankedTensorType>(operand.getType()))
      continue;
    if (Operation *def = operand.getDefiningOp())
      add(def, operand);
    // To read little together is no reason to wait for one another.
    if (getNumElements(operand) * kMinSharedPart < most)
      continue;
    for (Operation *user : llvm::reverse(readers[operand])) {
      if (graph.getPosition(op) - graph.getPosition(user) >=
          kMaxSiblingDistance)
        break;
      add(user, operand);
    }
  }
  llvm::stable_sort(candidates,
                    [&](auto &a, auto &b) { return a.first < b.first; });
  DenseSet<unsigned> tried;
  for (auto [size, group] : candidates)
    if (tried.insert(group).second &&
        tryJoinGroup(op, group, -size * kMinSharedPart < most))
      return;
}

/// Puts the members of a group next to each other, where its last member was.
void Grouping::reorder() {
  Operation *terminator = block.getTerminator();
  for (unsigned group : graph.getOrder())
    for (Operation *op : getOps(group))
      if (op != terminator)
        op->moveBefore(terminator);
}

/// What barriers pass on, as it was before them.
Value getBeforeBarriers(Value value) {
  while (auto barrier = value.getDefiningOp<OptimizationBarrierOp>())
    value = barrier.getOperand(cast<OpResult>(value).getResultNumber());
  return value;
}

/// Which of its inputs a kernel reads for each: of those that are the same but
/// for barriers the last one, since it waits for all of them.
DenseMap<Value, Value> findLastOfSame(ArrayRef<Value> inputs) {
  DenseMap<Value, Value> last, chosen;
  for (Value input : inputs) {
    Value &known = last[getBeforeBarriers(input)];
    Operation *def = input.getDefiningOp();
    Operation *other = known ? known.getDefiningOp() : nullptr;
    if (!known || (def && (!other || other->isBeforeInBlock(def))))
      known = input;
  }
  for (Value input : inputs)
    chosen[input] = last[getBeforeBarriers(input)];
  return chosen;
}

/// Moves a group's ops into a weft_rt.fused.
void Grouping::build(unsigned id) {
  SmallVector<Operation *> group = getOps(id);
  Operation *last = group.back();
  OpBuilder builder(last);
  Location loc = last->getLoc();
  // Inputs: tensors from outside, and scalars that are not constants.
  llvm::SetVector<Value> inputs;
  DenseSet<Operation *> members(group.begin(), group.end());
  auto isCopied = [](Operation *def) {
    return def && (isa<tensor::EmptyOp>(def) ||
                   def->hasTrait<OpTrait::ConstantLike>());
  };
  llvm::SetVector<Operation *> local;
  std::function<void(Value)> need = [&](Value value) {
    Operation *def = value.getDefiningOp();
    if (def && members.count(def))
      return;
    bool isTensor = isa<RankedTensorType>(value.getType());
    if (auto fill = value.getDefiningOp<linalg::FillOp>()) {
      need(fill.getInputs()[0]);
      need(fill.getOutputs()[0]);
      local.insert(def);
      return;
    }
    if (isCopied(def) && (!isTensor || isa<tensor::EmptyOp>(def))) {
      local.insert(def);
      return;
    }
    inputs.insert(value);
  };
  for (Operation *op : group)
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (!op->isAncestor(operand.getParentRegion()->getParentOp()))
          need(operand);
    });
  SmallVector<Value> results;
  for (Operation *op : group)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            return !members.count(block.findAncestorOpInBlock(*user));
          }))
        results.push_back(result);

  SmallVector<Value> given = inputs.takeVector();
  DenseMap<Value, Value> read = findLastOfSame(given);
  SmallVector<Value> operands = llvm::filter_to_vector(
      given, [&](Value value) { return read[value] == value; });
  auto *firstScalar =
      std::stable_partition(operands.begin(), operands.end(), [](Value value) {
        return isa<RankedTensorType>(value.getType());
      });
  auto fused = rt::FusedOp::create(
      builder, loc, TypeRange(ValueRange(results)),
      ArrayRef<Value>(operands.begin(), firstScalar),
      ArrayRef<Value>(firstScalar, operands.end()), ValueRange());
  SmallVector<Location> locs(operands.size(), loc);
  Block *body = builder.createBlock(&fused.getBody(), {},
                                    TypeRange(ValueRange(operands)), locs);
  IRMapping mapping;
  mapping.map(operands, body->getArguments());
  for (Value value : given)
    mapping.map(value, mapping.lookup(read[value]));
  for (Operation *op : local)
    builder.clone(*op, mapping);
  for (Operation *op : group)
    builder.clone(*op, mapping);
  SmallVector<Value> yielded;
  for (Value result : results)
    yielded.push_back(mapping.lookup(result));
  rt::YieldOp::create(builder, loc, yielded);
  for (auto [result, replacement] : llvm::zip(results, fused.getResults()))
    result.replaceUsesWithIf(replacement, [&](OpOperand &use) {
      return !members.count(block.findAncestorOpInBlock(*use.getOwner()));
    });
  for (Operation *op : llvm::reverse(group))
    op->erase();
  ++numGroups;
  if (members.size() > 1)
    numFused += members.size();
}

void Grouping::run() {
  findCollectives();
  SmallVector<linalg::GenericOp> ops(block.getOps<linalg::GenericOp>());
  for (linalg::GenericOp op : ops) {
    tryJoin(op);
    for (Value operand : op->getOperands())
      if (isa<RankedTensorType>(operand.getType()))
        readers[operand].push_back(op);
  }
  if (limits.joinsNumbers)
    joinNumbers(block, graph, limits);
  reorder();
  // Their ops are erased as they are built.
  SmallVector<unsigned> kernels;
  for (unsigned group = 0; group < graph.getNumOps(); ++group)
    if (SmallVector<Operation *> members = getOps(group);
        !members.empty() && isa<linalg::GenericOp>(members.front()))
      kernels.push_back(group);
  for (unsigned group : kernels)
    build(group);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isa<linalg::FillOp, tensor::EmptyOp>(op) && op.use_empty())
      op.erase();
}

/// The blocks whose ops are the program's, and no ops' bodies.
SmallVector<Block *> getBlocks(func::FuncOp func) {
  SmallVector<Block *> blocks;
  func.walk([&](Block *block) {
    if (!isa<linalg::LinalgOp, rt::FusedOp, tensor::GenerateOp, tensor::PadOp>(
            block->getParentOp()))
      blocks.push_back(block);
  });
  return blocks;
}

struct FuseKernelsPass
    : public weft::impl::FuseKernelsPassBase<FuseKernelsPass> {
  using Base::Base;

  void runOnOperation() override {
    const Target *target = lookupTarget(getOperation());
    if (!target)
      return signalPassFailure();
    for (func::FuncOp func : getOperation().getOps<func::FuncOp>()) {
      fillElements(func);
      computeByParts(func);
      moveOrdersIntoBodies(func);
      FusionLimits limits = target->getFusionLimits(getOperation());
      LogicalResult fused = fuseElementwise(func, limits.scratchBytes);
      moveOrdersOutOfBodies(func);
      if (failed(fused))
        return signalPassFailure();
      if (limits.alignsViews)
        for (Block *block : getBlocks(func))
          alignViews(*block);
      if (limits.sumParts > 0)
        for (Block *block : getBlocks(func))
          splitSums(*block, limits.sumParts);
      for (Block *block : getBlocks(func))
        alignProducers(*block, /*inRows=*/!limits.alignsViews);
      if (failed(prepareParts(func)))
        return signalPassFailure();
      readScalarsAsOperands(func);
      nameFills(func);
      materializeSplats(func);
      for (Block *block : getBlocks(func)) {
        if (llvm::any_of(*block, [](Operation &op) {
              return isa<linalg::GenericOp>(op);
            })) {
          Grouping grouping(*block, limits);
          grouping.run();
          numKernels += grouping.getNumGroups();
          numFused += grouping.getNumFused();
        }
      }
    }
  }
};

} // namespace
