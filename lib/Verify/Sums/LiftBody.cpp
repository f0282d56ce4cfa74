// SPDX-License-Identifier: Apache-2.0

// Scalars. Index arithmetic is done in numbers, one per rank: the local index
// plus the offset of the rank's chunk is the global index if the numbers are
// right on every rank. A comparison of an index with what is left of a
// dimension is a mask: true wherever a value is defined.

#include "LocalLifter.h"
#include "Uninterpreted.h"

#include "weft/Dialect/Weft/IR/Formulas.h"
#include "weft/Math/Expand.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

void BodyLifter::setConstant(Value value, Attribute attr) {
  LocalScalar scalar;
  if (value.getType().isIndex())
    scalar.offset = lifter.uniform(cast<IntegerAttr>(attr).getInt());
  else
    scalar.form = lifter.forms.getConstant(attr, value.getType());
  set(value, scalar);
}

FailureOr<LocalScalar> BodyLifter::get(Operation *op, Value value) {
  if (auto it = scalars.find(value); it != scalars.end())
    return it->second;
  if (auto it = lifter.scalars.find(value); it != lifter.scalars.end())
    return it->second;
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant))) {
    setConstant(value, constant);
    return scalars.at(value);
  }
  LocalScalar unknown;
  unknown.form = lifter.forms.get({FormKind::Undefined, "undefined"});
  return unknown;
}

FailureOr<const Form *> BodyLifter::getForm(Operation *op, Value value) {
  FailureOr<LocalScalar> scalar = get(op, value);
  if (failed(scalar))
    return failure();
  return toForm(op, *scalar, value.getType());
}

static Form getIndex(MLIRContext *context, unsigned loop, int64_t added) {
  Form form{FormKind::Index, "index"};
  llvm::raw_string_ostream(form.details) << loop << " + " << added;
  form.element = IndexType::get(context);
  form.dependsOnLoops = true;
  return form;
}

const Form *BodyLifter::makeIndex(unsigned loop, int64_t added) {
  return lifter.forms.get(getIndex(lifter.func.getContext(), loop, added));
}

bool BodyLifter::hasIndex(unsigned loop, int64_t added) const {
  return lifter.forms.find(getIndex(lifter.func.getContext(), loop, added));
}

FailureOr<const Form *>
BodyLifter::toForm(Operation *op, const LocalScalar &scalar, Type type) {
  Builder builder(op->getContext());
  if (scalar.isMask)
    return lifter.forms.getConstant(builder.getBoolAttr(true), type);
  if (scalar.form && scalar.form->kind == FormKind::Undefined)
    return op->emitOpError("uses elements that nothing has defined"), failure();
  if (scalar.form)
    return scalar.form;
  auto offset = LocalLifter::getUniform(scalar.offset);
  if (scalar.loop < 0 && offset && !scalar.isPlace)
    return lifter.forms.getConstant(builder.getIndexAttr(*offset), type);
  // A loop of one local iteration: its index is folded into the offset.
  unsigned first = std::max(scalar.loop, 0);
  unsigned last = scalar.loop < 0 ? loops.size() : scalar.loop + 1;
  for (unsigned loop = first; loop < last; ++loop) {
    const LocalDim &dim = loops[loop];
    if (!dim.chunk || (scalar.loop < 0 && dim.extent != 1))
      continue;
    RankVector added = lifter.perRank([&](int64_t rank) {
      return (*scalar.offset)[rank] - (*dim.chunk)[rank] * dim.extent;
    });
    std::optional<int64_t> number = LocalLifter::getUniform(added);
    if (number && dim.size == 1)
      return lifter.forms.getConstant(builder.getIndexAttr(*number), type);
    if (number)
      return makeIndex(loop, *number);
  }
  return op->emitOpError("computes with an index that depends on the rank, and "
                         "is not the global index of a loop");
}

