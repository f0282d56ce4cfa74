// SPDX-License-Identifier: Apache-2.0

// Structured ops: maps and reductions by the body that they apply at each
// index, and what they may do to contributions.

#include "LocalLifter.h"
#include "Shares.h"
#include "weft/Analysis/LoopSizes.h"
#include "weft/Analysis/QuietDiagnostics.h"
#include "weft/Math/Expand.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

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

/// Sees how result `index` is combined; without an op: in some other way.
static Combiner getCombiner(linalg::LinalgOp op, unsigned index,
                            bool isOfReals) {
  Combiner combiner;
  BlockArgument accumulator = op.getRegionOutputArgs()[index];
  Value yielded = op.getBlock()->getTerminator()->getOperand(index);
  Operation *def = yielded.getDefiningOp();
  if (!def || def->getBlock() != op.getBlock() || def->getNumOperands() != 2 ||
      !accumulator.hasOneUse() || *accumulator.user_begin() != def)
    return combiner;
  std::optional<ReduceKind> exact = getExactKind(def, isOfReals);
  if (!exact && !isa<arith::AddFOp, arith::MulFOp>(def))
    return combiner;
  combiner.op = def;
  combiner.entering = def->getOperand(def->getOperand(0) == accumulator);
  combiner.isExact = exact.has_value();
  combiner.kind =
      exact ? *exact
            : (isa<arith::AddFOp>(def) ? ReduceKind::Sum : ReduceKind::Prod);
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
      : op(op), forms(forms), loops(loops), maps(op.getIndexingMapsArray()),
        iterators(op.getIteratorTypesArray()), firstInit(countInputs(op)) {}

  /// Iterators, sizes of reductions, and where result `index` lies: the form's
  /// details. In a sum, the padding counts too: it is in the tree, as zeros.
  std::string describe(unsigned index, bool withPadding = false) {
    std::string text;
    llvm::raw_string_ostream os(text);
    for (auto [loop, iterator] : llvm::zip(loops, iterators)) {
      if (iterator == utils::IteratorType::parallel) {
        os << "p ";
        continue;
      }
      os << 'r' << loop.size;
      if (withPadding && hasPadding(loop))
        os << " of " << getPaddedSize(loop);
      os << ' ';
    }
    os << forms.getText(getResultMap(index));
    return text;
  }

  AffineMap getResultMap(unsigned index) { return maps[firstInit + index]; }

  SmallVector<LocalDim, 4> getResultDims(unsigned index,
                                         const LocalScalar &scalar) {
    SmallVector<LocalDim, 4> dims;
    for (AffineExpr expr : getResultMap(index).getResults()) {
      unsigned loop = cast<AffineDimExpr>(expr).getPosition();
      LocalDim dim = loops[loop];
      dim.padding = nullptr;
      // What depends on the index is different in each chunk.
      if (dim.likeness && knowsItsPlace())
        dim.likeness = nullptr;
      for (auto [padded, form] : scalar.padding)
        if (padded == loop)
          dim.padding = form;
      dims.push_back(dim);
    }
    return dims;
  }

  /// Whether there may be something else in the padding of a loop than `scalar`
  /// says.
  bool isChanged(const LocalScalar &scalar, AffineExpr loop) {
    unsigned position = cast<AffineDimExpr>(loop).getPosition();
    return ((scalar.changedLoops >> position) & 1) &&
           proof::hasPadding(loops[position]);
  }

  /// Whether the body sees more than elements of its operands: indices, or what
  /// the rank has computed of its number.
  bool knowsItsPlace() {
    auto isSeen = [&](Value value) {
      Operation *def = value.getDefiningOp();
      return !op->isAncestor(value.getParentRegion()->getParentOp()) &&
             !(def && def->hasTrait<OpTrait::ConstantLike>());
    };
    return op->getRegion(0)
        .walk([&](Operation *inner) {
          return isa<linalg::IndexOp>(inner) ||
                         llvm::any_of(inner->getOperands(), isSeen)
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        })
        .wasInterrupted();
  }

  SmallVector<LocalDim> getReductionLoops() {
    SmallVector<LocalDim> reduced;
    for (auto [loop, iterator] : llvm::zip(loops, iterators))
      if (iterator == utils::IteratorType::reduction)
        reduced.push_back(loop);
    return reduced;
  }

  bool lastIsReduction() {
    return iterators.back() == utils::IteratorType::reduction;
  }

  /// Fails unless what enters the combination from padding changes nothing.
  LogicalResult checkPadding(const Combiner &combiner,
                             const LocalScalar &entering) {
    for (auto [i, iterator] : llvm::enumerate(iterators)) {
      if (iterator != utils::IteratorType::reduction || !holdsPadding(loops[i]))
        continue;
      bool isMasked = llvm::any_of(entering.padding, [&](const auto &entry) {
        return entry.first == i && isNeutral(combiner.op, entry.second);
      });
      if (!isMasked)
        return combiner.op->emitOpError("combines elements past the end of a "
                                        "dimension of size ")
               << loops[i].size;
    }
    return success();
  }

private:
  linalg::LinalgOp op;
  FormTable &forms;
  MutableArrayRef<LocalDim> loops;
  SmallVector<AffineMap> maps;
  SmallVector<utils::IteratorType> iterators;
  unsigned firstInit;
};

} // namespace

