// SPDX-License-Identifier: Apache-2.0

// The walk, and what it knows of values, buffers and their numbers.

#include "PlanMatcher.h"
#include "Layouts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

PlanMatcher::PlanMatcher(func::FuncOp scheduled, const PlannedProgram &program)
    : scheduled(scheduled), program(program), contents(program, scalars) {}

//===----------------------------------------------------------------------===//
// Counterexamples
//===----------------------------------------------------------------------===//

InFlightDiagnostic PlanMatcher::fail(Operation *planned, Operation *op) {
  InFlightDiagnostic diag = planned->emitError();
  diag.attachNote(op->getLoc())
      << "the scheduled program has " << getOpName(op) << " here";
  return diag;
}

std::string PlanMatcher::describe(unsigned number) const {
  const Base &base = bases[number];
  if (base.argument >= 0) {
    auto name = func::FuncOp(scheduled).getArgAttrOfType<StringAttr>(
        base.argument, WeftDialect::kNameAttr);
    return name ? ("the caller's '" + name.getValue() + "'").str()
                : "the caller's argument " + std::to_string(base.argument);
  }
  return "what " + getOpName(base.op) + " gives";
}

std::string PlanMatcher::describe(const Spot &spot) const {
  Place place;
  place.root = spot.root;
  place.region = spot.bytes;
  place.isDynamic = spot.isDynamic();
  return program.describe(place);
}

//===----------------------------------------------------------------------===//
// Numbers on the plan
//===----------------------------------------------------------------------===//

ArrayRef<int64_t> mlir::weft::proof::getIds(Operation *op, StringRef name) {
  auto attr = op->getAttrOfType<DenseI64ArrayAttr>(name);
  return attr ? attr.asArrayRef() : ArrayRef<int64_t>();
}

/// Each value has one number, and each number is of one value.
LogicalResult PlanMatcher::checkNumber(Operation *planned, int64_t id,
                                       unsigned base) {
  auto [value, isNewId] = baseOf.insert({id, base});
  auto [number, isNewBase] = idOf.insert({base, id});
  if (value->second == base && number->second == id)
    return success();
  return planned->emitError()
         << getOpName(planned) << " has value number " << id << " for "
         << describe(base) << ", but "
         << (value->second == base
                 ? "that is number " + std::to_string(number->second)
                 : "that number is " + describe(value->second));
}

LogicalResult PlanMatcher::checkId(Operation *planned, unsigned number,
                                   unsigned base) {
  ArrayRef<int64_t> ids = getIds(planned, rt::WeftRTDialect::kValuesAttr);
  // The freshness proof needs them; this one does not.
  return number < ids.size() ? checkNumber(planned, ids[number], base)
                             : success();
}

/// What the plan says of a part is for the proof of freshness; here it is
/// compared with the scheduled program.
LogicalResult PlanMatcher::checkPart(Operation *planned, unsigned number,
                                     Value tensor) {
  rt::PartAttr part =
      proof::getPart(planned, rt::WeftRTDialect::kPartsAttr, number);
  const Elements &elements = get(tensor);
  if (isPart(part, elements, getType(tensor).getShape()))
    return success();
  return planned->emitError()
         << getOpName(planned) << " says of " << describe(elements.value)
         << " that it takes another part than in the scheduled program";
}

LogicalResult PlanMatcher::checkFrom(rt::AssembleOp planned,
                                     ValueRange tensors) {
  ArrayRef<int64_t> ids = planned.getFrom();
  if (ids.size() != tensors.size())
    return planned->emitError()
           << getOpName(planned) << " puts together " << ids.size()
           << " values, the scheduled program " << tensors.size();
  for (auto [i, id, tensor] : llvm::enumerate(ids, tensors))
    if (failed(checkNumber(planned, id, get(tensor).value)) ||
        failed(checkPart(planned, i, tensor)))
      return failure();
  return success();
}

