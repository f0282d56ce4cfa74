// SPDX-License-Identifier: Apache-2.0

// Kernels with sums, or with phases that wait for each other. A block takes
// some rows at a time, in strides over the grid; the threads of a row share
// each phase's points and wait for each other before the next phase. What a
// phase leaves for later ones is in registers of all the row's threads, if it
// is one number, or in shared memory.
//
// Where rows are left over, the block's last threads compute the last row once
// more and store nothing: all threads of a block meet at each barrier.

#include "RowKernel.h"

#include "WideAccess.h"
#include "weft/Codegen/Program/EmitMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::weft {

/// What rows of one block take together of shared memory at most.
static constexpr int64_t kRowsShared = 40 << 10;

RowKernel::RowKernel(rt::FusedOp op, const KernelShape &shape,
                     const DeviceKernel &kernel, ArrayRef<unsigned> bufferOf)
    : PointEmitter(op, shape, kernel, bufferOf,
                   OpBuilder::atBlockEnd(
                       &LLVM::LLVMFuncOp(kernel.func).getBody().front())),
      kernel(kernel), numRows(getCount(shape.rows)) {}

int64_t RowKernel::getCount(ArrayRef<int> dims) const {
  return countPoints(shape, dims);
}

//===----------------------------------------------------------------------===//
// Teams
//===----------------------------------------------------------------------===//

/// Shared memory of one row.
int64_t RowKernel::getRowBytes() {
  int64_t bytes = 0;
  if (team.heldWidth == 0)
    for (auto &[value, dims] : shape.valueDims)
      if (needsScratch(value))
        bytes += shape.getRowElements(value) *
                 rt::getElementBytes(getElementTypeOrSelf(value));
  for (const Phase &phase : shape.phases)
    for (unsigned i : phase.members)
      if (shape.members[i].isReduction())
        bytes += (phase.order ? phase.order->leaves * phase.order->lanes
                              : team.slots * team.columns) *
                 sizeof(int64_t);
  return bytes;
}

