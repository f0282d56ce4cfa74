// SPDX-License-Identifier: Apache-2.0

// A contraction with the weights of attention, or with their gradients, as one
// operand: what the weights are, as a term over the contraction's loops, and
// the scores in it.

#ifndef WEFT_LIB_ATTENTION_WEIGHTSUSE_H
#define WEFT_LIB_ATTENTION_WEIGHTSUSE_H

#include "weft/Verify/Identities/Lift.h"

#include <memory>

namespace mlir::weft {

/// What is in an exponent: `softcap * tanh(scale * product / softcap) +
/// addends` under the masks.
struct Scores {
  /// The product of queries and keys.
  Value product;
  TermRef query = nullptr, key = nullptr; // Loads
  unsigned depth = 0;
  double scale = 1;
  std::optional<double> softcap;
  SmallVector<TermRef> addends;
  /// Where a condition does not hold, the score is the number instead; the
  /// outermost first.
  SmallVector<std::pair<TermRef, double>> masks;
};

struct WeightsUse {
  MatmulOp op;
  bool weightsAreLeft = false;
  std::unique_ptr<Lifter> lifter;
  /// Of the contraction.
  SmallVector<DigitIndex> loops;
  TermRef weights = nullptr;
  /// The Load of the operand beside them, below casts.
  TermRef other = nullptr;
  Scores scores;
  /// The loop that the weights are normalized over.
  unsigned key = 0;
  /// Whether weights are seen to be normalized, or shifted by a maximum.
  bool isNormalized = false;

  TermTable &getTable() { return lifter->table; }
  /// Whether the contraction sums over the loop.
  bool sumsOver(unsigned loop);
};

/// Reads a contraction with the weights on one side; nullopt if there is no
/// exponential of a product of two tensors in them. Where there is one that is
/// normalized, but more than a product that is scaled, capped, masked and added
/// to, `unread` becomes the product. Loops are taken apart where the queries'
/// dims have `borders` as well: for each dim the strides of its digits.
std::optional<WeightsUse>
readWeightsUse(MatmulOp op, bool weightsAreLeft, Value &unread,
               ArrayRef<SmallVector<int64_t>> borders = {});

/// Reads uses of one product again until the queries' dims have the same digits
/// in all of them. Heads that share values are taken apart where values are
/// read, but need not be anywhere else.
void takeApartAlike(MutableArrayRef<WeightsUse> uses);

/// Calls `visit` for each term below `root`, once; not below those for which it
/// gives false.
void walkTerms(TermRef root, llvm::function_ref<bool(TermRef)> visit);

} // namespace mlir::weft

#endif // WEFT_LIB_ATTENTION_WEIGHTSUSE_H
