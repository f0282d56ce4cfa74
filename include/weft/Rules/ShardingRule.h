// SPDX-License-Identifier: Apache-2.0

// The sharding rules of all ops (see weft/Interfaces/ShardingRule.h), and the
// arithmetic between the shardings of tensors and the axes of factors.

#ifndef WEFT_RULES_SHARDINGRULE_H
#define WEFT_RULES_SHARDINGRULE_H

#include "weft/Interfaces/ShardingRuleOpInterface.h"

namespace mlir::weft {

/// Returns the rule of an op: what it says by way of ShardingRuleOpInterface,
/// less the reductions that no rank may begin, and with the leaves of its order
/// where that matters. Ops on elements need no interface. Nullopt if the op
/// says nothing, or a shape is not static: then all its tensors must be
/// replicated.
std::optional<ShardingRule> getShardingRule(Operation *op);

/// Returns what the choice of shardings takes an op for.
ComputeClass getComputeClass(Operation *op);

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
/// all axes of that dimension after it; `isExact`, if given, says whether
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

/// Returns the op that is the only use of a value if it adds contributions to
/// it, or moves, scales or casts them.
Operation *getLinearUser(Value value);

/// Says whether the rule has a factor that is reduced.
bool hasReduction(const ShardingRule &rule);

/// Says whether an op costs nothing to do again with another sharding: it
/// makes a tensor from no tensor (of rank above 0) but such. Its result takes
/// whatever sharding a use wants.
bool isRematerializable(Operation *op);

/// Returns the element that every position of `value` has, if that is plain
/// from the ops that make it: fills, splats, splat constants, and data
/// movement of such.
TypedAttr getSplatElement(Value value);

/// Says whether what is combined any number of times counts once.
bool isIdempotent(Reduction kind);

/// Says whether `element` changes nothing when it is combined, or, for
/// idempotent kinds, may be combined any number of times.
bool isSafeInit(TypedAttr element, Reduction kind);

} // namespace mlir::weft

#endif // WEFT_RULES_SHARDINGRULE_H
