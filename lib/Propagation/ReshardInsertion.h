// SPDX-License-Identifier: Apache-2.0

// The walk that inserts reshards, and what it knows of values.

#ifndef WEFT_LIB_PROPAGATION_RESHARDINSERTION_H
#define WEFT_LIB_PROPAGATION_RESHARDINSERTION_H

#include "weft/Rules/OpSharding.h"
#include "weft/Rules/ReductionOrder.h"
#include "weft/Rules/ShardingConversion.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <memory>

namespace mlir::weft {

inline bool isTensor(Value value) {
  return isa<RankedTensorType>(value.getType());
}

/// A value with the sharding that it has.
struct Version {
  Value value;
  Sharding sharding;
  /// For a gather of storage axes: how many gathers of other values were
  /// before it.
  std::optional<int64_t> gatherCount;
};

/// What is known of a value of the original program.
struct ValueState {
  SmallVector<Version, 0> versions;
  std::optional<Sharding> wish;
  /// An argument, or made from one by ops that keep each element.
  bool isWeight = false;
  /// As in TensorView.
  AxisList scattered;
  /// Contributions are one element that is looked up, and zeros.
  bool isLookedUp = false;
  /// Made by an op that is free to redo; then there may be no version yet.
  bool isFree = false;
};

class ReshardInsertion {
public:
  ReshardInsertion(func::FuncOp func, const NamedMesh &mesh, StringRef serial)
      : func(func), mesh(mesh),
        planner(mesh.mesh, /*keepsOrder=*/getInvariance(func) != nullptr),
        builder(func.getContext()), isAccumulated(!serial.empty()),
        serialAxis(mesh.mesh.axisIndex(serial).value_or(-1)) {
    planner.setSerialAxis(serialAxis);
  }

  void run();

  int64_t numReshards = 0;

private:
  ValueState &getState(Value value);
  void addResult(Value value, const Sharding &made);

  //===--------------------------------------------------------------------===//
  // Versions
  //===--------------------------------------------------------------------===//

  bool isValid(const Version &version) const {
    return !version.gatherCount || *version.gatherCount == numGathers;
  }
  int64_t getCost(Value value, const Sharding &from, const Sharding &to);
  const Version &getCheapest(Value value, const Sharding &needed);
  Value materialize(Value value, const Sharding &needed, Operation *user);
  Value materializeFree(Value value, const Sharding &needed, Operation *user);
  std::optional<FactorSharding> getFactors(Value value, const Sharding &made);
  std::optional<int64_t> getNarrowCost(Value value, const Sharding &needed);
  Value widenAfterMove(Value value, const Sharding &needed, Operation *user);
  Value insertReshard(Value value, Version source, const Sharding &to,
                      Operation *user);
  void reportReshard(ReshardOp reshard, const Sharding &from,
                     const Sharding &to, Operation *user);

  void reportOrder(const OpView &view, const OpSharding &choice);
  void reportGather(const OpView &view, const OpSharding &choice);
  void processArguments();
  void processOp(Operation *op);
  void processFree(Operation *op);
  void processShard(ShardOp op);
  void processBarrier(OptimizationBarrierOp op);
  void processReturn(func::ReturnOp op);
  void processUnknown(Operation *op);
  void processWithRule(Operation *op, const ShardingRule &rule);
  void replicateCaptures(Operation *op);
  Sharding getReturned(unsigned index, Value value);

  TensorView viewOperand(Operation *op, Value value,
                         const TensorFactors &factors);
  OpView viewOp(Operation *op, const ShardingRule &rule);
  SmallVector<Operation *> getUsesToCome(Value value, Operation *op);
  bool mayStayPartial(Value value, ArrayRef<Operation *> users);
  void findSummands(Value value, TensorView &view);
  AxisList getJoinedWith(Value value);
  bool addSummand(Value value, TensorView &view);
  AxisList getStorage(const OpView &view, const OpSharding &choice,
                      unsigned index) const;
  AxisList getScatteredAxes(const OpView &view, const Sharding &made) const;
  bool isPlainImage(const OpView &view) const;

  func::FuncOp func;
  const NamedMesh &mesh;
  ReshardPlanner planner;
  OpBuilder builder;
  bool isAccumulated;
  /// Whose parts a rank computes one after the other; -1: none.
  int64_t serialAxis;
  llvm::DenseMap<Value, std::unique_ptr<ValueState>> states;
  llvm::DenseMap<Operation *, SmallVector<Value, 2>> freeOperands;
  llvm::DenseSet<Operation *> processed;
  SmallVector<Operation *> toErase;
  Value lastGathered;
  int64_t numGathers = 0;
};

} // namespace mlir::weft

#endif // WEFT_LIB_PROPAGATION_RESHARDINSERTION_H
