// SPDX-License-Identifier: Apache-2.0

// Kernels without sums: a flat range of points, which the grid's threads walk
// in strides: a few neighbouring ones at once where shapes allow, else one. A
// thread loads several such runs before it stores the first. These are a
// block's width apart, or, where inputs are the same for all of a dim, at its
// next places: then it loads those inputs once.

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
/// The most places of a dim for which a thread loads an input once.
static constexpr int64_t kMostRepeated = 4;

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
  int findRepeated();
  void chooseRepeated();
  void goTo(Value chunk, int64_t number);
  void emitChunks(Value chunk, int64_t number);
  void emitWideLoops();
  void emitLoop(int64_t first, Value start, int64_t step, int64_t number);
  int64_t numThreads() { return numBlocks * kBlockThreads; }
  int64_t numChunks() { return numPoints / width; }

  const DeviceKernel &kernel;
  ArrayRef<unsigned> members;
  SmallVector<int> dims;
  int64_t numPoints = 1, numBlocks = 1;
  /// A chunk is `width` neighbours; a thread has `together` of them on their
  /// way at a time, each a block's width from the next.
  int64_t width = 1, together = 1;
  /// The dim along which the chunks of a thread are neighbours, if any.
  int repeated = -1;
  /// Sizes of the dims, of which `repeated` counts such neighbours as one.
  SmallVector<int64_t> sizes;
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

/// The dim, before the last one, for all of which some input is the same that
/// has several elements in a row.
int PointKernel::findRepeated() {
  for (int dim : ArrayRef(dims).drop_back())
    for (unsigned i : members) {
      const Member &member = shape.members[i];
      linalg::GenericOp op = member.op;
      for (OpOperand *operand : op.getDpsInputOperands()) {
        ArrayRef<int64_t> strides =
            member.accesses[operand->getOperandNumber()].strides;
        if (isa<BlockArgument>(operand->get()) && shape.sizes[dim] > 1 &&
            strides[dim] == 0 && strides[dims.back()] == 1 &&
            llvm::any_of(dims, [&](int other) {
              return other != dims.back() && strides[other] != 0;
            }))
          return dim;
      }
    }
  return -1;
}

/// Takes some places of such a dim at a time, if there are points enough.
void PointKernel::chooseRepeated() {
  sizes = llvm::to_vector(shape.sizes);
  int dim = width > 1 ? findRepeated() : -1;
  if (dim < 0)
    return;
  int64_t numOps = 0, number = kMostRepeated;
  for (unsigned i : members)
    linalg::GenericOp(shape.members[i].op).getBody()->walk([&](Operation *) {
      ++numOps;
    });
  while (number > 1 &&
         (sizes[dim] % number != 0 || number * width * numOps > kMaxOps ||
          numChunks() < number * kBlockThreads * kManyBlocks))
    number /= 2;
  if (number == 1)
    return;
  repeated = dim;
  together = number;
  sizes[dim] /= number;
}

/// Goes to a thread's chunk of such a number. All points of a run of chunks are
/// counted as one chunk where they are neighbours.
void PointKernel::goTo(Value chunk, int64_t number) {
  bool isRepeated = repeated >= 0;
  if (!isRepeated && number > 0)
    chunk = arith::AddIOp::create(
        builder, loc, chunk, emitInt(builder, loc, kBlockThreads * number));
  emitDelinearize(builder, loc, chunk, numPoints, dims, sizes, width, index);
  if (!isRepeated)
    return;
  Value &place = index[repeated];
  place = arith::AddIOp::create(
      builder, loc,
      arith::MulIOp::create(builder, loc, place,
                            emitInt(builder, loc, together)),
      emitInt(builder, loc, number));
}

/// Computes so many chunks of a thread, then stores what they gave.
void PointKernel::emitChunks(Value chunk, int64_t number) {
  std::vector<SmallVector<Store>> stores;
  for (int64_t k = 0; k < number; ++k) {
    goTo(chunk, k);
    Value first = dims.empty() ? Value() : index[dims.back()];
    for (int64_t i = 0; i < width; ++i) {
      if (i > 0)
        index[dims.back()] = arith::AddIOp::create(builder, loc, first,
                                                   emitInt(builder, loc, i));
      emitMembers(members, {}, stores.emplace_back());
    }
  }
  for (int64_t i = 0; i < number; ++i)
    emitStores(sortStores(ArrayRef(stores).slice(i * width, width)));
}

/// A loop over chunks, `number` of a thread at a time: from `first` on and
/// `start` after that.
void PointKernel::emitLoop(int64_t first, Value start, int64_t step,
                           int64_t number) {
  Value lower =
      arith::AddIOp::create(builder, loc, start, emitInt(builder, loc, first));
  int64_t end = numChunks() / (repeated < 0 ? 1 : together);
  auto loop =
      scf::ForOp::create(builder, loc, lower, emitInt(builder, loc, end),
                         emitInt(builder, loc, step));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  emitChunks(loop.getInductionVar(), number);
}

/// Blocks take runs of chunks, and threads what is left.
void PointKernel::emitWideLoops() {
  if (repeated >= 0)
    return emitLoop(0, emitGridThread(builder, loc, kernel), numThreads(),
                    together);
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
    emitChunks(chunk, together);
  }
  if (numChunks() % run != 0)
    emitLoop(numRuns * run, emitGridThread(builder, loc, kernel), numThreads(),
             1);
}

rt::LaunchConfig PointKernel::run() {
  chooseChunks();
  chooseRepeated();
  numBlocks = getNumBlocks(llvm::divideCeil(numChunks(), together));
  auto emitNarrow = [&] {
    width = together = 1;
    repeated = -1;
    sizes = llvm::to_vector(shape.sizes);
    emitLoop(0, emitGridThread(builder, loc, kernel), numThreads(), 1);
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
