// SPDX-License-Identifier: Apache-2.0

// Places of what is computed: where a wish says, else in the memory of an
// operand that dies, else in new memory.

#include "Planner.h"

#include "weft/Analysis/Traffic.h"

using namespace mlir;
using namespace mlir::weft;

/// What an op reads, and what it writes.
static SmallVector<Value> listValues(ValueRange ins, ValueRange outs) {
  SmallVector<Value> values(ins);
  llvm::append_range(values, outs);
  return values;
}

Place Planner::placeResult(OpResult result, Operation *op) {
  std::optional<Place> wished = places.findWished(result, op);
  return wished ? *wished : places.allocate(result);
}

/// The place of a result that the op makes by updating `input`. Whoever needs
/// the input's value there copies it, if the place is not the input's.
Place Planner::placeUpdated(OpOperand &input, OpResult result) {
  Operation *op = input.getOwner();
  if (std::optional<Place> wished = places.findWished(result, op))
    return *wished;
  if (places.canOverwrite(input, result, [&](OpOperand &operand) {
        return &operand == &input;
      }))
    return places.get(input.get());
  return places.allocate(result);
}

//===----------------------------------------------------------------------===//
// Fused groups
//===----------------------------------------------------------------------===//

namespace {

/// The loop structure that a fused op has on these places of its inputs and, if
/// given, of its results.
FailureOr<KernelShape> analyzePlaced(rt::FusedOp op, ArrayRef<Place> ins,
                                     ArrayRef<Place> outs) {
  auto yield = cast<rt::YieldOp>(op.getBody().front().getTerminator());
  SmallVector<linalg::GenericOp> ops(
      op.getBody().front().getOps<linalg::GenericOp>());
  return analyzeKernel(ops, [&](Value value) -> SmallVector<int64_t> {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return ins[argument.getArgNumber()].strides;
    for (auto [out, yielded] : llvm::zip(outs, yield.getValues()))
      if (yielded == value)
        return out.strides;
    return rt::getDenseStrides(
        cast<RankedTensorType>(value.getType()).getShape());
  });
}

/// Chooses the places of a fused op's results.
class FusedPlacing {
public:
  FusedPlacing(Places &places, rt::FusedOp op, ArrayRef<Place> ins,
               const KernelShape &shape, const Target &target)
      : places(places), op(op), ins(ins), shape(shape), target(target) {}

  SmallVector<Place> run();

private:
  Place choose(OpResult result, ArrayRef<Place> taken);
  bool canShare(const KernelShape &shape, OpOperand &input, OpResult result,
                const Place &out);
  bool isSound(ArrayRef<Place> outs);

  Places &places;
  rt::FusedOp op;
  ArrayRef<Place> ins;
  const KernelShape &shape;
  const Target &target;
};

/// Says whether `result` may be written to `out`, in whose root `input` lies.
bool FusedPlacing::canShare(const KernelShape &shape, OpOperand &input,
                            OpResult result, const Place &out) {
  Block &block = op.getBody().front();
  auto yield = cast<rt::YieldOp>(block.getTerminator());
  unsigned number = input.getOperandNumber();
  return ins[number] == out &&
         target.mayUpdateInPlace(shape, block.getArgument(number),
                                 yield.getValues()[result.getResultNumber()]);
}

Place FusedPlacing::choose(OpResult result, ArrayRef<Place> taken) {
  Type type = result.getType();
  std::optional<Place> wished =
      places.findWished(result, op, [&](OpOperand &input) {
        int root = places.get(input.get()).root;
        return canShare(shape, input, result, places.getDensePlace(root, type));
      });
  if (wished)
    return *wished;
  for (auto [input, place] : llvm::zip(op->getOpOperands(), ins)) {
    bool isTaken = llvm::any_of(taken, [root = place.root](const Place &other) {
      return other.root == root;
    });
    if (!isTaken &&
        places.canOverwrite(input, result, [&, &out = place](OpOperand &read) {
          return canShare(shape, read, result, out);
        }))
      return place;
  }
  return places.allocate(result);
}

/// A part of a concatenation has strides of its own, with which the loops may
/// come out otherwise than on dense results.
bool FusedPlacing::isSound(ArrayRef<Place> outs) {
  FailureOr<KernelShape> actual = analyzePlaced(op, ins, outs);
  if (failed(actual))
    return false;
  for (auto [result, out] : llvm::zip(op->getResults(), outs))
    for (auto [input, in] : llvm::zip(op->getOpOperands(), ins))
      if (in == out && !canShare(*actual, input, result, out))
        return false;
  return true;
}

SmallVector<Place> FusedPlacing::run() {
  SmallVector<Place> outs;
  for (OpResult result : op->getResults())
    outs.push_back(choose(result, outs));
  if (!isSound(outs))
    for (auto [result, out] : llvm::zip(op->getResults(), outs))
      out = places.allocate(result);
  return outs;
}

} // namespace

