// SPDX-License-Identifier: Apache-2.0

// How much is done to compare two programs.

#ifndef WEFT_LIB_VERIFY_ELEMENTS_ELEMENTEFFORT_H
#define WEFT_LIB_VERIFY_ELEMENTS_ELEMENTEFFORT_H

#include "Elements.h"

namespace mlir::weft::proof {

enum class Outcome {
  Equal,
  /// The programs differ, as far as can be said.
  Different,
  /// The table is full.
  Full,
  /// A program cannot be followed, which has been said.
  Failed,
};

/// The ops of both, those inside of others among them.
int64_t countOps(Operation *one, Operation *other);

/// Compares programs of `numOps` ops in all. Where each element of a tensor is
/// made of many others, as those of an associative scan are, expressions grow
/// with the square of its length. So it is first tried with few expressions,
/// and then with names for large elements, which hide what is in them: programs
/// are equal if they are so with names, and may be if they are not. So fewer
/// are named next: woven ones, which are cut alike in all programs, and of
/// these only larger ones. Last, all is looked into.
///
/// `compare` gets the table, and whether to say what differs: of
/// the first and the last try, where nothing is named. Emits at `op` that the
/// programs are too large.
LogicalResult
compareWithEffort(Operation *op, int64_t numOps,
                  function_ref<Outcome(ElementTable &, bool says)> compare);

} // namespace mlir::weft::proof

#endif // WEFT_LIB_VERIFY_ELEMENTS_ELEMENTEFFORT_H
