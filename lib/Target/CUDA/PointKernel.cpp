// SPDX-License-Identifier: Apache-2.0

// Kernels without sums: a flat range of points, which the grid's threads walk
// in strides: a few neighbouring ones at once where shapes allow, else one. A
// thread loads several such runs before it stores the first.

#include "WideAccess.h"
#include "weft/Codegen/Program/EmitMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::weft;

/// The most ops of a thread's chunks, and the blocks that there should be
/// before a thread takes several.
static constexpr int64_t kMaxOps = 512, kManyBlocks = 1024;

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
  void chooseChunks();
  void emitChunks(ArrayRef<Value> chunks);
  void emitWideLoops();
  void emitLoop(int64_t first, Value start, int64_t step);
  int64_t numThreads() { return numBlocks * kBlockThreads; }
  int64_t numChunks() { return numPoints / width; }

  const DeviceKernel &kernel;
  ArrayRef<unsigned> members;
  SmallVector<int> dims;
  int64_t numPoints = 1, numBlocks = 1;
  /// A chunk is `width` neighbours; a thread has `together` of them on their
  /// way at a time, each a block's width from the next.
  int64_t width = 1, together = 1;
};

/// As many chunks as have the bytes on their way that memory wants: some 64 of
/// each thread. Not so many that there are few blocks, nor a lot of code.
void PointKernel::chooseChunks() {
  width = dims.empty() ? 1 : getAccessWidth(shape, members, dims.back());
  int64_t numInputs = countWideInputs(shape, members, dims), numOps = 0;
  for (unsigned i : members)
    linalg::GenericOp(shape.members[i].op).getBody()->walk([&](Operation *) {
      ++numOps;
    });
  together = width == 1 ? 1 : 4 / std::max<int64_t>(1, numInputs);
  while (together > 1 && (together * width * numOps > kMaxOps ||
                          numChunks() < together * kBlockThreads * kManyBlocks))
    --together;
  together = std::max<int64_t>(1, together);
}

/// Computes chunks, then stores what they gave.
void PointKernel::emitChunks(ArrayRef<Value> chunks) {
  std::vector<SmallVector<Store>> stores;
  for (Value chunk : chunks) {
    emitDelinearize(builder, loc, chunk, numPoints, dims, shape.sizes, width,
                    index);
    Value first = dims.empty() ? Value() : index[dims.back()];
    for (int64_t i = 0; i < width; ++i) {
      if (i > 0)
        index[dims.back()] = arith::AddIOp::create(builder, loc, first,
                                                   emitInt(builder, loc, i));
      emitMembers(members, {}, stores.emplace_back());
    }
  }
  for (size_t i = 0; i < chunks.size(); ++i)
    emitStores(sortStores(ArrayRef(stores).slice(i * width, width)));
}

/// A loop over single chunks, from `first` on and `start` after that.
void PointKernel::emitLoop(int64_t first, Value start, int64_t step) {
  Value lower =
      arith::AddIOp::create(builder, loc, start, emitInt(builder, loc, first));
  auto loop = scf::ForOp::create(builder, loc, lower,
                                 emitInt(builder, loc, numChunks()),
                                 emitInt(builder, loc, step));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  emitChunks(loop.getInductionVar());
}

/// Blocks take runs of chunks, and threads what is left.
void PointKernel::emitWideLoops() {
  int64_t run = kBlockThreads * together, numRuns = numChunks() / run;
  auto loop = scf::ForOp::create(builder, loc, emitBlock(builder, loc, kernel),
                                 emitInt(builder, loc, numRuns),
                                 emitInt(builder, loc, numBlocks));
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value chunk = arith::MulIOp::create(builder, loc, loop.getInductionVar(),
                                        emitInt(builder, loc, run));
    chunk =
        arith::AddIOp::create(builder, loc, chunk, emitThread(builder, loc));
    SmallVector<Value> chunks = {chunk};
    while (int64_t(chunks.size()) < together)
      chunks.push_back(arith::AddIOp::create(
          builder, loc, chunk,
          emitInt(builder, loc, kBlockThreads * chunks.size())));
    emitChunks(chunks);
  }
  if (numChunks() % run != 0)
    emitLoop(numRuns * run, emitGridThread(builder, loc, kernel), numThreads());
}

rt::LaunchConfig PointKernel::run() {
  chooseChunks();
  numBlocks = getNumBlocks(llvm::divideCeil(numChunks(), together));
  auto emitNarrow = [&] {
    width = together = 1;
    emitLoop(0, emitGridThread(builder, loc, kernel), numThreads());
  };
  if (numPoints > 0)
    mapEntryOps();
  if (numPoints > 0 && width == 1)
    emitNarrow();
  else if (numPoints > 0)
    emitByAlignment(builder, loc, kernel, [&](bool isAligned) {
      isAligned ? emitWideLoops() : emitNarrow();
    });
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
