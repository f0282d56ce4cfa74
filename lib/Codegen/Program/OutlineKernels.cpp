// SPDX-License-Identifier: Apache-2.0

// Each fused group becomes the launch of a kernel function. Two groups share a
// kernel if their regions are alike, their buffers have the same types, and
// the same buffers are one or overlap; two kernels share their code if it is
// the same, or differs in sizes. Kernels in a row that may run at one
// time (weft_rt.together) become one launch, if the target has such launches.

#include "SharedBodies.h"

#include "weft/Analysis/BufferExtent.h"
#include "weft/Codegen/Fusion/Orders.h"

#include "weft/Codegen/Program/Passes.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"
#include "weft/Target/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::weft {
#define GEN_PASS_DEF_OUTLINEKERNELSPASS
#include "weft/Codegen/Program/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

/// What a launch is given, of which the kernel knows all but the values.
struct BufferList : KernelBuffers {
  SmallVector<Value> buffers, scalars;

  BufferList(ValueRange operands, ValueRange written);
};

/// Whether a buffer starts at a multiple of 16 bytes: arguments, results and
/// the arena start at one of 64 (weft-rt/abi.h).
std::optional<bool> isAligned(Value buffer) {
  constexpr int64_t kAccessBytes = 16;
  for (auto view = buffer.getDefiningOp<rt::ViewOp>(); view;
       view = view.getSource().getDefiningOp<rt::ViewOp>())
    if (view.getDynamicOffset())
      return std::nullopt;
  BufferExtent extent = getExtent(buffer);
  if (extent.isUnknown)
    return std::nullopt;
  return extent.begin % kAccessBytes == 0;
}

BufferList::BufferList(ValueRange operands, ValueRange written) {
  SmallVector<BufferExtent> extents;
  for (Value operand : operands) {
    if (!isa<MemRefType>(operand.getType())) {
      scalars.push_back(operand);
      continue;
    }
    auto it = llvm::find(buffers, operand);
    indexOf.push_back(it - buffers.begin());
    if (it == buffers.end()) {
      buffers.push_back(operand);
      extents.push_back(getExtent(operand));
    }
  }
  auto isWritten = [&](unsigned i) {
    return llvm::is_contained(written, buffers[i]);
  };
  for (unsigned i = 0; i < buffers.size(); ++i) {
    bool alone = true;
    for (unsigned j = 0; j < buffers.size(); ++j)
      alone &= i == j || !(isWritten(i) || isWritten(j)) ||
               !extents[i].overlaps(extents[j]);
    isPrivate.push_back(alone);
  }
  areAligned = true;
  for (Value buffer : buffers) {
    std::optional<bool> own = isAligned(buffer);
    if (own == false || (!own && areAligned != false))
      areAligned = own;
  }
}

/// What an op is, as bytes that are equal for ops that are alike: addresses of
/// what a context has once, and values by when they come. Bytes are compared
/// only, so that addresses change nothing that is made.
class StructureKey {
public:
  explicit StructureKey(std::string &key) : key(key) {}

  void add(const void *unique) {
    addNumber(reinterpret_cast<uintptr_t>(unique));
  }
  void addNumber(uint64_t number) {
    key.append(reinterpret_cast<const char *>(&number), sizeof(number));
  }
  void addRegions(Operation *op);

private:
  void addValue(Value value) {
    addNumber(numbers.try_emplace(value, numbers.size()).first->second);
    add(value.getType().getAsOpaquePointer());
  }
  void addOp(Operation &op);

  std::string &key;
  llvm::DenseMap<Value, uint64_t> numbers;
};

void StructureKey::addOp(Operation &op) {
  add(op.getName().getAsOpaquePointer());
  add(op.getAttrDictionary().getAsOpaquePointer());
  addNumber(op.getNumOperands());
  for (Value operand : op.getOperands())
    addValue(operand);
  addNumber(op.getNumResults());
  for (Value result : op.getResults())
    addValue(result);
  addRegions(&op);
}