/// In the padding of loops whose mask is false there is `other`; where it may
/// be false only what both agree on is known.
void BodyLifter::setPadding(const LocalScalar &condition, LocalScalar &chosen,
                            const Form *other) {
  llvm::erase_if(chosen.padding, [&](const auto &entry) {
    bool isMasked = (condition.maskedLoops >> entry.first) & 1;
    bool isChanged = (condition.changedLoops >> entry.first) & 1;
    return isMasked || (isChanged && entry.second != other);
  });
  chosen.changedLoops |= condition.changedLoops;
  if (other->kind != FormKind::Constant)
    return;
  constexpr unsigned kMaxLoops = 64;
  for (unsigned loop = 0; loop < kMaxLoops; ++loop)
    if ((condition.maskedLoops >> loop) & 1)
      chosen.padding.push_back({loop, other});
}

/// The loops in whose padding what is computed of these values may be something
/// else than its form says.
uint64_t BodyLifter::getChangedLoops(ValueRange values) const {
  uint64_t changed = 0;
  for (Value value : values) {
    if (auto it = scalars.find(value); it != scalars.end())
      changed |= it->second.changedLoops;
    if (auto it = lifter.scalars.find(value); it != lifter.scalars.end())
      changed |= it->second.changedLoops;
  }
  return changed;
}

/// Whether `index < bound` is true on just those ranks that have the index of a
/// loop of one local iteration, whose own index is 0 and folded.
static bool isMaskOf(const LocalDim &dim, RankVector index, RankVector bound) {
  return dim.extent == 1 && dim.chunk && dim.size != kAnySize &&
         llvm::all_of(llvm::zip_equal(*dim.chunk, *index, *bound),
                      [&](auto numbers) {
                        auto [chunk, below, above] = numbers;
                        return (below < above) == (chunk < dim.size);
                      });
}

/// Whether nothing has said yet where a dimension ends.
static bool mayEndAnywhere(const LocalDim &dim) {
  return dim.size == kAnySize || dim.isGuess;
}

static void takeEnd(LocalDim &dim, std::optional<int64_t> end) {
  if (end && dim.size == kAnySize)
    dim.size = *end;
  else if (end)
    takeSize(dim, *end);
}

