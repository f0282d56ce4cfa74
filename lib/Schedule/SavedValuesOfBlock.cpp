// SPDX-License-Identifier: Apache-2.0

#include "SavedValuesOfBlock.h"

#include "weft/Analysis/Traffic.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::weft;

/// What is read again sooner than after so many tasks, or such a part of all,
/// does not wait.
static constexpr int kShortestWait = 1, kShortestPart = 100;

/// Where memory costs nothing, that part of a large step is at most so many
/// tasks: those between the logits' sum and their gradient are more.
static constexpr int kLongestSoon = 8;

/// What is as narrow as that was made by a cast or a comparison.
static constexpr unsigned kNarrowBits = 8;

/// What is read again after so many products is read again soon: those of the
/// last layer that follow, and its two gradients.
static constexpr int kSoonProducts = 3;

/// An elementwise op is fused with what reads it: such a part of what it reads
/// and makes counts as going through memory.
static constexpr int kFusedPart = 64;

/// A waist has at most 5/4 of the fewest bytes; the first and the last part of
/// the forward pass are none.
static constexpr int64_t kWaistNumerator = 5, kWaistDenominator = 4;
static constexpr int kEndsPart = 20;

int64_t mlir::weft::getValueBytes(Value value) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  return tensor && tensor.hasStaticShape() ? getBufferBytes(tensor) : 0;
}

/// Operations on elements in the time in which a byte goes through memory,
/// above which kernels wait for memory.
static constexpr double kOperationsPerByte = 4;

bool mlir::weft::waitsForMemory(const Machine &machine) {
  return machine.elementwisePerSecond >
         kOperationsPerByte * machine.memoryBytesPerSecond;
}

SavedValuesOfBlock::SavedValuesOfBlock(Block &block, const BlockProblem &tasks,
                                       const CostModel &cost, bool keepsWaists,
                                       bool savesTime)
    : tasks(tasks), cost(cost), reads(tasks.ops.size()),
      readers(tasks.ops.size()), isReturned(tasks.ops.size(), false),
      twins(tasks.ops.size(), -1), savesTime(savesTime) {
  for (auto [number, op] : llvm::enumerate(tasks.ops))
    numbers[op] = static_cast<int>(number);
  for (Operation *op : tasks.ops)
    products.push_back(products.back() + !isa<linalg::LinalgOp>(op));
  findReaders(block);
  findBoundary();
  findTwins();
  productsBefore = countProductsBefore();
  build(keepsWaists);
}

