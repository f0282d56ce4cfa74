// SPDX-License-Identifier: Apache-2.0

// The choice of axes for one op: which factor of its rule each mesh axis
// shards, and which contributions wait.
//
// Worked example. On ["dp"=2, "tp"=2], x is [{"dp"}, {"tp"}] and w is
// [{"tp"}, {}]; their product is wished as [{"dp"}, {}]. The axis tp may shard
// the reduction (no operand moves, the result is a contribution and costs one
// all_reduce) or nothing (x and w are gathered, and both ranks along tp do the
// same work). dp may shard the rows of x or nothing. All combinations are
// costed, and the cheapest is taken.
//
// The cost is in bytes: those that a rank receives to bring operands where
// they are needed and results where they are wished, and the rank's share of
// the work: each operation counts kBytesPerFlop, each byte of a tensor that it
// reads or writes kBytesPerTouchedByte. These weights need not be exact: they
// keep axes from being dropped to save a small gather.

#ifndef WEFT_RULES_OPSHARDING_H
#define WEFT_RULES_OPSHARDING_H

#include "weft/Rules/ShardingRule.h"
#include "weft/Sharding/Reshard.h"

#include "mlir/IR/BuiltinTypes.h"

namespace mlir::weft {

inline constexpr double kBytesPerFlop = 1.0 / 32;
inline constexpr double kBytesPerTouchedByte = 1.0 / 8;
/// A weight that the user shards for compute is not to be made whole to save
/// a few bytes: such moves count more.
inline constexpr double kWeightMoveFactor = 4;

/// One tensor operand or result of the op.
struct TensorView {
  const TensorFactors *factors = nullptr;
  RankedTensorType type;
  /// Shardings in which the value is at hand, the op's own first; none for a
  /// result.
  SmallVector<Sharding, 1> sources;
  /// The sharding that propagation wishes for it.
  std::optional<Sharding> wish;
  /// Any sharding costs nothing.
  bool isFree = false;
  /// An argument, or a plain image of one.
  bool isWeight = false;
  /// All uses that are still to come can bear contributions.
  bool mayStayPartial = false;
  /// Axes that shard it only because contributions were joined in parts: it is
  /// gathered, unless the op has several such operands.
  AxisList scattered;
  /// Uses that are still to come, this one included.
  int64_t numUses = 1;
  /// Of a result, if contributions to it are added to others before anything
  /// else uses them: the shardings of those that are known, and how many others
  /// there may be. The sum is combined once.
  SmallVector<Sharding, 2> knownSummands;
  int64_t numOpenSummands = 0;
  /// Of a result that only one op uses, together with contributions in a
  /// declared order: the axes along which those are joined. That op may work on
  /// parts, and gather what it makes of them.
  AxisList joinedWith;
};

struct OpView {
  Operation *op = nullptr;
  const ShardingRule *rule = nullptr;
  /// One per operand and per result; those that are no tensors have no type.
  SmallVector<TensorView, 0> operands, results;
  /// Ranks go through microbatches one after the other: tables are gathered, as
  /// tokens would be exchanged in each.
  bool isAccumulated = false;
};

struct OpSharding {
  FactorSharding factors;
  /// Axes along which operands marked in `isPartial`, and so the results, stay
  /// contributions.
  AxisList kept;
  Reduction kind = Reduction::Sum;
  SmallVector<bool, 4> isPartial;

  explicit OpSharding(const ShardingRule &rule) : factors(rule) {}
};

/// Returns the sharding that operand `index` must have.
Sharding getNeeded(const OpView &view, const OpSharding &choice,
                   unsigned index);

/// Returns the sharding that result `index` then has.
Sharding getMade(const OpView &view, const OpSharding &choice, unsigned index);

/// Returns the whole, closed sharding that a value which is `made` is wished
/// to have: open dims of the wish keep what is made.
Sharding getTarget(const std::optional<Sharding> &wish, const Sharding &made);

/// Chooses the sharding of an op. Deterministic.
OpSharding chooseOpSharding(const OpView &view, ReshardPlanner &planner);

/// Returns the bits of an element as they count for moving it.
int64_t getElementBits(RankedTensorType type);

/// Returns what a planner has to know of the elements: sums of all but floats
/// are exact.
Elements getElements(RankedTensorType type);

} // namespace mlir::weft

#endif // WEFT_RULES_OPSHARDING_H
