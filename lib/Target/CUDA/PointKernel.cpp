// SPDX-License-Identifier: Apache-2.0

// Kernels without sums: a flat range of points, which the grid's threads walk
// in strides. Where shapes allow, a thread takes a few neighbouring points at
// once. It loads all of them, then stores all; if every buffer starts at a
// multiple of 16 bytes, which is looked at when the kernel runs, LLVM joins
// these to accesses of up to 16 bytes. Else points are taken one by one.

#include "DeviceKernel.h"
#include "weft/Codegen/Program/EmitMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// What one access moves at most.
constexpr int64_t kAccessBytes = 16;
/// The most points that a thread takes at once.
constexpr int64_t kMaxWidth = 8;
/// A thread's code for all of its points stays below so many ops.
constexpr int64_t kMaxOps = 512;

class PointKernel : PointEmitter {
public:
  PointKernel(rt::FusedOp op, const KernelShape &shape,
              const DeviceKernel &kernel, ArrayRef<unsigned> bufferOf)
      : PointEmitter(op, shape, kernel, bufferOf,
                     OpBuilder::atBlockEnd(
                         &LLVM::LLVMFuncOp(kernel.func).getBody().front())),
        kernel(kernel), members(shape.phases.front().members) {
    llvm::append_range(dims, shape.rows);
    llvm::append_range(dims, shape.phases.front().loops);
    for (int dim : dims)
      numPoints *= shape.sizes[dim];
  }

  rt::LaunchConfig run();

private:
  int64_t getWidth();
  Value emitIsAligned();
  void assumeAligned();
  void emitLoop(int64_t width);
  void emitPoints(Value first, int64_t width);
  int64_t numThreads() { return numBlocks * kBlockThreads; }

  const DeviceKernel &kernel;
  ArrayRef<unsigned> members;
  SmallVector<int> dims;
  int64_t numPoints = 1, numBlocks = 1;
};

/// How many points along the last dim one thread takes: as many as fit into an
/// access to what has the largest elements of all that lies there in a row.
int64_t PointKernel::getWidth() {
  if (dims.empty())
    return 1;
  int last = dims.back();
  int64_t bytes = 0, numOps = 0;
  for (unsigned i : members) {
    const Member &member = shape.members[i];
    for (auto [access, operand] : llvm::zip(
             member.accesses, linalg::GenericOp(member.op)->getOperands()))
      if (access.strides[last] == 1)
        bytes =
            std::max(bytes, rt::getElementBytes(getElementTypeOrSelf(operand)));
    linalg::GenericOp(member.op).getBody()->walk(
        [&](Operation *) { ++numOps; });
  }
  int64_t width = bytes == 0 ? 1 : std::min(kAccessBytes / bytes, kMaxWidth);
  while (width > 1 &&
         (shape.sizes[last] % width != 0 || width * numOps > kMaxOps))
    width /= 2;
  return width;
}

Value PointKernel::emitIsAligned() {
  Type i64 = builder.getI64Type();
  Value all = emitInt(builder, loc, 0);
  for (Value buffer : kernel.buffers)
    all = arith::OrIOp::create(
        builder, loc, all, LLVM::PtrToIntOp::create(builder, loc, i64, buffer));
  Value rest = arith::AndIOp::create(builder, loc, all,
                                     emitInt(builder, loc, kAccessBytes - 1));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, rest,
                               emitInt(builder, loc, 0));
}

void PointKernel::assumeAligned() {
  Value yes = LLVM::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
  Value bytes = emitInt(builder, loc, kAccessBytes);
  for (Value buffer : kernel.buffers)
    LLVM::AssumeOp::create(builder, loc, yes, LLVM::AssumeAlignTag(), buffer,
                           bytes);
}

/// Computes neighbouring points along the last dim, then stores what they gave:
/// buffer by buffer, so that stores lie side by side.
void PointKernel::emitPoints(Value first, int64_t width) {
  std::vector<SmallVector<Store>> stores(width);
  for (int64_t i = 0; i < width; ++i) {
    if (!dims.empty() && i > 0)
      index[dims.back()] =
          arith::AddIOp::create(builder, loc, first, emitInt(builder, loc, i));
    emitMembers(members, {}, stores[i]);
  }
  for (unsigned place = 0; place < stores.front().size(); ++place)
    for (SmallVector<Store> &ofPoint : stores)
      emitStores(ofPoint[place]);
}

/// The loop of a thread, whose steps are `width` points each.
void PointKernel::emitLoop(int64_t width) {
  auto loop = scf::ForOp::create(builder, loc, emitGridThread(builder, loc),
                                 emitInt(builder, loc, numPoints / width),
                                 emitInt(builder, loc, numThreads()));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value rest = loop.getInductionVar(), first;
  for (int dim : llvm::reverse(dims)) {
    bool isLast = dim == dims.back();
    Value size = emitInt(builder, loc, shape.sizes[dim] / (isLast ? width : 1));
    index[dim] = dim == dims.front()
                     ? rest
                     : arith::RemUIOp::create(builder, loc, rest, size);
    if (dim != dims.front())
      rest = arith::DivUIOp::create(builder, loc, rest, size);
    if (isLast && width > 1)
      index[dim] = arith::MulIOp::create(builder, loc, index[dim],
                                         emitInt(builder, loc, width));
    if (isLast)
      first = index[dim];
  }
  emitPoints(first, width);
}

rt::LaunchConfig PointKernel::run() {
  int64_t width = getWidth();
  numBlocks = getNumBlocks(numPoints / width);
  if (numPoints > 0) {
    mapEntryOps();
    if (width == 1) {
      emitLoop(1);
    } else {
      auto branch = scf::IfOp::create(builder, loc, emitIsAligned(),
                                      /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPoint(branch.thenYield());
      assumeAligned();
      emitLoop(width);
      builder.setInsertionPoint(branch.elseYield());
      emitLoop(1);
    }
  }
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  return setLaunch(kernel, numBlocks, kBlockThreads);
}

} // namespace

rt::LaunchConfig mlir::weft::emitPointKernel(rt::FusedOp op,
                                             const KernelShape &shape,
                                             const DeviceKernel &kernel,
                                             ArrayRef<unsigned> bufferOf) {
  return PointKernel(op, shape, kernel, bufferOf).run();
}
