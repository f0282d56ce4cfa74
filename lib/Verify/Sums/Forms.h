// SPDX-License-Identifier: Apache-2.0

// Normal forms: what a value is, as an expression over the index space of the
// whole job. No mesh, shard or collective occurs in a form; the order of each
// floating-point reduction does.
//
// Worked example. `x @ w` with K = 1024 and eight leaves is the form
//   matmul(argument x, argument w), tree 8 of chain 128
// on one rank. On two ranks each computes `tree 4 of chain 128` over its half
// of K and an all_reduce joins two parts: `tree 2 of tree 4 of chain 128`,
// which is the same tree and so the same form.
//
// Equal forms are one object. Where bits are compared, each has a digest
// (SHA-256) of all that makes it up. Digests of operands go into it, so that
// the digest of a result's form stands for the whole computation.

#ifndef WEFT_LIB_VERIFY_SUMS_FORMS_H
#define WEFT_LIB_VERIFY_SUMS_FORMS_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/Allocator.h"

#include <map>
#include <vector>

namespace mlir::weft::proof {

/// What makes two values equal: the same bits, or the same number if arithmetic
/// had no rounding.
enum class Equality { Bits, Reals };

/// Of a dimension along which a value does not change: any size fits.
inline constexpr int64_t kAnySize = -1;

/// One level of a tree: `parts` parts join, each join rounded to `type`.
struct Level {
  int64_t parts = 1;
  Type type;
  bool operator==(const Level &other) const {
    return parts == other.parts && type == other.type;
  }
};

/// The order of a reduction: levels of binary trees, outermost first, over
/// leaves.
struct Order {
  SmallVector<Level, 2> levels;
  /// Elements of a leaf; 0: no order is needed.
  int64_t leaf = 0;
  int64_t lanes = 1;

  /// Adds an outermost level. Trees nest: n parts of m leaves are the tree of
  /// n * m leaves if m is a power of two.
  void join(Level outer);
  bool isNeeded() const { return leaf > 0; }
  /// Number of leaves.
  int64_t leaves() const;
  /// As in "tree 8 of chain 128".
  std::string str() const;
};

enum class FormKind {
  /// Undefined elements, as of tensor.empty.
  Undefined,
  Argument,
  Constant,
  /// A loop's index.
  Index,
  /// What a reduction has so far, in the form of its body.
  Accumulator,
  /// An element of the operand.
  Read,
  /// An op on scalars.
  Scalar,
  /// The operand, for all indices.
  Map,
  Reduction,
  /// Moves the elements of its first operand; others say where it is cut.
  Move,
  /// Anything else, on tensors.
  Tensor,
};

struct Form {
  FormKind kind;
  /// The op, in one word.
  std::string name;
  /// All else that tells the form from others, without operands.
  std::string details = {};
  SmallVector<const Form *, 2> operands = {};
  /// Global sizes; empty for scalars and values that are the same everywhere.
  SmallVector<int64_t> shape = {};
  Type element = {};
  Order order = {};
  /// Of a Read: from loops to dimensions.
  AffineMap map = {};
  /// Of a Constant.
  Attribute value = {};
  /// Whether a scalar depends on the loops around it.
  bool dependsOnLoops = false;
  /// The op that made it first.
  Operation *op = nullptr;
  /// Found when it is taken in: the sizes that tell it from others, its digest
  /// where bits are compared, and a hash of all that makes it up.
  SmallVector<int64_t, 1> told = {};
  std::string digest = {};
  size_t hash = 0;
  /// Whether the program to which another is compared has it.
  bool isOfReference = false;

  /// As in `matmul of 8x1024xf32: tree 8 of chain 128`.
  std::string str() const;
};

/// The name of the form of a constant that is no splat; and whether it is one.
inline constexpr StringLiteral kDenseConstant = "constant";
bool isDenseConstant(const Form &form);

/// The read of a map whose elements are elements of one tensor, in whatever
/// order; null for other forms.
const Form *getMovedRead(const Form *form);

/// A slice of a tensor.
struct NotedSlice {
  struct Dim {
    int64_t begin = 0, size = kAnySize, stride = 1;
    bool isWhole() const { return size == kAnySize; }
  };
  SmallVector<Dim> dims;
  const Form *form = nullptr;
};

/// A pad of a tensor, of `sizes` before.
struct NotedPad {
  const Form *padding;
  SmallVector<int64_t> low, high, sizes;
  const Form *form;
};

/// A tensor that another one of `sizes` is put into, or put together with
/// others to: its first element is at `begin`, the next ones `stride` apart, of
/// `size` places. Where it has all of a dimension, just sizes are said.
struct NotedPlacing {
  SmallVector<NotedSlice::Dim> dims;
  SmallVector<int64_t> sizes;
  const Form *form = nullptr;
};

/// A tensor with its dimensions in another order: `map` says which of its loops
/// each of the operand's dimensions is.
struct NotedTranspose {
  AffineMap map;
  const Form *form;
};

/// The forms of a proof.
class FormTable {
public:
  explicit FormTable(Equality equality = Equality::Bits) : equality(equality) {}

