// SPDX-License-Identifier: Apache-2.0

// What weft.attention and its gradient are to be, from the uses of the weights
// of one product of queries and keys.
//
// Loops of the op are known by where they index the queries: the digits of the
// queries' dims are batches, groups, the query loop and the depth. So they are
// the same in all uses, forward and backward. The key loop, the depth and the
// values come after.

#ifndef WEFT_LIB_ATTENTION_ATTENTIONPLAN_H
#define WEFT_LIB_ATTENTION_ATTENTIONPLAN_H

#include "WeightsUse.h"

namespace mlir::weft {

/// A tensor, and for each dim the loops of the op that its index is made of.
struct Located {
  Value value;
  SmallVector<SmallVector<unsigned, 1>> dims;
  /// What the number is cast to after it is read; null: nothing.
  Type cast;
  /// Loops for each step of which it has to be there, though no dim is of them.
  SmallVector<unsigned> repeats;

  SmallVector<unsigned> getLoops() const {
    SmallVector<unsigned> all = repeats;
    for (const auto &dim : dims)
      all.append(dim.begin(), dim.end());
    return all;
  }
};

/// A value that a result of the op is to replace.
struct Replaced {
  Located old;
  WeightsUse *use = nullptr;
};

struct AttentionPlan {
  /// Of the op's loops, in order.
  SmallVector<int64_t> sizes;
  Located q, k, v, dout;
  double scale = 1;
  std::optional<double> softcap, fill;
  std::optional<int64_t> left, right;
  /// Terms of `use`, null if there is none.
  TermRef bias = nullptr, mask = nullptr;
  TermRef querySegments = nullptr, keySegments = nullptr;
  /// The score of a key that has no value.
  TermRef sink = nullptr;
  WeightsUse *use = nullptr;
  /// The uses that are the result and the gradients; null: there is none.
  WeightsUse *out = nullptr, *dq = nullptr, *dk = nullptr, *dv = nullptr;

  unsigned getQuery() const { return sizes.size() - 4; }
  unsigned getKey() const { return sizes.size() - 3; }
  unsigned getDepth() const { return sizes.size() - 2; }
  unsigned getValue() const { return sizes.size() - 1; }
  bool hasGradient() const { return dq || dk || dv; }
  bool isGroup(unsigned loop) const;
};

/// Where the loops of a use are among those of the op.
class LoopPlaces {
public:
  /// Of the plan, whose queries are located, for a use with the same queries.
  /// `rest`: what a loop is that is neither of queries nor of keys.
  static std::optional<LoopPlaces> get(const AttentionPlan &plan,
                                       const WeightsUse &use, unsigned rest);

  std::optional<unsigned> getPlace(unsigned loop) const;
  /// Nullopt if an index has digits of no loop of the op.
  std::optional<Located> locate(const TermTable &table, Value value,
                                ArrayRef<DigitIndex> indices) const;
  /// What indexes a value that is located, in the loops of the use.
  SmallVector<DigitIndex> getIndices(ArrayRef<DigitIndex> loops,
                                     const Located &located) const;
  void put(unsigned loop, unsigned place) { places[loop] = place; }

private:
  llvm::DenseMap<unsigned, unsigned> places;
  unsigned rest = 0;
};

/// What is tried one way, then another.
struct PlanChoice {
  /// Keys that are not seen weigh nothing; else they have the mask's fill.
  bool usesWindows = true;
  /// The sum of exponentials is divided by after the values are added up.
  bool dividesAfter = false;
};

/// Makes a plan of the uses of one product; nullopt if they are not those of
/// attention, with `reason` if they could be.
std::optional<AttentionPlan> makePlan(MutableArrayRef<WeightsUse> uses,
                                      PlanChoice choice, std::string &reason);

/// The value before barriers, through which it stays what it is.
Value skipBarriers(Value value);

/// The values that may stand for a use's result: those that are made of it
/// alone. First the one after transposes that nothing else reads, so that the
/// op writes what is wanted; then the contraction's, then the others.
SmallVector<Replaced> getReplaceable(const AttentionPlan &plan,
                                     WeightsUse &use);

/// The dims of `value` by those of one that it is made of; nullopt if that is
/// not read, or not all of the dims are told by it.
std::optional<Located> locateMade(const Located &made, Value value);

} // namespace mlir::weft

#endif // WEFT_LIB_ATTENTION_ATTENTIONPLAN_H
