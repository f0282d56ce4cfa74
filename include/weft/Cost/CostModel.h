// SPDX-License-Identifier: Apache-2.0

// How long ops take on a machine. The schedule, the simulator and reports all
// ask here, and an op has one answer, on tensors as on buffers.
//
//   products      operations / rate of the type that they run in, or the bytes
//                 that are read and written / memory bandwidth if that is more
//   kernels       bytes of inputs (each once) and outputs / bandwidth, or the
//                 arithmetic of their elements if that is more
//   both          plus the overhead of a kernel; slower by what the collectives
//                 beside them take
//   collectives   the fastest of the ways that lib/Cost/CollectiveTime.h lists
//
// Collectives run on multiprocessors and move bytes through memory. How much of
// them runs beside which kernel is the schedule's to say, and the schedule
// depends on times, so what all collectives of a function take is spread evenly
// over its compute. A function that has a schedule keeps the factors that this
// was made with.
//
// Times are whole nanoseconds, rounded once, and the same on every machine that
// computes them: only +, -, *, / of IEEE doubles, never contracted.
//
// Worked example. A product of 1024x1024x1024 in bf16 at 500 TFLOP/s with an
// overhead of 2 us takes 2 * 2^30 / 5e14 s + 2 us = 6295 ns.

#ifndef WEFT_COST_COSTMODEL_H
#define WEFT_COST_COSTMODEL_H

#include "weft/Cost/Machine.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

#include <memory>

namespace mlir::weft {

struct GroupShape;

/// A collective as far as its time depends on it, from a weft collective
/// (synchronous or started) or a weft_rt.start.
struct CollectiveCost {
  int64_t groupSize = 1;
  /// What a rank receives.
  int64_t bytes = 0;
  int64_t nanoseconds = 0;
  /// The part of it that does not depend on the bytes.
  int64_t latency = 0;
  /// See CostModel::getLink.
  int link = -1;
  /// Index in the machine's levels of the innermost one that holds each group.
  int level = -1;
};

class CostModel {
public:
  /// The machine is kept by reference. `mesh` may be null: one rank.
  CostModel(const Machine &machine, MeshAttr mesh);
  /// For the first mesh of `module`.
  CostModel(const Machine &machine, ModuleOp module);
  ~CostModel();

  /// How much longer compute takes because of the collectives beside it.
  struct Slowdown {
    int64_t computePpm = 1000000, memoryPpm = 1000000;

    double getCompute() const { return double(computePpm) / 1e6; }
    double getMemory() const { return double(memoryPpm) / 1e6; }
  };

  /// The factors that count for an op: those of its function.
  Slowdown getSlowdown(Operation *op) const;

  /// Time on the compute stream in ns. 0 for ops that have no code: views,
  /// terminators, and collectives, whose time is not the compute stream's.
  int64_t getComputeNanoseconds(Operation *op) const;

  /// Time that the link is busy with a collective, from all members present to
  /// done, in ns.
  int64_t getCollectiveNanoseconds(Operation *op) const;

  /// Which link a collective occupies. Collectives on one link take turns. -1:
  /// none (a group of one rank).
  int getLink(Operation *op) const;

  /// All of it at once; nullopt if `op` is no collective.
  std::optional<CollectiveCost> getCollectiveCost(Operation *op) const;

  const Machine &getMachine() const { return machine; }
  MeshAttr getMesh() const { return mesh; }

private:
  int64_t getOpNanoseconds(Operation *op, const Slowdown &slowdown) const;
  double getProductEfficiency(Operation *op, const OpWork &work) const;
  int64_t getProductNanoseconds(Operation *op, const OpWork &work,
                                const Slowdown &slowdown) const;
  int64_t getKernelNanoseconds(const OpWork &work,
                               const Slowdown &slowdown) const;
  int64_t getRegionNanoseconds(Region &region, const Slowdown &slowdown) const;
  Slowdown computeSlowdown(func::FuncOp function) const;
  const GroupShape &getShape(AxesAttr axes) const;

  const Machine &machine;
  MeshAttr mesh;
  /// What was asked before.
  mutable llvm::DenseMap<Attribute, std::unique_ptr<GroupShape>> shapes;
  mutable llvm::DenseMap<Operation *, Slowdown> slowdowns;
};

/// Warns of products of a type that the machine does not say a rate for, once
/// for each type: they count as those of a wider one.
void warnOfUnknownRates(ModuleOp module, const Machine &machine);

} // namespace mlir::weft

#endif // WEFT_COST_COSTMODEL_H
