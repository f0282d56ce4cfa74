// SPDX-License-Identifier: Apache-2.0

// Computation: the loops of an op have the chunks of the dimensions that they
// run over, and the form is made at global indices. A reduction over loops that
// ranks share gives contributions, if each rank has a whole subtree of the
// declared order.

#include "LocalLifter.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

LogicalResult LocalLifter::meet(Operation *op, LocalDim &a, const LocalDim &b) {
  if (a.size == kAnySize)
    a.size = b.size;
  if (!a.chunk)
    a.chunk = b.chunk;
  if (b.size != kAnySize && a.size != b.size)
    return op->emitOpError("combines dimensions of global sizes ")
           << a.size << " and " << b.size;
  if (b.chunk && a.chunk != b.chunk)
    return op->emitOpError("combines dimensions that are cut in different "
                           "ways: a rank has parts ")
           << describeRanks(a.chunk) << " of one and " << describeRanks(b.chunk)
           << " of the other";
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

Contribution LocalLifter::makeParts(ArrayRef<LocalDim> loops,
                                    Contribution::Kind kind) {
  Contribution contribution;
  for (const LocalDim &loop : loops)
    contribution.parts *= countChunks(loop);
  if (contribution.parts == 1)
    return contribution;
  contribution.kind = kind;
  contribution.part = perRank([&](int64_t rank) {
    int64_t part = 0;
    for (const LocalDim &loop : loops)
      part = part * countChunks(loop) + (*loop.chunk)[rank];
    return part;
  });
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

LogicalResult LocalLifter::makeOrder(Operation *op, ArrayRef<LocalDim> loops,
                                     bool lastIsReduction, Type joinType,
                                     Order &order, Contribution &contribution) {
  int64_t global = 1, local = 1;
  for (const LocalDim &loop : loops) {
    global *= loop.size;
    local *= loop.extent;
  }
  auto attr = op->getAttrOfType<OrderAttr>(WeftDialect::kOrderAttr);
  if (!attr && global > 1)
    return op->emitOpError("adds up ")
           << global << " elements in an open order: it has no 'weft.order'";
  int64_t leaves = attr ? attr.getLeaves() : 1;
  order.lanes = attr ? attr.getLanes() : 1;
  if (local % leaves != 0)
    return op->emitOpError("has ") << leaves << " leaves, which do not divide "
                                   << local << " elements";
  order.leaf = local / leaves;
  int64_t run = loops.empty() ? 1 : loops.back().extent;
  if (order.lanes > 1 && (!lastIsReduction || (order.leaf % run != 0 &&
                                               run % order.leaf != 0)))
    return op->emitOpError("has ")
           << order.lanes << " lanes, but a leaf of " << order.leaf
           << " elements is not made of runs along the last loop";
  order.join({leaves, joinType});
  contribution = makeParts(loops, Contribution::Ordered);
  return contribution.parts > 1 ? checkNested(op, loops) : success();
}

//===----------------------------------------------------------------------===//
// linalg
//===----------------------------------------------------------------------===//

namespace {

/// How a body combines what enters with what it has.
struct Combiner {
  Operation *op = nullptr;
  Value entering;
  /// Whether any order gives the same bits.
  bool isExact = false;
  ReduceKind kind = ReduceKind::Sum;
};

} // namespace

/// Whether the result does not depend on the order of operands.
static std::optional<ReduceKind> getExactKind(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<ReduceKind>>(op)
      .Case<arith::MaximumFOp, arith::MaxSIOp>(
          [](auto) { return ReduceKind::Max; })
      .Case<arith::MinimumFOp, arith::MinSIOp>(
          [](auto) { return ReduceKind::Min; })
      .Case([](arith::AndIOp) { return ReduceKind::And; })
      .Case([](arith::OrIOp) { return ReduceKind::Or; })
      .Case([](arith::AddIOp) { return ReduceKind::Sum; })
      .Case([](arith::MulIOp) { return ReduceKind::Prod; })
      .Default(std::nullopt);
}

/// Sees how result `index` is combined; without an op: in some other way.
static Combiner getCombiner(linalg::LinalgOp op, unsigned index) {
  Combiner combiner;
  BlockArgument accumulator = op.getRegionOutputArgs()[index];
  Value yielded = op.getBlock()->getTerminator()->getOperand(index);
  Operation *def = yielded.getDefiningOp();
  if (!def || def->getBlock() != op.getBlock() || def->getNumOperands() != 2 ||
      !accumulator.hasOneUse() || *accumulator.user_begin() != def)
    return combiner;
  std::optional<ReduceKind> exact = getExactKind(def);
  if (!exact && !isa<arith::AddFOp, arith::MulFOp>(def))
    return combiner;
  combiner.op = def;
  combiner.entering = def->getOperand(def->getOperand(0) == accumulator);
  combiner.isExact = exact.has_value();
  combiner.kind = exact ? *exact
                        : (isa<arith::AddFOp>(def) ? ReduceKind::Sum
                                                   : ReduceKind::Prod);
  return combiner;
}

/// Whether combining with `form` changes nothing.
static bool isNeutral(Operation *combiner, const Form *form) {
  auto attr = dyn_cast_if_present<TypedAttr>(form->value);
  if (!attr)
    return false;
  if (auto number = dyn_cast<FloatAttr>(attr); isa<arith::AddFOp>(combiner))
    return number && number.getValue().isZero();
  std::optional<TypedAttr> neutral = arith::getNeutralElement(combiner);
  return neutral && *neutral == attr;
}

namespace {

/// Follows one linalg op.
class LinalgLifter {
public:
  LinalgLifter(linalg::LinalgOp op, FormTable &forms,
               MutableArrayRef<LocalDim> loops)
      : op(op), forms(forms), loops(loops) {}

  /// Iterators, sizes, and where result `index` lies: the form's details. In a
  /// sum, the padding counts too: it is in the tree, as zeros.
  std::string describe(unsigned index, bool withPadding = false) {
    std::string text;
    llvm::raw_string_ostream os(text);
    auto iterators = op.getIteratorTypesArray();
    for (auto [loop, iterator] : llvm::zip(loops, iterators))
      if (iterator == utils::IteratorType::parallel)
        os << 'p' << loop.size << ' ';
      else
        os << 'r' << (withPadding ? getPaddedSize(loop) : loop.size) << ' ';
    os << getResultMap(index);
    return text;
  }

  AffineMap getResultMap(unsigned index) {
    return op.getMatchingIndexingMap(op.getDpsInitOperand(index));
  }

  SmallVector<LocalDim, 4> getResultDims(unsigned index,
                                         const LocalScalar &scalar) {
    SmallVector<LocalDim, 4> dims;
    for (AffineExpr expr : getResultMap(index).getResults()) {
      unsigned loop = cast<AffineDimExpr>(expr).getPosition();
      LocalDim dim = loops[loop];
      dim.padding = nullptr;
      for (auto [padded, form] : scalar.padding)
        if (padded == loop)
          dim.padding = form;
      dims.push_back(dim);
    }
    return dims;
  }

  SmallVector<LocalDim> getReductionLoops() {
    SmallVector<LocalDim> reduced;
    for (auto [loop, iterator] : llvm::zip(loops, op.getIteratorTypesArray()))
      if (iterator == utils::IteratorType::reduction)
        reduced.push_back(loop);
    return reduced;
  }

  bool lastIsReduction() {
    return op.getIteratorTypesArray().back() == utils::IteratorType::reduction;
  }

  /// Fails unless what enters the combination from padding changes nothing.
  LogicalResult checkPadding(const Combiner &combiner,
                             const LocalScalar &entering) {
    for (auto [i, iterator] : llvm::enumerate(op.getIteratorTypesArray())) {
      if (iterator != utils::IteratorType::reduction || !hasPadding(loops[i]))
        continue;
      bool isMasked = llvm::any_of(entering.padding, [&](const auto &entry) {
        return entry.first == i && isNeutral(combiner.op, entry.second);
      });
      if (!isMasked)
        return combiner.op->emitOpError("combines elements behind the end of a "
                                        "dimension of size ")
               << loops[i].size;
    }
    return success();
  }

private:
  linalg::LinalgOp op;
  FormTable &forms;
  MutableArrayRef<LocalDim> loops;
};

} // namespace

/// Whether the form is `x + 0.0`, where x is what result elements stand for.
static const Form *matchAddZero(const Form *form, AffineMap resultMap) {
  if (form->kind != FormKind::Scalar || form->name != "arith.addf")
    return nullptr;
  for (unsigned i : {0, 1}) {
    const Form *read = form->operands[i], *zero = form->operands[1 - i];
    auto number = dyn_cast_if_present<FloatAttr>(zero->value);
    if (number && number.getValue().isPosZero() &&
        read->kind == FormKind::Read && read->map == resultMap)
      return read->operands[0];
  }
  return nullptr;
}

/// A result of an op without reduction loops.
FailureOr<LocalValue> LocalLifter::liftMap(linalg::LinalgOp op, unsigned index,
                                           BodyLifter &body,
                                           MutableArrayRef<LocalDim> loops) {
  Value yielded = op.getBlock()->getTerminator()->getOperand(index);
  FailureOr<LocalScalar> scalar = body.get(op, yielded);
  FailureOr<const Form *> yieldedForm = body.getForm(op, yielded);
  if (failed(scalar) || failed(yieldedForm))
    return failure();
  const Form *form = *yieldedForm;
  LinalgLifter lifter(op, forms, loops);
  AffineMap map = lifter.getResultMap(index);
  LocalValue value;
  value.dims = lifter.getResultDims(index, *scalar);
  const Form *zeroAdded = matchAddZero(form, map);
  if (zeroAdded) {
    value.form = forms.getAddZero(zeroAdded, op);
  } else if (form->kind == FormKind::Read && form->map == map &&
             map.isPermutation()) {
    value.form = form->operands[0];
  } else if (form->kind == FormKind::Read && map.isIdentity() &&
             form->map.isPermutation()) {
    std::string permutation;
    llvm::raw_string_ostream(permutation) << form->map;
    value.form = forms.getMove("transpose", permutation, form->operands[0],
                               getSizes(value.dims), op);
  } else if (!form->dependsOnLoops) {
    value.form = form;
    for (LocalDim &dim : value.dims)
      dim = {kAnySize, dim.extent};
  } else {
    Form mapped{FormKind::Map, "map", lifter.describe(index), {form}};
    mapped.shape = getSizes(value.dims);
    mapped.element = form->element;
    mapped.op = op;
    value.form = forms.get(std::move(mapped));
  }
  if (failed(carryContribution(op, value)))
    return failure();
  return value;
}

/// Fails if the op reads a contribution.
LogicalResult LocalLifter::checkUncombined(linalg::LinalgOp op) {
  for (OpOperand &operand : op->getOpOperands())
    if (tensors.contains(operand.get()) &&
        !op.getMatchingBlockArgument(&operand).use_empty() &&
        failed(getUncombined(op, operand.get())))
      return failure();
  return success();
}

/// What is done to a contribution: it may be moved, and a part of which all
/// others are +0.0 may get +0.0 added.
LogicalResult LocalLifter::carryContribution(linalg::LinalgOp op,
                                             LocalValue &result) {
  unsigned numRead = llvm::count_if(
      op.getBlock()->getArguments(),
      [](BlockArgument arg) { return !arg.use_empty(); });
  for (OpOperand &operand : op->getOpOperands()) {
    auto it = tensors.find(operand.get());
    if (it == tensors.end() || op.getMatchingBlockArgument(&operand).use_empty())
      continue;
    const LocalValue &value = it->second;
    if (value.contribution.kind == Contribution::Whole)
      continue;
    const Form *made = result.form;
    bool isMoved = made == value.form ||
                   (made->kind == FormKind::Move && made->name == "transpose" &&
                    made->operands[0] == value.form);
    bool isZeroAdded = value.contribution.kind == Contribution::Disjoint &&
                       made == forms.getAddZero(value.form, op);
    if (numRead != 1 || value.dims.size() != result.dims.size() ||
        !(isMoved || isZeroAdded))
      return op->emitOpError("computes with a contribution: operand #")
             << operand.getOperandNumber() << " is one of "
             << value.contribution.parts << " parts of " << value.form->str();
    result.contribution = value.contribution;
  }
  return success();
}

/// A result that is combined by an op with one neutral element.
FailureOr<LocalValue>
LocalLifter::liftReduction(linalg::LinalgOp op, unsigned index,
                           BodyLifter &body, MutableArrayRef<LocalDim> loops) {
  Combiner combiner = getCombiner(op, index);
  LinalgLifter lifter(op, forms, loops);
  FailureOr<LocalScalar> entering = body.get(combiner.op, combiner.entering);
  FailureOr<const Form *> form = body.getForm(combiner.op, combiner.entering);
  if (failed(entering) || failed(form) ||
      failed(lifter.checkPadding(combiner, *entering)))
    return failure();
  LocalValue value;
  value.dims = lifter.getResultDims(index, LocalScalar());
  const LocalValue &init = getTensor(op.getDpsInits()[index]);
  if (init.form->kind == FormKind::Undefined)
    return op.emitOpError("uses elements that nothing has defined"), failure();
  const Form *first = forms.getRead(init.form, lifter.getResultMap(index));
  Form made{FormKind::Reduction, combiner.op->getName().getStringRef().str(),
            lifter.describe(index, !combiner.isExact), {*form, first}};
  made.shape = getSizes(value.dims);
  made.element = combiner.entering.getType();
  made.op = op;
  SmallVector<LocalDim> reduced = lifter.getReductionLoops();
  if (combiner.isExact)
    value.contribution = makeParts(reduced, Contribution::Exact);
  else if (failed(makeOrder(op, reduced, lifter.lastIsReduction(), made.element,
                            made.order, value.contribution)))
    return failure();
  value.contribution.reduction = combiner.kind;
  if (value.contribution.kind != Contribution::Whole &&
      !isNeutral(combiner.op, first))
    return op.emitOpError("is shared by ranks, but each adds to ")
               << first->str(),
           failure();
  bool hasOrder = made.order.isNeeded();
  value.form = forms.get(std::move(made));
  if (hasOrder)
    reductions.push_back({op, value.form});
  return value;
}

/// Results of an op that combines in some other way: in the order of its loops.
LogicalResult LocalLifter::liftFold(linalg::LinalgOp op, BodyLifter &body,
                                    MutableArrayRef<LocalDim> loops) {
  LinalgLifter lifter(op, forms, loops);
  SmallVector<LocalDim> reduced = lifter.getReductionLoops();
  Form fold{FormKind::Tensor, "fold"};
  for (LocalDim &loop : reduced)
    if (failed(fixWhole(op, loop, "combines in a way that ranks cannot share, "
                                  "over a loop")))
      return failure();
  bool isFloat = llvm::any_of(op->getResultTypes(), [](Type type) {
    return isa<FloatType>(getElementTypeOrSelf(type));
  });
  Contribution none;
  if (isFloat && failed(makeOrder(op, reduced, lifter.lastIsReduction(),
                                  Type(), fold.order, none)))
    return failure();
  if (fold.order.leaves() > 1 || fold.order.lanes > 1)
    return op.emitOpError("is to join ")
           << std::max(fold.order.leaves(), fold.order.lanes)
           << " parts, but combines in a way that cannot be joined";
  for (auto [init, yielded] :
       llvm::zip(op.getDpsInits(), op.getBlock()->getTerminator()->getOperands())) {
    FailureOr<const Form *> form = body.getForm(op, yielded);
    FailureOr<LocalValue> first = getUncombined(op, init);
    if (failed(form) || failed(first))
      return failure();
    fold.operands.append({*form, first->form});
  }
  fold.op = op;
  for (OpResult result : op->getResults()) {
    unsigned index = result.getResultNumber();
    Form one = fold;
    one.details = lifter.describe(index) + " result " + std::to_string(index);
    LocalValue value;
    value.dims = lifter.getResultDims(index, LocalScalar());
    one.shape = getSizes(value.dims);
    one.element = getElementTypeOrSelf(result.getType());
    bool hasOrder = one.order.isNeeded();
    value.form = forms.get(std::move(one));
    if (hasOrder)
      reductions.push_back({op, value.form});
    if (failed(setTensor(op, result, std::move(value))))
      return failure();
  }
  return success();
}

/// Gives the block's arguments the elements of the operands.
LogicalResult LocalLifter::readOperands(linalg::LinalgOp op, BodyLifter &body,
                                        bool reduces) {
  for (OpOperand &operand : op->getOpOperands()) {
    BlockArgument arg = op.getMatchingBlockArgument(&operand);
    if (!isa<RankedTensorType>(operand.get().getType())) {
      FailureOr<const Form *> form = body.getForm(op, operand.get());
      if (failed(form))
        return failure();
      body.setForm(arg, *form);
      continue;
    }
    if (reduces && op.isDpsInit(&operand)) {
      Form form{FormKind::Accumulator, "accumulator",
                std::to_string(operand.getOperandNumber() -
                               op.getNumDpsInputs())};
      form.element = arg.getType();
      form.dependsOnLoops = true;
      body.setForm(arg, forms.get(std::move(form)));
      continue;
    }
    const LocalValue &value = getTensor(operand.get());
    AffineMap map = op.getMatchingIndexingMap(&operand);
    LocalScalar scalar;
    scalar.form = forms.getRead(value.form, map);
    for (auto [dim, expr] : llvm::zip(value.dims, map.getResults()))
      if (auto loop = dyn_cast<AffineDimExpr>(expr); loop && dim.padding)
        scalar.padding.push_back({loop.getPosition(), dim.padding});
    body.set(arg, scalar);
  }
  return success();
}

LogicalResult LocalLifter::liftLinalg(linalg::LinalgOp op) {
  SmallVector<LocalDim> loops;
  for (int64_t extent : op.getStaticLoopRanges())
    loops.push_back({kAnySize, extent});
  for (OpOperand &operand : op->getOpOperands())
    if (isa<RankedTensorType>(operand.get().getType()) &&
        failed(meetLoops(op, getTensor(operand.get()),
                         op.getMatchingIndexingMap(&operand), loops)))
      return failure();
  for (OpOperand &init : op.getDpsInitsMutable())
    if (!op.getMatchingIndexingMap(&init).isProjectedPermutation())
      return op.emitOpError("writes by a computed index");
  BodyLifter body(*this, loops);
  body.inferChunks(*op.getBlock());
  bool reduces = op.getNumReductionLoops() > 0;
  for (auto [loop, iterator] : llvm::zip(loops, op.getIteratorTypesArray()))
    if (iterator == utils::IteratorType::reduction)
      fix(loop);
  if (failed(readOperands(op, body, reduces)))
    return failure();
  for (Operation &inner : op.getBlock()->without_terminator())
    if (failed(body.lift(&inner)))
      return failure();
  if (reduces && failed(checkUncombined(op)))
    return failure();
  bool isFold = false;
  for (unsigned i = 0; reduces && i < op->getNumResults(); ++i)
    isFold |= !getCombiner(op, i).op;
  if (isFold)
    return liftFold(op, body, loops);
  for (OpResult result : op->getResults()) {
    unsigned index = result.getResultNumber();
    FailureOr<LocalValue> value = reduces
                                      ? liftReduction(op, index, body, loops)
                                      : liftMap(op, index, body, loops);
    if (failed(value) || failed(setTensor(op, result, std::move(*value))))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Contractions and lookups
//===----------------------------------------------------------------------===//

static bool isZero(const Form *form) {
  auto number = form ? dyn_cast_if_present<FloatAttr>(form->value) : FloatAttr();
  return number && number.getValue().isZero();
}

/// Padding that is summed is zero on both sides: nothing else is certain to give
/// zero when it is multiplied.
LogicalResult LocalLifter::checkSummed(MatmulOp op, const LocalValue &operand,
                                       AffineMap map) {
  for (auto [dim, expr] : llvm::zip(operand.dims, map.getResults()))
    if (!op.getResultMap().isFunctionOfDim(
            cast<AffineDimExpr>(expr).getPosition()) &&
        hasPadding(dim) && !isZero(dim.padding))
      return op.emitOpError("combines elements behind the end of a dimension of "
                            "size ")
             << dim.size;
  return success();
}

LogicalResult LocalLifter::liftMatmul(MatmulOp op) {
  SmallVector<LocalDim> loops;
  for (int64_t extent : op.getLoopSizes())
    loops.push_back({kAnySize, extent});
  FailureOr<LocalValue> lhs = getUncombined(op, op.getLhs());
  FailureOr<LocalValue> rhs = getUncombined(op, op.getRhs());
  if (failed(lhs) || failed(rhs) ||
      failed(meetLoops(op, *lhs, op.getLhsMap(), loops)) ||
      failed(meetLoops(op, *rhs, op.getRhsMap(), loops)) ||
      failed(checkSummed(op, *lhs, op.getLhsMap())) ||
      failed(checkSummed(op, *rhs, op.getRhsMap())))
    return failure();
  Form form{FormKind::Tensor, "matmul", "", {lhs->form, rhs->form}};
  form.element = getElementTypeOrSelf(op.getType());
  form.op = op;
  auto attr = op->getAttrOfType<OrderAttr>(WeftDialect::kOrderAttr);
  bool isRounded = attr && attr.getRounded();
  llvm::raw_string_ostream os(form.details);
  os << op.getIndexingMaps() << (isRounded ? " rounded" : "");
  SmallVector<LocalDim> reduced;
  for (auto [i, loop] : llvm::enumerate(loops)) {
    bool isSummed = !op.getResultMap().isFunctionOfDim(i);
    if (isSummed) {
      fix(loop);
      reduced.push_back(loop);
    }
    os << ' ' << loop.size;
    if (isSummed)
      os << '/' << getPaddedSize(loop);
  }
  Builder builder(op.getContext());
  Type accumulator = form.element.isF64() ? builder.getF64Type()
                                          : builder.getF32Type();
  LocalValue value;
  if (failed(makeOrder(op, reduced, /*lastIsReduction=*/false,
                       isRounded ? form.element : accumulator, form.order,
                       value.contribution)))
    return failure();
  for (AffineExpr expr : op.getResultMap().getResults()) {
    value.dims.push_back(loops[cast<AffineDimExpr>(expr).getPosition()]);
    value.dims.back().padding = nullptr;
  }
  form.shape = getSizes(value.dims);
  value.form = forms.get(std::move(form));
  reductions.push_back({op, value.form});
  return setTensor(op, op.getResult(), std::move(value));
}

/// The base of a lookup is where the rank's rows begin.
LogicalResult LocalLifter::checkBase(Operation *op, Value base,
                                     const LocalDim &rows) {
  RankVector begin = uniform(0);
  if (base)
    begin = scalars.lookup(base).offset;
  RankVector expected = perRank(
      [&](int64_t rank) { return (*rows.chunk)[rank] * rows.extent; });
  if (begin == expected)
    return success();
  return op->emitOpError("looks up from row ")
         << (begin ? describeRanks(begin) : "?") << ", but the rank's rows begin at "
         << describeRanks(expected);
}

/// If `indices` is another tensor with indices of `size` and above replaced by
/// -1, which are not found either, that tensor.
static const Form *stripDropped(const Form *indices, int64_t size) {
  if (indices->kind != FormKind::Map)
    return nullptr;
  const Form *select = indices->operands[0];
  if (select->name != "arith.select")
    return nullptr;
  const Form *compare = select->operands[0], *read = select->operands[1];
  const Form *other = select->operands[2];
  auto getNumber = [](const Form *form) {
    auto attr = dyn_cast_if_present<IntegerAttr>(form->value);
    return attr ? std::optional<int64_t>(attr.getValue().getSExtValue())
                : std::nullopt;
  };
  if (compare->name != "arith.cmpi" || compare->operands[0] != read ||
      StringRef(compare->details) != "{predicate = 2 : i64}" ||
      read->kind != FormKind::Read || !read->map.isIdentity() ||
      getNumber(other) != -1)
    return nullptr;
  std::optional<int64_t> bound = getNumber(compare->operands[1]);
  return bound && *bound >= size ? read->operands[0] : nullptr;
}

/// Whether a table has rows behind its end that an index can find.
static bool canFindPadding(const LocalDim &rows, Type index) {
  return llvm::isIntN(index.getIntOrFloatBitWidth(), rows.size);
}

LogicalResult LocalLifter::liftTake(TakeOp op) {
  FailureOr<LocalValue> table = getUncombined(op, op.getTable());
  FailureOr<LocalValue> indices = getUncombined(op, op.getIndices());
  if (failed(table) || failed(indices))
    return failure();
  LocalDim rows = table->dims[op.getAxis()];
  fix(rows);
  table->dims.erase(table->dims.begin() + op.getAxis());
  LocalValue value;
  for (int64_t extent : op.getType().getShape())
    value.dims.push_back({kAnySize, extent});
  if (failed(meetLoops(op, *table, op.getTableMap(), value.dims)) ||
      failed(meetLoops(op, *indices, op.getIndexMap(), value.dims)) ||
      failed(checkBase(op, op.getBase(), rows)))
    return failure();
  const Form *looked = stripDropped(indices->form, rows.size);
  Type element = getElementTypeOrSelf(op.getIndices().getType());
  if (hasPadding(rows) && !looked && canFindPadding(rows, element))
    return op.emitOpError("may find elements behind the end of a dimension of "
                          "size ")
           << rows.size;
  for (LocalDim &dim : value.dims)
    dim.padding = nullptr;
  Form form{FormKind::Tensor, "take", "",
            {table->form, looked ? looked : indices->form}};
  llvm::raw_string_ostream(form.details)
      << op.getTableMap() << ' ' << op.getIndexMap() << " axis " << op.getAxis();
  form.shape = getSizes(value.dims);
  form.element = getElementTypeOrSelf(op.getType());
  form.op = op;
  value.form = forms.get(std::move(form));
  value.contribution = makeParts(rows, Contribution::Disjoint);
  return setTensor(op, op.getResult(), std::move(value));
}

/// Rows of which nothing is known but where those of the rank begin.
void LocalLifter::inferRows(Value base, LocalDim &rows) {
  RankVector begin = base ? scalars.lookup(base).offset : nullptr;
  rows.chunk = begin ? perRank([&](int64_t rank) {
    return (*begin)[rank] / rows.extent;
  }) : uniform(0);
}

LogicalResult LocalLifter::liftScatterAdd(ScatterAddOp op) {
  FailureOr<LocalValue> init = getUncombined(op, op.getInit());
  FailureOr<LocalValue> indices = getUncombined(op, op.getIndices());
  FailureOr<LocalValue> updates = getUncombined(op, op.getUpdates());
  if (failed(init) || failed(indices) || failed(updates))
    return failure();
  SmallVector<LocalDim> loops(updates->dims.begin(), updates->dims.end());
  LocalDim rows = init->dims[op.getAxis()];
  LocalValue table = *init;
  table.dims.erase(table.dims.begin() + op.getAxis());
  if (failed(meetLoops(op, table, op.getTableMap(), loops)) ||
      failed(meetLoops(op, *indices, op.getIndexMap(), loops)))
    return failure();
  for (auto [i, loop] : llvm::enumerate(loops))
    if (!op.getTableMap().isFunctionOfDim(i) &&
        failed(fixWhole(op, loop, "adds up updates in one order, over a "
                                  "dimension")))
      return failure();
  LocalValue value;
  value.dims = init->dims;
  for (auto [i, expr] : llvm::enumerate(op.getTableMap().getResults()))
    value.dims[i + (int64_t(i) >= op.getAxis())] =
        loops[cast<AffineDimExpr>(expr).getPosition()];
  if (!rows.chunk)
    inferRows(op.getBase(), rows);
  if (failed(checkBase(op, op.getBase(), rows)))
    return failure();
  value.dims[op.getAxis()] = rows;
  for (LocalDim &dim : value.dims)
    dim.padding = nullptr;
  Form form{FormKind::Tensor, "scatter_add", "",
            {init->form, indices->form, updates->form}};
  llvm::raw_string_ostream(form.details)
      << op.getTableMap() << ' ' << op.getIndexMap() << " axis " << op.getAxis();
  form.shape = getSizes(value.dims);
  form.element = getElementTypeOrSelf(op.getType());
  form.op = op;
  value.form = forms.get(std::move(form));
  return setTensor(op, op.getResult(), std::move(value));
}