/// A result of an op without reduction loops.
FailureOr<LocalValue> LocalLifter::liftMap(linalg::LinalgOp op, unsigned index,
                                           BodyLifter &body,
                                           MutableArrayRef<LocalDim> loops) {
  Value yielded = op.getBlock()->getTerminator()->getOperand(index);
  FailureOr<LocalScalar> scalar = body.get(op, yielded);
  FailureOr<const Form *> yieldedForm = body.getForm(op, yielded);
  if (failed(scalar) || failed(yieldedForm))
    return failure();
  LinalgLifter lifter(op, forms, loops);
  AffineMap map = lifter.getResultMap(index);
  LocalValue value;
  value.dims = lifter.getResultDims(index, *scalar);
  uint64_t changed = 0;
  for (auto [i, expr] : llvm::enumerate(map.getResults()))
    changed |= uint64_t(lifter.isChanged(*scalar, expr)) << i;
  setMapped(op, *yieldedForm, map, lifter.describe(index), changed, value);
  if (failed(carryContribution(op, *yieldedForm, value)))
    return failure();
  return value;
}

/// Gives a value its form: `form` at all indices. In the padding of the
/// dimensions of which `changed` has a bit there may be something else.
void LocalLifter::setMapped(Operation *op, const Form *form, AffineMap map,
                            StringRef details, uint64_t changed,
                            LocalValue &value) {
  if (form->kind == FormKind::Read && form->map == map && map.isPermutation()) {
    value.form = form->operands[0];
  } else if (form->kind == FormKind::Read && map.isIdentity() &&
             form->map.isPermutation()) {
    value.form = forms.getMove("transpose", forms.getText(form->map).str(),
                               form->operands[0], getSizes(value.dims), op);
    if (isReference)
      forms.noteTranspose(form->operands[0], {form->map, value.form});
  } else if (!form->dependsOnLoops) {
    value.form = form;
    for (auto [i, dim] : llvm::enumerate(value.dims))
      if (!((changed >> i) & 1))
        dim = {kAnySize, dim.extent};
  } else {
    Form mapped{FormKind::Map, "map", details.str(), {form}};
    mapped.shape = getSizes(value.dims);
    mapped.element = form->element;
    mapped.op = op;
    value.form = forms.get(std::move(mapped));
  }
}

