// SPDX-License-Identifier: Apache-2.0

// What the first phase of the next row reads is fetched while the last phase of
// this one computes. Else memory waits for arithmetic and arithmetic for memory
// in turn.

#include "KernelLoops.h"
#include "TileRows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::weft;

/// The bytes of a line of the caches.
static constexpr int64_t kLine = 64;
/// The most that is fetched at once: a processor waits for few lines at a time,
/// and what is computed meanwhile would wait behind the others.
static constexpr int64_t kMostAtOnce = 256;
/// The most of a row: what the second-level cache holds beside this one. More
/// than `kFew` would push this row out of the first-level one.
static constexpr int64_t kMostInAll = 128 << 10, kFew = 16 << 10;

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

/// How the member's phase walks `operand`, if that lies outside of the kernel,
/// the next row's is another than this row's, and fetching it helps.
std::optional<LoopEmitter::Fetch> LoopEmitter::getFetch(const Member &member,
                                                        OpOperand &operand) {
  auto type = dyn_cast<RankedTensorType>(operand.get().getType());
  const Access &access = member.accesses[operand.getOperandNumber()];
  if (!type || !isa<BlockArgument>(operand.get()) ||
      access.strides[shape.rows.back()] == 0)
    return std::nullopt;
  Fetch fetch{
      operand.get(), access, {}, 1, rt::getElementBytes(type.getElementType())};
  for (int dim : shape.phases[member.phase].loops)
    if (access.strides[dim] != 0) {
      fetch.loops.push_back(dim);
      fetch.bytes *= shape.sizes[dim];
    }
  if (fetch.bytes <= kLine || fetch.bytes > kMostInAll)
    return std::nullopt;
  return fetch;
}

/// What a phase reads of which `getFetch` says how.
SmallVector<LoopEmitter::Fetch> LoopEmitter::getFetches(const Phase &phase) {
  SmallVector<Fetch> fetches;
  for (unsigned i : phase.members) {
    const Member &member = shape.members[i];
    linalg::GenericOp generic = member.op;
    for (OpOperand *operand : generic.getDpsInputOperands())
      if (std::optional<Fetch> fetch = getFetch(member, *operand))
        fetches.push_back(*fetch);
  }
  return fetches;
}

/// What the first phase reads; where the last one reads as much of the same
/// buffer, maybe as a tensor of another shape, by the loops of that one.
SmallVector<LoopEmitter::Fetch> LoopEmitter::getFetches() {
  SmallVector<Fetch> fetches = getFetches(shape.phases.front());
  SmallVector<Fetch> last = getFetches(shape.phases.back());
  for (Fetch &fetch : fetches) {
    auto *again = llvm::find_if(last, [&](const Fetch &other) {
      return other.bytes == fetch.bytes &&
             getPointer(other.tensor) == getPointer(fetch.tensor);
    });
    if (again != last.end())
      fetch = *again;
  }
  return fetches;
}

/// Loops are walked point by point, from the outermost, until little is left.
void LoopEmitter::startFetches(const Phase &phase, ArrayRef<int> loops) {
  if (nextRow.empty() || &phase != &shape.phases.back())
    return;
  int64_t bytes = 0;
  for (const Fetch &fetch : getFetches())
    bytes = std::max(bytes,
                     rt::getElementBytes(getElementTypeOrSelf(fetch.tensor)));
  if (bytes == 0)
    return;
  for (int dim : loops)
    bytes *= shape.sizes[dim];
  for (const int *dim = loops.begin(); bytes > kMostAtOnce; ++dim) {
    ahead.dims.push_back(*dim);
    bytes /= shape.sizes[*dim];
  }
  if (ahead.dims.empty())
    return emitFetches();
  // Several points where one is not a line.
  int dim = ahead.dims.back();
  ahead.count = findDivisor(shape.sizes[dim], llvm::divideCeil(kLine, bytes),
                            std::max<int64_t>(kMostAtOnce / bytes, 1));
  if (ahead.count == 0 || llvm::is_contained(ahead.dims, together.dim))
    ahead.dims.clear();
}

void LoopEmitter::emitFetches() {
  SmallVector<Value> here(index);
  index.assign(here.size(), Value());
  for (int dim : ahead.dims)
    index[dim] = here[dim];
  for (auto [row, place] : llvm::zip(shape.rows, nextRow))
    index[row] = place;
  for (Fetch &fetch : getFetches()) {
    auto isWalked = [&](int dim) {
      return llvm::is_contained(fetch.loops, dim);
    };
    if (!llvm::all_of(ahead.dims, isWalked))
      continue;
    llvm::erase_if(fetch.loops, [&](int dim) {
      return llvm::is_contained(ahead.dims, dim);
    });
    fetch.run = takeRun(shape, fetch.access, fetch.loops);
    if (ahead.count > 1 && fetch.access.strides[ahead.dims.back()] != fetch.run)
      continue;
    fetch.run *= ahead.count;
    emitFetch(fetch, fetch.loops);
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