void StructureKey::addRegions(Operation *op) {
  addNumber(op->getNumRegions());
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      addNumber(block.getNumArguments());
      for (Value argument : block.getArguments())
        addValue(argument);
      addNumber(block.getOperations().size());
      for (Operation &inner : block)
        addOp(inner);
    }
}

/// Says whether no op of a group loops: what it costs is its launch.
bool isScalar(rt::FusedOp op) {
  return llvm::all_of(
      op.getBody().getOps<linalg::LinalgOp>(),
      [](linalg::LinalgOp inner) { return inner.getNumLoops() == 0; });
}

/// Gives a group without loops its long integers with the launch: those that
/// differ in these alone, as in the seeds of random bits, share a kernel.
void passIntegers(rt::FusedOp op) {
  constexpr unsigned kLong = 16, kMost = 32;
  SmallVector<arith::ConstantOp> constants;
  for (auto constant : op.getBody().getOps<arith::ConstantOp>()) {
    auto integer = dyn_cast<IntegerAttr>(constant.getValue());
    if (integer && integer.getType().isInteger(32) &&
        integer.getValue().getActiveBits() > kLong)
      constants.push_back(constant);
  }
  if (!isScalar(op) || constants.size() > kMost)
    return;
  OpBuilder builder(op);
  for (arith::ConstantOp constant : constants) {
    Operation *given = builder.clone(*constant);
    op.getScalarsMutable().append(given->getResult(0));
    constant.replaceAllUsesWith(
        op.getBody().addArgument(constant.getType(), constant.getLoc()));
    constant.erase();
  }
}

class Outliner {
public:
  Outliner(ModuleOp module, const Target &target)
      : module(module), target(target), bodies(module),
        builder(OpBuilder::atBlockEnd(module.getBody())) {}

  LogicalResult outline(Operation *op);
  LogicalResult outlineTogether(ArrayRef<rt::FusedOp> ops);
  /// After all ops.
  void finish() { bodies.passIntegers(); }
  unsigned getNumKernels() const { return kernels.size(); }

private:
  struct Kernel {
    std::string name;
    rt::LaunchConfig config;
  };

  std::string getKey(Operation *op, const BufferList &list);
  std::string nextName() { return "weft_k" + std::to_string(kernels.size()); }
  void sayWhatItTakes(StringRef kernel, const BufferList &list);
  void launch(Operation *op, const Kernel &kernel, const BufferList &list);
  std::vector<LaunchPart> getParts(ArrayRef<rt::FusedOp> ops,
                                   const BufferList &all, StringRef launch,
                                   std::string &key);

  ModuleOp module;
  const Target &target;
  SharedBodies bodies;
  OpBuilder builder;
  llvm::StringMap<Kernel> kernels;
  /// Of parts of launches, by what they are.
  llvm::StringMap<PartCode> codes;
};

std::string Outliner::getKey(Operation *op, const BufferList &list) {
  std::string key;
  StructureKey structure(key);
  // Not by the values that it reads, its name, and its stream.
  NamedAttrList attributes(op->getAttrs());
  for (StringRef name :
       {rt::WeftRTDialect::kValuesAttr, rt::WeftRTDialect::kReadsAttr,
        rt::WeftRTDialect::kPartsAttr, WeftDialect::kOpNameAttr, kTogetherAttr,
        rt::WeftRTDialect::kStreamAttr})
    attributes.erase(name);
  structure.add(op->getName().getAsOpaquePointer());
  structure.add(
      attributes.getDictionary(op->getContext()).getAsOpaquePointer());
  structure.addRegions(op);
  structure.addNumber(op->getNumOperands());
  for (Type type : op->getOperandTypes())
    structure.add(type.getAsOpaquePointer());
  structure.addNumber(list.indexOf.size());
  for (unsigned index : list.indexOf)
    structure.addNumber(index);
  for (bool isPrivate : list.isPrivate)
    structure.addNumber(isPrivate);
  structure.addNumber(list.areAligned ? 1 + *list.areAligned : 0);
  return key;
}