  bool isOfReals() const { return equality == Equality::Reals; }
  /// Makes room for what a program of so many ops needs at least.
  void reserve(size_t numOps) {
    known.reserve(2 * numOps);
    reads.reserve(numOps);
  }
  /// Returns the form that equals `form`; takes it in if it is new.
  const Form *get(Form form);
  /// From now on forms are those of a program that is compared with the one
  /// followed so far.
  void endReference() { isReferenceKnown = true; }
  /// The same of one of `parts` of a reduction, which join in `type`.
  const Form *getPart(Form form, int64_t parts, Type type);
  /// How often a form was asked for that the reference does not have: what does
  /// not raise this is what the reference makes, too, or a part of that. Forms
  /// that an attempt left behind do.
  int64_t countOthers() const { return others; }
  /// Returns the form of the reference that equals `form`, or null.
  const Form *find(Form form) const;

  /// How an attribute or map is written.
  StringRef getText(Attribute attr);
  StringRef getText(AffineMap map);

  const Form *getConstant(Attribute value, Type element);
  /// The element of `tensor` at `map` of the loops.
  const Form *getRead(const Form *tensor, AffineMap map);
  /// The elements of `operand` at other places; `places` are those that are
  /// computed from data.
  const Form *getMove(StringRef name, std::string details, const Form *operand,
                      ArrayRef<int64_t> shape, Operation *op,
                      ArrayRef<const Form *> places = {});
  bool hasMove(StringRef name, std::string details, const Form *operand,
               ArrayRef<int64_t> shape,
               ArrayRef<const Form *> places = {}) const;
  /// The tensor with another shape and the same elements in the same order.
  const Form *getReshape(const Form *operand, ArrayRef<int64_t> shape,
                         std::string groups, Operation *op);
  /// The same of a tensor that does not say all of its sizes, which are
  /// `sizes`: whatever shapes it had in between, these and the last one count.
  const Form *getReshapeOf(const Form *operand, ArrayRef<int64_t> sizes,
                           ArrayRef<int64_t> shape, Operation *op);
  /// Adds an outermost level to the reduction that `form` moves; null if it
  /// moves none.
  const Form *getJoined(const Form *form, Level level);

