// SPDX-License-Identifier: Apache-2.0

// Each fused group becomes the launch of a kernel function. Two groups share a
// kernel if their regions print alike, their buffers have the same types, and
// the same buffers are one or overlap.

#include "BufferPlan.h"
#include "KernelEmitter.h"
#include "Orders.h"

#include "weft/Conversion/WeftToHost/Passes.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::weft {
#define GEN_PASS_DEF_OUTLINEKERNELSPASS
#include "weft/Conversion/WeftToHost/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Scalar operations that are worth handing to another thread.
constexpr int64_t kMinWork = 32 << 10;

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

/// Bytes from the first to behind the last element.
int64_t getSpanBytes(MemRefType type) {
  return rt::getSpan(type) * getElementBytes(type.getElementType());
}

Extent getExtent(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  if (auto view = buffer.getDefiningOp<rt::ViewOp>()) {
    Extent source = getExtent(view.getSource());
    if (view.getDynamicOffset())
      return source;
    source.begin += view.getOffset() * getElementBytes(type.getElementType());
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

/// The buffers of a launch: each once.
struct BufferList {
  SmallVector<Value> buffers;
  SmallVector<unsigned> indexOf;
  SmallVector<bool> isPrivate;

  BufferList(ValueRange operands, ValueRange written);
};

BufferList::BufferList(ValueRange operands, ValueRange written) {
  SmallVector<Extent> extents;
  for (Value operand : operands) {
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
  explicit Outliner(ModuleOp module)
      : builder(OpBuilder::atBlockEnd(module.getBody())) {}

  LogicalResult outline(rt::FusedOp op);
  void outline(rt::ScatterAddOp op);
  unsigned getNumKernels() const { return kernels.size(); }

private:
  struct Kernel {
    std::string name;
    int64_t extent = 0, grain = 1;
  };

  std::string getKey(Operation *op, const BufferList &list);
  std::string nextName() { return "weft_k" + std::to_string(kernels.size()); }
  void launch(Operation *op, const Kernel &kernel, const BufferList &list);

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
  for (auto [index, operand] : llvm::zip(list.indexOf, op->getOperands()))
    os << ';' << index << ':' << operand.getType();
  for (bool isPrivate : list.isPrivate)
    os << isPrivate;
  return key;
}

void Outliner::launch(Operation *op, const Kernel &kernel,
                      const BufferList &list) {
  OpBuilder at(op);
  auto launched = rt::LaunchOp::create(
      at, op->getLoc(), kernel.name, list.buffers, kernel.extent, kernel.grain);
  if (Attribute name = op->getAttr(WeftDialect::kOpNameAttr))
    launched->setAttr(WeftDialect::kOpNameAttr, name);
  op->erase();
}

LogicalResult Outliner::outline(rt::FusedOp op) {
  BufferList list(op->getOperands(), op.getOuts());
  std::string key = getKey(op, list);
  auto it = kernels.find(key);
  if (it != kernels.end()) {
    launch(op, it->second, list);
    return success();
  }
  FailureOr<KernelShape> shape = analyzeFused(op);
  if (failed(shape))
    return failure();
  Kernel kernel{nextName(), shape->getExtent(), 1};
  int64_t perIteration = std::max<int64_t>(
      1, shape->getWork() / std::max<int64_t>(1, kernel.extent));
  kernel.grain = std::max<int64_t>(1, kMinWork / perIteration);
  KernelFunction function =
      createKernelFunction(builder, op.getLoc(), kernel.name, list.isPrivate);
  if (failed(emitKernel(op, *shape, function, list.indexOf)))
    return failure();
  launch(op, kernel, list);
  kernels[key] = kernel;
  return success();
}

void Outliner::outline(rt::ScatterAddOp op) {
  BufferList list(op->getOperands(), op.getTable());
  std::string key = getKey(op, list);
  auto it = kernels.find(key);
  if (it == kernels.end()) {
    Kernel kernel{nextName(), 0, 1};
    KernelFunction function =
        createKernelFunction(builder, op.getLoc(), kernel.name, list.isPrivate);
    kernel.extent = emitScatterAdd(op, function, list.indexOf);
    int64_t work = op.getUpdates().getType().getNumElements();
    kernel.grain = std::max<int64_t>(
        1, kMinWork / std::max<int64_t>(
                          1, work / std::max<int64_t>(1, kernel.extent)));
    it = kernels.try_emplace(key, kernel).first;
  }
  launch(op, it->second, list);
}

struct OutlineKernelsPass
    : public weft::impl::OutlineKernelsPassBase<OutlineKernelsPass> {
  using Base::Base;

  void runOnOperation() override {
    for (func::FuncOp func : getOperation().getOps<func::FuncOp>())
      if (failed(checkOrders(func)))
        return signalPassFailure();
    Outliner outliner(getOperation());
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<rt::FusedOp, rt::ScatterAddOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      if (auto fused = dyn_cast<rt::FusedOp>(op)) {
        if (failed(outliner.outline(fused)))
          return signalPassFailure();
      } else {
        outliner.outline(cast<rt::ScatterAddOp>(op));
      }
    }
    numKernels += outliner.getNumKernels();
  }
};

} // namespace

int64_t mlir::weft::emitScatterAdd(rt::ScatterAddOp op,
                                   const KernelFunction &kernel,
                                   ArrayRef<unsigned> bufferOf) {
  Location loc = op.getLoc();
  LLVM::LLVMFuncOp func = kernel.func;
  OpBuilder builder = OpBuilder::atBlockEnd(&func.getBody().front());
  auto updates = cast<MemRefType>(op.getUpdates().getType());
  auto table = cast<MemRefType>(op.getTable().getType());
  auto indices = cast<MemRefType>(op.getIndices().getType());
  // The cut dim: the largest that gives different rows different elements.
  int cut = -1;
  for (AffineExpr expr : op.getTableMap().getResults()) {
    int dim = cast<AffineDimExpr>(expr).getPosition();
    if (cut < 0 || updates.getDimSize(dim) >= updates.getDimSize(cut))
      cut = dim;
  }
  SmallVector<Value> index(updates.getRank());
  auto emitPlace = [&](MemRefType type, AffineMap map, int axis, Value row) {
    SmallVector<Value> subscripts;
    for (AffineExpr expr : map.getResults())
      subscripts.push_back(index[cast<AffineDimExpr>(expr).getPosition()]);
    if (row)
      subscripts.insert(subscripts.begin() + axis, row);
    Value place = emitInt(builder, loc, 0);
    for (auto [subscript, stride] :
         llvm::zip(subscripts, getBufferStrides(type)))
      place = arith::AddIOp::create(
          builder, loc, place,
          arith::MulIOp::create(builder, loc, subscript,
                                emitInt(builder, loc, stride)));
    return place;
  };
  auto getAddress = [&](unsigned operand, MemRefType type, Value place) {
    return emitAddress(builder, loc, kernel.buffers[bufferOf[operand]],
                       type.getElementType(), place);
  };
  for (int dim = 0; dim < updates.getRank(); ++dim) {
    Value lower = dim == cut ? kernel.begin : emitInt(builder, loc, 0);
    Value upper = dim == cut ? kernel.end
                             : emitInt(builder, loc, updates.getDimSize(dim));
    auto loop = scf::ForOp::create(builder, loc, lower, upper,
                                   emitInt(builder, loc, 1));
    index[dim] = loop.getInductionVar();
    builder.setInsertionPointToStart(loop.getBody());
  }
  Value row = emitLoad(
      builder, loc, indices.getElementType(),
      getAddress(1, indices, emitPlace(indices, op.getIndexMap(), 0, {})));
  Type i64 = builder.getI64Type();
  if (row.getType() != i64)
    row = arith::ExtSIOp::create(builder, loc, i64, row);
  if (op.getBase()) {
    Value base =
        emitLoad(builder, loc, builder.getIndexType(),
                 getAddress(3, cast<MemRefType>(op.getBase().getType()),
                            emitInt(builder, loc, 0)));
    row = arith::SubIOp::create(
        builder, loc, row, arith::IndexCastOp::create(builder, loc, i64, base));
  }
  Value inside = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::ult, row,
      emitInt(builder, loc, table.getDimSize(op.getAxis())));
  auto branch = scf::IfOp::create(builder, loc, inside, /*withElse=*/false);
  builder.setInsertionPointToStart(branch.thenBlock());
  Value address = getAddress(
      0, table, emitPlace(table, op.getTableMap(), op.getAxis(), row));
  Value old = emitLoad(builder, loc, table.getElementType(), address);
  Value update = emitLoad(
      builder, loc, updates.getElementType(),
      getAddress(2, updates,
                 emitPlace(updates,
                           builder.getMultiDimIdentityMap(updates.getRank()), 0,
                           {})));
  Value sum =
      isa<FloatType>(table.getElementType())
          ? arith::AddFOp::create(builder, loc, old, update).getResult()
          : arith::AddIOp::create(builder, loc, old, update).getResult();
  emitStore(builder, loc, sum, address);
  builder.setInsertionPointToEnd(&func.getBody().front());
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  return cut < 0 ? 1 : updates.getDimSize(cut);
}
