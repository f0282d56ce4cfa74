// SPDX-License-Identifier: Apache-2.0

// What a block keeps from its forward to its backward pass, as a problem of
// SavedValues.h. Ops are not fused yet: what an elementwise op makes need not
// be in memory, so each value may be the one that is kept.

#ifndef WEFT_LIB_SCHEDULE_SAVEDVALUESOFBLOCK_H
#define WEFT_LIB_SCHEDULE_SAVEDVALUESOFBLOCK_H

#include "BlockProblem.h"

#include "weft/Schedule/SavedValues.h"

namespace mlir::weft {

class SavedValuesOfBlock {
public:
  /// `keepsWaists`: where the forward pass hands on fewest bytes, as between
  /// layers, these are kept. A chain of repetitions then ends at one, and does
  /// not stand in memory beside what it was to replace.
  /// `savesTime`: memory costs nothing, so what is read again soon may save as
  /// much as what waits for long.
  SavedValuesOfBlock(Block &block, const BlockProblem &tasks,
                     const CostModel &cost, bool keepsWaists, bool savesTime);

  /// The first task after the forward pass: where most bytes wait for their
  /// next reader. 0: nothing waits for long.
  int getBoundary() const { return boundary; }

  /// Of the tasks before the boundary.
  const SavedProblem &getProblem() const { return problem; }

  int getNumber(Operation *op) const { return numbers.lookup(op); }
  bool isTask(Operation *op) const { return numbers.contains(op); }

  /// The tasks that read what a task makes, ascending.
  ArrayRef<int> getReaders(int task) const { return readers[task]; }

  /// What a task reads of others.
  ArrayRef<OpResult> getReads(int task) const { return reads[task]; }

  /// A gather after the boundary that brings the same; -1: none.
  int getTwin(int task) const { return twins[task]; }

  /// How many tasks from one to before another are no part of a kernel.
  int countProducts(int from, int to) const {
    return products[to] - products[from];
  }

private:
  void findReaders(Block &block);
  void findBoundary();
  int findMostWaiting(bool overProducts) const;
  void findTwins();
  void build(bool keepsWaists);
  bool isHandedOn(int task) const;
  int getLastForwardReader(int task) const;
  std::vector<int> countWaists() const;
  int64_t getNanoseconds(int task) const;
  int64_t getKeepNanoseconds(OpResult result, int task) const;
  std::vector<int> countProductsBefore() const;
  bool isKernelPart(int task) const;
  bool isWrittenAnyway(int task) const;
  bool staysInKernel(int task) const;
  bool isCastOfArgument(int task) const;
  bool isReadSoonAfterBoundary(int task) const;
  int getShortestWait() const;

  const BlockProblem &tasks;
  const CostModel &cost;
  llvm::DenseMap<Operation *, int> numbers;
  /// Per task, results of others that it reads.
  std::vector<SmallVector<OpResult, 4>> reads;
  std::vector<SmallVector<int, 4>> readers;
  /// Per task, whether what it makes is returned.
  std::vector<bool> isReturned;
  std::vector<int> twins;
  bool savesTime;
  /// How many there are before each task, and in all.
  std::vector<int> products{0};
  int boundary = 0;
  /// Per task, how many of those that are no part of a kernel one after the
  /// other it waits for.
  std::vector<int> productsBefore;
  SavedProblem problem;
};

/// Says whether the kernels of a machine wait for memory, not for arithmetic on
/// elements: what need not be moved saves about what moving it takes.
bool waitsForMemory(const Machine &machine);

/// Bytes of a value; 0 for what is not a tensor of static shape.
int64_t getValueBytes(Value value);

} // namespace mlir::weft

#endif // WEFT_LIB_SCHEDULE_SAVEDVALUESOFBLOCK_H
