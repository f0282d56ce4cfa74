// SPDX-License-Identifier: Apache-2.0

// Kernels without sums: a flat range of points, which the grid's threads walk
// in strides: a few neighbouring ones at once where shapes allow, else one.

#include "WideAccess.h"
#include "weft/Codegen/Program/EmitMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

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
  void emitLoop(int64_t width);
  void emitPoints(Value first, int64_t width);
  int64_t numThreads() { return numBlocks * kBlockThreads; }

  const DeviceKernel &kernel;
  ArrayRef<unsigned> members;
  SmallVector<int> dims;
  int64_t numPoints = 1, numBlocks = 1;
};

/// Computes neighbouring points along the last dim, then stores what they gave.
void PointKernel::emitPoints(Value first, int64_t width) {
  std::vector<SmallVector<Store>> stores(width);
  for (int64_t i = 0; i < width; ++i) {
    if (!dims.empty() && i > 0)
      index[dims.back()] =
          arith::AddIOp::create(builder, loc, first, emitInt(builder, loc, i));
    emitMembers(members, {}, stores[i]);
  }
  emitStores(sortStores(stores));
}

/// The loop of a thread, whose steps are `width` points each.
void PointKernel::emitLoop(int64_t width) {
  auto loop =
      scf::ForOp::create(builder, loc, emitGridThread(builder, loc, kernel),
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
  int64_t width =
      dims.empty() ? 1 : getAccessWidth(shape, members, dims.back());
  numBlocks = getNumBlocks(numPoints / width);
  if (numPoints > 0)
    mapEntryOps();
  if (numPoints > 0 && width == 1)
    emitLoop(1);
  else if (numPoints > 0)
    emitByAlignment(builder, loc, kernel,
                    [&](bool isAligned) { emitLoop(isAligned ? width : 1); });
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