void SavedValuesOfBlock::findReaders(Block &block) {
  // The results of tasks that a value without code of its own stands for.
  llvm::DenseMap<Value, SmallVector<OpResult, 2>> sources;
  for (Operation &op : block) {
    llvm::SetVector<Value> operands(op.operand_begin(), op.operand_end());
    getUsedValuesDefinedAbove(op.getRegions(), operands);
    llvm::SetVector<OpResult> from;
    for (Value operand : operands) {
      auto it = sources.find(operand);
      if (it != sources.end())
        from.insert(it->second.begin(), it->second.end());
    }
    auto it = numbers.find(&op);
    if (it != numbers.end()) {
      reads[it->second].assign(from.begin(), from.end());
      for (OpResult read : from)
        readers[numbers.lookup(read.getOwner())].push_back(it->second);
      for (OpResult result : op.getResults())
        sources[result] = {result};
    } else if (&op == block.getTerminator()) {
      for (OpResult read : from)
        isReturned[numbers.lookup(read.getOwner())] = true;
    } else {
      for (OpResult result : op.getResults())
        sources[result].assign(from.begin(), from.end());
    }
  }
  for (SmallVector<int, 4> &list : readers) {
    llvm::sort(list);
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
}

int SavedValuesOfBlock::getShortestWait() const {
  int part = static_cast<int>(tasks.ops.size()) / kShortestPart;
  return std::max(kShortestWait,
                  savesTime ? std::min(part, kLongestSoon) : part);
}

/// Between two parts of one chain of elementwise ops nothing waits: they may be
/// one kernel. Where there is nothing else, all counts.
void SavedValuesOfBlock::findBoundary() {
  boundary = findMostWaiting(/*overProducts=*/true);
  if (boundary == 0)
    boundary = findMostWaiting(/*overProducts=*/false);
}

/// The task before which most bytes wait for their next reader, of those with a
/// product in between if `overProducts`.
int SavedValuesOfBlock::findMostWaiting(bool overProducts) const {
  int count = static_cast<int>(tasks.ops.size()), shortest = getShortestWait();
  auto waits = [&](int last, int reader) {
    return reader - last > shortest &&
           (!overProducts || countProducts(last + 1, reader) > 0);
  };
  std::vector<int64_t> change(count + 1, 0);
  for (int task = 0; task < count; ++task) {
    int64_t bytes = 0;
    for (OpResult result : tasks.ops[task]->getResults())
      bytes += getValueBytes(result);
    int last = task;
    for (int reader : readers[task]) {
      if (waits(last, reader)) {
        change[last + 1] += bytes;
        change[reader] -= bytes;
      }
      last = reader;
    }
  }
  int64_t waiting = 0, most = 0;
  int found = 0;
  for (int task = 0; task < count; ++task) {
    waiting += change[task];
    if (waiting <= most)
      continue;
    most = waiting;
    found = task;
  }
  return found;
}

void SavedValuesOfBlock::findTwins() {
  for (int task = boundary, e = tasks.ops.size(); task < e; ++task) {
    int first = tasks.problem.task(task).sameAs;
    if (first >= 0 && first < boundary && twins[first] < 0)
      twins[first] = task;
  }
}

bool SavedValuesOfBlock::isKernelPart(int task) const {
  return isa<linalg::LinalgOp>(tasks.ops[task]);
}

/// Nanoseconds in which so many bytes go through memory.
static double getMoveNanoseconds(const Machine &machine, double bytes) {
  double perSecond =
      machine.memoryBytesPerSecond * machine.memoryByBytes.at(bytes);
  return perSecond > 0 ? bytes * 1e9 / perSecond : 0;
}

static bool isNarrow(Operation *op) {
  return llvm::all_of(op->getResultTypes(), [](Type type) {
    Type element = getElementTypeOrSelf(type);
    return element.isIntOrFloat() &&
           element.getIntOrFloatBitWidth() <= kNarrowBits;
  });
}

/// Bytes of operands that are computed, or views.
static double getOperandBytes(Operation *op) {
  double bytes = 0;
  for (Value operand : op->getOperands())
    if (Operation *def = operand.getDefiningOp();
        def && def->getNumOperands() > 0)
      bytes += double(getValueBytes(operand));
  return bytes;
}

int64_t SavedValuesOfBlock::getNanoseconds(int task) const {
  Operation *op = tasks.ops[task];
  if (twins[task] >= 0)
    return 0;
  if (!isKernelPart(task))
    return tasks.problem.task(task).duration;
  const Machine &machine = cost.getMachine();
  double read = 0, made = 0;
  for (Value operand : op->getOperands())
    if (Operation *def = operand.getDefiningOp(); def && isTask(def))
      read += double(getValueBytes(operand));
  for (Value result : op->getResults())
    made += double(getValueBytes(result));
  double nanoseconds = getMoveNanoseconds(machine, read + made) / kFusedPart;
  // A product takes it from memory.
  if (llvm::any_of(readers[task], [&](int reader) {
        return reader >= boundary && !isKernelPart(reader);
      }))
    nanoseconds += getMoveNanoseconds(machine, made);
  // A kernel that casts again reads what is wide instead of what is narrow.
  if (savesTime && isNarrow(op))
    nanoseconds +=
        getMoveNanoseconds(machine, std::max(0.0, getOperandBytes(op) - made));
  std::optional<OpWork> work = cast<CostOpInterface>(op).getWork();
  if (work && machine.elementwisePerSecond > 0)
    nanoseconds += work->operations * 1e9 / machine.elementwisePerSecond;
  return 1 + std::llround(nanoseconds);
}

std::vector<int> SavedValuesOfBlock::countProductsBefore() const {
  std::vector<int> counts(tasks.ops.size(), 0);
  for (int task = 0, e = tasks.ops.size(); task < e; ++task)
    for (OpResult read : reads[task]) {
      int from = numbers.lookup(read.getOwner());
      counts[task] = std::max(counts[task], counts[from] + !isKernelPart(from));
    }
  return counts;
}

/// Says whether the forward pass itself needs what a task makes in memory:
/// for what is no kernel, or for a later kernel than the one that makes it.
bool SavedValuesOfBlock::isWrittenAnyway(int task) const {
  return !isKernelPart(task) || llvm::any_of(readers[task], [&](int reader) {
    return reader < boundary && (!isKernelPart(reader) ||
                                 productsBefore[reader] > productsBefore[task]);
  });
}

/// Says whether all that reads it in the backward pass may be in the kernel
/// that makes it, since no product is in between, as around a loss: it is not
/// in memory then.
bool SavedValuesOfBlock::staysInKernel(int task) const {
  auto late = llvm::lower_bound(readers[task], boundary);
  return isKernelPart(task) && late != readers[task].end() &&
         std::all_of(late, readers[task].end(), [&](int reader) {
           return isKernelPart(reader) &&
                  productsBefore[reader] == productsBefore[task];
         });
}

/// What writing and reading it takes that would not be done otherwise.
int64_t SavedValuesOfBlock::getKeepNanoseconds(OpResult result,
                                               int task) const {
  double move =
      getMoveNanoseconds(cost.getMachine(), double(getValueBytes(result)));
  auto late = llvm::lower_bound(readers[task], boundary);
  bool isReadByKernel = std::any_of(late, readers[task].end(), [&](int reader) {
    return isKernelPart(reader);
  });
  // What is computed again may be all that reads it.
  if (savesTime && waitsForMemory(cost.getMachine()))
    isReadByKernel |= late == readers[task].end();
  return std::llround((isWrittenAnyway(task) ? 0 : move) +
                      (isReadByKernel ? move : 0));
}

/// Collectives are the same on all ranks, so they may be done again; a loop is
/// not.
static bool mayRepeat(Operation *op) {
  if (getHostCopy(op)) // is there to be kept
    return false;
  if (getCollectiveKind(op))
    return true;
  return isMemoryEffectFree(op) &&
         (op->getNumRegions() == 0 || isa<linalg::LinalgOp>(op));
}

/// A cast of an argument, whose memory is there all the time: it is made where
/// it is read, without being asked to.
bool SavedValuesOfBlock::isCastOfArgument(int task) const {
  Operation *op = tasks.ops[task];
  if (!isa<linalg::LinalgOp>(op) || !reads[task].empty())
    return false;
  int64_t read = 0, made = 0;
  for (Value operand : op->getOperands())
    if (Operation *def = operand.getDefiningOp();
        !def || def->getNumOperands() > 0)
      read += getValueBytes(operand);
  for (Value result : op->getResults())
    made += getValueBytes(result);
  return made <= read;
}

/// What does not wait need not be freed. A product that is done again for what
/// follows a few products later would take no less where most is needed.
bool SavedValuesOfBlock::isReadSoonAfterBoundary(int task) const {
  auto late = llvm::lower_bound(readers[task], boundary);
  if (late == readers[task].end())
    return false;
  int before = getLastForwardReader(task);
  if (*late - before <= getShortestWait())
    return true;
  return !isKernelPart(task) &&
         countProducts(before + 1, *late) <= kSoonProducts;
}

/// Weights are not: they are there, or gathered again.
bool SavedValuesOfBlock::isHandedOn(int task) const {
  return tasks.problem.task(task).role != TaskRole::Gather &&
         !isCastOfArgument(task);
}

int SavedValuesOfBlock::getLastForwardReader(int task) const {
  auto late = llvm::lower_bound(readers[task], boundary);
  return late == readers[task].begin() ? task : *std::prev(late);
}

/// Per task of the forward pass, how many waists are before it.
std::vector<int> SavedValuesOfBlock::countWaists() const {
  std::vector<int64_t> bytes(boundary + 1, 0);
  for (int task = 0; task < boundary; ++task) {
    if (!isHandedOn(task))
      continue;
    for (OpResult result : tasks.ops[task]->getResults()) {
      bytes[task + 1] += getValueBytes(result);
      bytes[getLastForwardReader(task) + 1] -= getValueBytes(result);
    }
  }
  int ends = boundary / kEndsPart;
  int64_t fewest = std::numeric_limits<int64_t>::max();
  for (int task = 0; task < boundary; ++task) {
    bytes[task + 1] += bytes[task];
    if (task >= ends && task < boundary - ends && bytes[task] > 0)
      fewest = std::min(fewest, bytes[task]);
  }
  std::vector<int> waists(boundary + 1, 0);
  for (int task = 0; task < boundary; ++task)
    waists[task + 1] =
        waists[task] + (bytes[task] > 0 && bytes[task] / kWaistNumerator <=
                                               fewest / kWaistDenominator);
  return waists;
}

void SavedValuesOfBlock::build(bool keepsWaists) {
  llvm::DenseMap<Value, int> valueOf;
  std::vector<int> waists =
      keepsWaists ? countWaists() : std::vector<int>(boundary + 1, 0);
  // What is made before a waist, and read in the forward pass after it.
  auto isAtWaist = [&](int task) {
    int last = getLastForwardReader(task);
    return last > task && isHandedOn(task) &&
           waists[last + 1] > waists[task + 1];
  };
  for (int task = 0; task < boundary; ++task) {
    Operation *op = tasks.ops[task];
    SavedProblem::Task added;
    added.nanoseconds = getNanoseconds(task);
    added.mayRepeat = mayRepeat(op) && !isAtWaist(task);
    for (OpResult read : reads[task])
      added.inputs.push_back(valueOf.lookup(read));
    problem.tasks.push_back(std::move(added));
    bool isFree = isReturned[task] || isCastOfArgument(task) ||
                  isReadSoonAfterBoundary(task) ||
                  (savesTime && staysInKernel(task));
    for (OpResult result : op->getResults()) {
      valueOf[result] = static_cast<int>(problem.values.size());
      if (isFree)
        problem.values.push_back({0, 0, task, false});
      else
        problem.values.push_back({getValueBytes(result),
                                  getKeepNanoseconds(result, task), task,
                                  false});
    }
  }
  for (int task = boundary, e = tasks.ops.size(); task < e; ++task)
    for (OpResult read : reads[task])
      if (auto it = valueOf.find(read); it != valueOf.end())
        problem.values[it->second].isNeeded = true;
}