/// Launches that pass anything else are refused.
void Outliner::sayWhatItTakes(StringRef kernel, const BufferList &list) {
  SmallVector<Type> types(TypeRange(ValueRange(list.buffers)));
  llvm::append_range(types, TypeRange(ValueRange(list.scalars)));
  module.lookupSymbol(kernel)->setAttr(rt::WeftRTDialect::kTakesAttr,
                                       builder.getTypeArrayAttr(types));
}

void Outliner::launch(Operation *op, const Kernel &kernel,
                      const BufferList &list) {
  OpBuilder at(op);
  auto launched = rt::LaunchOp::create(
      at, op->getLoc(), kernel.name, list.buffers, list.scalars, kernel.config);
  if (Attribute name = op->getAttr(WeftDialect::kOpNameAttr))
    launched->setAttr(WeftDialect::kOpNameAttr, name);
  if (Attribute stream = rt::getStream(op))
    launched->setAttr(rt::WeftRTDialect::kStreamAttr, stream);
}

/// What an op writes.
ValueRange getWritten(Operation *op) {
  if (auto fused = dyn_cast<rt::FusedOp>(op))
    return fused.getOuts();
  return cast<rt::ScatterAddOp>(op)->getOperands().take_front();
}

LogicalResult Outliner::outline(Operation *op) {
  BufferList list(op->getOperands(), getWritten(op));
  std::string key = getKey(op, list);
  auto it = kernels.find(key);
  if (it == kernels.end()) {
    // The code is there: it is the only part of a launch.
    if (auto code = codes.find(key); code != codes.end())
      return outlineTogether(cast<rt::FusedOp>(op));
    std::string name = nextName();
    FailureOr<rt::LaunchConfig> config =
        target.emitKernel(builder, op, name, list);
    if (failed(config))
      return failure();
    sayWhatItTakes(name, list);
    bodies.share(name);
    it = kernels.try_emplace(key, Kernel{name, *config}).first;
  }
  launch(op, it->second, list);
  op->erase();
  return success();
}

//===----------------------------------------------------------------------===//
// Launches of several kernels
//===----------------------------------------------------------------------===//

/// Takes the launch apart, whose name is `launch` if it is made. `key` gets
/// what the parts' code and buffers are.
std::vector<LaunchPart> Outliner::getParts(ArrayRef<rt::FusedOp> ops,
                                           const BufferList &all,
                                           StringRef launch, std::string &key) {
  std::vector<LaunchPart> parts;
  unsigned nextScalar = 0;
  for (rt::FusedOp op : ops) {
    std::string name = (launch + "_part" + Twine(parts.size())).str();
    LaunchPart &part = parts.emplace_back();
    BufferList own(op->getOperands(), op.getOuts());
    std::string code = getKey(op, own);
    part.op = op;
    part.code = &codes.try_emplace(code, PartCode{name}).first->second;
    part.buffers = own;
    key += code;
    for (Value buffer : own.buffers) {
      part.bufferNumbers.push_back(llvm::find(all.buffers, buffer) -
                                   all.buffers.begin());
      key += ';' + std::to_string(part.bufferNumbers.back());
    }
    for (unsigned i = 0; i < own.scalars.size(); ++i)
      part.scalarNumbers.push_back(nextScalar++);
    key += '\n';
  }
  return parts;
}

