// SPDX-License-Identifier: Apache-2.0

// The writer of a kernel whose threads need something of each other: who does
// what (RowTeam.cpp), rows and phases (RowKernel.cpp), rows that registers hold
// (HeldRows.cpp), sums (RowSums.cpp), and sums of exponentials
// (RowExponentials.cpp).

#ifndef WEFT_LIB_TARGET_CUDA_ROWKERNEL_H
#define WEFT_LIB_TARGET_CUDA_ROWKERNEL_H

#include "DeviceKernel.h"
#include "weft/Codegen/Fusion/Orders.h"

namespace mlir::weft {

/// Who computes what: a block has `rows` rows at a time, and `slots` threads
/// for each of them.
struct Team {
  int64_t rows = 1, slots = 1;
  /// Threads side by side are of one row, else of rows side by side.
  bool isTogether = false;
  /// If it is not 0, threads read a row once, so many neighbours at a time, and
  /// keep what later phases read of it.
  int64_t heldWidth = 0;
  /// Rows side by side that a thread takes at once, where buffers are aligned.
  int64_t columns = 1;

  int64_t getThreads() const { return rows * slots; }
  /// Says whether no row has threads of several warps, nor does a warp lack
  /// some.
  bool isInWarps() const {
    return isTogether && slots <= kWarp && getThreads() % kWarp == 0;
  }
};

/// What is parallel within the one phase is as good as a row.
KernelShape prepareRows(const KernelShape &shape);

/// The product of the sizes of dims.
int64_t countPoints(const KernelShape &shape, llvm::ArrayRef<int> dims);

/// Chooses it but for `rows`, which is as many as a block has threads for.
Team chooseTeam(const KernelShape &shape);

/// The maximum of the phase `number` by which the next one sums exponentials of
/// what it is the maximum of; null if it does something else.
OpResult findPivot(const KernelShape &shape, unsigned number);

/// A result of a reduction.
struct RowSum {
  const Member *member;
  OpResult result;
  /// None: what its body does to the sum so far is more than one op.
  std::optional<Combiner> combiner;
  Value init;
  /// What the threads have summed up, in memory that they share.
  Value partials;
  /// Which of the thread's rows it is of.
  int64_t column = 0;
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
  void fitTeam();
  void findThread();
  int64_t getRowBytes();
  int64_t countTiles(int64_t columns);
  int64_t countBlocks();
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
  void atColumn(int64_t column, llvm::function_ref<void()> body);
  int64_t getWidth(const Phase &phase);
  void emitAllTiles();
  void emitBarrier();
  void emitGuarded(Value condition, llvm::function_ref<void()> body);
  void storePoint(llvm::ArrayRef<Store> stores);
  Value isFirstSlot();
  int64_t getCount(llvm::ArrayRef<int> dims) const;

  // Rows in registers.
  Value emitOperand(const Member &member, OpOperand &operand) override;
  Value emitHeldInput(const Member &member, OpOperand &operand);
  bool isAlongRow(const Access &access);
  bool isOfRow(const Access &access);
  void goToChunk(const Phase &phase, int64_t step);
  int64_t getNumSteps(const Phase &phase);
  void forEachHeldPoint(const Phase &phase, int64_t step,
                        llvm::function_ref<void(int64_t)> body);
  void loadHeld(const Phase &phase, bool onlyOfRow);
  void keepResults(const Phase &phase);
  void emitHeldTile();
  void emitHeldPoints(const Phase &phase);
  void emitHeldSums(const Phase &phase);

  // Maxima and exponentials.
  void emitPowers(const RowSum &power, unsigned pivot, Value flat,
                  int64_t number, Values &carried);
  Values walkPowers(const RowSum &power, unsigned pivot);
  void emitExponentials(unsigned number, OpResult most);

  // Sums.
  bool usesShuffles();
  void prepareSums(const Phase &phase, uint64_t dims, bool isLast);
  void collectSums(const Phase &phase, uint64_t reduced);
  void joinByShuffles(Values &values);
  Values finishTeamSums(Values values);
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
  void emitSteps(Value flat, int64_t number, Values &carried);
  void emitStep(Values &carried);
  void addPoint(Values &carried, llvm::SmallVectorImpl<Store> &stores,
                int64_t column = 0);
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
  /// The thread's rows side by side, in the code that is being emitted.
  int64_t columns = 1;
  /// Whether neighbours may be taken at once: all buffers are aligned.
  bool isAligned = false;
  Value shared, rowInTile, slot, isValid;

  /// An input along the row, as a member reads it, at each of the thread's
  /// points.
  struct HeldInput {
    Access access;
    Values atPoints;
  };
  /// Of the tile that is being emitted: what is in registers.
  llvm::DenseMap<Value, llvm::SmallVector<HeldInput>> heldInputs;
  llvm::DenseMap<Value, Values> heldResults;
  /// The thread's point that is being emitted, or -1, and whether it is there
  /// in the row, if that is to be asked.
  int64_t heldPoint = -1;
  Value isOwn;

  // Of the sums that are being emitted.
  llvm::SmallVector<unsigned> members;
  llvm::SmallVector<RowSum> sums;
  llvm::SmallVector<int> parallel, reduced;
  llvm::SmallVector<int64_t> sizes;
  int64_t leaves = 1, lanes = 1, count = 1, width = 1;
  bool isDeclared = false, storesPoints = false, isTeams = false;
  /// Of a walk.
  Value currentLane;
};

} // namespace mlir::weft

#endif // WEFT_LIB_TARGET_CUDA_ROWKERNEL_H
