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

/// A scalar is stored as an element of a buffer.
LogicalResult PlanMatcher::matchStore(Operation *op, memref::StoreOp store,
                                      Value scalar, int64_t element) {
  bool isThere = scalars.isSame(scalar, store.getValue());
  ArrayRef<int64_t> shape = store.getMemRefType().getShape();
  for (unsigned dim = shape.size(); dim > 0; --dim) {
    std::optional<unsigned> index = scalars.find(store.getIndices()[dim - 1]);
    LinearForm expected;
    expected.constant = element % shape[dim - 1];
    element /= shape[dim - 1];
    isThere &= index && scalars.getForm(*index) == expected;
  }
  if (isThere)
    return success();
  return fail(store, op) << getOpName(store)
                         << " stores another scalar, or as another element, "
                            "than the scheduled program";
}

LogicalResult PlanMatcher::matchScatterAdd(ScatterAddOp op) {
  Value base;
  unsigned baseIndex = 0;
  if (op.getBase()) {
    FailureOr<memref::StoreOp> store = expect<memref::StoreOp>(op);
    if (failed(store) || failed(matchStore(op, *store, op.getBase(), 0)))
      return failure();
    base = store->getMemRef();
    baseIndex = addBase(RankedTensorType::get({}, op.getBase().getType()), op);
    if (failed(write(*store, base, 0, baseIndex)))
      return failure();
  }
  FailureOr<rt::ScatterAddOp> planned = expect<rt::ScatterAddOp>(op);
  if (failed(planned) || failed(checkName(*planned, op)) ||
      failed(checkSame(*planned, op, op.getAxisAttr(), planned->getAxisAttr(),
                       "axis")) ||
      failed(checkSame(*planned, op, op.getTableMapAttr(),
                       planned->getTableMapAttr(), "the table's map")) ||
      failed(checkSame(*planned, op, op.getIndexMapAttr(),
                       planned->getIndexMapAttr(), "the indices' map")))
    return failure();
  // What was stored just before is there still, unless a copy came between.
  if (planned->getBase() != base ||
      (base && contents.find({getWhole(baseIndex, bases[baseIndex].type),
                              getSpot(base)})))
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
      failed(checkNumber(*planned, reads[0], get(op.getInit()).value)))
    return failure();
  unsigned sum = addBase(op.getResult().getType(), op);
  define(op.getResult(), sum);
  return write(*planned, table, 0, sum);
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

LogicalResult PlanMatcher::matchStart(Operation *op) {
  FailureOr<rt::StartOp> planned = expect<rt::StartOp>(op);
  if (failed(planned) || failed(checkName(*planned, op)))
    return failure();
  rt::StartOp start = *planned;
  NamedAttrList params(op->getAttrDictionary());
  params.erase("channel");
  params.erase(WeftDialect::kOpNameAttr);
  MLIRContext *context = op->getContext();
  if (failed(checkSame(start, op,
                       StringAttr::get(context, op->getName().stripDialect()),
                       start.getCollectiveAttr(), "the collective")) ||
      failed(checkSame(start, op, params.getDictionary(context),
                       start.getParams(), "the attributes")) ||
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
  FailureOr<memref::CopyOp> planned = expect<memref::CopyOp>(op);
  if (failed(planned))
    return failure();
  auto source = planned->getSource().getDefiningOp<memref::GetGlobalOp>();
  auto global = source ? SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(
                             source, source.getNameAttr())
                       : nullptr;
  if (!global || !global.getConstant() ||
      failed(checkSame(*planned, op, op->getAttr("value"),
                       global.getInitialValueAttr(), "the constant")))
    return failure();
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  unsigned base = addBase(type, op);
  define(op->getResult(0), base);
  return write(*planned, planned->getTarget(), 1, base);
}

LogicalResult PlanMatcher::matchFromElements(tensor::FromElementsOp op) {
  unsigned base = addBase(op.getType(), op);
  define(op.getResult(), base);
  memref::StoreOp last;
  std::vector<Placed> stored;
  auto getSpotOf = [&](Spot whole, int64_t element) {
    for (unsigned dim = whole.sizes.size(); dim > 0; --dim) {
      whole.begin += element % whole.sizes[dim - 1] * whole.strides[dim - 1];
      element /= whole.sizes[dim - 1];
    }
    whole.sizes.clear();
    whole.strides.clear();
    setBytes(whole);
    return whole;
  };
  for (auto [i, element] : llvm::enumerate(op.getElements())) {
    FailureOr<memref::StoreOp> store = expect<memref::StoreOp>(op);
    if (failed(store) ||
        failed(checkBuffer(*store, store->getMemRef(), op.getType())) ||
        failed(matchStore(op, *store, element, i)) ||
        failed(checkId(*store, 0, base)))
      return failure();
    if (last && store->getMemRef() != last.getMemRef())
      return fail(*store, op) << getOpName(*store)
                              << " stores elements of one tensor into two "
                                 "buffers";
    last = *store;
    Elements single;
    single.value = base;
    single.begin = i;
    stored.push_back({single, getSpotOf(getSpot(last.getMemRef()), i)});
    contents.write(stored.back().spot, &single, last);
  }
  if (!last)
    return success();
  // Copies between the stores may have moved other elements there.
  for (const Placed &placed : stored)
    if (contents.find(placed))
      return fail(last, op) << getOpName(last) << " is the last to store an "
                            << "element, but others are overwritten";
  return write(last, last.getMemRef(), 0, base);
}

LogicalResult PlanMatcher::matchExtract(tensor::ExtractOp op) {
  FailureOr<memref::LoadOp> planned = expect<memref::LoadOp>(op);
  if (failed(planned) ||
      failed(read(*planned, planned->getMemRef(), 0, op.getTensor())))
    return failure();
  for (auto [from, to] : llvm::zip(op.getIndices(), planned->getIndices()))
    if (!scalars.isSame(from, to))
      return fail(*planned, op) << getOpName(*planned)
                                << " loads another element than the scheduled "
                                   "program";
  scalars.unite(op.getResult(), planned->getResult());
  return success();
}