/// A value becomes these elements, of this shape, of what is put together.
LogicalResult PlanMatcher::checkInto(rt::AssembleOp planned, unsigned number,
                                     const Elements &elements,
                                     RankedTensorType type) {
  rt::PartAttr into =
      proof::getPart(planned, rt::WeftRTDialect::kIntoAttr, number);
  ArrayRef<int64_t> whole = planned.getBuffer().getType().getShape();
  bool isSaid = into ? isPart(into, elements, type.getShape())
                     : type.getShape() == whole &&
                           isPart(into, elements, type.getShape());
  if (isSaid)
    return success();
  return planned->emitError()
         << getOpName(planned) << " says that part #" << number
         << " becomes other elements than in the "
            "scheduled program";
}

//===----------------------------------------------------------------------===//
// What lies where
//===----------------------------------------------------------------------===//

unsigned PlanMatcher::addBase(RankedTensorType type, Operation *op) {
  Base base;
  base.type = type;
  base.op = op;
  bases.push_back(base);
  return bases.size() - 1;
}

/// Says whether nothing is read of a tensor: it has no elements, or any will
/// do.
bool PlanMatcher::isUnneeded(Value tensor) const {
  return getType(tensor).getNumElements() == 0 ||
         bases[get(tensor).value].isUndefined;
}

void PlanMatcher::setBytes(Spot &spot) const {
  SmallVector<int64_t> strides;
  for (int64_t stride : spot.strides)
    strides.push_back(stride / spot.elementBytes);
  spot.unshifted =
      ByteSet::get(spot.begin + static_cast<int64_t>(spot.shift.constant),
                   spot.sizes, strides, spot.elementBytes);
  spot.bytes =
      spot.isDynamic()
          ? ByteSet::get(0, {}, {}, program.getRoots()[spot.root].bytes)
          : spot.unshifted;
}

Spot PlanMatcher::getSpot(Value buffer) {
  auto known = spots.find(buffer);
  if (known != spots.end())
    return known->second;
  Spot spot = proof::getSpot(program, buffer, [&](Spot &found, Value offset) {
    // One that nothing is known of is equal to nothing else.
    if (!scalars.find(offset))
      scalars.unite(offset, offset);
    found.shift.add(scalars.getForm(*scalars.find(offset)), found.elementBytes);
  });
  setBytes(spot);
  spots[buffer] = spot;
  return spot;
}

LogicalResult PlanMatcher::checkBuffer(Operation *planned, Value buffer,
                                       RankedTensorType type) {
  auto memref = cast<MemRefType>(buffer.getType());
  if (memref.getShape() != type.getShape() ||
      memref.getElementType() != type.getElementType())
    return planned->emitError()
           << getOpName(planned) << " takes a buffer of type " << memref
           << " for a tensor of type " << type;
  if (buffer.getDefiningOp<memref::GetGlobalOp>())
    return planned->emitError()
           << getOpName(planned)
           << " takes a constant of the module for a tensor";
  return success();
}

LogicalResult PlanMatcher::checkThere(Operation *planned, const Twine &verb,
                                      const Spot &spot, Value tensor,
                                      ArrayRef<Placed> others) {
  if (isUnneeded(tensor))
    return success();
  std::optional<Obstacle> obstacle = contents.find({get(tensor), spot}, others);
  if (!obstacle)
    return success();
  unsigned base = get(tensor).value;
  InFlightDiagnostic diag = planned->emitError();
  diag << verb << " " << describe(spot) << " for "
       << (getType(tensor) == bases[base].type ? "" : "a part of ")
       << describe(base);
  const Layer *layer = obstacle->layer;
  if (!layer)
    diag << ", which is not there";
  else if (layer->kind == Layer::Kind::InFlight)
    diag << " before " << getOpName(layer->op) << " has arrived there";
  else if (!layer->map)
    diag << ", but nothing is known of what lies there";
  else if (layer->map->getValue() == base)
    diag << ", but other elements of it lie there";
  else
    diag << ", but there is " << describe(layer->map->getValue());
  if (layer && layer->op)
    diag.attachNote(layer->op->getLoc()) << "that gets there here";
  if (Operation *origin = bases[base].op)
    diag.attachNote(origin->getLoc())
        << "the scheduled program has " << getOpName(origin) << " here";
  return diag;
}

