// SPDX-License-Identifier: Apache-2.0

// Who computes what of rows. Threads of a warp that are of one row hand sums on
// without memory; where what a row reduces does not lie side by side but rows
// do, neighbouring threads are of neighbouring rows.

#include "RowKernel.h"
#include "WideAccess.h"

#include "llvm/Support/MathExtras.h"

namespace mlir::weft {

/// Where kernels of one launch have blocks with so much shared memory.
static constexpr int64_t kSharedOfPart = 8 << 10;
/// Registers of a thread for what it holds: so many that several blocks fit,
/// and what it may be if a block has but one row. Ops of all its points.
static constexpr int64_t kFewHeld = 48, kMostHeld = 96, kMostHeldOps = 6000;
/// Runs of neighbours that a thread takes at once of rows that are read once.
static constexpr int64_t kMostSteps = 4;
/// Rows of so many points are a block's of the most threads that there may be:
/// so few rows are read at a time that caches have them for the next phase.
static constexpr int64_t kLongRow = 16384, kMostThreads = 1024;
/// Blocks that keep a GPU busy, and where there are too many.
static constexpr int64_t kManyBlocks = 512, kTooManyBlocks = 2048;
/// What a thread reads at once of rows side by side.
static constexpr int64_t kColumnBytes = 4;

KernelShape prepareRows(const KernelShape &shape) {
  KernelShape rows = shape;
  if (rows.phases.size() != 1)
    return rows;
  // What is parallel within the one phase is as good as a row.
  uint64_t reduced = 0;
  for (const Member &member : rows.members)
    reduced |= member.reductionDims;
  Phase &phase = rows.phases.front();
  SmallVector<int> inner;
  for (int dim : phase.loops)
    (reduced >> dim & 1 ? inner : rows.rows).push_back(dim);
  phase.loops = inner;
  rows.cutDim = -1;
  return rows;
}

/// Says whether neighbouring rows lie side by side in memory, and what a row
/// reduces does not.
static bool areColumns(const KernelShape &shape) {
  if (shape.rows.empty())
    return false;
  for (const Member &member : shape.members) {
    ArrayRef<int> loops = shape.phases[member.phase].loops;
    for (const Access &access : member.accesses)
      if (!loops.empty() && access.strides[loops.back()] > 1 &&
          access.strides[shape.rows.back()] == 1)
        return true;
  }
  return false;
}

int64_t countPoints(const KernelShape &shape, ArrayRef<int> dims) {
  int64_t count = 1;
  for (int dim : dims)
    count *= shape.sizes[dim];
  return count;
}

/// The threads of a row: a power of two.
static int64_t chooseSlots(const KernelShape &shape) {
  int64_t inner = 1;
  bool isPlain = true;
  for (const Phase &phase : shape.phases)
    inner = std::max(inner, countPoints(shape, phase.loops));
  for (const Member &member : shape.members) {
    auto op =
        cast<linalg::LinalgOp>(linalg::GenericOp(member.op).getOperation());
    for (unsigned i = 0; member.isReduction() && i < op->getNumResults(); ++i)
      isPlain &= getCombiner(op, i).has_value();
  }
  // Whose steps depend on each other is one thread's.
  if (!isPlain || inner <= 8)
    return 1;
  return std::min<int64_t>(llvm::bit_floor(uint64_t(inner)),
                           areColumns(shape) ? kBlockThreads / kWarp
                                             : kBlockThreads);
}

/// The dims of the row, if it can be held: all phases have them, in one order,
/// and sums are over all of them, in any order. Else none.
static ArrayRef<int> findHeldDims(const KernelShape &shape) {
  ArrayRef<int> dims;
  for (const Phase &phase : shape.phases) {
    if (phase.order || (!dims.empty() && !phase.loops.empty() &&
                        dims != ArrayRef(phase.loops)))
      return {};
    if (dims.empty())
      dims = phase.loops;
  }
  uint64_t mask = 0;
  for (int dim : dims)
    mask |= uint64_t(1) << dim;
  for (const Member &member : shape.members) {
    if (member.isReduction() && member.reductionDims != mask)
      return {};
    for (OpResult result : linalg::GenericOp(member.op)->getResults())
      if (!getElementTypeOrSelf(result).isIntOrFloat())
        return {};
  }
  return dims;
}

/// What a thread holds for each of its points: inputs, and what one phase
/// leaves for another.
static int64_t countHeld(const KernelShape &shape, ArrayRef<int> dims) {
  llvm::SmallDenseSet<Value> values;
  for (const Member &member : shape.members) {
    linalg::GenericOp op = member.op;
    for (OpOperand *operand : op.getDpsInputOperands()) {
      Value value = operand->get();
      const Access &access = member.accesses[operand->getOperandNumber()];
      bool isAlong =
          llvm::any_of(dims, [&](int dim) { return access.strides[dim] != 0; });
      bool isFromOutside = isa<BlockArgument>(value) && isAlong;
      bool isKept = shape.findProducer(value) >= 0 &&
                    !shape.isRowScalar(value) &&
                    !shape.isForwarded(value, member);
      if (isFromOutside || isKept)
        values.insert(value);
    }
  }
  return std::max<int64_t>(1, values.size());
}

/// Has threads hold the row, if they can.
static void holdRow(const KernelShape &shape, Team &team) {
  ArrayRef<int> dims = findHeldDims(shape);
  if (dims.empty())
    return;
  int64_t width = kBlockThreads, numOps = 0;
  for (const Phase &phase : shape.phases)
    if (!phase.loops.empty())
      width =
          std::min(width, getAccessWidth(shape, phase.members, dims.back()));
  for (const Member &member : shape.members)
    linalg::GenericOp(member.op).getBody()->walk(
        [&](Operation *) { ++numOps; });
  int64_t chunks = countPoints(shape, dims) / width;
  int64_t numHeld = countHeld(shape, dims);
  int64_t rows = countPoints(shape, shape.rows);
  int64_t slots =
      std::clamp<int64_t>(llvm::bit_ceil(uint64_t(chunks)), 2, kWarp);
  auto getPoints = [&] { return llvm::divideCeil(chunks, slots) * width; };
  while (slots < kBlockThreads && getPoints() * numHeld > kFewHeld)
    slots *= 2;
  while (slots < kBlockThreads && chunks >= 2 * slots &&
         rows * slots < kManyBlocks * kBlockThreads)
    slots *= 2;
  if (getPoints() * numHeld > kMostHeld || getPoints() * numOps > kMostHeldOps)
    return;
  // What is read once need not be kept: a loop is less code.
  auto hasPoints = [](const Phase &phase) { return !phase.loops.empty(); };
  if (llvm::hasNItems(llvm::make_filter_range(shape.phases, hasPoints), 1) &&
      llvm::divideCeil(chunks, slots) > kMostSteps)
    return;
  team.slots = slots;
  team.heldWidth = width;
}

/// Rows side by side that a thread sums up at once: some bytes of the narrowest
/// input.
static int64_t countColumns(const KernelShape &shape) {
  if (shape.phases.size() != 1 || shape.phases.front().order)
    return 1;
  int last = shape.rows.back();
  int64_t columns = 1;
  for (const Member &member : shape.members) {
    if (member.isReduction() &&
        member.reductionDims != shape.members.front().reductionDims)
      return 1;
    linalg::GenericOp op = member.op;
    for (OpOperand *operand : op.getDpsInputOperands())
      if (isa<BlockArgument>(operand->get()) &&
          member.accesses[operand->getOperandNumber()].strides[last] == 1)
        columns = std::max(
            columns, kColumnBytes / rt::getElementBytes(
                                        getElementTypeOrSelf(operand->get())));
  }
  while (shape.sizes[last] % columns != 0)
    columns /= 2;
  return columns;
}

/// Has threads side by side take rows side by side. Where there are a lot, more
/// of them: a block reads longer runs of memory.
static void joinRows(const KernelShape &shape, Team &team) {
  team.columns = countColumns(shape);
  int64_t threads = countPoints(shape, shape.rows) / team.columns;
  while (team.slots > 2 &&
         threads * team.slots >= kTooManyBlocks * kBlockThreads)
    team.slots /= 2;
}

Team chooseTeam(const KernelShape &shape) {
  Team team;
  team.slots = chooseSlots(shape);
  team.isTogether = team.slots > 1 && !areColumns(shape);
  if (team.isTogether)
    holdRow(shape, team);
  else if (team.slots > 1)
    joinRows(shape, team);
  bool isLong = team.isTogether && team.heldWidth == 0;
  for (const Phase &phase : shape.phases)
    isLong &= !phase.order && (phase.loops.empty() ||
                               countPoints(shape, phase.loops) >= kLongRow);
  // Exponentials of several points at once take registers.
  bool hasPivot = false;
  for (unsigned i = 0; i < shape.phases.size(); ++i)
    hasPivot |= bool(findPivot(shape, i));
  if (isLong)
    team.slots = hasPivot ? kMostThreads / 2 : kMostThreads;
  team.rows = std::max<int64_t>(1, kBlockThreads / team.slots);
  return team;
}

bool mayShareRowLaunch(const KernelShape &whole) {
  KernelShape shape = prepareRows(whole);
  Team team = chooseTeam(shape);
  int64_t bytes = 0;
  if (team.heldWidth == 0)
    for (auto &[value, dims] : shape.valueDims)
      if (!shape.isRowScalar(value))
        bytes += shape.getRowElements(value) *
                 rt::getElementBytes(getElementTypeOrSelf(value));
  for (const Member &member : shape.members) {
    const std::optional<ReductionOrder> &order =
        shape.phases[member.phase].order;
    if (member.isReduction())
      bytes +=
          (order ? order->leaves * order->lanes : team.slots * team.columns) *
          int64_t(sizeof(int64_t)) *
          linalg::GenericOp(member.op)->getNumResults();
  }
  return team.getThreads() == kBlockThreads &&
         team.rows * bytes <= kSharedOfPart;
}

} // namespace mlir::weft
