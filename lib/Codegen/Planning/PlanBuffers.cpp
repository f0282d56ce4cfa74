// SPDX-License-Identifier: Apache-2.0

// One walk over the function makes the planned one. Each tensor gets a place
// when its op is met: a view of its operand, the memory of an operand that dies
// there, the caller's result, a part of the concatenation that it goes into, or
// a new root. Arena offsets are filled in at the end, when all lives are known.

#include "Planner.h"

#include "weft/Analysis/PlanSummary.h"
#include "weft/Codegen/Planning/Passes.h"
#include "weft/Memory/ArenaLayout.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::weft {
#define GEN_PASS_DEF_PLANBUFFERSPASS
#include "weft/Codegen/Planning/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

Planner::Planner(func::FuncOp source, func::FuncOp planned,
                 const Target &target)
    : source(source), planned(planned), target(target), places(source),
      builder(planned.getContext()), entry(planned.getContext()) {}

//===----------------------------------------------------------------------===//
// IR of the planned function
//===----------------------------------------------------------------------===//

namespace {

MemRefType getBufferType(RankedTensorType type, ArrayRef<int64_t> strides) {
  if (strides == ArrayRef<int64_t>(rt::getDenseStrides(type.getShape())))
    return MemRefType::get(type.getShape(), type.getElementType());
  return MemRefType::get(
      type.getShape(), type.getElementType(),
      StridedLayoutAttr::get(type.getContext(), /*offset=*/0, strides));
}

} // namespace

rt::BufferOp Planner::emitRoot(int root) {
  if (buffers.size() <= static_cast<size_t>(root))
    buffers.resize(places.getNumRoots());
  rt::BufferOp &op = buffers[root];
  if (!op) {
    const Root &block = places.getRoot(root);
    op = rt::BufferOp::create(
        entry, source.getLoc(),
        getBufferType(block.type, rt::getDenseStrides(block.type.getShape())),
        block.space, block.position, entry.getStringAttr(block.name));
  }
  return op;
}

/// A root, or a view of it, of which there is one per place and type: that two
/// operands are the same memory is seen by their being one value.
Value Planner::emitBuffer(RankedTensorType type, const Place &place) {
  MemRefType bufferType = getBufferType(type, place.strides);
  Value root = emitRoot(place.root);
  if (place.offset == 0 && !place.dynamicOffset && bufferType == root.getType())
    return root;
  Value &view =
      views[{{place.root, place.offset}, {place.dynamicOffset, bufferType}}];
  if (!view) {
    // Where it is in sight of all that use it.
    OpBuilder at = entry;
    if (place.dynamicOffset)
      at.setInsertionPointAfterValue(place.dynamicOffset);
    view = rt::ViewOp::create(at, source.getLoc(), bufferType, root,
                              place.dynamicOffset, place.offset);
  }
  return view;
}

Value Planner::emitBuffer(Value value) {
  return emitBuffer(cast<RankedTensorType>(value.getType()), places.get(value));
}

SmallVector<int64_t> Planner::getIds(ValueRange values) {
  return llvm::map_to_vector(
      values, [&](Value value) { return places.getIds().get(value); });
}

/// Scalars of the planned function for those of the source.
SmallVector<Value> Planner::lookUp(ValueRange values) {
  return llvm::map_to_vector(
      values, [&](Value value) { return scalars.lookup(value); });
}

/// Says for each of the values that `op` names which part it means, unless it
/// means all of each.
void Planner::setParts(Operation *op, StringRef name,
                       ArrayRef<rt::PartAttr> parts) {
  if (llvm::none_of(parts, [](rt::PartAttr part) { return bool(part); }))
    return;
  SmallVector<Attribute> list;
  for (rt::PartAttr part : parts)
    list.push_back(part ? Attribute(part) : builder.getUnitAttr());
  op->setAttr(name, builder.getArrayAttr(list));
}

SmallVector<rt::PartAttr> Planner::getParts(ValueRange values) {
  return llvm::map_to_vector(
      values, [&](Value value) { return places.getIds().getPart(value); });
}

/// Notes which values `op` reads and writes, in the order of its buffers, and
/// the name of the op that it was made of.
void Planner::describe(Operation *op, Operation *origin, ValueRange values) {
  if (!values.empty())
    op->setAttr(rt::WeftRTDialect::kValuesAttr,
                builder.getDenseI64ArrayAttr(getIds(values)));
  setParts(op, rt::WeftRTDialect::kPartsAttr, getParts(values));
  if (origin && origin->hasAttr(WeftDialect::kOpNameAttr))
    op->setAttr(WeftDialect::kOpNameAttr,
                origin->getAttr(WeftDialect::kOpNameAttr));
}

rt::AssembleOp Planner::emitAssemble(Value value, const Place &place,
                                     ValueRange from) {
  auto assemble = rt::AssembleOp::create(
      builder, source.getLoc(),
      emitBuffer(cast<RankedTensorType>(value.getType()), place),
      places.getIds().get(value), getIds(from));
  setParts(assemble, rt::WeftRTDialect::kPartsAttr, getParts(from));
  return assemble;
}