/// The chunks of a loop whose index has one of the offsets added to it; of one
/// local iteration the index is folded, and only the offset is left. `choice`
/// says which of several such loops it is.
void BodyLifter::inferChunks(Block &body, int choice) {
  auto setChunk = [&](LocalDim &dim, RankVector offset) {
    dim.chunk = lifter.perRank([&](int64_t rank) {
      return (*offset)[rank] / std::max<int64_t>(dim.extent, 1);
    });
  };
  // The size of a dimension of which each rank has `rest` left, from its chunk
  // on; nullopt if it is not the same on all.
  auto getEnd = [&](const LocalDim &dim, RankVector rest) {
    return LocalLifter::getUniform(lifter.perRank([&](int64_t rank) {
      return (*rest)[rank] + (*dim.chunk)[rank] * dim.extent;
    }));
  };
  // What is compared is what is left of the dimension: all of it on the first
  // rank. What has any size, or one that was guessed, ends there.
  auto setRest = [&](LocalDim &dim, RankVector rest) {
    int64_t size = *llvm::max_element(*rest);
    int64_t extent = std::max<int64_t>(dim.extent, 1);
    if (!dim.chunk && llvm::all_of(*rest, [&](int64_t left) {
          return (size - left) % extent == 0;
        }))
      dim.chunk = lifter.perRank(
          [&](int64_t rank) { return (size - (*rest)[rank]) / extent; });
    if (dim.chunk)
      takeEnd(dim, getEnd(dim, rest));
  };
  auto getOffset = [&](Value value) {
    return lifter.scalars.lookup(value).offset;
  };
  auto isFolded = [](const LocalDim &loop) {
    return !loop.chunk && loop.extent == 1;
  };
  body.walk([&](arith::CmpIOp op) {
    Value below = op.getLhs(), above = op.getRhs();
    if (op.getPredicate() == arith::CmpIPredicate::sgt)
      std::swap(below, above);
    else if (op.getPredicate() != arith::CmpIPredicate::slt)
      return;
    RankVector rest = getOffset(above);
    if (!rest || LocalLifter::getUniform(rest))
      return;
    if (auto index = below.getDefiningOp<linalg::IndexOp>())
      return setRest(loops[index.getDim()], rest);
    // The index of a loop of one iteration is 0, and folded: of one that is
    // known to end there, or else of the first that may, or is not known.
    APInt zero;
    if (!matchPattern(below, m_ConstantInt(&zero)) || !zero.isZero() ||
        llvm::any_of(loops, [&](const LocalDim &dim) {
          return isMaskOf(dim, lifter.uniform(0), rest);
        }))
      return;
    auto mayEnd = [&](const LocalDim &dim) {
      return dim.extent == 1 && dim.chunk && mayEndAnywhere(dim) &&
             getEnd(dim, rest);
    };
    auto *dim = llvm::find_if(loops, mayEnd);
    if (dim == loops.end())
      dim = llvm::find_if(loops, isFolded);
    if (dim != loops.end())
      setRest(*dim, rest);
  });
  body.walk([&](Operation *op) {
    if (isa<arith::CmpIOp>(op))
      return;
    linalg::IndexOp index;
    // A place takes the indices of all loops, each by itself.
    if (!isa<PlaceOp>(op))
      for (Value operand : op->getOperands())
        if (auto def = operand.getDefiningOp<linalg::IndexOp>())
          index = def;
    for (Value operand : op->getOperands()) {
      auto it = lifter.scalars.find(operand);
      if (it == lifter.scalars.end())
        continue;
      const LocalScalar &scalar = it->second;
      RankVector offset = scalar.offset;
      // A number that the one-rank program does not add either is the begin of
      // a part that ranks compute one after the other.
      std::optional<int64_t> number;
      if (offset && !scalar.isPlace)
        number = LocalLifter::getUniform(offset);
      if (!offset || (number && (!index || lifter.isReference ||
                                 hasIndex(index.getDim(), *number))))
        continue;
      auto *dim = llvm::find_if(loops, isFolded);
      for (int i = 0; i < choice && dim != loops.end(); ++i)
        dim = std::find_if(dim + 1, loops.end(), isFolded);
      if (index && isa<arith::AddIOp>(op))
        dim = &loops[index.getDim()];
      if (dim != loops.end() && !dim->chunk)
        setChunk(*dim, offset);
    }
  });
  // Which part it is, and where the dimension ends: `index + begin < size`.
  body.walk([&](arith::CmpIOp op) {
    auto sum = op.getLhs().getDefiningOp<arith::AddIOp>();
    auto index =
        sum ? sum.getLhs().getDefiningOp<linalg::IndexOp>() : linalg::IndexOp();
    if (op.getPredicate() != arith::CmpIPredicate::slt || !index ||
        lifter.isReference)
      return;
    LocalDim &dim = loops[index.getDim()];
    RankVector begin = getOffset(sum.getRhs()), end = getOffset(op.getRhs());
    if (!begin || !end || !dim.chunk || dim.size != kAnySize)
      return;
    std::optional<int64_t> size = LocalLifter::getUniform(end);
    bool isOwn =
        llvm::all_of(llvm::zip_equal(*begin, *dim.chunk), [&](auto at) {
          auto [first, chunk] = at;
          return first == chunk * dim.extent;
        });
    if (size && isOwn && *size <= getPaddedSize(dim) &&
        *size > getPaddedSize(dim) - dim.extent)
      dim.size = *size;
  });
  body.walk([&](linalg::IndexOp index) {
    if (!loops[index.getDim()].chunk)
      loops[index.getDim()].chunk = lifter.uniform(0);
  });
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

/// Computes with numbers, as the op does. Nullopt: not with these.
static std::optional<int64_t> compute(Operation *op, int64_t a, int64_t b) {
  if (isa<arith::AddIOp>(op))
    return a + b;
  if (isa<arith::SubIOp>(op))
    return a - b;
  if (isa<arith::MulIOp>(op))
    return a * b;
  if (isa<arith::MinSIOp>(op))
    return std::min(a, b);
  if (isa<arith::MaxSIOp>(op))
    return std::max(a, b);
  if (a < 0 || b <= 0)
    return std::nullopt;
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>(op))
    return a / b;
  if (isa<arith::RemSIOp, arith::RemUIOp>(op))
    return a % b;
  if (isa<arith::CeilDivSIOp, arith::CeilDivUIOp>(op))
    return llvm::divideCeil(a, b);
  return std::nullopt;
}

