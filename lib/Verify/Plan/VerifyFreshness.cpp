// SPDX-License-Identifier: Apache-2.0

// First the certificate, the value ids on the ops, is checked by itself: each
// id is computed by one op. Then one walk keeps which value lies where, and
// looks up each read. A loop's body is walked over until what may lie there at
// its beginning is what lies there at its end or before; two or three times.

#include "ValueState.h"

#include "weft/Verify/Plan/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"

#include <limits>

namespace mlir::weft {
#define GEN_PASS_DEF_VERIFYFRESHNESSPASS
#include "weft/Verify/Plan/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

namespace {

/// The ids on an op: of each access, what it reads and what it writes; -1 if
/// nothing.
struct Ids {
  int64_t read = -1, written = -1;
};

class FreshnessProof {
public:
  explicit FreshnessProof(const PlannedProgram &program)
      : program(program), arguments(rt::getArgs(program.getFunction())),
        layouts(program), state(program, layouts) {}

  LogicalResult run() {
    return success(
        succeeded(checkCertificate()) &&
        succeeded(checkBlock(
            func::FuncOp(program.getFunction()).getBody().front())) &&
        succeeded(checkResults()));
  }

private:
  // The certificate by itself.
  LogicalResult checkCertificate();
  LogicalResult checkIds(Operation *op);
  LogicalResult define(int64_t id, Operation *op, Value buffer);
  LogicalResult assembleOnce(rt::AssembleOp op);
  LogicalResult checkAssembled(rt::AssembleOp op);
  LogicalResult checkParts(rt::AssembleOp op);
  LogicalResult checkDefined(const Access &access, Operation *op);
  bool isUndefined(int64_t id) const;
  LogicalResult checkUsedIds(Operation *op);
  LogicalResult checkTaken(ShapedType taken, rt::PartAttr part, int64_t id,
                           Operation *op);
  LogicalResult checkDims(const Access &access, int64_t id, Operation *op);
  LogicalResult checkWrittenPart(const Access &access, Operation *op,
                                 const AccessList &accesses);
  Ids getIds(Operation *op, const Access &access) const;
  ShapedType getType(int64_t id) const;
  bool isCopied(Operation *op, int64_t id, const AccessList &accesses) const;

  // The walk.
  LogicalResult checkBlock(Block &block);
  LogicalResult checkOp(Operation *op);
  LogicalResult checkStep(Operation *op);
  LogicalResult checkAssemble(rt::AssembleOp op);
  FailureOr<SmallVector<Wanted>> getFrom(rt::AssembleOp op);
  LogicalResult checkFrom(rt::AssembleOp op, ArrayRef<Wanted> from);
  LogicalResult checkWay(ArrayRef<rt::AssembleOp> joins, unsigned number,
                         Operation *end);
  LogicalResult checkFor(scf::ForOp loop);
  LogicalResult checkIf(scf::IfOp branch);
  LogicalResult checkResults();
  LogicalResult checkResult(unsigned number, rt::TensorAttr result);

  // Counterexamples.
  LogicalResult report(Operation *op, StringRef verb, const Place &place,
                       ArrayRef<Wanted> wanted, const Mismatch &mismatch);
  void attachNotes(InFlightDiagnostic &diag, const Patch &patch,
                   ArrayRef<int64_t> ids);
  std::string describeId(int64_t id) const;
  int64_t getNumArguments() const { return arguments.size(); }