LogicalResult Outliner::outlineTogether(ArrayRef<rt::FusedOp> ops) {
  for (unsigned i = 0; i < ops.size(); ++i)
    for (unsigned j = 0; j < i; ++j)
      if (haveConflict(ops[i], ops[j])) {
        rt::FusedOp op = ops[i];
        return op.emitOpError("cannot be one launch with a kernel that touches "
                              "the same bytes");
      }
  SmallVector<Value> operands, written;
  for (rt::FusedOp op : ops) {
    llvm::append_range(operands, op->getOperands());
    llvm::append_range(written, op.getOuts());
  }
  BufferList all(operands, written);
  unsigned most = target.getLaunchOperands(module);
  if (size_t count = all.buffers.size() + all.scalars.size(); count > most) {
    rt::FusedOp op = ops.back();
    return op.emitOpError("shares a launch of ")
           << ops.size() << " kernels with " << count
           << " buffers and scalars, of which it has room for " << most;
  }
  std::string key, name = nextName();
  std::vector<LaunchPart> parts = getParts(ops, all, name, key);
  auto it = kernels.find(key);
  if (it == kernels.end()) {
    FailureOr<rt::LaunchConfig> config =
        target.emitTogether(builder, parts, name, all.buffers.size(),
                            TypeRange(ValueRange(all.scalars)));
    if (failed(config))
      return failure();
    sayWhatItTakes(name, all);
    bodies.share(name);
    it = kernels.try_emplace(key, Kernel{name, *config}).first;
  }
  // All that they take is there where the last one is.
  launch(ops.back(), it->second, all);
  for (rt::FusedOp op : ops)
    op->erase();
  return success();
}

/// Says whether nothing that does anything lies between two ops of a block.
bool areNeighbours(Operation *first, Operation *second) {
  if (first->getBlock() != second->getBlock())
    return false;
  for (Operation *op = first->getNextNode(); op != second;
       op = op->getNextNode())
    if (!isNothingBetween(op))
      return false;
  return true;
}

/// The kernels at the front of `ops` that are one launch.
SmallVector<rt::FusedOp> takeTogether(ArrayRef<Operation *> ops) {
  SmallVector<rt::FusedOp> kernels;
  Attribute number;
  for (Operation *op : ops) {
    auto fused = dyn_cast<rt::FusedOp>(op);
    Attribute own = op->getAttr(kTogetherAttr);
    if (!fused || !own || (number && own != number) ||
        (!kernels.empty() &&
         (!areNeighbours(kernels.back(), op) ||
          rt::getStream(kernels.back()) != rt::getStream(op))))
      break;
    number = own;
    kernels.push_back(fused);
  }
  return kernels;
}

struct OutlineKernelsPass
    : public weft::impl::OutlineKernelsPassBase<OutlineKernelsPass> {
  using Base::Base;

  void runOnOperation() override;

private:
  LogicalResult outlineAll(Outliner &outliner, bool mayShare);
};

/// Launches of several kernels first: what is a kernel by itself may have the
/// code of one of these.
LogicalResult OutlineKernelsPass::outlineAll(Outliner &outliner,
                                             bool mayShare) {
  SmallVector<Operation *> found;
  getOperation().walk([&](Operation *op) {
    if (isa<rt::FusedOp, rt::ScatterAddOp>(op))
      found.push_back(op);
  });
  SmallVector<Operation *> alone;
  for (ArrayRef<Operation *> ops = found; !ops.empty();) {
    SmallVector<rt::FusedOp> together;
    if (mayShare)
      together = takeTogether(ops);
    size_t count = std::max<size_t>(1, together.size());
    if (count == 1)
      alone.push_back(ops.front());
    else if (failed(outliner.outlineTogether(together)))
      return failure();
    ops = ops.drop_front(count);
  }
  for (Operation *op : alone) {
    // A launch that is shared was counted with the scalars that it had.
    if (auto fused = dyn_cast<rt::FusedOp>(op);
        fused && !fused->hasAttr(kTogetherAttr))
      passIntegers(fused);
    if (failed(outliner.outline(op)))
      return failure();
  }
  return success();
}

void OutlineKernelsPass::runOnOperation() {
  for (func::FuncOp func : getOperation().getOps<func::FuncOp>())
    if (failed(checkOrders(func)))
      return signalPassFailure();
  const Target *target = lookupTarget(getOperation());
  if (!target)
    return signalPassFailure();
  Outliner outliner(getOperation(), *target);
  bool mayShare = target->getLaunchOperands(getOperation()) > 0;
  if (failed(outlineAll(outliner, mayShare)))
    return signalPassFailure();
  outliner.finish();
  numKernels += outliner.getNumKernels();
}

} // namespace
