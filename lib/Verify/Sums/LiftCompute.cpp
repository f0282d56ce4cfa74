// SPDX-License-Identifier: Apache-2.0

// Computation: the loops of an op have the chunks of the dimensions that they
// run over, and the form is made at global indices. A reduction over loops that
// ranks share gives contributions, if each rank has a whole subtree of the
// declared order.

#include "LocalLifter.h"
#include "Shares.h"
#include "weft/Analysis/QuietDiagnostics.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

LogicalResult LocalLifter::meet(Operation *op, LocalDim &a, const LocalDim &b) {
  if (a.size == kAnySize) {
    a.size = b.size;
    a.isGuess = b.isGuess;
  }
  if (!a.chunk) {
    a.chunk = b.chunk;
    a.likeness = b.likeness;
  }
  LocalDim other = b;
  if (b.size != kAnySize && !takeSize(a, b.size) && !takeSize(other, a.size))
    return op->emitOpError("combines dimensions of global sizes ")
           << a.size << " and " << b.size;
  a.isGuess &= b.size == kAnySize || b.isGuess;
  // Other things may.
  a.isConstant = false;
  if (!b.chunk)
    return success();
  if (!holds(b, a.chunk)) {
    if (!holds(a, b.chunk))
      return op->emitOpError("combines dimensions that are cut in different "
                             "ways: a rank has parts ")
             << describeRanks(a.chunk) << " of one and "
             << describeRanks(b.chunk) << " of the other";
    a.chunk = b.chunk;
  }
  a.likeness = meetLikeness(a.likeness, b.likeness);
  return success();
}

LogicalResult LocalLifter::meetLoops(Operation *op, const LocalValue &value,
                                     AffineMap map,
                                     MutableArrayRef<LocalDim> loops) {
  for (auto [dim, expr] : llvm::zip(value.dims, map.getResults())) {
    if (auto loop = dyn_cast<AffineDimExpr>(expr)) {
      if (failed(meet(op, loops[loop.getPosition()], dim)))
        return failure();
      continue;
    }
    // Windows and constants: only where everything is whole.
    LocalDim whole = dim;
    if (failed(fixWhole(op, whole, "reads by a computed index")))
      return failure();
    for (unsigned loop = 0; loop < loops.size(); ++loop)
      if (expr.isFunctionOfDim(loop) &&
          failed(fixWhole(op, loops[loop], "reads by a computed index")))
        return failure();
  }
  return success();
}

void LocalLifter::noteReduced(const LocalValue &value, AffineMap map,
                              ArrayRef<LocalDim> loops) {
  if (!isReference)
    return;
  SmallVector<int64_t> sizes;
  for (auto [dim, expr] : llvm::zip(value.dims, map.getResults())) {
    auto loop = dyn_cast<AffineDimExpr>(expr);
    sizes.push_back(dim.size == kAnySize && loop
                        ? loops[loop.getPosition()].size
                        : kAnySize);
  }
  if (llvm::any_of(sizes, [](int64_t size) { return size != kAnySize; }))
    forms.noteReduced(value.form, sizes);
}

/// How many parts the chunks of a loop are: of sets those that have elements.
static int64_t countParts(const LocalDim &loop, Contribution::Kind kind) {
  bool hasSets = kind == Contribution::Exact || kind == Contribution::Disjoint;
  if (!hasSets || loop.size == kAnySize || loop.extent == 0)
    return countChunks(loop);
  return std::max<int64_t>(llvm::divideCeil(loop.size, loop.extent), 1);
}