/// Emits a fused op that copies `value`, of which a copy is at `from`, and is
/// called `result` where it goes.
void Planner::emitCopy(Value value, Value result, const Place &from,
                       const Place &to) {
  Location loc = source.getLoc();
  auto type = cast<RankedTensorType>(value.getType());
  Value in = emitBuffer(type, from), out = emitBuffer(type, to);
  auto copy =
      rt::FusedOp::create(builder, loc, TypeRange(), in, ValueRange(), out);
  describe(copy, nullptr, {value, result});
  copy->setAttr(WeftDialect::kOpNameAttr,
                builder.getStringAttr("copy #" + Twine(numCopies++)));
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&copy.getBody(), {}, {type}, {loc});
  linalg::GenericOp generic = createCopy(builder, loc, block->getArgument(0));
  rt::YieldOp::create(builder, loc, generic.getResults());
}

void Planner::emitCopy(Value value, const Place &to) {
  emitCopy(value, value, places.get(value), to);
}

/// Copies a value to dense memory that is alive at `at`, where it is called
/// `result`.
Place Planner::emitDenseCopy(Value value, Value result, Operation *at) {
  Place copy = places.allocate(value.getType(), "copy for " + getName(at));
  emitCopy(value, result, places.get(value), copy);
  return copy;
}

Place Planner::emitDenseCopy(Value value, Operation *at) {
  return emitDenseCopy(value, value, at);
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

/// Scalars are computed as they are.
LogicalResult Planner::visitScalar(Operation *op) {
  if (op->getNumRegions() != 0 || llvm::any_of(op->getOperands(), isTensor) ||
      llvm::any_of(op->getResults(), isTensor))
    return op->emitOpError("has no form on buffers");
  builder.clone(*op, scalars);
  return success();
}

/// What has no defined contents gets memory if it is used as such.
LogicalResult Planner::visitEmpty(tensor::EmptyOp op) {
  if (llvm::all_of(op->getUsers(), [](Operation *user) {
        return isa<tensor::InsertSliceOp, scf::ForOp, scf::YieldOp>(user);
      }))
    return success();
  places.set(op.getResult(), places.allocate(op->getResult(0)));
  emitAssemble(op.getResult(), places.get(op.getResult()), {});
  return success();
}

LogicalResult Planner::visit(Operation *op) {
  for (Type type : op->getResultTypes())
    if (isa<TensorType>(type) && !isPlannable(type))
      return op->emitOpError("has a result of type ")
             << type << ", expected a static shape of integers or floats";
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](rt::FusedOp o) { return visitFused(o); })
      .Case([&](MatmulOp o) { return visitMatmul(o); })
      .Case([&](AttentionOp o) { return visitAttention(o, o.getStart()); })
      .Case([&](AttentionGradOp o) { return visitAttention(o, o.getStart()); })
      .Case([&](ScatterAddOp o) { return visitScatterAdd(o); })
      .Case<AllGatherOp, ReduceScatterOp, AllReduceOp, AllToAllOp, PermuteOp>(
          [&](Operation *o) { return visitStart(o); })
      .Case([&](WaitOp o) { return visitWait(o); })
      .Case<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp>(
          [&](Operation *o) { return visitReshape(o); })
      .Case([&](tensor::ExtractSliceOp o) { return visitExtractSlice(o); })
      .Case([&](tensor::InsertSliceOp o) { return visitInsertSlice(o); })
      .Case([&](tensor::ConcatOp o) { return visitConcat(o); })
      .Case([&](tensor::ExtractOp o) { return visitExtract(o); })
      .Case([&](arith::ConstantOp o) {
        return isTensor(o) ? visitConstant(o) : visitScalar(o);
      })
      .Case([&](tensor::EmptyOp o) { return visitEmpty(o); })
      .Case([&](scf::ForOp o) { return visitFor(o); })
      .Case([&](scf::IfOp o) { return visitIf(o); })
      .Case([&](func::ReturnOp o) { return visitReturn(o); })
      .Default([&](Operation *o) { return visitScalar(o); });
}

LogicalResult Planner::visitBlock(Block &block) {
  for (Operation &op : block) {
    if (isa<scf::YieldOp>(op))
      break;
    if (failed(visit(&op)))
      return failure();
  }
  return success();
}

int64_t Planner::getResultId(unsigned number) {
  Operation *terminator = source.getBody().front().getTerminator();
  return places.getIds().get(terminator->getOperand(number));
}

rt::PartAttr Planner::getResultPart(unsigned number) {
  Operation *terminator = source.getBody().front().getTerminator();
  return places.getIds().getPart(terminator->getOperand(number));
}

/// Gives roots of the arenas their offsets. When they are in use is what the
/// planned function says, which is not more than what values say.
void Planner::layOut() {
  PlanSummary plan = summarizePlan(planned);
  arena = {layOut(plan, rt::Space::Arena), plan.peakBytes,
           layOut(plan, rt::Space::Host)};
}

