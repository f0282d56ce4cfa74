// SPDX-License-Identifier: Apache-2.0

// What one element of a tensor is, as an expression over its indices. Unlike
// the forms of Forms.h these speak of the program of one rank: a collective is
// a function of its operand, and no mesh is known. In return they do not depend
// on how the program is cut into ops: a tensor has no node of its own where its
// elements can be said, so that it does not matter whether a producer was
// inlined, in which order loops run, or which reshape stands where.
//
// Worked example. `y = transpose(x) + 1`, read by a slice of y from row 4 on,
// is
//   x[d1, d0 + 4] + 1
// whether the slice was taken before or after the sum, in one kernel or in two.
//
// What cannot be said element by element (a reduction, a collective, a
// concatenation) is a *function* of indices, and a Read applies it. A
// function's own variables are numbered in the order in which it uses them, so
// that it does not matter in which order its dimensions lay.
//
// Equal expressions are one object.

#ifndef WEFT_LIB_VERIFY_ELEMENTS_ELEMENTS_H
#define WEFT_LIB_VERIFY_ELEMENTS_ELEMENTS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/Allocator.h"

#include <map>
#include <unordered_map>

namespace mlir::weft::proof {

enum class ElementKind {
  /// Of tensor.empty.
  Undefined,
  Constant,
  /// An index, or what a reduction has so far.
  Variable,
  /// numbers[0] + the sum of numbers[i + 1] * operands[i], on indices.
  Sum,
  /// operands[0] / numbers[0], rounded down, on indices.
  Quotient,
  /// An op on scalars.
  Scalar,
  /// Over the reals: operands added up, and what is a float of some type.
  Total,
  Rounded,
  /// The function operands[0] at the other operands.
  Read,
  // Functions.
  Argument,
  /// A constant's elements, row-major.
  Data,
  /// operands[0], but for boxes with operands of their own.
  Parts,
  Reduction,
  Contraction,
  Collective,
  /// An op's result of which nothing else is known.
  Other,
  /// A tensor as an operand of such an op.
  Tensor,
  /// operands[0], which is not looked into.
  Named,
  /// What an op that both programs have makes of `operands`, each over the
  /// variables 0, 1, ...: it is told by a number, and not looked into.
  Alike,
};

struct Element {
  ElementKind kind;
  /// The op; null for kinds that say all.
  Attribute name = {};
  /// All else that tells it from others.
  Attribute details = {};
  Type type = {};
  SmallVector<int64_t, 2> numbers = {};
  SmallVector<const Element *, 4> operands = {};
  /// Sizes of a function's own variables.
  SmallVector<int64_t, 2> shape = {};

  // Found when it is taken in.
  unsigned id = 0;
  /// The variables that it depends on, in the order of their first use.
  SmallVector<const Element *, 4> variables = {};
  /// Which of the first 64 of these occur by themselves, and not in sums only.
  uint64_t alone = 0;
  /// Whether a variable is divided in it.
  bool divides = false;
  /// Of an index: its least and greatest value, if known.
  std::optional<std::pair<int64_t, int64_t>> range = {};
  /// How deep in loops the deepest values are that it is made of.
  int64_t depth = 0;
  /// Equal for expressions that differ in the numbers of variables alone: what
  /// operands that may be exchanged are sorted by.
  size_t pattern = 0;
  /// Of all that makes it up.
  size_t hash = 0;
  /// What stands for it where ops are folded, if anything does yet.
  mutable Value value = {};

  bool isFunction() const { return kind >= ElementKind::Argument; }
  bool isAlone(size_t variable) const {
    return variable < 64 && ((alone >> variable) & 1);
  }
  /// Says whether it is a scalar op of this name.
  bool isOp(StringRef op) const {
    return kind == ElementKind::Scalar &&
           cast<StringAttr>(name).getValue() == op;
  }
  /// As in `weft.all_reduce 8x16`.
  std::string str() const;
};

/// Which expression stands for which variable.
using Assignment = SmallVector<std::pair<const Element *, const Element *>, 8>;

/// Of how many expressions a table is full, of how many an element is named,
/// and whether that is so of all elements, or of woven ones only; and whether
/// what products multiply, and what ops make that both programs have, is named.
struct ElementLimits {
  size_t elements = SIZE_MAX, named = SIZE_MAX;
  bool namesAll = false, namesAlike = false;