LogicalResult PlanMatcher::read(Operation *planned, Value buffer,
                                unsigned number, Value tensor) {
  if (failed(checkBuffer(planned, buffer, getType(tensor))) ||
      failed(checkThere(planned, getOpName(planned) + " reads", getSpot(buffer),
                        tensor)))
    return failure();
  return success(succeeded(checkId(planned, number, get(tensor).value)) &&
                 succeeded(checkPart(planned, number, tensor)));
}

LogicalResult PlanMatcher::write(Operation *planned, Value buffer,
                                 unsigned number, unsigned base,
                                 Layer::Kind kind) {
  RankedTensorType type = bases[base].type;
  if (failed(checkBuffer(planned, buffer, type)) ||
      failed(checkId(planned, number, base)))
    return failure();
  Elements whole = getWhole(base, type);
  contents.write(getSpot(buffer), &whole, planned, kind);
  return success();
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

/// Says whether a kernel or a wait of the plan is that of the scheduled
/// program.
bool PlanMatcher::isCounterpart(Operation *planned, Operation *op) const {
  if (auto wait = dyn_cast<rt::WaitOp>(planned)) {
    auto other = dyn_cast<WaitOp>(op);
    return other && getStart(wait) ==
                        starts.lookup(other.getFutures()[0].getDefiningOp());
  }
  Attribute name = op->getAttr(WeftDialect::kOpNameAttr);
  return isa<rt::FusedOp>(op) && name &&
         planned->getAttr(WeftDialect::kOpNameAttr) == name;
}

/// Says whether an op of the plan is on the stream of a channel, for which it
/// may stand before where it is scheduled, and is not what is looked for.
bool PlanMatcher::isEarly(Operation *planned, Operation *op) const {
  return isa<rt::FusedOp, rt::WaitOp>(planned) && rt::getStream(planned) &&
         isa<func::FuncOp>(planned->getParentOp()) &&
         !isCounterpart(planned, op);
}

/// The buffers that an op works on; of a wait, those of its collective.
static AccessList getWorkedOn(const PlannedProgram &program, Operation *op) {
  auto wait = dyn_cast<rt::WaitOp>(op);
  rt::StartOp start = wait ? getStart(wait) : rt::StartOp();
  return program.getAccesses(start ? start.getOperation() : op);
}

/// An early op is taken at its place in the scheduled program. That is the same
/// as at its own if nothing that has been taken in between touches the bytes
/// that it works on.
LogicalResult PlanMatcher::checkOver(Operation *planned, Operation *op) {
  AccessList own = getWorkedOn(program, planned);
  for (Operation *other = planned->getNextNode(); other != &*at;
       other = other->getNextNode()) {
    if (llvm::is_contained(early, other))
      continue;
    WalkResult result = other->walk([&](Operation *inner) {
      for (const Access &theirs : getWorkedOn(program, inner))
        for (const Access &access : own)
          if ((access.writes || theirs.writes) &&
              access.place->root == theirs.place->root &&
              overlaps(access.place->region, theirs.place->region))
            return WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (!result.wasInterrupted())
      continue;
    InFlightDiagnostic diag = fail(planned, op)
                              << getOpName(planned) << " stands before "
                              << getOpName(other)
                              << ", which works on the same bytes, and is "
                                 "scheduled after it";
    diag.attachNote(other->getLoc()) << getOpName(other) << " is here";
    return diag;
  }
  return success();
}

/// The counterpart of `op` if it is an early one; else null.
FailureOr<Operation *> PlanMatcher::takeEarly(Operation *op) {
  auto found = llvm::find_if(early, [&](Operation *planned) {
    return planned->getBlock() == at->getBlock() && isCounterpart(planned, op);
  });
  if (found == early.end())
    return static_cast<Operation *>(nullptr);
  Operation *planned = *found;
  early.erase(found);
  if (failed(checkOver(planned, op)))
    return failure();
  return planned;
}

/// The next op of the plan that has a counterpart. What comes before it moves
/// tensors, or computes scalars.
FailureOr<Operation *> PlanMatcher::next(Operation *op) {
  for (;; ++at) {
    Operation *planned = &*at;
    if (isEarly(planned, op)) {
      early.push_back(planned);
      continue;
    }
    if (isMove(planned, op)) {
      if (failed(move(planned)))
        return failure();
      continue;
    }
    auto assemble = dyn_cast<rt::AssembleOp>(planned);
    bool isUndefined = assemble && assemble.getFrom().empty();
    if (!isUndefined &&
        !isa<rt::BufferOp, rt::ViewOp, memref::GetGlobalOp, rt::RecordOp,
             rt::AwaitOp>(planned) &&
        !scalars.add(planned))
      return planned;
  }
}

FailureOr<Operation *>
PlanMatcher::expect(Operation *op,
                    llvm::function_ref<bool(Operation *)> isKind) {
  FailureOr<Operation *> known = takeEarly(op);
  if (failed(known) || *known)
    return known;
  FailureOr<Operation *> planned = next(op);
  if (failed(planned))
    return failure();
  if (isKind(*planned)) {
    ++at;
    return planned;
  }
  InFlightDiagnostic diag = fail(*planned, op);
  if ((*planned)->hasTrait<OpTrait::IsTerminator>())
    diag << "the plan lacks " << getOpName(op);
  else
    diag << getOpName(*planned) << " stands where the scheduled program has "
         << getOpName(op);
  return diag;
}

LogicalResult PlanMatcher::checkName(Operation *planned, Operation *op) {
  Attribute name = op->getAttr(WeftDialect::kOpNameAttr);
  if (!name || planned->getAttr(WeftDialect::kOpNameAttr) == name)
    return success();
  return fail(planned, op) << getOpName(planned)
                           << " stands where the scheduled program has "
                           << getOpName(op);
}

LogicalResult PlanMatcher::checkSame(Operation *planned, Operation *op,
                                     Attribute a, Attribute b, StringRef what) {
  if (a == b)
    return success();
  InFlightDiagnostic diag = fail(planned, op);
  diag << getOpName(planned) << " has " << what << " ";
  (b ? diag << b : diag << "none") << ", in the scheduled program ";
  a ? diag << a : diag << "none";
  return diag;
}

LogicalResult PlanMatcher::match(Operation *op) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](rt::FusedOp o) { return matchFused(o); })
      .Case([&](MatmulOp o) { return matchMatmul(o); })
      .Case([&](AttentionOp o) { return matchAttention(o, o.getStart()); })
      .Case([&](AttentionGradOp o) { return matchAttention(o, o.getStart()); })
      .Case([&](ScatterAddOp o) { return matchScatterAdd(o); })
      .Case<AllGatherOp, ReduceScatterOp, AllReduceOp, AllToAllOp, PermuteOp>(
          [&](Operation *o) { return matchStart(o); })
      .Case([&](WaitOp o) { return matchWait(o); })
      .Case([&](tensor::ExtractSliceOp o) { return addSlice(o); })
      .Case([&](tensor::CollapseShapeOp o) { return addCollapsed(o); })
      .Case([&](tensor::ExpandShapeOp o) {
        addExpanded(o);
        return success();
      })
      .Case([&](tensor::CastOp o) {
        elementsOf[o.getResult()] = Elements(get(o.getSource()));
        return success();
      })
      .Case([&](tensor::InsertSliceOp o) { return matchInsertSlice(o); })
      .Case([&](tensor::ConcatOp o) { return matchConcat(o); })
      .Case([&](tensor::ExtractOp o) { return matchExtract(o); })
      .Case([&](tensor::EmptyOp o) {
        define(o.getResult(), addBase(o.getType(), o));
        bases.back().isUndefined = true;
        return success();
      })
      .Case([&](scf::ForOp o) { return matchFor(o); })
      .Case([&](scf::IfOp o) { return matchIf(o); })
      .Default([&](Operation *o) -> LogicalResult {
        if (o->hasTrait<OpTrait::ConstantLike>() && o->getNumResults() == 1 &&
            isa<RankedTensorType>(o->getResult(0).getType()))
          return matchConstant(o);
        if (scalars.add(o))
          return success();
        return o->emitOpError("of the scheduled program is none that the proof "
                              "of planning knows");
      });
}