LogicalResult BodyLifter::liftIndexMath(Operation *op, bool &isDone) {
  FailureOr<LocalScalar> a = get(op, op->getOperand(0));
  FailureOr<LocalScalar> b = get(op, op->getOperand(1));
  if (failed(a) || failed(b))
    return failure();
  if (!a->offset || !b->offset || (a->loop >= 0 && b->loop >= 0))
    return success();
  bool isSum =
      isa<arith::AddIOp>(op) || (isa<arith::SubIOp>(op) && b->loop < 0);
  if ((a->loop >= 0 || b->loop >= 0) && !isSum)
    return success();
  std::vector<int64_t> numbers;
  for (int64_t rank = 0; rank < lifter.numRanks; ++rank) {
    auto number = compute(op, (*a->offset)[rank], (*b->offset)[rank]);
    if (!number)
      return success();
    numbers.push_back(*number);
  }
  LocalScalar result;
  result.offset = lifter.intern(std::move(numbers));
  result.loop = std::max(a->loop, b->loop);
  result.isPlace = a->isPlace || b->isPlace;
  result.changedLoops = a->changedLoops | b->changedLoops;
  set(op->getResult(0), result);
  isDone = true;
  return success();
}

/// The global number with which `index < bound` compares the global index of
/// the index' loop; nullopt if it differs between ranks.
std::optional<int64_t> BodyLifter::getBound(const LocalScalar &index,
                                            const LocalScalar &bound) {
  const LocalDim &dim = loops[index.loop];
  if (!dim.chunk)
    return std::nullopt;
  return LocalLifter::getUniform(lifter.perRank([&](int64_t rank) {
    return (*bound.offset)[rank] - (*index.offset)[rank] +
           (*dim.chunk)[rank] * dim.extent;
  }));
}

LogicalResult BodyLifter::liftCompare(arith::CmpIOp op, bool &isDone) {
  FailureOr<LocalScalar> a = get(op, op.getLhs()), b = get(op, op.getRhs());
  if (failed(a) || failed(b))
    return failure();
  arith::CmpIPredicate predicate = op.getPredicate();
  if (predicate == arith::CmpIPredicate::sgt)
    std::swap(*a, *b);
  else if (predicate != arith::CmpIPredicate::slt)
    return success();
  if (!a->offset || !b->offset || b->loop >= 0)
    return success();
  LocalScalar mask;
  mask.isMask = true;
  if (a->loop >= 0) {
    const LocalDim &dim = loops[a->loop];
    std::optional<int64_t> bound = getBound(*a, *b);
    if (!bound || dim.size == kAnySize || *bound < dim.size)
      return success();
    mask.changedLoops = uint64_t(1) << a->loop;
    if (*bound == dim.size)
      mask.maskedLoops = mask.changedLoops;
    set(op.getResult(), mask);
    isDone = true;
    return success();
  }
  // A loop of one local iteration, whose index is 0 and folded.
  for (auto [loop, dim] : llvm::enumerate(loops)) {
    if (!isMaskOf(dim, a->offset, b->offset))
      continue;
    mask.maskedLoops = mask.changedLoops = uint64_t(1) << loop;
    set(op.getResult(), mask);
    isDone = true;
    return success();
  }
  return success();
}

/// A choice by a mask is the first value, with known padding.
FailureOr<LocalScalar> BodyLifter::choose(Operation *op,
                                          const LocalScalar &condition,
                                          Value value, Value other) {
  FailureOr<LocalScalar> chosen = get(op, value);
  FailureOr<const Form *> otherForm = getForm(op, other);
  if (failed(chosen) || failed(otherForm))
    return failure();
  // True there, and no mask any more.
  if (chosen->isMask) {
    FailureOr<const Form *> form = getForm(op, value);
    if (failed(form))
      return failure();
    uint64_t changed = chosen->changedLoops;
    chosen = LocalScalar();
    chosen->form = *form;
    chosen->changedLoops = changed;
  }
  chosen->changedLoops |= getChangedLoops(other);
  setPadding(condition, *chosen, *otherForm);
  return chosen;
}