  bool isExact() const { return named == SIZE_MAX && !namesAlike; }
};

class ElementTable {
public:
  explicit ElementTable(MLIRContext *context, ElementLimits limits = {});
  ~ElementTable();

  MLIRContext *getContext() const { return context; }
  /// Makes room for what a program of so many ops needs at least.
  void reserve(size_t numOps);
  bool isFull() const { return numElements > limits.elements; }

  // Indices.
  const Element *getIndex(int64_t number);
  const Element *add(const Element *a, const Element *b, int64_t factor = 1);
  const Element *scale(const Element *a, int64_t factor);
  const Element *floorDiv(const Element *a, int64_t divisor);
  /// The value of an affine expression at `dims`.
  const Element *evaluate(AffineExpr expr, ArrayRef<const Element *> dims);

  // Scalars.
  const Element *getUndefined(Type type);
  const Element *getConstant(TypedAttr value);
  /// An index in [0, size): of size 1, the constant 0.
  const Element *getVariable(unsigned position, int64_t size);
  /// What result `number` of a reduction has so far.
  const Element *getAccumulator(unsigned number, Type type);
  /// An op on scalars, folded if it can be.
  const Element *getScalar(Attribute name, DictionaryAttr details, Type type,
                           ArrayRef<const Element *> operands,
                           int64_t result = 0);
  /// The attributes of an op with these and, for all others, what it has by
  /// itself.
  DictionaryAttr getDetails(StringAttr name, ArrayRef<NamedAttribute> attrs);
  const Element *getRead(const Element *function,
                         ArrayRef<const Element *> indices);
  /// Reads a function of kind Parts. What is done alike with all parts of a
  /// tensor is done with the tensor.
  const Element *readParts(Element parts, ArrayRef<const Element *> indices);

  // Functions.
  /// Makes a function of its free variables from an expression with operands
  /// over any; `bound` are those that it has for itself, in order. Returns the
  /// function at the variables that it was made from, and at `more`.
  const Element *apply(Element function, ArrayRef<const Element *> bound,
                       ArrayRef<const Element *> more = {});
  const Element *getTensor(const Element *element, ArrayRef<int64_t> shape);
  const Element *get(Element element);
  /// A large element that the limits name, as a function that is not looked
  /// into; any other as it is.
  const Element *nameIfLarge(const Element *element);
  /// A factor of a product, as a function that is not looked into if the limits
  /// say so.
  const Element *nameFactor(const Element *element);
  /// Whether ops that both programs have are not looked into.
  bool namesAlikeOps() const { return limits.namesAlike; }

  // Sums over the reals: in any order, with casts of addends passed over.
  void setOfReals() { ofReals = true; }
  bool isOfReals() const { return ofReals; }
  const Element *getTotal(ArrayRef<const Element *> addends);
  const Element *round(const Element *element, Type type);
  static const Element *skipRounding(const Element *element);
  /// What `op`, a sum or a product, makes of a summand over variables.
  const Element *combine(Attribute op, const Element *summand,
                         SmallVector<const Element *> bound);

  /// Of a reduction without an order, which yields `yielded`: what it yields if
  /// reductions of the same kind in it are taken into it; null if it is all in
  /// `init`, with which it begins. `bound` are the variables that are reduced,
  /// and get those of all. They are index variables.
  const Element *mergeReductions(const Element *yielded,
                                 const Element *accumulator,
                                 const Element *&init,
                                 SmallVectorImpl<const Element *> &bound);

  const Element *substitute(const Element *element, const Assignment &values);

  /// The constant that an index or scalar is, or null.
  static TypedAttr getConstantValue(const Element *element);

private:
  const Element *name(const Element *element);
  /// A sum of indices on its way.
  struct Terms {
    int64_t constant = 0;
    SmallVector<std::pair<const Element *, int64_t>, 4> terms;
  };
  /// Elements by what makes them up. The hash stands beside them, so that those
  /// of other hashes are not looked into.
  struct Known {
    const Element *element;
    size_t hash;
  };
  struct Info {
    static Known getEmptyKey() {
      return {DenseMapInfo<const Element *>::getEmptyKey(), 0};
    }
    static Known getTombstoneKey() {
      return {DenseMapInfo<const Element *>::getTombstoneKey(), 0};
    }
    static unsigned getHashValue(Known known) { return known.hash; }
    static bool isEqual(Known a, Known b);
  };
  /// What is the same for all ops of a name with the same attributes.
  struct ScalarOp {
    bool isFolded = false, isCommutative = false;
    /// Has the attributes, and neither operands nor results.
    Operation *prototype = nullptr;
  };
  using Range = std::optional<std::pair<int64_t, int64_t>>;

