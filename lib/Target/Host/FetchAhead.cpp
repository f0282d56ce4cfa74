// SPDX-License-Identifier: Apache-2.0

// What the first phase of the next row reads is fetched while the last phase of
// this one computes. Else memory waits for arithmetic and arithmetic for memory
// in turn.

#include "KernelLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::weft;

/// The bytes of a line of the caches.
static constexpr int64_t kLine = 64;
/// The most that is fetched at once, before a phase that is one loop, and point
/// by point of a phase's outermost loop: what the second-level cache holds
/// beside this row. More than `kFew` would push this row out of the first-level
/// one.
static constexpr int64_t kMostAtOnce = 4 << 10, kMostInAll = 128 << 10,
                         kFew = 16 << 10;
/// What a row has at least that is several runs of lines, for processors to
/// guess what follows.
static constexpr int64_t kLongRun = 512;

/// Joins loops over elements that lie next to each other: their number. The
/// others of `dims` are left.
static int64_t takeRun(const KernelShape &shape, const Access &access,
                       SmallVectorImpl<int> &dims) {
  int64_t count = 1;
  auto isNext = [&](int dim) { return access.strides[dim] == count; };
  for (auto *dim = llvm::find_if(dims, isNext); dim != dims.end();
       dim = llvm::find_if(dims, isNext)) {
    count *= shape.sizes[*dim];
    dims.erase(dim);
  }
  return count;
}

/// How the first phase walks `operand`, if that lies outside of the kernel, the
/// next row's is another than this row's, and fetching it, `most` bytes, helps.
std::optional<LoopEmitter::Fetch>
LoopEmitter::getFetch(const Member &member, OpOperand &operand, int64_t most) {
  auto type = dyn_cast<RankedTensorType>(operand.get().getType());
  const Access &access = member.accesses[operand.getOperandNumber()];
  if (!type || !isa<BlockArgument>(operand.get()) ||
      access.strides[shape.rows.back()] == 0)
    return std::nullopt;
  Fetch fetch{
      operand.get(), access, {}, 1, rt::getElementBytes(type.getElementType())};
  for (int dim : shape.phases.front().loops)
    if (access.strides[dim] != 0) {
      fetch.loops.push_back(dim);
      fetch.bytes *= shape.sizes[dim];
    }
  SmallVector<int> others(fetch.loops);
  int64_t run = takeRun(shape, access, others);
  bool isGuessed = !others.empty() &&
                   run * rt::getElementBytes(type.getElementType()) >= kLongRun;
  if (isGuessed || fetch.bytes <= kLine || fetch.bytes > most)
    return std::nullopt;
  return fetch;
}

void LoopEmitter::startFetches(const Phase &phase, ArrayRef<int> loops) {
  if (nextRow.empty() || &phase != &shape.phases.back())
    return;
  if (loops.size() > 1)
    fetchDim = loops.front();
  else
    emitFetches(-1);
}

void LoopEmitter::emitFetches(int dim) {
  bool isPart = dim >= 0;
  SmallVector<Value> here(index);
  index.assign(here.size(), Value());
  if (isPart)
    index[dim] = here[dim];
  for (auto [row, place] : llvm::zip(shape.rows, nextRow))
    index[row] = place;
  for (unsigned i : shape.phases.front().members) {
    const Member &member = shape.members[i];
    linalg::GenericOp generic = member.op;
    for (OpOperand *operand : generic.getDpsInputOperands()) {
      std::optional<Fetch> fetch =
          getFetch(member, *operand, isPart ? kMostInAll : kMostAtOnce);
      if (!fetch || (isPart && !llvm::is_contained(fetch->loops, dim)))
        continue;
      llvm::erase(fetch->loops, dim);
      fetch->run = takeRun(shape, fetch->access, fetch->loops);
      emitFetch(*fetch, fetch->loops);
    }
  }
  index.assign(here.begin(), here.end());
}

void LoopEmitter::emitFetch(const Fetch &fetch, ArrayRef<int> loops) {
  Type element = getElementTypeOrSelf(fetch.tensor);
  bool isRun = loops.empty();
  int64_t size = isRun ? fetch.run : shape.sizes[loops.front()];
  int64_t step = isRun ? kLine / rt::getElementBytes(element) : 1;
  auto loop = scf::ForOp::create(builder, loc, emitInt(builder, loc, 0),
                                 emitInt(builder, loc, size),
                                 emitInt(builder, loc, step));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  if (!isRun) {
    index[loops.front()] = loop.getInductionVar();
    emitFetch(fetch, loops.drop_front());
    // The next fetch may take this loop as a part of its run.
    index[loops.front()] = Value();
    return;
  }
  Value place = arith::AddIOp::create(builder, loc, emitIndex(fetch.access),
                                      loop.getInductionVar());
  Value address =
      emitAddress(builder, loc, getPointer(fetch.tensor), element, place);
  LLVM::Prefetch::create(builder, loc, address, /*rw=*/0,
                         /*hint=*/fetch.bytes <= kFew ? 3 : 2, /*cache=*/1);
}
