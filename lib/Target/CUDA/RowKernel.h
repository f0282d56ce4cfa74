// SPDX-License-Identifier: Apache-2.0

// The writer of a kernel whose threads need something of each other, in two
// files: rows and phases, and sums.

#ifndef WEFT_LIB_TARGET_CUDA_ROWKERNEL_H
#define WEFT_LIB_TARGET_CUDA_ROWKERNEL_H

#include "DeviceKernel.h"
#include "weft/Codegen/Fusion/Orders.h"

namespace mlir::weft {

/// Who computes what: a block has `rows` rows at a time, and `slots` threads
/// for each of them. Threads side by side are of different rows.
struct Team {
  int64_t rows = 1, slots = 1;

  int64_t getThreads() const { return rows * slots; }
};

/// A result of a reduction.
struct RowSum {
  const Member *member;
  OpResult result;
  /// None: what its body does to the sum so far is more than one op.
  std::optional<Combiner> combiner;
  Value init;
  /// What the threads have summed up, in memory that they share.
  Value partials;
};

/// Emits one kernel.
class RowKernel : PointEmitter {
public:
  using Values = llvm::SmallVector<Value>;

  RowKernel(rt::FusedOp op, const KernelShape &shape,
            const DeviceKernel &kernel, llvm::ArrayRef<unsigned> bufferOf);

  FailureOr<rt::LaunchConfig> run();

private:
  // Rows and phases.
  void chooseTeam();
  int64_t getRowBytes();
  Value allocateShared(Type element, int64_t count);
  void allocateScratch();
  void emitTiles();
  void emitPhase(const Phase &phase);
  void emitPoints(const Phase &phase);
  Value emitScratchIndex(Value value) override;
  bool isCarried(Value value) override;
  /// Sets the dims from their flattened index, the last one to the first of
  /// `width` neighbours.
  void delinearize(Value flat, llvm::ArrayRef<int> dims, int64_t width = 1);
  /// Computes points of a walk of `width` neighbours along the dim `last`.
  void forEachNeighbour(int last, int64_t width,
                        llvm::function_ref<void(int64_t)> body);
  int64_t getWidth(const Phase &phase);
  void emitAllTiles();
  void emitBarrier();
  void emitGuarded(Value condition, llvm::function_ref<void()> body);
  void storePoint(llvm::ArrayRef<Store> stores);
  Value isFirstSlot();
  int64_t getCount(llvm::ArrayRef<int> dims) const;

  // Sums.
  void emitSums(const Phase &phase, uint64_t reduced, bool isLast);
  void emitTeamSums();
  void emitOwnSums();
  Values emitChain();
  Values emitTree();
  void joinPartials();
  Values emitWalkOf(Value chain);
  Value allocateOwn(Type element);
  void emitLeaf(Value leaf, Values &carried);
  void emitDims(unsigned depth, Values &carried);
  void emitRun(Value base, int64_t length, Values &carried);
  void emitStep(Values &carried);
  void addPoint(Values &carried, llvm::SmallVectorImpl<Store> &stores);
  Value joinLanes(const RowSum &sum, llvm::ArrayRef<Value> lanes);
  Value joinLeaves(const RowSum &sum, llvm::ArrayRef<Value> leaves);
  void finish(llvm::ArrayRef<Value> values, Value isStored);
  Value combine(const RowSum &sum, Value a, Value b);
  Value startFrom(const RowSum &sum, Value tree);
  Values getIdentities();

  // Both.
  Values emitLoop(Value lower, int64_t upper, int64_t step, ValueRange carried,
                  llvm::function_ref<void(Value, Values &)> body);
  void forEachOfSlot(int64_t count, llvm::function_ref<void(Value)> body);
  Value number(int64_t value);
  Value add(Value a, Value b);
  Value multiply(Value a, int64_t b);
  /// The place in shared memory of the row's element `index`.
  Value getPlace(Value index);

  const DeviceKernel &kernel;
  Team team;
  int64_t numRows = 1, sharedBytes = 0;
  /// Whether neighbours may be taken at once: all buffers are aligned.
  bool isAligned = false;
  Value shared, rowInTile, slot, isValid;

  // Of the sums that are being emitted.
  llvm::SmallVector<unsigned> members;
  llvm::SmallVector<RowSum> sums;
  llvm::SmallVector<int> parallel, reduced;
  llvm::SmallVector<int64_t> sizes;
  int64_t leaves = 1, lanes = 1, count = 1, width = 1;
  bool isDeclared = false, storesPoints = false;
  /// Of a walk.
  Value currentLane;
};

} // namespace mlir::weft

#endif // WEFT_LIB_TARGET_CUDA_ROWKERNEL_H