  /// The shapes to which one-rank programs expand or collapse a tensor: notes
  /// one, and lists them.
  void noteExpansion(const Form *source, StringRef groups,
                     ArrayRef<int64_t> shape);
  ArrayRef<SmallVector<int64_t>> getExpansions(const Form *source,
                                               StringRef groups) const;
  /// The sizes that a tensor has where the reference gives it another shape:
  /// notes some, and lists them.
  void noteSizes(const Form *source, ArrayRef<int64_t> sizes);
  ArrayRef<SmallVector<int64_t>> getNotedSizes(const Form *source) const;
  /// The sizes that a tensor of any size has where the reference reduces it;
  /// kAnySize of other dimensions: notes some, and lists them.
  void noteReduced(const Form *source, ArrayRef<int64_t> sizes);
  std::vector<SmallVector<int64_t>> getReduced(const Form *source) const {
    return reduced.lookup(source);
  }
  /// The places, computed from data, that the reference says to be from 0 to
  /// `last`: notes one, and asks for one.
  void notePlace(const Form *place, int64_t last) {
    auto [it, isNew] = lastPlaces.try_emplace(place, last);
    it->second = std::min(it->second, last);
  }
  bool isPlace(const Form *place, int64_t last) const {
    auto it = lastPlaces.find(place);
    return it != lastPlaces.end() && it->second <= last;
  }
  /// The slices, pads and transposes that the program makes of a tensor to
  /// which another is compared, and what it puts it into.
  void noteSlice(const Form *source, NotedSlice slice) {
    slices[source].push_back(std::move(slice));
  }
  /// That the reference cuts a sum, whatever its order: notes it, and asks.
  void noteCutOfSum(const Form *sum, StringRef details) {
    cutsOfSums.insert(hashCutOfSum(sum, details));
  }
  bool isCutOfSum(const Form *sum, StringRef details) const {
    return cutsOfSums.contains(hashCutOfSum(sum, details));
  }
  void notePad(const Form *source, NotedPad pad) {
    pads[source].push_back(std::move(pad));
  }
  /// What a constant with another shape is in the reference, which makes it of
  /// that with its own: notes it, and asks; null: it is none.
  void noteFolded(const Form &constant, const Form *made) {
    folded.try_emplace(constant.str() + constant.details, made);
  }
  const Form *getFolded(const Form &constant) const {
    auto it = folded.find(constant.str() + constant.details);
    return it == folded.end() ? nullptr : it->second;
  }
  void noteTranspose(const Form *source, NotedTranspose transpose) {
    transposes[source].push_back(transpose);
  }
  void notePlacing(const Form *source, NotedPlacing placing) {
    placings[source].push_back(std::move(placing));
  }
  std::vector<NotedPlacing> getPlacings(const Form *source) const {
    return placings.lookup(source);
  }
  std::vector<NotedSlice> getSlices(const Form *source) const {
    return slices.lookup(source);
  }
  std::vector<NotedPad> getPads(const Form *source) const {
    return pads.lookup(source);
  }
  std::vector<NotedTranspose> getTransposes(const Form *source) const {
    return transposes.lookup(source);
  }

  /// Whether the reference gives the elements of a tensor another shape, cuts,
  /// places or turns it.
  bool isSeenOtherwise(const Form *form) const;
  /// All shapes that one-rank programs give the elements of a tensor, in their
  /// order.
  SmallVector<SmallVector<int64_t>> getShapes(const Form *form) const;

private:
  /// Forms by what makes them up. The hash stands beside them, so that those of
  /// other hashes are not looked into.
  struct Known {
    const Form *form;
    size_t hash;
  };
  struct Info {
    static Known getEmptyKey() {
      return {DenseMapInfo<const Form *>::getEmptyKey(), 0};
    }
    static Known getTombstoneKey() {
      return {DenseMapInfo<const Form *>::getTombstoneKey(), 0};
    }
    static unsigned getHashValue(Known known) { return known.hash; }
    static bool isEqual(Known a, Known b);
  };

  const Form *rebuild(const Form *move, const Form *operand);
  static uint64_t hashCutOfSum(const Form *sum, StringRef details);
  const Form *count(const Form *form) {
    others += !form->isOfReference;
    return form;
  }

  Equality equality;
  bool isReferenceKnown = false;
  int64_t others = 0;
  llvm::SpecificBumpPtrAllocator<Form> forms;
  DenseSet<Known, Info> known;
  DenseMap<std::pair<const Form *, AffineMap>, const Form *> reads;
  DenseMap<Attribute, std::string> attrTexts;
  DenseMap<AffineMap, std::string> mapTexts;
  std::map<std::pair<const Form *, std::string>,
           SmallVector<SmallVector<int64_t>>>
      expansions;
  /// By what is reshaped.
  DenseMap<const Form *, SmallVector<SmallVector<int64_t>>> shapes, sizes;
  /// The sizes of what reshapes are made of, where that does not say them.
  DenseMap<const Form *, SmallVector<int64_t>> reshaped;
  DenseMap<const Form *, std::vector<SmallVector<int64_t>>> reduced;
  DenseMap<const Form *, int64_t> lastPlaces;
  DenseMap<const Form *, std::vector<NotedSlice>> slices;
  /// By hash: both ways to follow a cut are right, and one is of use.
  DenseSet<uint64_t> cutsOfSums;
  DenseMap<const Form *, std::vector<NotedPad>> pads;
  DenseMap<const Form *, std::vector<NotedPlacing>> placings;
  std::map<std::string, const Form *> folded;
  DenseMap<const Form *, std::vector<NotedTranspose>> transposes;
};

/// A digest in hexadecimal.
std::string digestToHex(StringRef digest);

} // namespace mlir::weft::proof

#endif // WEFT_LIB_VERIFY_SUMS_FORMS_H