/// A rank that has nothing but padding of some loop adds none to a set: what is
/// past the end changes nothing.
Contribution LocalLifter::makeParts(ArrayRef<LocalDim> loops,
                                    Contribution::Kind kind) {
  Contribution contribution;
  if (llvm::all_of(loops, [](auto &loop) { return countChunks(loop) == 1; }))
    return contribution;
  contribution.kind = kind;
  std::vector<std::pair<RankVector, int64_t>> key{
      {nullptr, kind == Contribution::Ordered}};
  for (const LocalDim &loop : loops) {
    key.push_back({loop.chunk, countParts(loop, kind)});
    contribution.parts *= key.back().second;
  }
  RankVector &known = pieces[key];
  if (!known)
    known = perRank([&](int64_t rank) {
      int64_t part = 0;
      bool isEmpty = false;
      for (auto [chunk, count] : ArrayRef(key).drop_front()) {
        int64_t own = chunk ? (*chunk)[rank] : 0;
        part = part * count + own;
        isEmpty |= own >= count;
      }
      if (kind == Contribution::Ordered)
        return part;
      return getSet(isEmpty ? std::vector<int64_t>() : std::vector{part});
    });
  contribution.part = known;
  return contribution;
}

/// What a rank has of several dimensions is one run of the dimension that they
/// make together.
LogicalResult LocalLifter::checkNested(Operation *op,
                                       ArrayRef<LocalDim> loops) {
  bool isInside = false;
  for (const LocalDim &loop : loops) {
    if (isInside && (countChunks(loop) > 1 || hasPadding(loop)))
      return op->emitOpError("cuts an inner dimension of size ")
             << loop.size
             << ", but the rank has more than one index of an outer one: its "
                "part is not one piece";
    isInside |= loop.extent > 1;
  }
  return success();
}

/// Over the reals an order changes nothing, but it has to be one of the
/// `local` elements that a rank sums.
LogicalResult LocalLifter::noteOrder(Operation *op, int64_t local,
                                     int64_t parts) {
  auto attr = op->getAttrOfType<OrderAttr>(WeftDialect::kOrderAttr);
  if (!attr)
    return success();
  if (local % attr.getLeaves() != 0)
    return op->emitOpError("has ")
           << attr.getLeaves() << " leaves, which do not divide " << local
           << " elements";
  declared.push_back(
      {op, attr.getLeaves(), attr.getLanes(), parts, attr.getRounded()});
  return success();
}

LogicalResult LocalLifter::makeOrder(Operation *op, ArrayRef<LocalDim> loops,
                                     bool lastIsReduction, Type joinType,
                                     Order &order, Contribution &contribution) {
  int64_t global = 1, local = 1;
  for (const LocalDim &loop : loops) {
    global *= loop.size;
    local *= loop.extent;
  }
  if (forms.isOfReals()) {
    contribution = makeParts(loops, Contribution::Exact);
    int64_t parts = 1;
    for (const LocalDim &loop : loops)
      parts *= countChunks(loop);
    return noteOrder(op, local, parts);
  }
  auto attr = op->getAttrOfType<OrderAttr>(WeftDialect::kOrderAttr);
  // Also of one element: an open order may leave out the zero that a sum begins
  // with, which turns -0.0 into +0.0.
  if (!attr)
    return op->emitOpError("adds up ")
           << global << " elements in an open order: it has no 'weft.order'";
  int64_t leaves = attr.getLeaves();
  order.lanes = attr.getLanes();
  if (local % leaves != 0)
    return op->emitOpError("has ")
           << leaves << " leaves, which do not divide " << local << " elements";
  order.leaf = local / leaves;
  int64_t run = loops.empty() ? 1 : loops.back().extent;
  if (order.lanes > 1 &&
      (!lastIsReduction || (order.leaf % run != 0 && run % order.leaf != 0)))
    return op->emitOpError("has ")
           << order.lanes << " lanes, but a leaf of " << order.leaf
           << " elements is not made of runs along the last loop";
  order.join({leaves, joinType});
  contribution = makeParts(loops, Contribution::Ordered);
  return contribution.parts > 1 ? checkNested(op, loops) : success();
}

/// The order that an op has if ranks share these loops; none if they do not
/// fit.
Order LocalLifter::findOrder(Operation *op, ArrayRef<LocalDim> loops,
                             bool lastIsReduction, Type joinType) {
  if (forms.isOfReals())
    return Order();
  QuietDiagnostics quiet(op->getContext());
  Order order;
  Contribution parts;
  return succeeded(
             makeOrder(op, loops, lastIsReduction, joinType, order, parts))
             ? order
             : Order();
}