LogicalResult Planner::visitFused(rt::FusedOp op) {
  if (op.getNumResults() == 0)
    return success();
  SmallVector<Place> ins;
  for (Value input : op.getInputs())
    ins.push_back(places.get(input));
  FailureOr<KernelShape> shape = analyzePlaced(op, ins, {});
  if (failed(shape)) {
    // A slice has the strides of what it is cut from; the group was made for
    // dense inputs.
    shape = analyzeFused(op);
    if (failed(shape))
      return failure();
    for (auto [input, place] : llvm::zip(op.getInputs(), ins))
      if (!places.isDense(input))
        place = emitDenseCopy(input, op);
  }
  SmallVector<Value> inputs, outs;
  for (auto [input, place] : llvm::zip(op.getInputs(), ins))
    inputs.push_back(
        emitBuffer(cast<RankedTensorType>(input.getType()), place));
  SmallVector<Place> chosen =
      FusedPlacing(places, op, ins, *shape, target).run();
  for (auto [result, place] : llvm::zip(op->getResults(), chosen)) {
    outs.push_back(emitBuffer(cast<RankedTensorType>(result.getType()), place));
    places.set(result, place);
  }
  auto onBuffers = rt::FusedOp::create(builder, op.getLoc(), TypeRange(),
                                       inputs, lookUp(op.getScalars()), outs);
  // The op on tensors is erased in the end; nobody looks into it again.
  onBuffers.getBody().takeBody(op.getBody());
  describe(onBuffers, op, listValues(op.getInputs(), op.getResults()));
  return success();
}

//===----------------------------------------------------------------------===//
// Contractions, scatters, collectives
//===----------------------------------------------------------------------===//

LogicalResult Planner::visitMatmul(MatmulOp op) {
  if (!op.getScales().empty())
    return op.emitOpError("has scales, which no kernel multiplies with");
  Value lhs = emitBuffer(op.getLhs()), rhs = emitBuffer(op.getRhs());
  places.set(op.getResult(), placeResult(op->getResult(0), op));
  auto gemm =
      rt::GemmOp::create(builder, op.getLoc(), lhs, rhs,
                         emitBuffer(op.getResult()), op.getIndexingMaps());
  for (StringRef name :
       {StringRef(WeftDialect::kOrderAttr), StringRef("weft_rt.product_type")})
    if (Attribute attribute = op->getAttr(name))
      gemm->setAttr(name, attribute);
  describe(gemm, op, listValues(op->getOperands(), op->getResults()));
  return success();
}

LogicalResult Planner::visitAttention(Operation *op, Value start) {
  AttentionShape shape = getAttentionShape(op);
  SmallVector<Value> inputs, ins, outs;
  for (const AttentionPart &part :
       ArrayRef(shape.parts).drop_back(op->getNumResults())) {
    inputs.push_back(part.value);
    ins.push_back(emitBuffer(part.value));
  }
  for (OpResult result : op->getResults()) {
    places.set(result, placeResult(result, op));
    outs.push_back(emitBuffer(result));
  }
  auto names = llvm::map_to_vector(shape.parts, [](const AttentionPart &part) {
    return stringifyAttentionTensor(part.tensor);
  });
  auto attention = rt::AttentionOp::create(
      builder, op->getLoc(), ins, outs, start ? scalars.lookup(start) : Value(),
      shape.config, op->getAttrOfType<ArrayAttr>("indexing_maps"),
      builder.getStrArrayAttr(names));
  if (Attribute order = op->getAttr(WeftDialect::kOrderAttr))
    attention->setAttr(WeftDialect::kOrderAttr, order);
  describe(attention, op, listValues(inputs, op->getResults()));
  return success();
}

