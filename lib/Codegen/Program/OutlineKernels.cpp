// SPDX-License-Identifier: Apache-2.0

// Each fused group becomes the launch of a kernel function. Two groups share a
// kernel if their regions print alike, their buffers have the same types, and
// the same buffers are one or overlap.

#include "weft/Codegen/Fusion/Orders.h"

#include "weft/Codegen/Program/Passes.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"
#include "weft/Target/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
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

/// The memory that a buffer may touch: bytes [begin, end) of a space, or any.
struct Extent {
  rt::Space space;
  int64_t index = 0, begin = 0, end = 0;
  bool isUnknown = false;

  bool overlaps(const Extent &other) const {
    if (isUnknown || other.isUnknown)
      return true;
    return space == other.space && index == other.index && begin < other.end &&
           other.begin < end;
  }
};

/// Bytes from the first to past the last element.
int64_t getSpanBytes(MemRefType type) {
  return rt::getSpan(type) * rt::getElementBytes(type.getElementType());
}

Extent getExtent(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  if (auto view = buffer.getDefiningOp<rt::ViewOp>()) {
    Extent source = getExtent(view.getSource());
    if (view.getDynamicOffset())
      return source;
    source.begin +=
        view.getOffset() * rt::getElementBytes(type.getElementType());
    source.end = source.begin + getSpanBytes(type);
    return source;
  }
  auto op = buffer.getDefiningOp<rt::BufferOp>();
  if (!op) {
    Extent extent{rt::Space::Arena};
    extent.isUnknown = true;
    return extent;
  }
  Extent extent{op.getSpace()};
  if (op.getSpace() == rt::Space::Arena)
    extent.begin = op.getPosition();
  else
    extent.index = op.getPosition();
  extent.end = extent.begin + getSpanBytes(type);
  return extent;
}

/// What a launch is given, of which the kernel knows all but the values.
struct BufferList : KernelBuffers {
  SmallVector<Value> buffers, scalars;

  BufferList(ValueRange operands, ValueRange written);
};

BufferList::BufferList(ValueRange operands, ValueRange written) {
  SmallVector<Extent> extents;
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
}

class Outliner {
public:
  Outliner(ModuleOp module, const Target &target)
      : module(module), target(target),
        builder(OpBuilder::atBlockEnd(module.getBody())) {}

  LogicalResult outline(Operation *op, ValueRange written);
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

  ModuleOp module;
  const Target &target;
  OpBuilder builder;
  llvm::StringMap<Kernel> kernels;
};

std::string Outliner::getKey(Operation *op, const BufferList &list) {
  std::string key;
  llvm::raw_string_ostream os(key);
  OpPrintingFlags flags;
  flags.useLocalScope().printGenericOpForm();
  // Not by the values that it reads, and its name.
  NamedAttrList attributes(op->getAttrs());
  for (StringRef name :
       {rt::WeftRTDialect::kValuesAttr, rt::WeftRTDialect::kReadsAttr,
        WeftDialect::kOpNameAttr})
    attributes.erase(name);
  os << op->getName() << attributes.getDictionary(op->getContext());
  for (Region &region : op->getRegions())
    for (Operation &inner : region.front())
      inner.print(os, flags);
  for (Type type : op->getOperandTypes())
    os << ';' << type;
  for (unsigned index : list.indexOf)
    os << ';' << index;
  for (bool isPrivate : list.isPrivate)
    os << isPrivate;
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
  op->erase();
}

LogicalResult Outliner::outline(Operation *op, ValueRange written) {
  BufferList list(op->getOperands(), written);
  std::string key = getKey(op, list);
  auto it = kernels.find(key);
  if (it == kernels.end()) {
    std::string name = nextName();
    FailureOr<rt::LaunchConfig> config =
        target.emitKernel(builder, op, name, list);
    if (failed(config))
      return failure();
    sayWhatItTakes(name, list);
    it = kernels.try_emplace(key, Kernel{name, *config}).first;
  }
  launch(op, it->second, list);
  return success();
}

struct OutlineKernelsPass
    : public weft::impl::OutlineKernelsPassBase<OutlineKernelsPass> {
  using Base::Base;

  void runOnOperation() override {
    for (func::FuncOp func : getOperation().getOps<func::FuncOp>())
      if (failed(checkOrders(func)))
        return signalPassFailure();
    const Target *target = lookupTarget(getOperation());
    if (!target)
      return signalPassFailure();
    Outliner outliner(getOperation(), *target);
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<rt::FusedOp, rt::ScatterAddOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      auto fused = dyn_cast<rt::FusedOp>(op);
      ValueRange written = fused ? ValueRange(fused.getOuts())
                                 : cast<rt::ScatterAddOp>(op).getTable();
      if (failed(outliner.outline(op, written)))
        return signalPassFailure();
    }
    numKernels += outliner.getNumKernels();
  }
};

} // namespace