//===----------------------------------------------------------------------===//
// Contractions and lookups
//===----------------------------------------------------------------------===//

/// Padding that is summed is zero on both sides: nothing else is certain to
/// give zero when it is multiplied.
LogicalResult LocalLifter::checkSummed(MatmulOp op, const LocalValue &operand,
                                       AffineMap map,
                                       ArrayRef<LocalDim> loops) {
  for (auto [own, expr] : llvm::zip(operand.dims, map.getResults())) {
    unsigned loop = cast<AffineDimExpr>(expr).getPosition();
    LocalDim dim = own;
    takeSize(dim, loops[loop].size);
    if (!op.getResultMap().isFunctionOfDim(loop) && holdsPadding(dim) &&
        !isZero(dim.padding))
      return op.emitOpError("combines elements past the end of a dimension of "
                            "size ")
             << dim.size;
  }
  return success();
}

LogicalResult LocalLifter::liftMatmul(MatmulOp op) {
  if (!op.getScales().empty())
    return op.emitOpError("has scales, which the proof does not know");
  SmallVector<LocalDim> loops;
  for (int64_t extent : op.getLoopSizes())
    loops.push_back({kAnySize, extent});
  const LocalValue &lhs = getTensor(op.getLhs()), &rhs = getTensor(op.getRhs());
  FailureOr<Contribution> carried = getProduct(op, lhs, rhs);
  if (failed(carried) || failed(meetLoops(op, lhs, op.getLhsMap(), loops)) ||
      failed(meetLoops(op, rhs, op.getRhsMap(), loops)) ||
      failed(checkSummed(op, lhs, op.getLhsMap(), loops)) ||
      failed(checkSummed(op, rhs, op.getRhsMap(), loops)))
    return failure();
  Form form{FormKind::Tensor, "matmul", "", {lhs.form, rhs.form}};
  form.element = getElementTypeOrSelf(op.getType());
  form.op = op;
  auto attr = op->getAttrOfType<OrderAttr>(WeftDialect::kOrderAttr);
  bool isRounded = attr && attr.getRounded() && !forms.isOfReals();
  SmallVector<unsigned> summed, free;
  for (auto [i, loop] : llvm::enumerate(loops)) {
    if (op.getResultMap().isFunctionOfDim(i))
      continue;
    summed.push_back(i);
    if (!loop.chunk)
      free.push_back(i);
    fix(loop);
  }
  noteReduced(lhs, op.getLhsMap(), loops);
  noteReduced(rhs, op.getRhsMap(), loops);
  LocalValue value;
  for (AffineExpr expr : op.getResultMap().getResults()) {
    value.dims.push_back(loops[cast<AffineDimExpr>(expr).getPosition()]);
    value.dims.back().padding = nullptr;
  }
  form.shape = getSizes(value.dims);
  Builder builder(op.getContext());
  Type accumulator =
      form.element.isF64() ? builder.getF64Type() : builder.getF32Type();
  const Type joinType = isRounded ? form.element : accumulator;
  auto getReduced = [&] {
    return llvm::map_to_vector(summed, [&](unsigned i) { return loops[i]; });
  };
  auto describe = [&] {
    if (!free.empty())
      form.order =
          findOrder(op, getReduced(), /*lastIsReduction=*/false, joinType);
    form.details.clear();
    llvm::raw_string_ostream os(form.details);
    os << forms.getText(op.getIndexingMaps()) << (isRounded ? " rounded" : "");
    for (unsigned i : summed)
      os << ' ' << loops[i].size << " of "
         << (forms.isOfReals() ? loops[i].size : getPaddedSize(loops[i]));
  };
  describe();
  for (unsigned loop : free)
    tryShared(loops, loop, form, describe);
  form.order = Order();
  if (failed(makeOrder(op, getReduced(), /*lastIsReduction=*/false, joinType,
                       form.order, value.contribution)))
    return failure();
  carryParts(*carried, value.contribution);
  value.form =
      forms.getPart(std::move(form), value.contribution.parts, joinType);
  reductions.push_back({op, value.form});
  return setTensor(op, op.getResult(), std::move(value));
}

