// SPDX-License-Identifier: Apache-2.0

// What an element of a tensor is, as a formula of real numbers over loops.
//
// Worked example. The element (i, j) of a product of 8x64 and 64x8 is
// Sum over d of Load(a, i, d) * Load(b, d, j). Terms that are written alike are
// one term, and simple rules make more of them alike: a - b is a + b * -1, x /
// 4 is x * 0.25, constants stand on the right.
//
// An index is written in digits: of a merged dim of 4 heads of 64, the index is
// the digits (h, d), the more significant first. A loop that is taken apart has
// digits of its own: (h floordiv 2) mod 2, then h mod 2.

#ifndef WEFT_VERIFY_IDENTITIES_TERM_H
#define WEFT_VERIFY_IDENTITIES_TERM_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/StringMap.h"

#include <deque>

namespace mlir::weft {

/// (loop floordiv stride) mod size.
struct Digit {
  unsigned loop = 0;
  int64_t stride = 1, size = 1;

  bool operator==(const Digit &other) const {
    return loop == other.loop && stride == other.stride && size == other.size;
  }
};

/// The place in a dim; no digits: 0, of a dim of one element.
using DigitIndex = SmallVector<Digit, 1>;

enum class TermKind {
  Constant,
  Load,  // an element of `value`
  Index, // the index itself, as a number
  Cast,  // the same number in another type
  Add,
  Mul,
  Div,
  Exp,
  Log,
  Max,
  Select,
  Compare, // `name` is the predicate
  And,
  Or,
  Xor,
  Function, // any other op, by `name`
  Sum,      // over `loops`
  MaxOver
};

struct Term {
  Term(TermKind kind, Type type) : kind(kind), type(type) {}

  TermKind kind;
  Type type;
  SmallVector<const Term *, 2> operands;
  double number = 0;
  Value value;
  SmallVector<DigitIndex, 4> indices;
  std::string name;
  SmallVector<unsigned, 2> loops;

  unsigned id = 0;
  /// The loops whose value it depends on, in order.
  SmallVector<unsigned, 6> freeLoops;
  /// A tensor of which this is an element, and which.
  Value origin;
  SmallVector<DigitIndex, 4> originIndices;

  bool isConstant(double expected) const {
    return kind == TermKind::Constant && number == expected;
  }
  bool dependsOn(unsigned loop) const {
    return llvm::is_contained(freeLoops, loop);
  }
};

using TermRef = const Term *;

/// Makes terms and loops, and simplifies.
class TermTable {
public:
  unsigned addLoop(int64_t size) {
    loopSizes.push_back(size);
    return loopSizes.size() - 1;
  }
  int64_t getLoopSize(unsigned loop) const { return loopSizes[loop]; }
  /// All of a loop as an index.
  DigitIndex getIndex(unsigned loop) const {
    if (loopSizes[loop] == 1)
      return {};
    return {Digit{loop, 1, loopSizes[loop]}};
  }
  size_t size() const { return terms.size(); }

  TermRef constant(Type type, double number);
  TermRef load(Type type, Value value, ArrayRef<DigitIndex> indices);
  TermRef index(Type type, const DigitIndex &index);
  TermRef cast(Type type, TermRef in);
  TermRef add(TermRef a, TermRef b);
  TermRef sub(TermRef a, TermRef b);
  TermRef mul(TermRef a, TermRef b);
  TermRef div(TermRef a, TermRef b);
  TermRef max(TermRef a, TermRef b);
  TermRef exp(TermRef a) { return make(TermKind::Exp, a->type, {a}); }
  TermRef log(TermRef a) { return make(TermKind::Log, a->type, {a}); }
  TermRef select(TermRef condition, TermRef a, TermRef b);
  TermRef compare(Type type, StringRef predicate, TermRef a, TermRef b);
  TermRef logical(TermKind kind, TermRef a, TermRef b);
  TermRef function(Type type, StringRef name, ArrayRef<TermRef> operands);
  /// Over those of `loops` that it has more than one pass of.
  TermRef over(TermKind kind, ArrayRef<unsigned> loops, TermRef body,
               Value value = {});
  /// Says of which tensor's element the term is the value; the first counts.
  void setOrigin(TermRef term, Value value, ArrayRef<DigitIndex> indices);

private:
  TermRef make(TermKind kind, Type type, ArrayRef<TermRef> operands);
  TermRef insert(Term term);

  std::deque<Term> terms;
  llvm::StringMap<unsigned> known;
  SmallVector<int64_t> loopSizes;
};

/// Says whether the term is a number above 0 whatever is loaded: one made of
/// exponentials.
bool isPositive(TermRef term);

/// The term below casts.
TermRef skipCasts(TermRef term);

/// Says whether the digit is all of its loop.
bool isWhole(const TermTable &table, const Digit &digit);

} // namespace mlir::weft

#endif // WEFT_VERIFY_IDENTITIES_TERM_H
