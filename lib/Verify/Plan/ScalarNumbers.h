// SPDX-License-Identifier: Apache-2.0

// Numbers for the scalars of two programs, by which it is seen that one of the
// first is one of the second: ops without effects on equal numbers have equal
// numbers. What is no such op (a loop's counter, an element of a buffer) gets a
// number when the ops that make it are matched.
//
// Worked example. In a loop with counter number 5:
//   scheduled: %o = arith.muli %i, %c4          number 9
//   planned:   %p = arith.muli %j, %d4          number 9, if %d4 is 4 as well
//              %q = arith.addi %p, %p           as a form: 8 times number 5
//
// Forms are sums of multiples of numbers. They are equal where places that are
// known only at run time are: arithmetic wraps in both programs alike.

#ifndef WEFT_LIB_VERIFY_PLAN_SCALARNUMBERS_H
#define WEFT_LIB_VERIFY_PLAN_SCALARNUMBERS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

#include <map>
#include <optional>
#include <vector>

namespace mlir::weft::proof {

/// A constant and multiples of scalars, none of which is itself a sum.
struct LinearForm {
  uint64_t constant = 0;
  std::map<unsigned, uint64_t> terms;

  void add(const LinearForm &other, uint64_t factor);
  bool operator==(const LinearForm &other) const {
    return constant == other.constant && terms == other.terms;
  }
};

class ScalarNumbers {
public:
  /// Numbers the results of an op without effects, regions or buffers; false if
  /// it is none. All its operands have numbers.
  bool add(Operation *op);
  /// Says that the two are equal, whatever they are.
  void unite(Value scheduled, Value planned);
  /// The number of a scalar; nullopt if it has none.
  std::optional<unsigned> find(Value value) const;
  /// Says whether both have numbers, and the same.
  bool isSame(Value a, Value b) const;
  const LinearForm &getForm(unsigned number) const { return forms[number]; }

private:
  unsigned makeNew();
  LinearForm makeForm(Operation *op, unsigned number) const;

  DenseMap<Value, unsigned> numbers;
  /// By kind, attributes, types and the numbers of operands.
  std::map<std::vector<const void *>, unsigned> known;
  std::vector<LinearForm> forms;
};

} // namespace mlir::weft::proof

#endif // WEFT_LIB_VERIFY_PLAN_SCALARNUMBERS_H
