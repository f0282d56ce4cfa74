// SPDX-License-Identifier: Apache-2.0

// One walk finds roots and views; what an op reads and writes follows from its
// kind. An op that is none of the kinds is an error: a proof that skipped what
// it does not know would prove nothing.

#include "PlannedProgram.h"
#include "CheckOps.h"
#include "ScalarRanges.h"

#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

namespace {

/// Bytes of an element in memory: parts of a byte take a whole one, an index 8.
int64_t getElementBytes(MemRefType type) {
  Type element = type.getElementType();
  return element.isIndex()
             ? 8
             : llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

ByteSet getRegion(MemRefType type, int64_t beginBytes) {
  return ByteSet::get(beginBytes, type.getShape(), getStrides(type),
                      getElementBytes(type));
}

bool isBufferValue(Value value) { return isa<MemRefType>(value.getType()); }

bool isConstant(Value buffer) {
  return buffer.getDefiningOp<memref::GetGlobalOp>() != nullptr;
}

/// Says whether the op's accesses are known.
bool isKnown(Operation *op) {
  if (isStep(op) ||
      isa<rt::BufferOp, rt::ViewOp, rt::AssembleOp, memref::GetGlobalOp,
          rt::RecordOp, rt::AwaitOp, scf::ForOp, scf::IfOp, scf::YieldOp,
          func::FuncOp, func::ReturnOp>(op))
    return true;
  return isMemoryEffectFree(op) && op->getNumRegions() == 0 &&
         llvm::none_of(op->getOperands(), isBufferValue) &&
         llvm::none_of(op->getResults(), isBufferValue);
}

} // namespace

namespace {

/// How many of the buffer operands, from the first on, are read; the others
/// are written.
unsigned getNumRead(Operation *op) {
  return TypeSwitch<Operation *, unsigned>(op)
      .Case([](rt::FusedOp o) { return o.getInputs().size(); })
      .Case([](rt::StartOp o) { return o.getIns().size(); })
      .Case([](rt::GemmOp) { return 2; })
      .Case([](rt::AttentionOp o) { return o.getIns().size(); })
      .Case([](rt::CopyOp) { return 1; })
      .Case([](rt::ReadScalarOp) { return 1; })
      .Default([](Operation *) { return 0; });
}

} // namespace

bool mlir::weft::proof::isStep(Operation *op) {
  return isa<rt::FusedOp, rt::GemmOp, rt::AttentionOp, rt::ScatterAddOp,
             rt::StartOp, rt::WaitOp, rt::ReadScalarOp, rt::CopyOp>(op);
}

SmallVector<int64_t> mlir::weft::proof::getStrides(MemRefType type) {
  if (auto layout = dyn_cast<StridedLayoutAttr>(type.getLayout()))
    return SmallVector<int64_t>(layout.getStrides());
  SmallVector<int64_t> strides(type.getRank(), 1);
  for (int64_t i = type.getRank() - 1; i > 0; --i)
    strides[i - 1] = strides[i] * type.getDimSize(i);
  return strides;
}

std::string mlir::weft::proof::getOpName(Operation *op) {
  if (auto name = op->getAttrOfType<StringAttr>("weft.op"))
    return ("'" + name.getValue() + "'").str();
  if (auto start = dyn_cast<rt::StartOp>(op))
    return ("the " + stringifyCollectiveKind(start.getKind())).str();
  return ("'" + op->getName().getStringRef() + "' op").str();
}

rt::StartOp mlir::weft::proof::getStart(rt::WaitOp wait) {
  return wait.getTicket().getDefiningOp<rt::StartOp>();
}

/// Says whether all buffers of `op` are known; a constant may only be read.
LogicalResult PlannedProgram::checkBuffers(Operation *op) {
  unsigned number = 0;
  for (Value operand : op->getOperands()) {
    if (!isBufferValue(operand))
      continue;
    bool mayBeConstant = isStep(op) && number++ < getNumRead(op);
    if (!placeOf.count(operand) && !(mayBeConstant && isConstant(operand)))
      return op->emitOpError("has a buffer, operand of type ")
             << operand.getType() << ", that no 'weft_rt.buffer' op places";
  }
  return success();
}

/// Says whether the ids of an assemble are such as the dialect lets others
/// have: the proofs' tables reserve some numbers.
static LogicalResult checkNumbers(rt::AssembleOp op) {
  SmallVector<int64_t> ids(op.getFrom());
  ids.push_back(op.getValue());
  for (int64_t id : ids)
    if (id < 0 || id >= int64_t{1} << 62)
      return op.emitOpError("puts value number ")
             << id << " together, expected one from 0 on below 2^62";
  return success();
}

PlannedProgram::PlannedProgram(Operation *op)
    : function(cast<func::FuncOp>(op)) {
  if (!function.getBody().hasOneBlock()) {
    function.emitOpError("has ") << function.getBody().getBlocks().size()
                                 << " blocks, the proofs know programs of 1";
    valid = false;
    return;
  }
  if (auto bytes = function->getAttrOfType<IntegerAttr>("weft_rt.arena_bytes"))
    arenaBytes = bytes.getInt();
  if (auto bytes = function->getAttrOfType<IntegerAttr>("weft_rt.host_bytes"))
    hostBytes = bytes.getInt();
  ScalarRanges scalars;
  function.walk<WalkOrder::PreOrder>([&](Operation *inner) {
    if (!isKnown(inner)) {
      inner->emitOpError("has effects that the proofs do not know");
      valid = false;
    }
    scalars.add(inner);
    auto view = dyn_cast<rt::ViewOp>(inner);
    auto assemble = dyn_cast<rt::AssembleOp>(inner);
    if (!valid || (view && failed(scalars.check(view))) ||
        failed(checkBuffers(inner)) || failed(checkTouched(inner)) ||
        (assemble && failed(checkNumbers(assemble)))) {
      valid = false;
      return WalkResult::interrupt();
    }
    readOp(inner);
    return isa<rt::FusedOp>(inner) ? WalkResult::skip() : WalkResult::advance();
  });
  layOutRoots();
}

void PlannedProgram::readOp(Operation *op) {
  if (auto buffer = dyn_cast<rt::BufferOp>(op))
    addRoot(buffer);
  else if (auto view = dyn_cast<rt::ViewOp>(op))
    addView(view);
}

/// A result that takes an argument's place is that argument's root.
bool PlannedProgram::isOnHost(rt::BufferOp op) const {
  if (op.getSpace() != rt::Space::Argument)
    return op.getSpace() == rt::Space::Host;
  SmallVector<rt::TensorAttr> args = rt::getArgs(function);
  uint64_t number = op.getPosition();
  return number < args.size() && args[number].getHost();
}

void PlannedProgram::addRoot(rt::BufferOp op) {
  Place place;
  place.root = roots.size();
  place.region = getRegion(op.getType(), 0);
  Root root;
  root.op = op;
  root.bytes = place.region.end();
  root.isOnHost = isOnHost(op);
  roots.push_back(root);
  places.push_back(std::move(place));
  placeOf[op.getResult()] = &places.back();
}

void PlannedProgram::addView(rt::ViewOp op) {
  const Place &source = getPlace(op.getSource());
  Place place;
  place.root = source.root;
  place.isDynamic = source.isDynamic || op.getDynamicOffset();
  int64_t offset = op.getOffset() * getElementBytes(op.getType());
  place.region = getRegion(op.getType(), source.region.begin + offset);
  if (place.isDynamic) {
    place.shifted = place.region;
    place.shift = source.isDynamic ? Value() : op.getDynamicOffset();
    place.region = getPlace(roots[source.root].op.getResult()).region;
  }
  places.push_back(std::move(place));
  placeOf[op.getResult()] = &places.back();
}

/// Roots of an arena lie where they lie; each other one is on its own.
void PlannedProgram::layOutRoots() {
  auto findEnd = [&](bool onHost, int64_t bytes) {
    for (Root &root : roots)
      if (root.isArena() && root.isOnHost == onHost)
        bytes = std::max<int64_t>(bytes, root.op.getPosition() + root.bytes);
    return bytes;
  };
  hostBegin = findEnd(/*onHost=*/false, arenaBytes);
  int64_t next = hostBegin + findEnd(/*onHost=*/true, hostBytes);
  DenseMap<std::pair<unsigned, int64_t>, int64_t> begins;
  for (Root &root : roots) {
    if (root.isArena()) {
      root.begin = root.op.getPosition() + (root.isOnHost ? hostBegin : 0);
      continue;
    }
    auto key = std::make_pair(static_cast<unsigned>(root.op.getSpace()),
                              static_cast<int64_t>(root.op.getPosition()));
    auto [it, isNew] = begins.insert({key, next});
    root.begin = it->second;
    next = std::max(next, root.begin + root.bytes);
  }
}

const Place &PlannedProgram::getPlace(Value buffer) const {
  return *placeOf.find(buffer)->second;
}

AccessList PlannedProgram::getAccesses(Operation *op) const {
  AccessList accesses;
  if (!isStep(op))
    return accesses;
  unsigned number = 0, numRead = getNumRead(op);
  for (Value operand : op->getOperands()) {
    if (!isBufferValue(operand))
      continue;
    Access access;
    access.buffer = operand;
    access.number = number++;
    access.reads = access.number < numRead;
    access.writes = !access.reads;
    if (isa<rt::ScatterAddOp>(op)) {
      access.writes = access.number == 0;
      access.reads = true;
    }
    if (isConstant(operand))
      continue;
    access.place = &getPlace(operand);
    accesses.push_back(access);
  }
  return accesses;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

std::string PlannedProgram::getName(const Root &root) const {
  if (auto name = root.op->getAttrOfType<StringAttr>("name"))
    return ("'" + name.getValue() + "'").str();
  std::string number = std::to_string(rt::BufferOp(root.op).getPosition());
  SmallVector<rt::TensorAttr> tensors =
      root.isArgument() ? rt::getArgs(function) : rt::getResults(function);
  uint64_t index = rt::BufferOp(root.op).getPosition();
  if (!root.isArena() && index < tensors.size() && tensors[index].getName())
    return ("'" + tensors[index].getName().getValue() + "'").str();
  return (rt::stringifySpace(rt::BufferOp(root.op).getSpace()) + " " + number)
      .str();
}

std::string PlannedProgram::describe(const Place &place) const {
  const Root &root = getRoot(place);
  std::string name = getName(root);
  if (place.isDynamic)
    return "some bytes of " + name;
  if (place.region.bytes() == root.bytes)
    return name;
  return "bytes " + std::to_string(place.region.begin) + " to " +
         std::to_string(place.region.end()) + " of " + name;
}