/// The contribution that the operands are to, if any; fails if they are to
/// several, or if they are parts of an exact one and `form`, an element that
/// the op computes, does not commute with combining them.
FailureOr<Contribution> LocalLifter::getCarried(linalg::LinalgOp op,
                                                const Form *form) {
  Contribution carried;
  SmallVector<const Form *> parts, wholes;
  for (OpOperand &operand : op->getOpOperands()) {
    auto it = tensors.find(operand.get());
    if (it == tensors.end() ||
        op.getMatchingBlockArgument(&operand).use_empty())
      continue;
    const Contribution &other = it->second.contribution;
    if (other.kind == Contribution::Whole) {
      wholes.push_back(it->second.form);
      continue;
    }
    parts.push_back(it->second.form);
    bool isSameKind = other.kind == Contribution::Exact &&
                      carried.kind == Contribution::Exact &&
                      other.reduction == carried.reduction;
    // Integers may be added and multiplied in any order, too.
    bool isExact = isIdempotent(other.reduction) || forms.isOfReals() ||
                   it->second.form->element.isIntOrIndex();
    if (isSameKind && isExact) {
      carried = addParts(carried, other);
      continue;
    }
    if (carried.kind != Contribution::Whole && !carried.isSame(other))
      return op->emitOpError("computes with contributions to different things, "
                             "of ")
                 << carried.parts << " and " << other.parts << " parts",
             failure();
    carried = other;
  }
  if (carried.kind != Contribution::Exact)
    return carried;
  // Of bounds the whole is one of the parts, and may meet them once more.
  bool isMixed = !isIdempotent(carried.reduction) &&
                 llvm::any_of(parts, [&](const Form *part) {
                   return llvm::is_contained(wholes, part);
                 });
  Share share = getShare(form, parts, carried.reduction);
  if (isMixed || (share != Share::Part && share != Share::Zero))
    return op->emitOpError("does with contributions what does not commute with "
                           "their ")
               << stringifyReduceKind(carried.reduction) << ": one of "
               << carried.parts << " parts of " << parts.front()->str(),
           failure();
  return carried;
}

/// What is done to a contribution: it may be moved. If parts may be combined in
/// any order, what commutes with combining them may be done first.
LogicalResult LocalLifter::carryContribution(linalg::LinalgOp op,
                                             const Form *form,
                                             LocalValue &result) {
  FailureOr<Contribution> carried = getCarried(op, form);
  if (failed(carried))
    return failure();
  if (carried->kind == Contribution::Exact)
    result.contribution = *carried;
  if (carried->kind == Contribution::Exact ||
      carried->kind == Contribution::Whole)
    return success();
  for (OpOperand &operand : op->getOpOperands()) {
    auto it = tensors.find(operand.get());
    if (it == tensors.end() ||
        op.getMatchingBlockArgument(&operand).use_empty())
      continue;
    const LocalValue &value = it->second;
    const Form *made = result.form;
    const Form *read = getMovedRead(made);
    bool isMoved = made == value.form ||
                   (made->kind == FormKind::Move && made->name == "transpose" &&
                    made->operands[0] == value.form) ||
                   (read && read->operands[0] == value.form);
    bool isOnly =
        llvm::count_if(op.getBlock()->getArguments(),
                       [](BlockArgument arg) { return !arg.use_empty(); }) == 1;
    if (!isOnly || value.dims.size() > result.dims.size() || !isMoved)
      return op->emitOpError("computes with a contribution: operand #")
             << operand.getOperandNumber() << " is one of "
             << value.contribution.parts << " parts of " << value.form->str();
  }
  result.contribution = *carried;
  return success();
}

/// A result that is combined by an op with one neutral element.
FailureOr<LocalValue>
LocalLifter::liftReduction(linalg::LinalgOp op, unsigned index,
                           BodyLifter &body, MutableArrayRef<LocalDim> loops) {
  Combiner combiner = getCombiner(op, index, forms.isOfReals());
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
  Form made{FormKind::Reduction,
            combiner.op->getName().getStringRef().str(),
            "",
            {*form, first}};
  auto flags = dyn_cast<arith::ArithFastMathInterface>(combiner.op);
  if (flags &&
      flags.getFastMathFlagsAttr().getValue() != arith::FastMathFlags::none)
    made.name += " " + arith::stringifyFastMathFlags(
                           flags.getFastMathFlagsAttr().getValue());
  made.shape = getSizes(value.dims);
  made.element = combiner.entering.getType();
  made.op = op;
  // Over the reals sums of floats are exact, too, and may declare an order.
  bool hasNoOrder =
      combiner.isExact && !isa<arith::AddFOp, arith::MulFOp>(combiner.op);
  auto describe = [&] {
    made.details = lifter.describe(index, !combiner.isExact);
    if (!hasNoOrder && !freeLoops.empty())
      made.order = findOrder(op, lifter.getReductionLoops(),
                             lifter.lastIsReduction(), made.element);
  };
  describe();
  for (unsigned loop : freeLoops)
    tryShared(loops, loop, made, describe);
  made.order = Order();
  for (auto [loop, iterator] : llvm::zip(loops, op.getIteratorTypesArray()))
    if (iterator == utils::IteratorType::reduction && !lifter.knowsItsPlace())
      shareAlike(op, loop);
  SmallVector<LocalDim> reduced = lifter.getReductionLoops();
  FailureOr<Contribution> carried = getCarried(op, *form);
  if (failed(carried))
    return failure();
  if (hasNoOrder)
    value.contribution = makeParts(reduced, Contribution::Exact);
  else if (failed(makeOrder(op, reduced, lifter.lastIsReduction(), made.element,
                            made.order, value.contribution)))
    return failure();
  value.contribution.reduction = combiner.kind;
  if (carried->kind != Contribution::Whole) {
    if (carried->kind != Contribution::Exact || !combiner.isExact ||
        carried->reduction != combiner.kind)
      return op.emitOpError("computes with a contribution: one of ")
                 << carried->parts << " parts to a "
                 << stringifyReduceKind(carried->reduction),
             failure();
    carryParts(*carried, value.contribution);
  }
  // Of bounds each part may begin with the same.
  if (value.contribution.kind != Contribution::Whole &&
      !isIdempotent(combiner.kind) && !isNeutral(combiner.op, first))
    return op.emitOpError("is shared by ranks, but each adds to ")
               << first->str(),
           failure();
  bool hasOrder = made.order.isNeeded();
  const Type joinType = made.element;
  value.form =
      forms.getPart(std::move(made), value.contribution.parts, joinType);
  if (hasOrder)
    reductions.push_back({op, value.form});
  return value;
}