  bool splitNumber(const Element *variable, SmallVector<int64_t> divisors,
                   Assignment &numbers, Assignment &digits,
                   std::optional<unsigned> position);
  Assignment splitNumbers(MutableArrayRef<const Element *> roots,
                          ArrayRef<const Element *> bound);
  Assignment joinNumbers(MutableArrayRef<const Element *> roots,
                         ArrayRef<const Element *> bound);
  const Element *splitBound(const Element *term,
                            SmallVectorImpl<const Element *> &bound,
                            std::optional<unsigned> position = std::nullopt);
  const Element *splitChosen(const Element *term, const Element *variable,
                             SmallVectorImpl<const Element *> &bound);
  const Element *sortChoices(const Element *term,
                             ArrayRef<const Element *> digits);
  const Element *
  chooseByNumbers(const Element *term,
                  ArrayRef<SmallVector<const Element *>> numbers);
  /// A variable that splitChosen has made.
  static bool isChosenDigit(const Element *element);
  SmallVector<SmallVector<const Element *>>
  joinDigits(ArrayRef<const Element *> roots, ArrayRef<const Element *> free);
  static Terms getTerms(const Element *index);
  static void addTerms(Terms &terms, const Terms &other, int64_t factor);
  const Element *getSum(Terms terms);
  static Range getRange(const Terms &terms);
  static Range getRemainderRange(const Terms &terms, const Element *last,
                                 int64_t factor);
  static Range getRange(const Element &element);
  const Element *divideRest(Terms rest, int64_t divisor);

  const Element *rebuild(const Element *element,
                         ArrayRef<const Element *> operands);
  const Element *foldIndex(Attribute name, ArrayRef<const Element *> operands);
  const Element *foldComparison(Attribute name, DictionaryAttr details,
                                Type type, ArrayRef<const Element *> operands);
  const Element *foldEquality(Attribute name, DictionaryAttr details, Type type,
                              const Element *a, const Element *b);
  std::optional<std::pair<const Element *, int64_t>>
  findMultiple(const Element *difference);
  const Element *isMultiple(Attribute name, DictionaryAttr details, Type type,
                            const Element *index, int64_t divisor);
  const Element *isDigit(Attribute name, DictionaryAttr details, Type type,
                         const Terms &difference);
  /// What `element` is where `fact` holds, or does not, which may say of a
  /// variable what is left of it.
  const Element *assumeMultiple(const Element *element, const Element *fact,
                                bool holds);
  /// What `element` is where `fact` holds, or does not, which may say which
  /// digit one is.
  const Element *assumeDigit(const Element *element, const Element *fact,
                             bool holds);
  /// Sorts operands that may be exchanged; constants are last.
  static void sortOperands(SmallVectorImpl<const Element *> &operands);
  const Element *foldData(const Element &element);
  const Element *readPart(const Element *parts,
                          ArrayRef<const Element *> indices);
  const Element *find(Element &element) const;
  const Element *takeIn(Element element);
  void complete(Element &element);
  const ScalarOp &getScalarOp(Attribute name, DictionaryAttr details);
  unsigned getNumber(const void *unique);
  /// A value that stands for an expression where ops are folded.
  Value getValue(const Element *element);
  const Element *getOfValue(Value value);

