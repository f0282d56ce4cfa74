// SPDX-License-Identifier: Apache-2.0

// Collectives: their verifiers, and what is done with all of them alike. But
// for a future and its wait, nothing follows use-def chains.

#include "weft/Dialect/Weft/IR/Collectives.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::weft;

#include "weft/Dialect/Weft/IR/CollectiveOpInterface.cpp.inc"

bool mlir::weft::isExchange(CollectiveKind kind) {
  return kind == CollectiveKind::AllToAll || kind == CollectiveKind::Permute;
}

CollectiveOpInterface mlir::weft::createLike(OpBuilder &builder, Location loc,
                                             CollectiveOpInterface op,
                                             TypeRange types, ValueRange inputs,
                                             ArrayRef<int64_t> gathered,
                                             ArrayRef<int64_t> scattered) {
  auto created = cast<CollectiveOpInterface>(Operation::create(
      loc, op->getName(), types, inputs, NamedAttrList(),
      op->getPropertiesStorage(), BlockRange(), /*numRegions=*/0));
  created.setGatheredDims(gathered);
  created.setScatteredDims(scattered);
  builder.insert(created);
  return created;
}

WaitOp mlir::weft::getWait(Operation *op) {
  bool isStart =
      op->getNumResults() != 0 && isa<FutureType>(op->getResult(0).getType());
  return isStart ? cast<WaitOp>(*op->user_begin()) : WaitOp();
}

LogicalResult
mlir::weft::detail::verifyCollectiveOpInterface(CollectiveOpInterface op) {
  CollectiveKind kind = op.getCollectiveKind();
  StringRef name = stringifyCollectiveKind(kind);
  bool reduces = kind == CollectiveKind::ReduceScatter ||
                 kind == CollectiveKind::AllReduce;
  if (reduces != op.getReduction().has_value()) // c1
    return op->emitOpError("is of kind ")
           << name << ", but says " << (reduces ? "not " : "")
           << "how it combines";
  if (reduces && *op.getReduction() != ReduceKind::And &&
      *op.getReduction() != ReduceKind::Or)
    for (Type type : op->getOperandTypes())
      if (getElementTypeOrSelf(type).isInteger(1))
        return op->emitOpError("combines truth values by ")
               << stringifyReduceKind(*op.getReduction())
               << ", expected and or or";
  bool isAllToAll = kind == CollectiveKind::AllToAll;
  bool gathers = isAllToAll || kind == CollectiveKind::AllGather;
  bool scatters = isAllToAll || kind == CollectiveKind::ReduceScatter;
  if ((!gathers && !op.getGatheredDims().empty()) ||
      (!scatters && !op.getScatteredDims().empty())) // c2
    return op->emitOpError("is of kind ")
           << name << ", which moves nothing along the dims that it has";
  return success();
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

namespace {

/// Checks c3 of the collectives with dims: one per operand, in range.
LogicalResult verifyDims(Operation *op, OperandRange inputs,
                         ArrayRef<int64_t> dims, StringRef what) {
  if (dims.size() != inputs.size())
    return op->emitOpError("has ") << dims.size() << " " << what << " dims for "
                                   << inputs.size() << " operands";
  for (auto [dim, input] : llvm::zip(dims, inputs)) {
    int64_t rank = cast<RankedTensorType>(input.getType()).getRank();
    if (dim < 0 || dim >= rank)
      return op->emitOpError(what)
             << " dim " << dim << " is out of range for " << input.getType();
  }
  return success();
}

/// Checks c2 of each collective, and each result's type (the last constraint)
/// against the operand's shape changed by `reshape`, which fails if a size does
/// not divide.
LogicalResult verifyResults(
    Operation *op,
    function_ref<LogicalResult(unsigned, SmallVectorImpl<int64_t> &)> reshape) {
  if (op->getNumOperands() == 0)
    return op->emitOpError("needs at least one operand");
  if (op->getNumResults() != op->getNumOperands())
    return op->emitOpError("has ") << op->getNumResults() << " results for "
                                   << op->getNumOperands() << " operands";
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    auto type = cast<RankedTensorType>(op->getOperand(i).getType());
    if (!type.hasStaticShape())
      return op->emitOpError("operand #") << i << " has a dynamic shape";
    SmallVector<int64_t> shape(type.getShape());
    if (failed(reshape(i, shape)))
      return failure();
    Type expected = type.clone(shape);
    if (getTensorType(op->getResult(i).getType()) != expected)
      return op->emitOpError("result #")
             << i << " has type " << op->getResult(i).getType() << ", expected "
             << expected;
  }
  return success();
}

} // namespace