LogicalResult BodyLifter::liftSelect(arith::SelectOp op, bool &isDone) {
  FailureOr<LocalScalar> condition = get(op, op.getCondition());
  if (failed(condition))
    return failure();
  if (!condition->isMask)
    return success();
  FailureOr<LocalScalar> chosen =
      choose(op, *condition, op.getTrueValue(), op.getFalseValue());
  if (failed(chosen))
    return failure();
  set(op.getResult(), *chosen);
  isDone = true;
  return success();
}

/// A branch is a choice between what both ways give.
LogicalResult BodyLifter::liftIf(scf::IfOp op) {
  for (Region &region : op->getRegions())
    if (!region.empty())
      for (Operation &inner : region.front().without_terminator())
        if (failed(lift(&inner)))
          return failure();
  FailureOr<LocalScalar> condition = get(op, op.getCondition());
  FailureOr<const Form *> conditionForm = getForm(op, op.getCondition());
  if (failed(condition) || failed(conditionForm))
    return failure();
  for (OpResult result : op.getResults()) {
    Value value = op.thenYield().getOperand(result.getResultNumber());
    Value other = op.elseYield().getOperand(result.getResultNumber());
    if (condition->isMask) {
      FailureOr<LocalScalar> chosen = choose(op, *condition, value, other);
      if (failed(chosen))
        return failure();
      set(result, *chosen);
      continue;
    }
    FailureOr<const Form *> a = getForm(op, value), b = getForm(op, other);
    if (failed(a) || failed(b))
      return failure();
    Form choice{FormKind::Scalar, "arith.select", "", {*conditionForm, *a, *b}};
    choice.element = result.getType();
    choice.op = op;
    for (const Form *operand : choice.operands)
      choice.dependsOnLoops |= operand->dependsOnLoops;
    setForm(result, lifter.forms.get(std::move(choice)),
            getChangedLoops({op.getCondition(), value, other}));
  }
  return success();
}

/// Two masks are one; a mask and something else are that.
LogicalResult BodyLifter::liftAnd(arith::AndIOp op, bool &isDone) {
  FailureOr<LocalScalar> a = get(op, op.getLhs()), b = get(op, op.getRhs());
  if (failed(a) || failed(b))
    return failure();
  isDone = a->isMask || b->isMask;
  if (!isDone)
    return success();
  if (!a->isMask)
    std::swap(*a, *b);
  if (b->isMask) {
    b->maskedLoops |= a->maskedLoops;
    b->changedLoops |= a->changedLoops;
  } else {
    auto none = Builder(op.getContext()).getBoolAttr(false);
    setPadding(*a, *b, lifter.forms.getConstant(none, op.getType()));
  }
  set(op.getResult(), *b);
  return success();
}

//===----------------------------------------------------------------------===//
// Other ops
//===----------------------------------------------------------------------===//

/// An op that is not known: some function of scalars, and of tensors and loops
/// that each rank has all of.
LogicalResult BodyLifter::liftUninterpreted(Operation *op) {
  if (dependsOnRank(op))
    return op->emitOpError("has collectives or indices of ranks inside, which "
                           "cannot be followed");
  llvm::SetVector<Value> captured;
  Form form{FormKind::Scalar, op->getName().getStringRef().str(),
            describeOp(op, captured)};
  WalkResult walked = op->walk([&](Operation *inner) -> WalkResult {
    auto index = dyn_cast<linalg::IndexOp>(inner);
    form.dependsOnLoops |= bool(index);
    return index ? lifter.fixWhole(inner, loops[index.getDim()],
                                   "reads the index of a loop")
                 : success();
  });
  if (walked.wasInterrupted())
    return failure();
  SmallVector<Value> operands(op->getOperands());
  llvm::append_range(operands, captured);
  for (Value operand : operands) {
    FailureOr<const Form *> operandForm =
        isa<RankedTensorType>(operand.getType())
            ? lifter.getWholeForm(op, operand)
            : getForm(op, operand);
    if (failed(operandForm))
      return failure();
    form.operands.push_back(*operandForm);
    form.dependsOnLoops |= (*operandForm)->dependsOnLoops;
  }
  form.op = op;
  for (OpResult result : op->getResults()) {
    Form one = form;
    one.details += " result " + std::to_string(result.getResultNumber());
    one.element = result.getType();
    setForm(result, lifter.forms.get(std::move(one)),
            getChangedLoops(operands));
  }
  return success();
}