/// The base of a lookup is where the rank's rows begin.
LogicalResult LocalLifter::checkBase(Operation *op, Value base,
                                     const LocalDim &rows) {
  RankVector begin = uniform(0);
  if (base)
    begin = scalars.lookup(base).offset;
  RankVector expected =
      perRank([&](int64_t rank) { return (*rows.chunk)[rank] * rows.extent; });
  if (begin == expected)
    return success();
  return op->emitOpError("looks up from row ")
         << (begin ? describeRanks(begin) : "?")
         << ", but the rank's rows begin at " << describeRanks(expected);
}

/// Of rows that are alike a rank has those from which it looks up.
void LocalLifter::moveToBase(Value base, LocalDim &rows) {
  RankVector begin = base ? scalars.lookup(base).offset : uniform(0);
  if (!rows.likeness || !begin || rows.extent < 1 ||
      llvm::any_of(
          *begin,
          [&](int64_t row) { return row < 0 || row % rows.extent != 0; }))
    return;
  RankVector chunk =
      perRank([&](int64_t rank) { return (*begin)[rank] / rows.extent; });
  if (proof::holds(rows, chunk))
    rows.chunk = chunk;
}

/// Rows of which nothing is known but where those of the rank begin.
void LocalLifter::inferRows(Value base, LocalDim &rows) {
  RankVector begin = base ? scalars.lookup(base).offset : nullptr;
  rows.chunk =
      begin
          ? perRank([&](int64_t rank) { return (*begin)[rank] / rows.extent; })
          : uniform(0);
}

/// The integer that a form is; nullopt for others and null.
static std::optional<int64_t> getInteger(const Form *form) {
  auto attr =
      form ? dyn_cast_if_present<IntegerAttr>(form->value) : IntegerAttr();
  return attr ? std::optional<int64_t>(attr.getValue().getSExtValue())
              : std::nullopt;
}

namespace {

/// Indices of which those of `bound` and above are replaced by -1.
struct Dropped {
  const Form *kept;
  int64_t bound;
};

} // namespace

static std::optional<Dropped> matchDropped(const Form *indices) {
  const Form *select =
      indices->kind == FormKind::Map ? indices->operands[0] : indices;
  if (select->kind != FormKind::Scalar || select->name != "arith.select")
    return std::nullopt;
  const Form *compare = select->operands[0], *kept = select->operands[1];
  const Form *other = select->operands[2];
  if (compare->name != "arith.cmpi" || compare->operands[0] != kept ||
      StringRef(compare->details) != "{predicate = 2 : i64}" ||
      getInteger(other) != -1)
    return std::nullopt;
  std::optional<int64_t> bound = getInteger(compare->operands[1]);
  return bound ? std::optional<Dropped>({kept, *bound}) : std::nullopt;
}

/// If `indices` is another tensor with indices of `size` and above replaced by
/// -1, which are not found either, that tensor. One that has the same index
/// everywhere is told by that index.
static const Form *stripDropped(const Form *indices, int64_t size) {
  std::optional<Dropped> dropped = matchDropped(indices);
  if (!dropped || dropped->bound != size)
    return nullptr;
  const Form *kept = dropped->kept;
  if (indices->kind != FormKind::Map)
    return kept->dependsOnLoops ? nullptr : kept;
  std::string written;
  llvm::raw_string_ostream(written) << kept->map;
  bool isInPlace = kept->kind == FormKind::Read && kept->map.isIdentity() &&
                   StringRef(indices->details).ends_with(written);
  return isInPlace ? kept->operands[0] : nullptr;
}