  const PlannedProgram &program;
  SmallVector<rt::TensorAttr> arguments;
  Layouts layouts;
  ValueState state;
  /// The op that computes an id, and the first one that assembles it.
  DenseMap<int64_t, Operation *> definers, assemblers;
  /// The buffer into which an id is computed, or first assembled.
  DenseMap<int64_t, MemRefType> types;
  /// Those that stand where ways meet.
  DenseSet<Operation *> expectedJoins;
  /// The buffer of each argument and result, by space and position.
  DenseMap<std::pair<unsigned, int64_t>, Value> entryBuffers;
};

//===----------------------------------------------------------------------===//
// The certificate by itself
//===----------------------------------------------------------------------===//

ArrayRef<int64_t> getArray(Operation *op, StringRef name) {
  auto attr = op->getAttrOfType<DenseI64ArrayAttr>(name);
  return attr ? attr.asArrayRef() : ArrayRef<int64_t>();
}

/// Which part of a value an op reads.
rt::PartAttr getReadPart(Operation *op, const Access &access) {
  // That of what a scatter adds to comes last.
  unsigned number =
      access.writes ? getArray(op, "weft_rt.values").size() : access.number;
  return getPart(op, rt::WeftRTDialect::kPartsAttr, number);
}

/// Says whether one of its parts is enough: the one of the way that was taken.
bool isJoin(rt::AssembleOp op) { return op->hasAttr("weft_rt.join"); }

Ids FreshnessProof::getIds(Operation *op, const Access &access) const {
  int64_t id = getArray(op, "weft_rt.values")[access.number];
  Ids ids;
  if (access.writes)
    ids.written = id;
  if (access.reads)
    ids.read = access.writes ? getArray(op, "weft_rt.reads")[0] : id;
  return ids;
}

/// Says whether a fused op gives its only input as it is.
bool isCopyKernel(rt::FusedOp op) {
  Block &block = op.getBody().front();
  SmallVector<linalg::GenericOp> ops(block.getOps<linalg::GenericOp>());
  if (ops.size() != 1 || op.getInputs().size() != 1 ||
      op.getOuts().size() != 1 || ops[0].getNumDpsInputs() != 1 ||
      ops[0].getNumDpsInits() != 1 ||
      ops[0].getDpsInputOperand(0)->get() != block.getArgument(0))
    return false;
  SmallVector<AffineMap> maps = ops[0].getIndexingMapsArray();
  auto yield = cast<linalg::YieldOp>(ops[0].getBody()->getTerminator());
  return maps[0] == maps[1] &&
         yield.getOperand(0) == ops[0].getBody()->getArgument(0);
}

/// Says whether `op` writes `id` by copying it from where it lies.
bool FreshnessProof::isCopied(Operation *op, int64_t id,
                              const AccessList &accesses) const {
  auto fused = dyn_cast<rt::FusedOp>(op);
  if (!(fused && isCopyKernel(fused)) && !isa<rt::CopyOp>(op))
    return false;
  for (const Access &access : accesses)
    if (access.reads && getIds(op, access).read == id)
      return true;
  return false;
}

/// What has the elements of a value; null if nothing does.
ShapedType FreshnessProof::getType(int64_t id) const {
  if (id >= 0 && id < getNumArguments())
    return arguments[id].getLocal();
  return types.lookup(id);
}

LogicalResult FreshnessProof::define(int64_t id, Operation *op, Value buffer) {
  if (id < getNumArguments())
    return op->emitError() << getOpName(op) << " says that it computes "
                           << describeId(id);
  auto [it, isNew] = definers.insert({id, op});
  if (isNew) {
    types[id] = cast<MemRefType>(buffer.getType());
    return success();
  }
  InFlightDiagnostic diag = op->emitError()
                            << getOpName(op) << " says that it computes value "
                            << id << ", which " << getOpName(it->second)
                            << " computes already";
  diag.attachNote(it->second->getLoc()) << "here";
  return diag;
}

/// Only copies write a part of a value: the one that they read.
LogicalResult FreshnessProof::checkWrittenPart(const Access &access,
                                               Operation *op,
                                               const AccessList &accesses) {
  StringRef list = rt::WeftRTDialect::kPartsAttr;
  int64_t id = getIds(op, access).written;
  rt::PartAttr part = getPart(op, list, access.number), expected;
  if (isCopied(op, id, accesses))
    expected = getPart(op, list, accesses.front().number);
  if (part == expected)
    return success();
  return op->emitError() << getOpName(op) << " says that it writes "
                         << (part ? "a part of value " : "all of value ") << id
                         << ", but it writes "
                         << (expected ? "another" : "all of it");
}

/// A value is put together once, or it would be two. Undefined contents may be
/// at several places.
LogicalResult FreshnessProof::assembleOnce(rt::AssembleOp op) {
  auto id = static_cast<int64_t>(op.getValue());
  auto [it, isNew] = assemblers.insert({id, op});
  if (isNew)
    types.insert({id, cast<MemRefType>(op.getBuffer().getType())});
  auto first = cast<rt::AssembleOp>(it->second);
  if (isNew || (first.getFrom().empty() && op.getFrom().empty()))
    return success();
  InFlightDiagnostic diag = op.emitError() << "value " << id
                                           << " is put together a second time";
  diag.attachNote(first.getLoc()) << "the first time is here";
  return diag;
}

/// Each op that touches memory has an id for each of its buffers.
LogicalResult FreshnessProof::checkIds(Operation *op) {
  if (auto assemble = dyn_cast<rt::AssembleOp>(op))
    return assembleOnce(assemble);
  AccessList accesses = program.getAccesses(op);
  if (accesses.empty())
    return success();
  if (!op->hasAttr("weft_rt.values") ||
      (isa<rt::ScatterAddOp>(op) && !op->hasAttr("weft_rt.reads")))
    return op->emitError() << getOpName(op)
                           << " does not say which values it reads and writes";
  for (const Access &access : accesses) {
    if (!access.writes)
      continue;
    int64_t written = getIds(op, access).written;
    if ((!isCopied(op, written, accesses) &&
         failed(define(written, op, access.buffer))) ||
        failed(checkWrittenPart(access, op, accesses)))
      return failure();
  }
  return success();
}

/// Says whether a value is whatever the memory has.
bool FreshnessProof::isUndefined(int64_t id) const {
  auto it = assemblers.find(id);
  return it != assemblers.end() && !definers.count(id) &&
         cast<rt::AssembleOp>(it->second).getFrom().empty() &&
         types.lookup(id).getNumElements() > 0;
}

/// Undefined contents are what others are put into, and never computed with.
LogicalResult FreshnessProof::checkDefined(const Access &access,
                                           Operation *op) {
  int64_t id = getIds(op, access).read;
  if (isUndefined(id))
    return op->emitError() << getOpName(op) << " reads "
                           << program.describe(*access.place) << " for value "
                           << id << ", which is undefined";
  if ((id >= 0 && id < getNumArguments()) || definers.count(id) ||
      assemblers.count(id))
    return success();
  return op->emitError() << getOpName(op) << " reads "
                         << program.describe(*access.place) << " for value "
                         << id << ", which nothing computes";
}

/// Whether later dims lie closer together, as in tensors.
bool isRowMajor(MemRefType type) {
  if (type.getNumElements() == 0 || type.getLayout().isIdentity())
    return true;
  auto [strides, offset] = type.getStridesAndOffset();
  int64_t outer = std::numeric_limits<int64_t>::max();
  for (auto [size, stride] : llvm::zip(type.getShape(), strides)) {
    if (size == 1)
      continue;
    if (stride > outer)
      return false;
    outer = stride;
  }
  return true;
}

/// A part of a value, or its elements in another shape, have them in the order
/// in which they were written: who sees them in another one sees them as they
/// were written there.
LogicalResult FreshnessProof::checkDims(const Access &access, int64_t id,
                                        Operation *op) {
  auto type = cast<MemRefType>(access.buffer.getType());
  Operation *definer = definers.lookup(id);
  MemRefType written = definer ? types.lookup(id) : MemRefType();
  bool isWrittenInOrder = !written || isRowMajor(written);
  if ((isRowMajor(type) && isWrittenInOrder) || type == written)
    return success();
  InFlightDiagnostic diag =
      op->emitError() << getOpName(op) << " takes " << describeId(id) << " as "
                      << type << ", which has its elements in another order";
  if (definer)
    diag.attachNote(definer->getLoc()) << "here they are " << written;
  return diag;
}

/// Who names no part of a value takes all of its elements.
LogicalResult FreshnessProof::checkTaken(ShapedType taken, rt::PartAttr part,
                                         int64_t id, Operation *op) {
  ShapedType type = getType(id);
  if (!type || (type.getElementType() == taken.getElementType() &&
                (part || type.getNumElements() == taken.getNumElements())))
    return success();
  std::string name = isa<func::ReturnOp>(op) ? "the step" : getOpName(op);
  return op->emitError() << name << " has " << taken << " for "
                         << (part ? "a part" : "all") << " of "
                         << describeId(id) << ", which is " << type;
}

/// All of a value is put together from as many elements.
LogicalResult FreshnessProof::checkParts(rt::AssembleOp op) {
  auto whole = cast<MemRefType>(op.getBuffer().getType());
  int64_t missing = op.getFrom().empty() ? 0 : whole.getNumElements();
  for (auto [i, id] : llvm::enumerate(op.getFrom())) {
    rt::PartAttr into = getPart(op, rt::WeftRTDialect::kIntoAttr, i);
    rt::PartAttr part = getPart(op, rt::WeftRTDialect::kPartsAttr, i);
    MemRefType taken =
        into ? MemRefType::get(into.getSizes(), whole.getElementType()) : whole;
    if (failed(checkTaken(taken, part, id, op)))
      return failure();
    if (isJoin(op) && taken.getNumElements() != whole.getNumElements())
      return op.emitError() << "value " << op.getValue() << " is one of two, "
                            << "but not all of " << describeId(id);
    missing -= taken.getNumElements();
  }
  if (missing <= 0)
    return success();
  return op.emitError() << "value " << op.getValue()
                        << " is put together without " << missing << " of its "
                        << whole.getNumElements() << " elements";
}

LogicalResult FreshnessProof::checkAssembled(rt::AssembleOp op) {
  return success(
      succeeded(checkTaken(cast<MemRefType>(op.getBuffer().getType()), nullptr,
                           op.getValue(), op)) &&
      succeeded(checkParts(op)));
}

LogicalResult FreshnessProof::checkUsedIds(Operation *op) {
  if (auto assemble = dyn_cast<rt::AssembleOp>(op))
    return checkAssembled(assemble);
  for (const Access &access : program.getAccesses(op)) {
    auto type = cast<MemRefType>(access.buffer.getType());
    Ids ids = getIds(op, access);
    if (access.reads &&
        (failed(checkDefined(access, op)) ||
         failed(checkTaken(type, getReadPart(op, access), ids.read, op))))
      return failure();
    if (access.writes &&
        failed(checkTaken(
            type, getPart(op, rt::WeftRTDialect::kPartsAttr, access.number),
            ids.written, op)))
      return failure();
    for (int64_t id : {ids.read, ids.written})
      if (id >= 0 && failed(checkDims(access, id, op)))
        return failure();
  }
  return success();
}

LogicalResult FreshnessProof::checkCertificate() {
  WalkResult result = program.getFunction()->walk(
      [&](Operation *op) { return WalkResult(checkIds(op)); });
  if (result.wasInterrupted())
    return failure();
  for (auto &[id, op] : assemblers)
    if (id < getNumArguments() || definers.count(id))
      return op->emitError() << "value " << id << " is put together here, but "
                             << describeId(id) << " is that value";
  result = program.getFunction()->walk(
      [&](Operation *op) { return WalkResult(checkUsedIds(op)); });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Counterexamples
//===----------------------------------------------------------------------===//

std::string FreshnessProof::describeId(int64_t id) const {
  if (id >= 0 && id < getNumArguments()) {
    StringAttr name = arguments[id].getName();
    return name ? ("the caller's '" + name.getValue() + "'").str()
                : "the caller's argument " + std::to_string(id);
  }
  if (Operation *op = definers.lookup(id))
    return "what " + getOpName(op) + " computes";
  return "value " + std::to_string(id);
}

void FreshnessProof::attachNotes(InFlightDiagnostic &diag, const Patch &patch,
                                 ArrayRef<int64_t> ids) {
  if (patch.op)
    diag.attachNote(patch.op->getLoc())
        << (patch.kind == Patch::Kind::InFlight
                ? getOpName(patch.op) + " is started here"
                : describeId(patch.id) + " gets there here");
  for (int64_t id : ids) {
    Operation *op = definers.lookup(id);
    if (op && op != patch.op)
      diag.attachNote(op->getLoc()) << describeId(id) << " comes from here";
  }
}

LogicalResult FreshnessProof::report(Operation *op, StringRef verb,
                                     const Place &place,
                                     ArrayRef<Wanted> values,
                                     const Mismatch &mismatch) {
  SmallVector<int64_t> ids;
  for (const Wanted &value : values)
    ids.push_back(value.id);
  const RootState &root = state.get(place.root);
  InFlightDiagnostic diag = op->emitError();
  diag << verb << " " << program.describe(place);
  if (!root.isAlive && root.takenBy) {
    diag << ", whose memory "
         << program.getName(program.getRoots()[root.takenFor])
         << " has taken over";
    diag.attachNote(root.takenBy->getLoc())
        << getOpName(root.takenBy) << " writes there";
    return diag;
  }
  std::string wanted = describeId(ids.front());
  if (!mismatch.patch) {
    diag << " for " << wanted << ", before all of it is there";
    attachNotes(diag, Patch(), ids);
    return diag;
  }
  const Patch &patch = *mismatch.patch;
  if (patch.kind == Patch::Kind::InFlight)
    diag << " before " << getOpName(patch.op) << " has arrived there";
  else if (mismatch.isOtherPart)
    diag << " for a part of " << describeId(patch.id)
         << ", but other elements of it lie there";
  else
    diag << " for " << wanted << ", but there is " << describeId(patch.id);
  attachNotes(diag, patch, ids);
  return diag;
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

LogicalResult FreshnessProof::checkStep(Operation *op) {
  StringRef list = rt::WeftRTDialect::kPartsAttr;
  AccessList accesses = program.getAccesses(op);
  for (const Access &access : accesses) {
    if (!access.reads)
      continue;
    Wanted wanted = {getIds(op, access).read,
                     layouts.get(access.buffer, getReadPart(op, access))};
    if (std::optional<Mismatch> mismatch = state.find(*access.place, wanted))
      return report(op, getOpName(op) + " reads", *access.place, wanted,
                    *mismatch);
  }
  auto kind =
      isa<rt::StartOp>(op) ? Patch::Kind::InFlight : Patch::Kind::Written;
  for (const Access &access : accesses)
    if (access.writes)
      state.write(
          {getIds(op, access).written,
           layouts.get(access.buffer, getPart(op, list, access.number))},
          op, kind);
  return success();
}

/// Where the values that are put together have to be.
FailureOr<SmallVector<Wanted>> FreshnessProof::getFrom(rt::AssembleOp op) {
  SmallVector<Wanted> from;
  for (auto [i, id] : llvm::enumerate(op.getFrom())) {
    const Layout *layout = layouts.getInside(
        op.getBuffer(), getPart(op, rt::WeftRTDialect::kIntoAttr, i),
        getPart(op, rt::WeftRTDialect::kPartsAttr, i));
    if (!layout) {
      op.emitError() << "value " << op.getValue() << " has no such elements as "
                     << describeId(id) << " would have to become";
      return failure();
    }
    from.push_back({id, layout});
  }
  return from;
}

/// Each part is where it has to be, but for where a later one lies on it. That
/// one whose place is known only at run time is there, `hasAll` says.
LogicalResult FreshnessProof::checkFrom(rt::AssembleOp op,
                                        ArrayRef<Wanted> from) {
  for (unsigned i = 0; i < from.size(); ++i) {
    SmallVector<Wanted> parts(from.drop_front(i));
    if (from[i].layout->bytesMove)
      continue;
    for (Wanted &later : llvm::drop_begin(parts))
      later.isOnlyThere = true;
    const Place &place = parts.front().layout->place;
    if (std::optional<Mismatch> mismatch = state.find(place, parts))
      return report(op, "value " + std::to_string(op.getValue()) + " needs",
                    place, parts, *mismatch);
  }
  return success();
}

LogicalResult FreshnessProof::checkAssemble(rt::AssembleOp op) {
  const Layout *whole = layouts.get(op.getBuffer(), rt::PartAttr());
  Wanted value = {static_cast<int64_t>(op.getValue()), whole};
  if (op.getFrom().empty()) {
    // Undefined contents: whatever is there will do.
    state.write(value, op);
    return success();
  }
  FailureOr<SmallVector<Wanted>> from = getFrom(op);
  if (failed(from))
    return failure();
  if (std::optional<Mismatch> mismatch = state.find(whole->place, *from))
    return report(op, "value " + std::to_string(op.getValue()) + " needs",
                  whole->place, *from, *mismatch);
  if (isJoin(op) && !expectedJoins.contains(op))
    return op.emitError()
           << "value " << op.getValue()
           << " is one of two, but stands neither at the beginning of a loop's "
              "body nor after the loop, nor after a branch";
  if (!isJoin(op) && failed(checkFrom(op, *from)))
    return failure();
  if (!isJoin(op) && !state.hasAll(whole->place, *from))
    return op.emitError()
           << "value " << op.getValue() << " needs "
           << program.describe(whole->place)
           << ", but not all of its parts have been put there, each once";
  state.name(value, op);
  return success();
}

/// The joins at `op` and right after it, buffers in between left out.
static SmallVector<rt::AssembleOp> getJoins(Operation *op) {
  SmallVector<rt::AssembleOp> joins;
  for (; op; op = op->getNextNode()) {
    auto join = dyn_cast<rt::AssembleOp>(op);
    if (join && isJoin(join))
      joins.push_back(join);
    else if (!isa<rt::BufferOp, rt::ViewOp>(op))
      break;
  }
  return joins;
}

/// At the end of a way to each of `joins`, all of the buffer is what the join
/// has from there: its value number `number`.
LogicalResult FreshnessProof::checkWay(ArrayRef<rt::AssembleOp> joins,
                                       unsigned number, Operation *end) {
  for (rt::AssembleOp join : joins) {
    FailureOr<SmallVector<Wanted>> from = getFrom(join);
    if (failed(from))
      return failure();
    const Place &place = program.getPlace(join.getBuffer());
    Wanted wanted = (*from)[number];
    if (std::optional<Mismatch> mismatch = state.find(place, wanted))
      return report(end, "value " + std::to_string(join.getValue()) + " needs",
                    place, wanted, *mismatch);
    expectedJoins.insert(join);
  }
  return success();
}

/// A loop leaves what it carries where its passes begin and end with it.
static LogicalResult checkLeft(ArrayRef<rt::AssembleOp> carried,
                               ArrayRef<rt::AssembleOp> left) {
  for (rt::AssembleOp join : left)
    if (llvm::none_of(carried, [&](rt::AssembleOp other) {
          return other.getBuffer() == join.getBuffer() &&
                 other.getFrom() == join.getFrom() &&
                 other->getAttr(rt::WeftRTDialect::kPartsAttr) ==
                     join->getAttr(rt::WeftRTDialect::kPartsAttr);
        }))
      return join.emitError() << "value " << join.getValue()
                              << " is nothing that the loop before it carries";
  return success();
}

LogicalResult FreshnessProof::checkFor(scf::ForOp loop) {
  SmallVector<rt::AssembleOp> carried = getJoins(&loop.getBody()->front());
  SmallVector<rt::AssembleOp> left = getJoins(loop->getNextNode());
  if (failed(checkLeft(carried, left)) || failed(checkWay(carried, 0, loop)))
    return failure();
  expectedJoins.insert_range(left);
  // Each walk may only add to what can be there at the beginning, and there are
  // finitely many patches that the body's ops can make.
  do {
    state.open();
    if (failed(checkBlock(*loop.getBody())) ||
        failed(checkWay(carried, 1, loop.getBody()->getTerminator())))
      return failure();
  } while (state.closeLoop(loop.getRegion()));
  return success();
}

LogicalResult FreshnessProof::checkIf(scf::IfOp branch) {
  SmallVector<rt::AssembleOp> joins = getJoins(branch->getNextNode());
  state.open();
  if (failed(checkBlock(*branch.thenBlock())) ||
      failed(checkWay(joins, 0, branch.thenBlock()->getTerminator())))
    return failure();
  state.switchBranch();
  bool hasElse = !branch.getElseRegion().empty();
  if (hasElse && failed(checkBlock(*branch.elseBlock())))
    return failure();
  Operation *end = hasElse ? branch.elseBlock()->getTerminator() : branch;
  if (failed(checkWay(joins, 1, end)))
    return failure();
  state.closeBranches();
  return success();
}

LogicalResult FreshnessProof::checkOp(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return checkFor(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return checkIf(branch);
  if (auto assemble = dyn_cast<rt::AssembleOp>(op))
    return checkAssemble(assemble);
  if (auto wait = dyn_cast<rt::WaitOp>(op)) {
    if (rt::StartOp start = getStart(wait))
      for (const Access &access : program.getAccesses(start))
        if (access.writes)
          state.arrive(access.place->root, start);
    return success();
  }
  return checkStep(op);
}

LogicalResult FreshnessProof::checkBlock(Block &block) {
  for (Operation &op : block)
    if (failed(checkOp(&op)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// The end of the step
//===----------------------------------------------------------------------===//

LogicalResult FreshnessProof::checkResult(unsigned number,
                                          rt::TensorAttr result) {
  std::optional<int64_t> alias = result.getAlias();
  int64_t id = *result.getValue();
  rt::Space space = alias ? rt::Space::Argument : rt::Space::Result;
  int64_t position = alias.value_or(number);
  Operation *end =
      func::FuncOp(program.getFunction()).getBody().front().getTerminator();
  auto buffer = entryBuffers.find({static_cast<unsigned>(space), position});
  if (buffer != entryBuffers.end()) {
    const Place &place = program.getPlace(buffer->second);
    auto type = cast<MemRefType>(buffer->second.getType());
    Wanted wanted = {id, layouts.get(buffer->second, result.getPart())};
    if (isUndefined(id))
      return end->emitError() << "the step gives " << program.describe(place)
                              << " for value " << id << ", which is undefined";
    if (failed(checkTaken(type, result.getPart(), id, end)))
      return failure();
    if (!wanted.layout)
      return end->emitError() << "the step gives " << program.describe(place)
                              << " for a part of other sizes";
    std::optional<Mismatch> mismatch = state.find(place, wanted);
    return mismatch ? report(end, "the step gives", place, wanted, *mismatch)
                    : success();
  }
  // An argument that nobody touches is still what the caller gave.
  if (alias && id == position && !result.getPart())
    return success();
  return end->emitError() << "the step never writes its result " << number;
}

LogicalResult FreshnessProof::checkResults() {
  for (const Root &root : program.getRoots()) {
    rt::BufferOp op = root.op;
    auto position = static_cast<int64_t>(op.getPosition());
    entryBuffers.insert(
        {{static_cast<unsigned>(op.getSpace()), position}, op.getResult()});
  }
  for (auto [i, result] :
       llvm::enumerate(rt::getResults(program.getFunction())))
    if (failed(checkResult(i, result)))
      return failure();
  return success();
}

struct VerifyFreshnessPass
    : public weft::impl::VerifyFreshnessPassBase<VerifyFreshnessPass> {
  using Base::Base;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(proveEach<FreshnessProof>(getOperation(), getAnalysisManager())))
      signalPassFailure();
  }
};

} // namespace