  const Element *makeScalar(Attribute name, DictionaryAttr details, Type type,
                            ArrayRef<const Element *> operands,
                            int64_t result = 0);
  // One form of what upstream's patterns take for each other.
  const Element *getNumber(Type type, const APInt &value);
  const Element *getPlain(StringRef op, Type type,
                          ArrayRef<const Element *> operands,
                          ArrayRef<NamedAttribute> attrs = {});
  bool isPlain(const Element *element, StringRef op);
  const Element *compareIntegers(arith::CmpIPredicate predicate,
                                 const Element *a, const Element *b);
  const Element *foldAlgebra(Attribute name, DictionaryAttr details, Type type,
                             ArrayRef<const Element *> operands);
  const Element *foldIntegerSum(bool isDifference, Type type,
                                ArrayRef<const Element *> operands);
  const Element *foldDifference(bool isDifference, Type type,
                                ArrayRef<const Element *> operands);
  const Element *getOpposite(const Element *element);
  const Element *foldIntegerProduct(Type type,
                                    ArrayRef<const Element *> operands);
  const Element *foldBits(StringRef op, Type type,
                          ArrayRef<const Element *> operands);
  const Element *foldCast(StringRef op, Attribute name, DictionaryAttr details,
                          Type type, const Element *from);
  const Element *foldBoolean(Type type, ArrayRef<const Element *> operands);
  const Element *foldSigns(Attribute name, DictionaryAttr details, Type type,
                           ArrayRef<const Element *> operands);
  const Element *compareBooleans(arith::CmpIPredicate predicate,
                                 const Element *a, const Element *b);
  const Element *foldIntegerComparison(DictionaryAttr details,
                                       ArrayRef<const Element *> operands);
  const Element *foldFloatComparison(DictionaryAttr details,
                                     ArrayRef<const Element *> operands);

  /// Of two padded tensors whose parts do not meet: an op on the tensor of all
  /// parts. Null for others.
  const Element *joinPads(Attribute name, DictionaryAttr details, Type type,
                          ArrayRef<const Element *> operands);

  // Choices and conditions.
  const Element *foldConjunction(Attribute name, DictionaryAttr details,
                                 Type type, ArrayRef<const Element *> operands);
  const Element *foldChoice(Attribute name, DictionaryAttr details, Type type,
                            ArrayRef<const Element *> operands);
  /// What a condition is the opposite of, or null.
  static const Element *getNegated(const Element *condition);
  const Element *negate(const Element *condition);
  const Element *negateBoth(ArrayRef<const Element *> conditions);
  const Element *foldInverted(Attribute name, DictionaryAttr details, Type type,
                              ArrayRef<const Element *> operands);
  const Element *assume(const Element *root, const Element *condition,
                        bool holds);
  const Element *multiply(Attribute name, DictionaryAttr details, Type type,
                          ArrayRef<const Element *> factors);
  const Element *getFresh(int64_t size);
  const Element *takeOut(const Element *outer, const Element *term,
                         ArrayRef<const Element *> bound,
                         SmallVectorImpl<const Element *> &around);
  bool inlineReduction(const Element *outer, const Element *&term,
                       SmallVectorImpl<const Element *> &bound,
                       SmallVectorImpl<const Element *> &around);
  const Element *combineOnce(const Element *yielded,
                             ArrayRef<const Element *> elements);
  bool inlineCombination(Attribute op, const Element *&summand,
                         SmallVectorImpl<const Element *> &bound);
  const Element *joinVariables(const Element *&summand,
                               ArrayRef<const Element *> bound);

  MLIRContext *context;
  ElementLimits limits;
  bool ofReals = false;
  /// Variables that have been made for a while.
  unsigned numFresh = 0;
  llvm::SpecificBumpPtrAllocator<Element> elements;
  unsigned numElements = 0;
  DenseSet<Known, Info> known;
  DenseMap<std::pair<unsigned, unsigned>, const Element *> variables;
  std::unordered_map<int64_t, const Element *> indices;
  DenseMap<std::pair<Attribute, Attribute>, ScalarOp> scalarOps;
  DenseMap<std::pair<Attribute, Attribute>, DictionaryAttr> defaults;
  DenseMap<const void *, unsigned> numbers;
  std::map<std::vector<std::pair<unsigned, unsigned>>, unsigned> assignments;
  DenseMap<std::pair<unsigned, unsigned>, const Element *> substituted;
  DenseMap<const Element *, const Element *> namedFactors;
  /// What expressions are where a condition, of a number, holds or does not.
  DenseMap<std::pair<unsigned, unsigned>, const Element *> assumed;
  /// Where ops are folded.
  Block scratch;
  DenseMap<Value, const Element *> ofValues;
};

} // namespace mlir::weft::proof

#endif // WEFT_LIB_VERIFY_ELEMENTS_ELEMENTS_H