LogicalResult Planner::visitScatterAdd(ScatterAddOp op) {
  Place place = placeUpdated(op.getInitMutable(), op->getResult(0));
  if (place != places.get(op.getInit()))
    emitCopy(op.getInit(), place);
  places.set(op.getResult(), place);
  Value base = op.getBase() ? scalars.lookup(op.getBase()) : Value();
  Value table = emitBuffer(op.getResult());
  Value indices = emitBuffer(op.getIndices());
  Value updates = emitBuffer(op.getUpdates());
  auto onBuffers = rt::ScatterAddOp::create(
      builder, op.getLoc(), table, indices, updates, base, op.getAxisAttr(),
      op.getTableMapAttr(), op.getIndexMapAttr());
  SmallVector<Value> values = {op.getResult(), op.getIndices(),
                               op.getUpdates()};
  describe(onBuffers, op, values);
  onBuffers->setAttr(rt::WeftRTDialect::kReadsAttr,
                     builder.getDenseI64ArrayAttr(getIds(op.getInit())));
  values.push_back(op.getInit());
  setParts(onBuffers, rt::WeftRTDialect::kPartsAttr, getParts(values));
  return success();
}

/// What a collective on tensors does.
static rt::CollectiveAttr getCollective(Operation *op) {
  auto getList = [&](StringRef name) {
    return op->getAttrOfType<DenseI64ArrayAttr>(name);
  };
  return rt::CollectiveAttr::get(
      op->getContext(), *getCollectiveKind(op), getCollectiveMesh(op),
      getCollectiveAxes(op), op->getAttrOfType<ReduceKindAttr>("kind"),
      op->getAttrOfType<OrderAttr>(WeftDialect::kOrderAttr), getList("dims"),
      getList("split_dims"), getList("concat_dims"), getList("sources"));
}

/// Where result number `i` of a collective lies.
Place Planner::placeCollected(Operation *op, unsigned i, OpResult result) {
  if (getHostCopy(op) == Purpose::Offload) {
    std::optional<Place> wished = places.findWished(result, op);
    return wished ? *wished : places.allocateOnHost(result);
  }
  // Of the collectives only this one may write where it reads.
  return isa<AllReduceOp>(op) ? placeUpdated(op->getOpOperand(i), result)
                              : placeResult(result, op);
}

/// The buffers of a collective are taken from its start to its wait.
LogicalResult Planner::visitStart(Operation *op) {
  WaitOp wait = getWait(op);
  if (!wait)
    return op->emitOpError("has no form on buffers: it is not started on a "
                           "channel");
  SmallVector<Value> ins, outs;
  for (Value input : op->getOperands()) {
    Place place =
        places.isDense(input) ? places.get(input) : emitDenseCopy(input, op);
    ins.push_back(emitBuffer(cast<RankedTensorType>(input.getType()), place));
  }
  for (auto [i, result] : llvm::enumerate(wait->getResults())) {
    places.set(result, placeCollected(op, i, result));
    outs.push_back(emitBuffer(result));
  }
  auto start = rt::StartOp::create(builder, op->getLoc(), builder.getI64Type(),
                                   getCollective(op), ins, outs,
                                   getCollectiveChannel(op).getValue());
  describe(start, op, listValues(op->getOperands(), wait.getOutputs()));
  tickets[op] = start;
  return success();
}

LogicalResult Planner::visitWait(WaitOp op) {
  Operation *start = op.getFutures()[0].getDefiningOp();
  auto wait = rt::WaitOp::create(builder, op.getLoc(), tickets.lookup(start));
  describe(wait, start, ValueRange());
  return success();
}