std::optional<Purpose> mlir::weft::getHostCopy(Operation *op) {
  auto symbol = op->getAttrOfType<FlatSymbolRefAttr>("channel");
  ChannelOp channel = symbol ? lookupChannel(op, symbol) : ChannelOp();
  if (!channel || (channel.getPurpose() != Purpose::Offload &&
                   channel.getPurpose() != Purpose::Fetch))
    return std::nullopt;
  return channel.getPurpose();
}

/// collective_c1.
LogicalResult mlir::weft::verifyChannel(Operation *op, CollectiveKind kind,
                                        AxesAttr axes,
                                        FlatSymbolRefAttr symbol) {
  if (!symbol)
    return success();
  ChannelOp channel = lookupChannel(op, symbol);
  if (!channel)
    return op->emitOpError("runs on ") << symbol << ", which is no channel";
  if (channel.getAxesAttr() != axes)
    return op->emitOpError("is over ") << axes << ", but its channel " << symbol
                                       << " is over " << channel.getAxesAttr();
  if (getHostCopy(op) && kind != CollectiveKind::Permute)
    return op->emitOpError("is no copy, but runs on ")
           << symbol << " of purpose "
           << stringifyPurpose(channel.getPurpose());
  return success();
}

namespace {

/// Checks collective_c4 of one result.
LogicalResult verifyFuture(OpResult future) {
  Operation *op = future.getOwner();
  unsigned number = future.getResultNumber();
  if (future.use_empty())
    return op->emitOpError("future #") << number << " is never waited for";
  if (!future.hasOneUse())
    return op->emitOpError("future #")
           << number << " is used "
           << std::distance(future.use_begin(), future.use_end())
           << " times, expected once";
  Operation *user = *future.user_begin();
  if (!isa<WaitOp>(user))
    return op->emitOpError("future #")
           << number << " is used by '" << user->getName()
           << "', expected 'weft.wait'";
  return success();
}

/// Checks collective_c2 to collective_c4.
LogicalResult verifyFutures(Operation *op, FlatSymbolRefAttr channel) {
  unsigned count =
      llvm::count_if(op->getResultTypes(), llvm::IsaPred<FutureType>);
  if (count == 0)
    return success();
  if (count != op->getNumResults())
    return op->emitOpError("has ")
           << count << " futures among " << op->getNumResults()
           << " results, expected all or none";
  if (!channel)
    return op->emitOpError("is started, but has no channel");
  for (OpResult result : op->getResults())
    if (failed(verifyFuture(result)))
      return failure();
  return success();
}

/// Checks what all collectives have in common but for their results' shapes;
/// returns the group's size.
template <typename CollectiveOp>
FailureOr<int64_t> verifyCollective(CollectiveOp op) {
  FailureOr<int64_t> group =
      verifyGroup(op, op.getMeshAttr(), op.getAxesAttr());
  if (failed(group) ||
      failed(verifyChannel(op, op.getCollectiveKind(), op.getAxesAttr(),
                           op.getChannelAttr())) ||
      failed(verifyFutures(op, op.getChannelAttr())))
    return failure();
  return group;
}

LogicalResult divideExactly(Operation *op, int64_t &size, int64_t dim,
                            int64_t group) {
  if (size % group != 0)
    return op->emitOpError("dim ")
           << dim << " of size " << size << " does not divide by the group's "
           << group << " ranks";
  size /= group;
  return success();
}

} // namespace

LogicalResult AllGatherOp::verifySymbolUses(SymbolTableCollection &) {
  FailureOr<int64_t> group = verifyCollective(*this);
  if (failed(group) ||
      failed(verifyDims(*this, getInputs(), getDims(), "gather")))
    return failure();
  return verifyResults(*this, [&](unsigned i, SmallVectorImpl<int64_t> &shape) {
    shape[getDims()[i]] *= *group; // all_gather_c4
    return success();
  });
}