/// Fewer rows, if they need too much memory.
void RowKernel::fitTeam() {
  team = chooseTeam(shape);
  while (team.rows > 1 && team.rows * getRowBytes() > kRowsShared)
    team.rows /= 2;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value RowKernel::number(int64_t value) { return emitInt(builder, loc, value); }

Value RowKernel::add(Value a, Value b) {
  return arith::AddIOp::create(builder, loc, a, b);
}

Value RowKernel::multiply(Value a, int64_t b) {
  return b == 1 ? a : arith::MulIOp::create(builder, loc, a, number(b));
}

Value RowKernel::getPlace(Value index) {
  return team.rows == 1 || team.isTogether
             ? index
             : add(multiply(index, team.rows), rowInTile);
}

Value RowKernel::emitScratchIndex(Value value) {
  return getPlace(PointEmitter::emitScratchIndex(value));
}

/// All sums are in registers while they are taken.
bool RowKernel::isCarried(Value value) {
  int from = shape.findProducer(value);
  return from >= 0 && shape.members[from].isReduction();
}

Value RowKernel::allocateShared(Type element, int64_t count) {
  int64_t place = llvm::alignTo(sharedBytes, 16);
  int64_t bytes = count * rt::getElementBytes(element);
  sharedBytes = place + bytes * team.rows;
  Value first =
      LLVM::GEPOp::create(builder, loc, shared.getType(), builder.getI8Type(),
                          shared, ArrayRef<LLVM::GEPArg>{int32_t(place)});
  if (team.rows == 1 || !team.isTogether)
    return first;
  // Each row has a run of its own: its threads are at neighbouring places.
  return LLVM::GEPOp::create(
      builder, loc, shared.getType(), builder.getI8Type(), first,
      ArrayRef<LLVM::GEPArg>{multiply(rowInTile, bytes)});
}

void RowKernel::allocateScratch() {
  for (auto &[value, dims] : shape.valueDims)
    if (needsScratch(value))
      scratch[value] = allocateShared(getElementTypeOrSelf(value),
                                      shape.getRowElements(value));
}

void RowKernel::delinearize(Value flat, ArrayRef<int> dims, int64_t width) {
  emitDelinearize(builder, loc, flat, getCount(dims), dims, shape.sizes, width,
                  index);
}

/// Computes for one of the thread's rows.
void RowKernel::atColumn(int64_t column, function_ref<void()> body) {
  if (column == 0)
    return body();
  Value &place = index[shape.rows.back()];
  Value first = place;
  place = add(first, number(column));
  body();
  place = first;
}

void RowKernel::forEachNeighbour(int last, int64_t width,
                                 function_ref<void(int64_t)> body) {
  Value first = index[last];
  for (int64_t i = 0; i < width; ++i) {
    if (i > 0)
      index[last] = add(first, number(i));
    body(i);
  }
}

RowKernel::Values
RowKernel::emitLoop(Value lower, int64_t upper, int64_t step,
                    ValueRange carried,
                    function_ref<void(Value, Values &)> body) {
  auto loop = scf::ForOp::create(builder, loc, lower, number(upper),
                                 number(step), carried);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Values values(loop.getRegionIterArgs());
  body(loop.getInductionVar(), values);
  if (!values.empty())
    scf::YieldOp::create(builder, loc, values);
  return Values(loop.getResults());
}

/// Visits those of `count` things that the thread's slot takes.
void RowKernel::forEachOfSlot(int64_t count, function_ref<void(Value)> body) {
  if (count == 1 && team.slots == 1)
    return body(number(0));
  emitLoop(slot, count, team.slots, {},
           [&](Value position, Values &) { body(position); });
}

/// Where the threads of a row wait for each other.
void RowKernel::emitBarrier() {
  if (team.slots == 1)
    return;
  team.isInWarps() ? emitWarpBarrier(builder, loc)
                   : emitBlockBarrier(builder, loc);
}

void RowKernel::emitGuarded(Value condition, function_ref<void()> body) {
  if (!condition)
    return body();
  auto branch = scf::IfOp::create(builder, loc, condition, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  body();
}

/// True for the one of a row's threads that stores what all of them have; null
/// if that is every thread.
Value RowKernel::isFirstSlot() {
  if (team.slots == 1)
    return isValid;
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        slot, number(0));
  return isValid ? arith::AndIOp::create(builder, loc, isFirst, isValid)
                 : isFirst;
}

void RowKernel::storePoint(ArrayRef<Store> stores) {
  if (!stores.empty())
    emitGuarded(isValid, [&] { emitStores(stores); });
}

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

/// How many neighbours a thread takes at once in a phase: not so many that
/// others have none.
int64_t RowKernel::getWidth(const Phase &phase) {
  if (!isAligned || phase.loops.empty())
    return 1;
  int64_t width = getAccessWidth(shape, phase.members, phase.loops.back());
  while (width > 1 && getCount(phase.loops) < width * team.slots)
    width /= 2;
  return width;
}

/// A phase without sums.
void RowKernel::emitPoints(const Phase &phase) {
  SmallVector<Store> stores;
  if (phase.loops.empty()) {
    // All threads compute it; the first must not overwrite what others read.
    emitMembers(phase.members, {}, stores);
    emitBarrier();
    if (!stores.empty())
      emitGuarded(isFirstSlot(), [&] { emitStores(stores); });
    return;
  }
  int64_t width = getWidth(phase);
  forEachOfSlot(getCount(phase.loops) / width, [&](Value position) {
    delinearize(position, phase.loops, width);
    std::vector<SmallVector<Store>> ofPoints(width);
    forEachNeighbour(phase.loops.back(), width, [&](int64_t i) {
      emitMembers(phase.members, {}, ofPoints[i]);
    });
    storePoint(sortStores(ofPoints));
  });
}

/// Sums over different dims are taken by a walk each. The last one stores what
/// the other members compute on the way.
void RowKernel::emitPhase(const Phase &phase) {
  SmallVector<uint64_t> walks;
  for (unsigned i : phase.members)
    if (uint64_t dims = shape.members[i].reductionDims;
        dims != 0 && !llvm::is_contained(walks, dims))
      walks.push_back(dims);
  if (walks.empty())
    emitPoints(phase);
  for (uint64_t dims : walks) {
    // What the last walk stores may be what the others read.
    if (dims != walks.front())
      emitBarrier();
    emitSums(phase, dims, dims == walks.back());
  }
}

/// Which row of the tile, and what of it, is the thread's.
void RowKernel::findThread() {
  Value thread = emitThread(builder, loc);
  rowInTile = slot = number(0);
  if (team.slots == 1) {
    rowInTile = thread;
    return;
  }
  if (team.rows == 1) {
    slot = thread;
    return;
  }
  Value side = number(team.isTogether ? team.slots : team.rows);
  Value outer = arith::DivUIOp::create(builder, loc, thread, side);
  Value inner = arith::RemUIOp::create(builder, loc, thread, side);
  rowInTile = team.isTogether ? outer : inner;
  slot = team.isTogether ? inner : outer;
}

/// Tiles whose threads take so many rows at once, and who takes them.
int64_t RowKernel::countTiles(int64_t columns) {
  return llvm::divideCeil(numRows / columns, team.rows);
}

int64_t RowKernel::countBlocks() {
  return std::clamp<int64_t>(countTiles(team.columns), 1, kMaxBlocks);
}

void RowKernel::emitTiles() {
  columns = isAligned ? team.columns : 1;
  int64_t count = numRows / columns;
  auto emitTile = [&](Value tile, Values &) {
    Value row = add(multiply(tile, team.rows), rowInTile);
    if (count % team.rows != 0) {
      isValid = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                      row, number(count));
      row = arith::MinSIOp::create(builder, loc, row, number(count - 1));
    }
    delinearize(row, shape.rows, columns);
    if (team.heldWidth != 0)
      return emitHeldTile();
    for (unsigned i = 0; i < shape.phases.size(); ++i) {
      // Threads hand both on by shuffles.
      bool mayJoin = team.isTogether && team.getThreads() % kWarp == 0;
      if (OpResult most = findPivot(shape, i); most && mayJoin)
        emitExponentials(i++, most);
      else
        emitPhase(shape.phases[i]);
      emitBarrier();
    }
  };
  emitLoop(emitBlock(builder, loc, kernel), countTiles(columns), countBlocks(),
           {}, emitTile);
}

