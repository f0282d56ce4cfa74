// SPDX-License-Identifier: Apache-2.0

// Kernels, contractions, scatters, collectives, constants, elements.

#include "PlanMatcher.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

namespace {

/// Compares two regions op by op.
class RegionComparison {
public:
  /// The first op of `b` that differs; null if there is none. `isSame` tells
  /// whether the regions are equal.
  bool isSame(Region &a, Region &b) {
    if (a.getBlocks().size() != b.getBlocks().size())
      return false;
    for (auto [x, y] : llvm::zip(a, b))
      if (!isSame(x, y))
        return false;
    return true;
  }
  Operation *getDifferent() const { return different; }

private:
  bool isSame(Block &a, Block &b) {
    if (a.getArgumentTypes() != b.getArgumentTypes() ||
        a.getOperations().size() != b.getOperations().size())
      return false;
    for (auto [x, y] : llvm::zip(a.getArguments(), b.getArguments()))
      counterpart[x] = y;
    for (auto [x, y] : llvm::zip(a, b))
      if (!isSame(x, y)) {
        if (!different)
          different = &y;
        return false;
      }
    return true;
  }

  bool isSame(Operation &a, Operation &b) {
    if (a.getName() != b.getName() ||
        a.getResultTypes() != b.getResultTypes() ||
        a.getNumOperands() != b.getNumOperands() ||
        a.getNumRegions() != b.getNumRegions() || a.getNumSuccessors() != 0 ||
        b.getNumSuccessors() != 0 ||
        a.getDiscardableAttrDictionary() != b.getDiscardableAttrDictionary() ||
        !a.getName().compareOpProperties(a.getPropertiesStorage(),
                                         b.getPropertiesStorage()))
      return false;
    for (auto [x, y] : llvm::zip(a.getOperands(), b.getOperands()))
      if (counterpart.lookup(x) != y)
        return false;
    for (auto [x, y] : llvm::zip(a.getResults(), b.getResults()))
      counterpart[x] = y;
    for (auto [x, y] : llvm::zip(a.getRegions(), b.getRegions()))
      if (!isSame(x, y))
        return false;
    return true;
  }

  DenseMap<Value, Value> counterpart;
  Operation *different = nullptr;
};

} // namespace

LogicalResult PlanMatcher::matchFused(rt::FusedOp op) {
  if (op.getNumResults() == 0)
    return success();
  FailureOr<rt::FusedOp> planned = expect<rt::FusedOp>(op);
  if (failed(planned) || failed(checkName(*planned, op)))
    return failure();
  RegionComparison comparison;
  if (planned->getInputs().size() != op.getInputs().size() ||
      planned->getScalars().size() != op.getScalars().size() ||
      planned->getOuts().size() != op.getNumResults() ||
      !comparison.isSame(op.getBody(), planned->getBody())) {
    InFlightDiagnostic diag = fail(*planned, op)
                              << getOpName(*planned)
                              << " computes something else than in the "
                                 "scheduled program";
    if (Operation *different = comparison.getDifferent())
      diag.attachNote(different->getLoc())
          << "this '" << different->getName() << "' op is the first to differ";
    return diag;
  }
  unsigned number = 0;
  for (auto [buffer, tensor] : llvm::zip(planned->getInputs(), op.getInputs()))
    if (failed(read(*planned, buffer, number++, tensor)))
      return failure();
  for (auto [i, from, to] :
       llvm::enumerate(op.getScalars(), planned->getScalars()))
    if (!scalars.isSame(from, to))
      return fail(*planned, op)
             << getOpName(*planned) << " is launched with another scalar #" << i
             << " than in the scheduled program";
  for (auto [buffer, result] : llvm::zip(planned->getOuts(), op.getResults())) {
    unsigned base = addBase(getType(result), op);
    define(result, base);
    if (failed(write(*planned, buffer, number++, base)))
      return failure();
  }
  return success();
}

LogicalResult PlanMatcher::matchMatmul(MatmulOp op) {
  FailureOr<rt::GemmOp> planned = expect<rt::GemmOp>(op);
  if (failed(planned) || failed(checkName(*planned, op)) ||
      failed(checkSame(*planned, op, op.getIndexingMapsAttr(),
                       planned->getIndexingMapsAttr(), "the maps")) ||
      failed(checkSame(*planned, op, op->getAttr(WeftDialect::kOrderAttr),
                       (*planned)->getAttr(WeftDialect::kOrderAttr),
                       "the order")) ||
      failed(read(*planned, planned->getLhs(), 0, op.getLhs())) ||
      failed(read(*planned, planned->getRhs(), 1, op.getRhs())))
    return failure();
  unsigned base = addBase(op.getResult().getType(), op);
  define(op.getResult(), base);
  return write(*planned, planned->getOut(), 2, base);
}