/// Results of an op that combines in some other way: in the order of its loops.
LogicalResult LocalLifter::liftFold(linalg::LinalgOp op, BodyLifter &body,
                                    MutableArrayRef<LocalDim> loops) {
  for (Value input : op.getDpsInputs())
    if (tensors.contains(input) && failed(getUncombined(op, input)))
      return failure();
  LinalgLifter lifter(op, forms, loops);
  SmallVector<LocalDim> reduced = lifter.getReductionLoops();
  Form fold{FormKind::Tensor, "fold"};
  for (LocalDim &loop : reduced)
    if (failed(fixWhole(op, loop,
                        "combines in a way that ranks cannot share, "
                        "over a loop")))
      return failure();
  bool isFloat = llvm::any_of(op->getResultTypes(), [](Type type) {
    return isa<FloatType>(getElementTypeOrSelf(type));
  });
  Contribution none;
  if (isFloat && failed(makeOrder(op, reduced, lifter.lastIsReduction(), Type(),
                                  fold.order, none)))
    return failure();
  if (fold.order.leaves() > 1 || fold.order.lanes > 1)
    return op.emitOpError("is to join ")
           << std::max(fold.order.leaves(), fold.order.lanes)
           << " parts, but combines in a way that cannot be joined";
  for (auto [init, yielded] : llvm::zip(
           op.getDpsInits(), op.getBlock()->getTerminator()->getOperands())) {
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
                                        ArrayRef<AffineMap> maps,
                                        ArrayRef<LocalDim> loops,
                                        bool reduces) {
  const unsigned firstInit = countInputs(op);
  for (OpOperand &operand : op->getOpOperands()) {
    BlockArgument arg = op.getMatchingBlockArgument(&operand);
    if (!isa<RankedTensorType>(operand.get().getType())) {
      FailureOr<const Form *> form = body.getForm(op, operand.get());
      if (failed(form))
        return failure();
      body.setForm(arg, *form);
      continue;
    }
    if (reduces && operand.getOperandNumber() >= firstInit) {
      Form form{FormKind::Accumulator, "accumulator",
                std::to_string(operand.getOperandNumber() - firstInit)};
      form.element = arg.getType();
      form.dependsOnLoops = true;
      body.setForm(arg, forms.get(std::move(form)));
      continue;
    }
    const LocalValue &value = getTensor(operand.get());
    AffineMap map = maps[operand.getOperandNumber()];
    LocalScalar scalar;
    scalar.form = forms.getRead(value.form, map);
    for (auto [dim, expr] : llvm::zip(value.dims, map.getResults())) {
      auto loop = dyn_cast<AffineDimExpr>(expr);
      if (loop && dim.chunk && value.form->shape.empty())
        scalar.changedLoops |= uint64_t(1) << loop.getPosition();
      if (loop && dim.padding && dim.size == loops[loop.getPosition()].size)
        scalar.padding.push_back({loop.getPosition(), dim.padding});
    }
    body.set(arg, scalar);
  }
  return success();
}

/// The op that computes each element of a result from those of two operands;
/// null if another op does.
static Operation *getPairwise(linalg::LinalgOp op) {
  if (op->getNumOperands() != 3 || op->getNumResults() != 1 ||
      op.getNumDpsInputs() != 2 || op.getNumReductionLoops() != 0)
    return nullptr;
  Operation *def =
      op.getBlock()->getTerminator()->getOperand(0).getDefiningOp();
  bool isPairwise = def && def->getNumOperands() == 2 &&
                    def->getOperand(0) == op.getBlock()->getArgument(0) &&
                    def->getOperand(1) == op.getBlock()->getArgument(1);
  if (!isPairwise || !op.hasPureTensorSemantics() ||
      !llvm::all_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>) ||
      !llvm::all_of(op.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return nullptr;
  return hasDeclaredResult(def) ? def : nullptr;
}

bool LocalLifter::haveSameForm(Value a, Value b) const {
  auto it = tensors.find(a), other = tensors.find(b);
  return it != tensors.end() && other != tensors.end() &&
         it->second.form == other->second.form;
}

/// Whether an op joins what its two inputs are parts of: it says so, or it
/// combines them as one would parts that may be combined in any order.
bool LocalLifter::isJoin(linalg::LinalgOp op) const {
  // Most ops are told from joins by what they take.
  bool hasOrder = op->hasAttr(WeftDialect::kOrderAttr);
  if (!hasOrder && (op->getNumOperands() != 3 ||
                    !haveSameForm(op->getOperand(0), op->getOperand(1))))
    return false;
  Operation *pairwise = getPairwise(op);
  if (!pairwise)
    return false;
  if (hasOrder)
    return isa<arith::AddFOp>(pairwise) ||
           (forms.isOfReals() && isa<arith::MulFOp>(pairwise));
  const LocalValue &a = getTensor(op.getDpsInputs()[0]);
  const LocalValue &b = getTensor(op.getDpsInputs()[1]);
  return getExactKind(pairwise, forms.isOfReals()) ==
             a.contribution.reduction &&
         a.contribution.kind == b.contribution.kind &&
         (a.contribution.kind == Contribution::Exact ||
          a.contribution.kind == Contribution::Disjoint) &&
         a.contribution.part != b.contribution.part;
}

/// Joins neighbouring parts of a tree; false if they are none.
bool LocalLifter::joinNeighbours(LocalValue &a, const LocalValue &b) {
  Contribution &contribution = a.contribution;
  RankVector part = contribution.part, other = b.contribution.part;
  bool isRight = contribution.kind == Contribution::Ordered &&
                 contribution.reduction == ReduceKind::Sum &&
                 contribution.parts % 2 == 0;
  for (int64_t rank = 0; isRight && rank < numRanks; ++rank)
    isRight = (*part)[rank] % 2 == 0 && (*other)[rank] == (*part)[rank] + 1;
  if (!isRight)
    return false;
  a.form = forms.getJoined(a.form, {2, a.form->element});
  contribution.parts /= 2;
  contribution.part = perRank([&](int64_t rank) { return (*part)[rank] / 2; });
  if (contribution.parts == 1)
    contribution = Contribution();
  return true;
}

/// The first input of an op that joins two, where both have elements.
FailureOr<LocalValue> LocalLifter::meetParts(linalg::LinalgOp op) {
  LocalValue a = getTensor(op.getDpsInputs()[0]);
  for (auto [dim, other] :
       llvm::zip(a.dims, getTensor(op.getDpsInputs()[1]).dims)) {
    if (failed(meet(op, dim, other)))
      return failure();
    dim.padding = nullptr;
  }
  return a;
}

/// Gives each rank the parts that it has of `a` and of `b`.
LogicalResult LocalLifter::unitePair(Operation *op, LocalValue &a,
                                     const LocalValue &b) {
  RankVector own = a.contribution.part, other = b.contribution.part;
  return uniteParts(
      op, a, [](int64_t rank) { return rank; },
      [&](int64_t rank) {
        return SmallVector<int64_t>{(*own)[rank], (*other)[rank]};
      });
}

/// Joins two parts that the rank has computed one after the other.
LogicalResult LocalLifter::liftJoin(linalg::LinalgOp op) {
  FailureOr<LocalValue> met = meetParts(op);
  if (failed(met))
    return failure();
  LocalValue &a = *met;
  const LocalValue &b = getTensor(op.getDpsInputs()[1]);
  auto order = op->getAttrOfType<OrderAttr>(WeftDialect::kOrderAttr);
  bool isAlike = a.form == b.form &&
                 getExactKind(getPairwise(op), /*isOfReals=*/true) ==
                     a.contribution.reduction &&
                 a.contribution.kind == b.contribution.kind &&
                 a.contribution.reduction == b.contribution.reduction &&
                 a.contribution.parts == b.contribution.parts &&
                 (!order || (order.getLeaves() == 2 && order.getLanes() == 1));
  bool hasSets = a.contribution.kind == Contribution::Exact ||
                 a.contribution.kind == Contribution::Disjoint;
  if (isAlike && hasSets) {
    if (failed(unitePair(op, a, b)))
      return failure();
  } else if (!isAlike || !joinNeighbours(a, b)) {
    return op->emitOpError("joins ")
           << a.form->str() << " and " << b.form->str()
           << ", which are not two neighbouring parts of one sum";
  }
  return setTensor(op, op->getResult(0), std::move(a));
}

LogicalResult LocalLifter::liftLinalg(linalg::LinalgOp op) {
  if (hasKeyParts(op))
    return liftKeyParts(op);
  if (isRoundedJoin(op))
    return liftRoundedJoin(op);
  if (isJoin(op))
    return liftJoin(op);
  if (std::optional<LogicalResult> lifted = liftPlainly(op))
    return *lifted;
  // The index of a loop of one local iteration is folded: whichever loop it may
  // be, it is right to say so. One that gives what is known is of use.
  int numChoices = isReference ? 1 : countFolded(op);
  for (int choice = 0; choice < numChoices && numChoices > 1; ++choice) {
    QuietDiagnostics quiet(op.getContext());
    int64_t others = forms.countOthers();
    if (succeeded(liftStructured(op, choice)) && forms.countOthers() == others)
      return success();
  }
  return liftStructured(op, /*choice=*/0);
}

/// The number of loops whose index may be a number in the body.
int LocalLifter::countFolded(linalg::LinalgOp op) const {
  bool hasNumbers = false;
  op.getBlock()->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      hasNumbers |= scalars.lookup(operand).offset != nullptr;
  });
  return hasNumbers ? llvm::count(op.getStaticLoopRanges(), 1) : 1;
}