LogicalResult BodyLifter::liftOther(Operation *op) {
  bool isKnown = op->getNumRegions() == 0 && isMemoryEffectFree(op);
  if (lifter.forms.isOfReals() && !isKnown)
    return liftUninterpreted(op);
  if (!isKnown)
    return op->emitOpError(
        "is not known to the proof (lib/Verify/Sums): it may "
        "have an order that cannot be followed");
  if (!lifter.forms.isOfReals() && !hasDeclaredResult(op) &&
      !getFormulaSize(op))
    return op->emitOpError("has no declared result: its bits may depend on how "
                           "it is compiled");
  Form form{FormKind::Scalar, op->getName().getStringRef().str()};
  for (Value operand : op->getOperands()) {
    FailureOr<const Form *> operandForm = getForm(op, operand);
    if (failed(operandForm))
      return failure();
    form.operands.push_back(*operandForm);
    form.dependsOnLoops |= (*operandForm)->dependsOnLoops;
  }
  if (DictionaryAttr attrs = lifter.attributes.get(op); !attrs.empty())
    form.details = lifter.forms.getText(attrs).str();
  form.op = op;
  for (OpResult result : op->getResults()) {
    Form one = form;
    one.element = result.getType();
    if (op->getNumResults() > 1)
      one.details += " result " + std::to_string(result.getResultNumber());
    setForm(result, lifter.forms.get(std::move(one)),
            getChangedLoops(op->getOperands()));
  }
  return success();
}

/// An element of a tensor that every rank holds.
LogicalResult BodyLifter::liftExtract(tensor::ExtractOp op) {
  FailureOr<LocalValue> tensor = lifter.getWhole(op, op.getTensor());
  if (failed(tensor))
    return failure();
  Form form{FormKind::Scalar, "element at"};
  form.operands = {tensor->form};
  form.element = op.getType();
  form.op = op;
  for (Value index : op.getIndices()) {
    FailureOr<const Form *> indexForm = getForm(op, index);
    if (failed(indexForm))
      return failure();
    form.operands.push_back(*indexForm);
    form.dependsOnLoops |= (*indexForm)->dependsOnLoops;
  }
  setForm(op.getResult(),
          tensor->form->shape.empty() ? tensor->form
                                      : lifter.forms.get(std::move(form)),
          getChangedLoops(op.getIndices()));
  return success();
}

LogicalResult BodyLifter::lift(Operation *op) {
  Attribute constant;
  if (matchPattern(op, m_Constant(&constant)))
    return setConstant(op->getResult(0), constant), success();
  if (auto index = dyn_cast<linalg::IndexOp>(op)) {
    LocalScalar scalar;
    scalar.offset = lifter.uniform(0);
    scalar.loop = index.getDim();
    return set(op->getResult(0), scalar), success();
  }
  if (auto index = dyn_cast<AxisIndexOp>(op)) {
    AxisList axes = lifter.getAxes(index.getAxes());
    LocalScalar scalar;
    scalar.offset = lifter.perRank(
        [&](int64_t rank) { return lifter.mesh.groupIndex(rank, axes); });
    return set(op->getResult(0), scalar), success();
  }
  if (auto begin = dyn_cast<PartOffsetOp>(op)) {
    FailureOr<LocalScalar> scalar = get(op, begin.getOffset());
    if (failed(scalar))
      return failure();
    scalar->isPlace = scalar->offset != nullptr;
    return set(op->getResult(0), *scalar), success();
  }
  if (auto extract = dyn_cast<tensor::ExtractOp>(op))
    return liftExtract(extract);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return liftIf(branch);
  bool isDone = false;
  LogicalResult done =
      llvm::TypeSwitch<Operation *, LogicalResult>(op)
          .Case([&](arith::CmpIOp op) { return liftCompare(op, isDone); })
          .Case([&](arith::SelectOp op) { return liftSelect(op, isDone); })
          .Case([&](arith::AndIOp op) { return liftAnd(op, isDone); })
          .Default([&](Operation *op) {
            bool isMath =
                op->getNumOperands() == 2 && op->getResultTypes()[0].isIndex();
            return isMath ? liftIndexMath(op, isDone) : success();
          });
  if (failed(done) || isDone)
    return done;
  return liftOther(op);
}