LogicalResult ReduceScatterOp::verifySymbolUses(SymbolTableCollection &) {
  FailureOr<int64_t> group = verifyCollective(*this);
  if (failed(group) ||
      failed(verifyDims(*this, getInputs(), getDims(), "scatter")))
    return failure();
  return verifyResults(*this, [&](unsigned i, SmallVectorImpl<int64_t> &shape) {
    int64_t dim = getDims()[i];
    // reduce_scatter_c4
    return divideExactly(*this, shape[dim], dim, *group);
  });
}

LogicalResult AllReduceOp::verifySymbolUses(SymbolTableCollection &) {
  if (failed(verifyCollective(*this)))
    return failure();
  return verifyResults(
      *this, [](unsigned, SmallVectorImpl<int64_t> &) { return success(); });
}

LogicalResult AllToAllOp::verifySymbolUses(SymbolTableCollection &) {
  FailureOr<int64_t> group = verifyCollective(*this);
  if (failed(group) ||
      failed(verifyDims(*this, getInputs(), getSplitDims(), "split")) ||
      failed(verifyDims(*this, getInputs(), getConcatDims(), "concat")))
    return failure();
  return verifyResults(*this, [&](unsigned i, SmallVectorImpl<int64_t> &shape) {
    int64_t split = getSplitDims()[i];
    if (failed(divideExactly(*this, shape[split], split, *group)))
      return failure();
    shape[getConcatDims()[i]] *= *group; // all_to_all_c4
    return success();
  });
}

LogicalResult PermuteOp::verifySymbolUses(SymbolTableCollection &) {
  FailureOr<int64_t> group = verifyCollective(*this);
  if (failed(group))
    return failure();
  // permute_c3
  if (static_cast<int64_t>(getSources().size()) != *group)
    return emitOpError("has ")
           << getSources().size() << " sources for a group of " << *group;
  SmallVector<bool> sends(*group, false);
  for (int64_t source : getSources()) {
    if (source < -1 || source >= *group)
      return emitOpError("source ")
             << source << " is not in a group of " << *group;
    if (source >= 0 && std::exchange(sends[source], true))
      return emitOpError("member ") << source << " sends twice";
  }
  return verifyResults(
      *this, [](unsigned, SmallVectorImpl<int64_t> &) { return success(); });
}

LogicalResult ChannelOp::verifySymbolUses(SymbolTableCollection &) {
  bool isOfHost =
      getPurpose() == Purpose::Offload || getPurpose() == Purpose::Fetch;
  if (isOfHost && !getAxes().getAxes().empty()) // channel_c2
    return emitOpError("is for copies to or from the host's memory, but over ")
           << getAxes();
  return verifyGroup(*this, getMeshAttr(), getAxes()); // channel_c1
}

LogicalResult
WaitOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                         ValueRange operands, DictionaryAttr, OpaqueProperties,
                         RegionRange,
                         SmallVectorImpl<Type> &inferredReturnTypes) {
  for (Type type : operands.getTypes()) {
    auto future = dyn_cast<FutureType>(type);
    if (!future)
      return emitOptionalError(loc, "'weft.wait' op waits for a value of type ",
                               type, ", expected a future");
    inferredReturnTypes.push_back(future.getTensor());
  }
  return success();
}

LogicalResult WaitOp::verify() {
  if (getFutures().empty()) // wait_c1
    return emitOpError("needs at least one future");
  Operation *start = getFutures()[0].getDefiningOp();
  if (!start) // wait_c1
    return emitOpError("waits for a block argument, expected what a "
                       "collective started");
  if (ValueRange(getFutures()) != ValueRange(start->getResults())) // wait_c1
    return emitOpError("takes other futures than all ")
           << start->getNumResults() << " of one '" << start->getName()
           << "' op in their order";
  if (start->getBlock() != (*this)->getBlock()) // wait_c2
    return emitOpError("is in another block than the '")
           << start->getName() << "' op that it waits for";
  return success();
}
