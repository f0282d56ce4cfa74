// SPDX-License-Identifier: Apache-2.0

// The sharding rule of an op: which dimensions of which tensors are one
// dimension of its iteration space, and may so be sharded together.
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
//  - Reduction: the rank's result is a contribution; behind the end of an
//    uneven dimension it must see the neutral element. It is only a Reduction
//    if the init operand is the neutral element (or the kind is idempotent),
//    so that every rank may start from it.
//  - weft.take: the table's axis is a Reduction: each rank looks up in its
//    rows. weft.scatter_add: the axis is Parallel: each rank keeps the updates
//    of its rows.
//  - Replicated: never sharded.
//
// Tensors that an op's regions capture have no place in the rule: they must be
// replicated.

#ifndef WEFT_DIALECT_WEFT_TRANSFORMS_SHARDINGRULE_H
#define WEFT_DIALECT_WEFT_TRANSFORMS_SHARDINGRULE_H

#include "weft/Support/Sharding.h"

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
  /// The leaves of its tree; 1: it is not cut.
  int64_t leaves = 1;
  /// The factors of its loops, major first.
  SmallVector<int, 2> loops;
};

struct ShardingRule {
  SmallVector<Factor, 6> factors;
  /// Set where the order of the reduction matters.
  std::optional<SumOrder> order;
  /// One per operand, and one per result, of the op.
  SmallVector<TensorFactors, 3> operands;
  SmallVector<TensorFactors, 1> results;
};

/// Returns the rule of an op, or nullopt if the op is not known: then all its
/// tensors must be replicated. All known shapes are static.
std::optional<ShardingRule> getShardingRule(Operation *op);

/// Axes per factor of a rule, major first.
struct FactorSharding {
  SmallVector<AxisList, 6> axes;

  explicit FactorSharding(const ShardingRule &rule)
      : axes(rule.factors.size()) {}

  bool operator==(const FactorSharding &other) const {
    return axes == other.axes;
  }
};

/// Moves axes from the front of `rest` to `taken`: as many as cut `size`
/// evenly, the last one maybe in part. Returns how many elements are left
/// uncut.
int64_t takeEvenAxes(AxisList &taken, AxisList &rest, int64_t size);

/// Returns the axes of each dimension of a tensor that the factors' axes make:
/// canonical, closed, without a partial state.
Sharding getTensorSharding(const TensorFactors &tensor,
                           const FactorSharding &sharding);

/// As above for result `index`, with the partial state that sharded reductions
/// make.
Sharding getResultSharding(const ShardingRule &rule, unsigned index,
                           const FactorSharding &sharding);

/// Returns the axes on Reduction factors: in the order in which their parts are
/// joined if the rule has one, else as a canonical set.
AxisList getReductionAxes(const ShardingRule &rule,
                          const FactorSharding &sharding);

/// Returns how contributions along the axes on Reduction factors are combined.
Reduction getReductionKind(const ShardingRule &rule,
                           const FactorSharding &sharding);

/// Spreads the dims of a tensor's sharding over its factors. What a factor
/// cannot take (it is Replicated, or sizes do not divide) is left out, with
/// all axes of that dimension behind it; `isExact`, if given, says whether
/// nothing was. Partial state and storage are not looked at.
FactorSharding projectToFactors(const ShardingRule &rule,
                                const TensorFactors &tensor,
                                const Sharding &sharding,
                                bool *isExact = nullptr);

/// Says whether the axes fit the rule: nothing on Replicated factors, no axis
/// twice, one kind of reduction, exact cuts where a dimension is made of
/// several factors, and subtrees where a sum has an order.
bool isLegal(const ShardingRule &rule, const FactorSharding &sharding);

/// Returns the factor sharding that these shardings of all operands and
/// results agree on, as they do in explicit IR, or nullopt if they do not.
/// Entries of what is no ranked tensor are ignored. Looks at the dims only.
std::optional<FactorSharding> getFactorSharding(const ShardingRule &rule,
                                                ArrayRef<Sharding> operands,
                                                ArrayRef<Sharding> results);

/// Says whether the op commutes with the combination of contributions: if the
/// operands marked in `isPartial` are contributions of kind `kind` over some
/// axes, and the other operands are whole along these, then so are all results.
/// True for sums, scaling, conversion between floating-point types,
/// contractions in one operand, data movement, and reductions of that kind. In
/// a module with `weft.invariance` a sum of floating-point numbers commutes
/// with data movement only: anything else would round it in another place.
bool keepsPartial(Operation *op, ArrayRef<bool> isPartial, Reduction kind);

/// Says whether an op costs nothing to do again with another sharding: it
/// makes a tensor from no tensor (of rank above 0) but such. Its result takes
/// whatever sharding a use wants.
bool isRematerializable(Operation *op);

/// Returns the element that every position of `value` has, if that is plain
/// from the ops that make it: fills, splats, splat constants, and data
/// movement of such.
TypedAttr getSplatElement(Value value);

/// Says whether `element` changes nothing when it is combined, or, for
/// idempotent kinds, may be combined any number of times.
bool isSafeInit(TypedAttr element, Reduction kind);

} // namespace mlir::weft

#endif // WEFT_DIALECT_WEFT_TRANSFORMS_SHARDINGRULE_H