LogicalResult PlanMatcher::checkStart(rt::AttentionOp planned, Operation *op,
                                      Value start) {
  Value other = planned.getStart();
  if (start ? other && scalars.isSame(start, other) : !other)
    return success();
  return fail(planned, op) << getOpName(planned)
                           << " begins at another query than in the scheduled "
                              "program";
}

LogicalResult PlanMatcher::matchAttention(Operation *op, Value start) {
  FailureOr<rt::AttentionOp> planned = expect<rt::AttentionOp>(op);
  if (failed(planned) || failed(checkName(*planned, op)))
    return failure();
  SmallVector<Attribute> names;
  for (auto [tensor, value] : getAttentionValues(op))
    if (value)
      names.push_back(
          StringAttr::get(op->getContext(), stringifyAttentionTensor(tensor)));
  if (failed(checkSame(*planned, op, ArrayAttr::get(op->getContext(), names),
                       planned->getTensorsAttr(), "the tensors")) ||
      failed(checkSame(*planned, op, op->getAttr("config"),
                       planned->getConfig(), "the configuration")) ||
      failed(checkSame(*planned, op, op->getAttr("indexing_maps"),
                       planned->getIndexingMapsAttr(), "the maps")) ||
      failed(checkSame(*planned, op, op->getAttr(WeftDialect::kOrderAttr),
                       (*planned)->getAttr(WeftDialect::kOrderAttr),
                       "the order")) ||
      failed(checkStart(*planned, op, start)))
    return failure();
  unsigned number = 0;
  auto inputs = llvm::make_filter_range(op->getOperands(), [](Value value) {
    return isa<RankedTensorType>(value.getType());
  });
  for (auto [buffer, tensor] : llvm::zip(planned->getIns(), inputs))
    if (failed(read(*planned, buffer, number++, tensor)))
      return failure();
  for (auto [buffer, result] :
       llvm::zip(planned->getOuts(), op->getResults())) {
    unsigned base = addBase(cast<RankedTensorType>(result.getType()), op);
    define(result, base);
    if (failed(write(*planned, buffer, number++, base)))
      return failure();
  }
  return success();
}