LogicalResult PlanMatcher::matchBlock(Block &from, Block &to) {
  at = to.begin();
  for (Operation &op : from.without_terminator())
    if (failed(match(&op)))
      return failure();
  return success();
}

/// Each result is where the caller finds it.
LogicalResult PlanMatcher::matchReturn(func::ReturnOp op) {
  FailureOr<Operation *> end = next(op);
  if (failed(end))
    return failure();
  if (!early.empty())
    return fail(early.front(), op)
           << getOpName(early.front()) << " is nothing that is scheduled";
  if (!isa<func::ReturnOp>(*end))
    return fail(*end, op) << getOpName(*end)
                          << " stands past the end of the scheduled program";
  SmallVector<rt::TensorAttr> entries = rt::getResults(program.getFunction());
  DenseMap<std::pair<unsigned, uint64_t>, Value> roots;
  for (const Root &root : program.getRoots()) {
    rt::BufferOp buffer = root.op;
    roots[{static_cast<unsigned>(buffer.getSpace()), buffer.getPosition()}] =
        buffer.getResult();
  }
  for (auto [i, tensor] : llvm::enumerate(op.getOperands())) {
    auto alias = func::FuncOp(scheduled).getResultAttrOfType<IntegerAttr>(
        i, WeftDialect::kAliasAttr);
    rt::Space space = alias ? rt::Space::Argument : rt::Space::Result;
    uint64_t position = alias ? alias.getInt() : i;
    if (failed(checkNumber(*end, *entries[i].getValue(), get(tensor).value)))
      return failure();
    if (!isPart(entries[i].getPart(), get(tensor), getType(tensor).getShape()))
      return (*end)->emitError()
             << "the plan says that result " << i
             << " is another part than in the scheduled program";
    auto root = roots.find({static_cast<unsigned>(space), position});
    if (root != roots.end()) {
      Value buffer = root->second;
      if (failed(checkBuffer(*end, buffer, getType(tensor))) ||
          failed(checkThere(*end, "the step gives", getSpot(buffer), tensor)))
        return failure();
    } else if (!isUnneeded(tensor) &&
               !(alias &&
                 bases[get(tensor).value].argument ==
                     static_cast<int64_t>(position) &&
                 getType(tensor) == bases[get(tensor).value].type)) {
      // An argument that nobody touches is still what the caller gave.
      return (*end)->emitError() << "the plan never writes result " << i;
    }
  }
  return success();
}

LogicalResult PlanMatcher::run() {
  Block &from = scheduled.getBody().front();
  for (BlockArgument argument : from.getArguments()) {
    int64_t number = argument.getArgNumber();
    define(argument, addBase(getType(argument), nullptr));
    bases.back().argument = number;
    if (failed(checkNumber(program.getFunction(), number, get(argument).value)))
      return failure();
  }
  for (const Root &root : program.getRoots()) {
    rt::BufferOp buffer = root.op;
    if (!root.isArgument())
      continue;
    if (buffer.getPosition() >= from.getNumArguments())
      return buffer.emitError() << "argument " << buffer.getPosition()
                                << " is none of the scheduled program";
    Value argument = from.getArgument(buffer.getPosition());
    if (failed(checkBuffer(buffer, buffer.getResult(), getType(argument))))
      return failure();
    contents.write(getSpot(buffer.getResult()), &get(argument), nullptr);
  }
  return success(
      succeeded(matchBlock(
          from, func::FuncOp(program.getFunction()).getBody().front())) &&
      succeeded(matchReturn(cast<func::ReturnOp>(from.getTerminator()))));
}