/// Returns the bytes of that arena.
int64_t Planner::layOut(const PlanSummary &plan, rt::Space space) {
  SmallVector<rt::BufferOp> inArena;
  std::vector<ArenaBlock> blocks;
  for (const PlannedRoot &root : plan.roots) {
    if (root.space != space)
      continue;
    inArena.push_back(cast<rt::BufferOp>(root.buffer));
    blocks.push_back({root.bytes, root.begin, root.end});
  }
  int64_t bytes = layOutArena(blocks);
  for (auto [buffer, block] : llvm::zip(inArena, blocks))
    buffer.setPosition(block.offset);
  return bytes;
}

LogicalResult Planner::run() {
  Block *block = planned.addEntryBlock();
  builder.setInsertionPointToEnd(block);
  // Buffers are named before everything else.
  Operation *mark = arith::ConstantIndexOp::create(builder, source.getLoc(), 0);
  entry.setInsertionPoint(mark);
  if (failed(visitBlock(source.getBody().front())))
    return failure();
  mark->erase();
  layOut();
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct PlanBuffersPass
    : public weft::impl::PlanBuffersPassBase<PlanBuffersPass> {
  using Base::Base;

  void runOnOperation() override;
  LogicalResult plan(func::FuncOp source, const Target &target);
};

/// What the plan says of an argument or result.
rt::TensorAttr describeTensor(Type local, DictionaryAttr attributes,
                              std::optional<int64_t> value = std::nullopt,
                              rt::PartAttr part = rt::PartAttr()) {
  if (!attributes)
    attributes = DictionaryAttr::get(local.getContext());
  auto global = attributes.getAs<TypeAttr>(WeftDialect::kGlobalTypeAttr);
  auto alias = attributes.getAs<IntegerAttr>(WeftDialect::kAliasAttr);
  return rt::TensorAttr::get(
      local.getContext(), attributes.getAs<StringAttr>(WeftDialect::kNameAttr),
      cast<RankedTensorType>(local),
      cast<RankedTensorType>(global ? global.getValue() : local),
      attributes.getAs<ShardingAttr>(WeftDialect::kShardingAttr),
      alias ? std::optional<int64_t>(alias.getInt()) : std::nullopt, value,
      part, attributes.contains(WeftDialect::kHostAttr));
}

LogicalResult PlanBuffersPass::plan(func::FuncOp source, const Target &target) {
  for (Type type : llvm::concat<const Type>(source.getArgumentTypes(),
                                            source.getResultTypes()))
    if (!isPlannable(type))
      return source.emitOpError("has an argument or result of type ")
             << type << ", expected a tensor of static shape";
  if (!source.getBody().hasOneBlock())
    return source.emitOpError("has ")
           << source.getBody().getBlocks().size() << " blocks, expected 1";
  OpBuilder builder(source);
  auto planned =
      func::FuncOp::create(builder, source.getLoc(), source.getSymName(),
                           builder.getFunctionType({}, {}));
  Planner planner(source, planned, target);
  if (failed(planner.run()))
    return failure();
  SmallVector<Attribute> args, results;
  for (unsigned i = 0; i < source.getNumArguments(); ++i)
    args.push_back(
        describeTensor(source.getArgumentTypes()[i], source.getArgAttrDict(i)));
  for (unsigned i = 0; i < source.getNumResults(); ++i)
    results.push_back(
        describeTensor(source.getResultTypes()[i], source.getResultAttrDict(i),
                       planner.getResultId(i), planner.getResultPart(i)));
  planned->setAttr(rt::WeftRTDialect::kArgsAttr, builder.getArrayAttr(args));
  planned->setAttr(rt::WeftRTDialect::kResultsAttr,
                   builder.getArrayAttr(results));
  Planner::Arena arena = planner.getArena();
  planned->setAttr(rt::WeftRTDialect::kArenaBytesAttr,
                   builder.getI64IntegerAttr(arena.bytes));
  planned->setAttr(rt::WeftRTDialect::kArenaBoundAttr,
                   builder.getI64IntegerAttr(arena.bound));
  if (arena.hostBytes > 0)
    planned->setAttr(rt::WeftRTDialect::kHostBytesAttr,
                     builder.getI64IntegerAttr(arena.hostBytes));
  // The schedule's figures are about the plan as well.
  if (Attribute figures = source->getAttr(WeftDialect::kScheduleAttr))
    planned->setAttr(WeftDialect::kScheduleAttr, figures);
  arenaBytes += arena.bytes;
  arenaBound += arena.bound;
  numCopies += planner.getNumCopies();
  source.erase();
  return success();
}

void PlanBuffersPass::runOnOperation() {
  const Target *target = lookupTarget(getOperation());
  if (!target)
    return signalPassFailure();
  for (func::FuncOp func :
       llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
    if (failed(plan(func, *target)))
      return signalPassFailure();
}

} // namespace