LogicalResult PlanMatcher::matchScatterAdd(ScatterAddOp op) {
  FailureOr<rt::ScatterAddOp> planned = expect<rt::ScatterAddOp>(op);
  if (failed(planned) || failed(checkName(*planned, op)) ||
      failed(checkSame(*planned, op, op.getAxisAttr(), planned->getAxisAttr(),
                       "axis")) ||
      failed(checkSame(*planned, op, op.getTableMapAttr(),
                       planned->getTableMapAttr(), "the table's map")) ||
      failed(checkSame(*planned, op, op.getIndexMapAttr(),
                       planned->getIndexMapAttr(), "the indices' map")))
    return failure();
  Value base = op.getBase();
  if (base ? !planned->getBase() || !scalars.isSame(base, planned->getBase())
           : planned->getBase() != nullptr)
    return fail(*planned, op) << getOpName(*planned)
                              << " takes another base than the scheduled "
                                 "program";
  Value table = planned->getTable();
  if (failed(checkBuffer(*planned, table, op.getInit().getType())) ||
      failed(checkThere(*planned, getOpName(*planned) + " adds to",
                        getSpot(table), op.getInit())) ||
      failed(read(*planned, planned->getIndices(), 1, op.getIndices())) ||
      failed(read(*planned, planned->getUpdates(), 2, op.getUpdates())))
    return failure();
  ArrayRef<int64_t> reads = getIds(*planned, rt::WeftRTDialect::kReadsAttr);
  if (!reads.empty() &&
      (failed(checkNumber(*planned, reads[0], get(op.getInit()).value)) ||
       failed(checkPart(*planned, 3, op.getInit()))))
    return failure();
  unsigned sum = addBase(op.getResult().getType(), op);
  define(op.getResult(), sum);
  return write(*planned, table, 0, sum);
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// What a collective of the scheduled program does.
static rt::CollectiveAttr getCollective(Operation *op) {
  auto kind = symbolizeCollectiveKind(op->getName().stripDialect());
  auto getList = [&](StringRef name) {
    return op->getAttrOfType<DenseI64ArrayAttr>(name);
  };
  return rt::CollectiveAttr::get(
      op->getContext(), *kind, op->getAttrOfType<FlatSymbolRefAttr>("mesh"),
      op->getAttrOfType<AxesAttr>("axes"),
      op->getAttrOfType<ReduceKindAttr>("kind"),
      op->getAttrOfType<OrderAttr>(WeftDialect::kOrderAttr), getList("dims"),
      getList("split_dims"), getList("concat_dims"), getList("sources"));
}

LogicalResult PlanMatcher::matchStart(Operation *op) {
  FailureOr<rt::StartOp> planned = expect<rt::StartOp>(op);
  if (failed(planned) || failed(checkName(*planned, op)))
    return failure();
  rt::StartOp start = *planned;
  if (failed(checkSame(start, op, getCollective(op), start.getCollective(),
                       "the collective")) ||
      failed(checkSame(start, op, op->getAttr("channel"),
                       start.getChannelAttr(), "the channel")))
    return failure();
  if (start.getIns().size() != op->getNumOperands() ||
      start.getOuts().size() != op->getNumResults())
    return fail(start, op) << getOpName(start) << " has "
                           << start.getIns().size() << " inputs and "
                           << start.getOuts().size()
                           << " outputs, the scheduled program "
                           << op->getNumOperands() << " and "
                           << op->getNumResults();
  unsigned number = 0;
  for (auto [buffer, tensor] : llvm::zip(start.getIns(), op->getOperands()))
    if (failed(read(start, buffer, number++, tensor)))
      return failure();
  for (auto [buffer, future] : llvm::zip(start.getOuts(), op->getResults())) {
    auto type = dyn_cast<FutureType>(future.getType());
    if (!type)
      return op->emitOpError("of the scheduled program is not started");
    unsigned base = addBase(type.getTensor(), op);
    promised[future] = base;
    if (failed(write(start, buffer, number++, base, Layer::Kind::InFlight)))
      return failure();
  }
  starts[op] = start;
  return success();
}

LogicalResult PlanMatcher::matchWait(WaitOp op) {
  FailureOr<rt::WaitOp> planned = expect<rt::WaitOp>(op);
  if (failed(planned))
    return failure();
  Operation *source = op.getFutures()[0].getDefiningOp();
  rt::StartOp start = starts.lookup(source);
  if (getStart(*planned) != start)
    return fail(*planned, op)
           << "the wait is for another collective than " << getOpName(source)
           << " of the scheduled program";
  for (const Access &access : program.getAccesses(start))
    if (access.writes)
      contents.arrive(start, access.place->root);
  for (auto [future, result] : llvm::zip(op.getFutures(), op.getResults()))
    define(result, promised.lookup(future));
  return success();
}

//===----------------------------------------------------------------------===//
// Constants and elements
//===----------------------------------------------------------------------===//

LogicalResult PlanMatcher::matchConstant(Operation *op) {
  FailureOr<rt::CopyOp> planned = expect<rt::CopyOp>(op);
  if (failed(planned))
    return failure();
  auto source = planned->getSource().getDefiningOp<memref::GetGlobalOp>();
  auto global = source ? SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(
                             source, source.getNameAttr())
                       : nullptr;
  if (!global || !global.getConstant())
    return fail(*planned, op)
           << getOpName(*planned) << " copies no constant of the module";
  if (failed(checkSame(*planned, op, op->getAttr("value"),
                       global.getInitialValueAttr(), "the constant")))
    return failure();
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  unsigned base = addBase(type, op);
  define(op->getResult(0), base);
  return write(*planned, planned->getTarget(), 1, base);
}

LogicalResult PlanMatcher::matchExtract(tensor::ExtractOp op) {
  FailureOr<rt::ReadScalarOp> planned = expect<rt::ReadScalarOp>(op);
  if (failed(planned) ||
      failed(read(*planned, planned->getBuffer(), 0, op.getTensor())))
    return failure();
  for (auto [from, to] : llvm::zip(op.getIndices(), planned->getIndices()))
    if (!scalars.isSame(from, to))
      return fail(*planned, op) << getOpName(*planned)
                                << " reads another element than the scheduled "
                                   "program";
  scalars.unite(op.getResult(), planned->getResult());
  return success();
}