/// A table that is the same in all rows has any number of them: those from
/// which ranks look up, each in its part, and of these as many as are looked
/// up. An index finds what it must on the one rank in whose part it is, and
/// zero on others, wherever these rows end.
void LocalLifter::inferTable(Value base, const Form *indices, LocalDim &rows) {
  RankVector begin = base ? scalars.lookup(base).offset : nullptr;
  if (rows.chunk || rows.size != kAnySize || rows.extent < 1 || !begin ||
      llvm::any_of(
          *begin,
          [&](int64_t row) { return row < 0 || row % rows.extent != 0; }))
    return;
  inferRows(base, rows);
  if (std::optional<Dropped> dropped = matchDropped(indices))
    if (fitsChunks(rows, dropped->bound))
      rows.size = dropped->bound;
}

/// Of a table that says no number of rows ranks look up those that indices are
/// kept for: what comes after them is not found.
void LocalLifter::takeRows(const Form *indices, LocalDim &rows) {
  std::optional<Dropped> dropped = matchDropped(indices);
  if (rows.isGuess && dropped && fitsChunks(rows, dropped->bound))
    takeSize(rows, dropped->bound);
}

/// Whether a table has rows past its end that an index can find.
static bool canFindPadding(const LocalDim &rows, Type index) {
  return llvm::isIntN(index.getIntOrFloatBitWidth(), rows.size);
}

LogicalResult LocalLifter::liftTake(TakeOp op) {
  LocalValue table = getTensor(op.getTable());
  FailureOr<Contribution> carried = getTogether(op, &table);
  FailureOr<LocalValue> indices = getUncombined(op, op.getIndices());
  if (failed(carried) || failed(indices))
    return failure();
  LocalDim rows = table.dims[op.getAxis()];
  if (!isReference)
    inferTable(op.getBase(), indices->form, rows);
  fix(rows);
  takeRows(indices->form, rows);
  moveToBase(op.getBase(), rows);
  table.dims.erase(table.dims.begin() + op.getAxis());
  LocalValue value;
  for (int64_t extent : op.getType().getShape())
    value.dims.push_back({kAnySize, extent});
  if (failed(meetLoops(op, table, op.getTableMap(), value.dims)) ||
      failed(meetLoops(op, *indices, op.getIndexMap(), value.dims)) ||
      failed(checkBase(op, op.getBase(), rows)))
    return failure();
  const Form *looked = stripDropped(indices->form, rows.size);
  Type element = getElementTypeOrSelf(op.getIndices().getType());
  if (hasPadding(rows) && !looked && canFindPadding(rows, element))
    return op.emitOpError("may find elements past the end of a dimension of "
                          "size ")
           << rows.size;
  for (LocalDim &dim : value.dims)
    dim.padding = nullptr;
  Form form{FormKind::Tensor,
            "take",
            "",
            {table.form, looked ? looked : indices->form}};
  llvm::raw_string_ostream(form.details)
      << op.getTableMap() << ' ' << op.getIndexMap() << " axis " << op.getAxis()
      << " of " << rows.size;
  form.shape = getSizes(value.dims);
  form.element = getElementTypeOrSelf(op.getType());
  form.op = op;
  // Of integers a zero that is added is nothing, in whichever order.
  bool isExact = forms.isOfReals() || form.element.isInteger();
  value.contribution =
      makeParts(rows, isExact ? Contribution::Exact : Contribution::Disjoint);
  value.form = forms.get(std::move(form));
  // The rank that does not have a row finds zero.
  if (value.contribution.kind != Contribution::Whole &&
      carried->kind != Contribution::Whole &&
      carried->reduction != ReduceKind::Sum)
    return op.emitOpError("adds zeros to contributions to a ")
           << stringifyReduceKind(carried->reduction) << ": one of "
           << carried->parts << " parts of " << table.form->str();
  carryParts(*carried, value.contribution);
  return setTensor(op, op.getResult(), std::move(value));
}

