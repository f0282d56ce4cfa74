// SPDX-License-Identifier: Apache-2.0

// The sharding rule of an op: which dimensions of which tensors are one
// dimension of its iteration space, and may so be sharded together. Ops give it
// by way of ShardingRuleOpInterface.
//
// A *factor* is a dimension of the iteration space. A dimension of a tensor is
// made of factors, major to minor: mostly one; several where a reshape merges
// dimensions; none where the size is 1 or the operand is broadcast.
//
// Worked example. `tensor.expand_shape` from 16x8 to 16x2x4 has the factors
// f0 = 16, f1 = 2, f2 = 4; the operand is [f0][f1 f2], the result
// [f0][f1][f2]. On the mesh ["tp"=4] the operand's sharding [{}, {"tp"}] puts
// "tp":(1)2 on f1 and "tp":(2)2 on f2, and the result is
// [{}, {"tp":(1)2}, {"tp":(2)2}]. On ["tp"=2] all of tp is on f1.
//
// Worked example. A contraction of 8x64 and 64x32 has f0 = 8 and f1 = 32,
// parallel, and f2 = 64, a reduction. With "tp" on f2 the operands are
// [{}, {"tp"}] and [{"tp"}, {}], and the result is
// [{}, {}], partial = sum {"tp"}.
//
// What a sharded factor means for the code on one rank:
//  - Parallel: the rank computes its chunk. linalg.index needs the chunk's
//    offset. A factor in one dimension alone may be uneven.
//  - Reduction: the rank's result is a contribution; past the end of an
//    uneven dimension it must see the neutral element. It is only a Reduction
//    if every rank may start from the operands in `inits`.
//  - weft.take: the table's axis is a Reduction: each rank looks up in its
//    rows. weft.scatter_add: the axis is Parallel: each rank keeps the updates
//    of its rows.
//  - Replicated: never sharded.
//
// Tensors that an op's regions capture have no place in the rule: they must be
// replicated.

#ifndef WEFT_INTERFACES_SHARDINGRULE_H
#define WEFT_INTERFACES_SHARDINGRULE_H

#include "weft/Sharding/Sharding.h"

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Operation.h"

namespace mlir::weft {

enum class FactorKind { Parallel, Reduction, Replicated };

struct Factor {
  int64_t size = 1;
  FactorKind kind = FactorKind::Parallel;
  /// How contributions are combined, if the kind is Reduction.
  Reduction reduction = Reduction::Sum;
};

/// The factors of one dimension, as indices into ShardingRule::factors, major
/// to minor. Factors of size 1 are left out.
using DimFactors = SmallVector<int, 1>;

/// The factors of each dimension of a tensor; empty for what is no ranked
/// tensor.
using TensorFactors = SmallVector<DimFactors, 4>;

/// What a sum must keep to so that its order does not depend on the mesh; see
/// ReductionOrder.h.
struct SumOrder {
  /// The leaves of its tree; 1: it is not cut. Not the op's to say.
  int64_t leaves = 1;
  /// The factors of its loops, major first.
  SmallVector<int, 2> loops;
};

struct ShardingRule {
  SmallVector<Factor, 6> factors;
  /// Set where the order of the reduction matters.
  std::optional<SumOrder> order;
  /// Operands that reductions start from. Where one of them is not known to be
  /// neutral, no rank may start from it but one, and Reduction factors become
  /// Replicated.
  SmallVector<unsigned, 1> inits;
  /// One per operand, and one per result, of the op.
  SmallVector<TensorFactors, 3> operands;
  SmallVector<TensorFactors, 1> results;
};

/// What an operand is to the ranks along an axis.
enum class PartialState {
  /// The same on all of them.
  Whole,
  /// What they have is still to be combined.
  Partial,
  /// Zero on all of them, which passes for a contribution to a sum as well.
  Zero
};

/// The families of ops that the choice of shardings weighs differently.
enum class ComputeClass {
  /// Reads its operands and writes its results once.
  Other,
  /// Two operations for each point of its iteration space; weights are brought
  /// to it.
  Contraction,
  /// Finds rows of a table (operand 0).
  Lookup,
  /// Adds to rows of a table (operand 0).
  RowUpdate
};

/// Collects the factors of one op. Dimensions of size 1 get none.
class RuleBuilder {
public:
  explicit RuleBuilder(Operation *op);

  int add(int64_t size, FactorKind kind = FactorKind::Parallel,
          Reduction reduction = Reduction::Sum);
  SmallVector<int> addAll(ArrayRef<int64_t> sizes,
                          FactorKind kind = FactorKind::Parallel);

  /// Makes a factor that is never sharded.
  void replicate(int factor) {
    rule.factors[factor].kind = FactorKind::Replicated;
  }

  /// Says that the dimension is made of the factor (and of those before).
  void put(DimFactors &dim, int factor);
  void putAll(TensorFactors &tensor, ArrayRef<int> factors);
  /// Puts the factors that a projected permutation names.
  void putMap(TensorFactors &tensor, AffineMap map, ArrayRef<int> factors);

  ShardingRule rule;
};

/// The rule of ops whose tensors all have the shape of the result; nullopt if
/// one has another.
std::optional<ShardingRule> getIdentityRule(Operation *op);

/// Says whether all operands and results that have shapes are ranked tensors of
/// static shape: only then there is a rule.
bool hasStaticTensors(Operation *op);

/// The shape of a ranked tensor, and nothing for other values.
ArrayRef<int64_t> getTensorShape(Value value);

/// Checks that the rule is about the op's tensors: (c1) an entry per operand
/// and per result, (c2) an entry per dimension of each, (c3) of factors that
/// are there, (c4) whose sizes multiply to the dimension's, (c5) inits that are
/// operands, and (c6) the reduction loops of an op that needs an order in the
/// rule's order. Emits at the op and fails if not.
LogicalResult verifyShardingRule(Operation *op, const ShardingRule &rule);

} // namespace mlir::weft

#endif // WEFT_INTERFACES_SHARDINGRULE_H