/// Emits the rows, twice if threads may take neighbours at once.
void RowKernel::emitAllTiles() {
  isAligned = true;
  bool isWide = team.heldWidth > 1 || team.columns > 1 ||
                llvm::any_of(shape.phases, [&](const Phase &phase) {
                  return getWidth(phase) > 1;
                });
  if (!isWide)
    return emitTiles();
  int64_t scratchBytes = sharedBytes, mostBytes = 0;
  emitByAlignment(builder, loc, kernel, [&](bool areAligned) {
    isAligned = areAligned;
    sharedBytes = scratchBytes;
    emitTiles();
    mostBytes = std::max(mostBytes, sharedBytes);
  });
  sharedBytes = mostBytes;
}

FailureOr<rt::LaunchConfig> RowKernel::run() {
  fitTeam();
  if (numRows > 0) {
    // How much it is turns out as rows are written.
    shared = LLVM::PoisonOp::create(
        builder, loc,
        LLVM::LLVMPointerType::get(builder.getContext(), kSharedMemory));
    mapEntryOps();
    findThread();
    if (team.heldWidth == 0)
      allocateScratch();
    emitAllTiles();
  }
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  if (sharedBytes > kMaxShared)
    return op->emitOpError("needs ")
           << sharedBytes << " bytes of shared memory, of which a block has "
           << kMaxShared;
  if (shared) {
    Operation *placeholder = shared.getDefiningOp();
    builder.setInsertionPoint(placeholder);
    if (sharedBytes > 0)
      shared.replaceAllUsesWith(
          emitSharedMemory(builder, loc, kernel, sharedBytes));
    placeholder->erase();
  }
  return setLaunch(kernel, countBlocks(), team.getThreads());
}

FailureOr<rt::LaunchConfig> emitRowKernel(rt::FusedOp op,
                                          const KernelShape &shape,
                                          const DeviceKernel &kernel,
                                          ArrayRef<unsigned> bufferOf) {
  KernelShape rows = prepareRows(shape);
  return RowKernel(op, rows, kernel, bufferOf).run();
}

} // namespace mlir::weft