/// Sums the updates: in row-major order, by ranks that each have one piece.
LogicalResult LocalLifter::addUpdates(ScatterAddOp op, const LocalValue &init,
                                      const LocalValue &indices,
                                      MutableArrayRef<LocalDim> loops,
                                      Order &order,
                                      Contribution &contribution) {
  SmallVector<LocalDim> reduced;
  order.leaf = 1;
  for (auto [i, loop] : llvm::enumerate(loops))
    if (!op.getTableMap().isFunctionOfDim(i)) {
      fix(loop);
      reduced.push_back(loop);
      order.leaf *= loop.extent;
    }
  for (auto [own, expr] :
       llvm::zip(indices.dims, op.getIndexMap().getResults())) {
    unsigned loop = cast<AffineDimExpr>(expr).getPosition();
    LocalDim dim = own;
    takeSize(dim, loops[loop].size);
    if (!op.getTableMap().isFunctionOfDim(loop) && holdsPadding(dim) &&
        getInteger(dim.padding) != -1)
      return op.emitOpError("combines elements past the end of a dimension of "
                            "size ")
             << dim.size;
  }
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(op.getType()));
  contribution =
      makeParts(reduced, isFloat && !forms.isOfReals() ? Contribution::Ordered
                                                       : Contribution::Exact);
  if (!isFloat || forms.isOfReals())
    order = Order();
  if (contribution.kind == Contribution::Whole)
    return success();
  if (!isZero(init.form) && getInteger(init.form) != 0)
    return op.emitOpError("is shared by ranks, but each adds to ")
           << init.form->str();
  return forms.isOfReals() ? success() : checkNested(op, reduced);
}

LogicalResult LocalLifter::liftScatterAdd(ScatterAddOp op) {
  const LocalValue init = getTensor(op.getInit());
  const LocalValue updates = getTensor(op.getUpdates());
  FailureOr<LocalValue> indices = getUncombined(op, op.getIndices());
  FailureOr<Contribution> carried = getTogether(op, {&init, &updates});
  if (failed(carried) || failed(indices))
    return failure();
  SmallVector<LocalDim> loops(updates.dims.begin(), updates.dims.end());
  LocalDim rows = init.dims[op.getAxis()];
  LocalValue table = init;
  table.dims.erase(table.dims.begin() + op.getAxis());
  if (failed(meetLoops(op, table, op.getTableMap(), loops)) ||
      failed(meetLoops(op, *indices, op.getIndexMap(), loops)))
    return failure();
  LocalValue value;
  Order order;
  if (failed(addUpdates(op, init, *indices, loops, order, value.contribution)))
    return failure();
  carryParts(*carried, value.contribution);
  value.dims = init.dims;
  for (auto [i, expr] : llvm::enumerate(op.getTableMap().getResults()))
    value.dims[i + (i >= op.getAxis())] =
        loops[cast<AffineDimExpr>(expr).getPosition()];
  if (!rows.chunk)
    inferRows(op.getBase(), rows);
  if (isReference && forms.isOfReals())
    fix(rows);
  if (failed(checkBase(op, op.getBase(), rows)))
    return failure();
  forgetElements(rows);
  value.dims[op.getAxis()] = rows;
  for (LocalDim &dim : value.dims)
    dim.padding = nullptr;
  Form form{FormKind::Tensor,
            "scatter_add",
            "",
            {init.form, indices->form, updates.form}};
  llvm::raw_string_ostream os(form.details);
  os << op.getTableMap() << ' ' << op.getIndexMap() << " axis " << op.getAxis();
  // Of what has no order, what is not found is nothing.
  for (auto [i, loop] : llvm::enumerate(loops))
    if (!op.getTableMap().isFunctionOfDim(i))
      os << ' ' << loop.size << " of "
         << (order.isNeeded() ? getPaddedSize(loop) : loop.size);
  form.order = order;
  form.shape = getSizes(value.dims);
  form.element = getElementTypeOrSelf(op.getType());
  form.op = op;
  bool hasOrder = form.order.isNeeded();
  value.form = forms.get(std::move(form));
  if (hasOrder)
    reductions.push_back({op, value.form});
  return setTensor(op, op.getResult(), std::move(value));
}