LogicalResult LocalLifter::liftStructured(linalg::LinalgOp op, int choice) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<LocalDim> loops;
  for (int64_t extent : getLoopSizes(op, maps))
    loops.push_back({kAnySize, extent});
  for (OpOperand &operand : op->getOpOperands())
    if (isa<RankedTensorType>(operand.get().getType()) &&
        failed(meetLoops(op, getTensor(operand.get()),
                         maps[operand.getOperandNumber()], loops)))
      return failure();
  for (AffineMap map : ArrayRef(maps).drop_front(countInputs(op)))
    if (!map.isProjectedPermutation())
      return op.emitOpError("writes by a computed index");
  BodyLifter body(*this, loops);
  body.inferChunks(*op.getBlock(), choice);
  bool reduces = false;
  freeLoops.clear();
  for (auto [i, iterator] : llvm::enumerate(op.getIteratorTypesArray())) {
    if (iterator != utils::IteratorType::reduction)
      continue;
    reduces = true;
    if (!loops[i].chunk && !op.hasIndexSemantics())
      freeLoops.push_back(i);
    fix(loops[i]);
  }
  for (OpOperand &operand : op->getOpOperands())
    if (reduces && isa<RankedTensorType>(operand.get().getType()))
      noteReduced(getTensor(operand.get()), maps[operand.getOperandNumber()],
                  loops);
  if (failed(readOperands(op, body, maps, loops, reduces)))
    return failure();
  for (Operation &inner : op.getBlock()->without_terminator())
    if (failed(body.lift(&inner)))
      return failure();
  bool isFold = false;
  for (unsigned i = 0; reduces && i < op->getNumResults(); ++i)
    isFold |= !getCombiner(op, i, forms.isOfReals()).op;
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
