// SPDX-License-Identifier: Apache-2.0

// From the program of one rank to forms: what each of its values is a part of.
//
// A local tensor is a part of a global one: along each dimension rank r holds
// the chunk with the number chunk[r], of `extent` elements; what lies after
// the global size is padding. All ranks are followed at once, with one number
// per rank for everything that differs between them, so that axes, sub-axes and
// their order need no rules of their own: an index is right if it is right on
// every rank.
//
// Worked example. On 4 ranks along "tp" a 10x6 tensor of which dimension 0 is
// sharded has size 10, extent 3 and chunk [0, 1, 2, 3]. After an all_gather the
// extent is 12 and the chunk [0, 0, 0, 0]; after a slice of the first 10 rows
// the extent is 10.
//
// A value may be a contribution: rank r then holds part[r] of `parts` parts of
// a reduction. Data movement and collectives are all that may happen to it.
// A collective that combines parts p * g to p * g + g - 1, in this order,
// leaves part p of parts / g. If the order does not matter, what a rank holds
// is a set of parts, which grows until it has them all. Over the reals
// (Equality::Reals) no order matters, and what is linear may be done to parts
// of a sum.

#ifndef WEFT_LIB_VERIFY_SUMS_LOCALLIFTER_H
#define WEFT_LIB_VERIFY_SUMS_LOCALLIFTER_H

#include "Forms.h"

#include "weft/Analysis/OpAttributes.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Sharding/Sharding.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/Hashing.h"

#include <array>
#include <map>
#include <tuple>
#include <unordered_set>
#include <vector>

namespace mlir::scf {
class ForOp;
class IfOp;
class WhileOp;
} // namespace mlir::scf

namespace mlir::weft {
struct AttentionPart;
struct AttentionShape;
enum class AttentionTensor;
} // namespace mlir::weft

namespace mlir::weft::proof {

/// A number for each rank. Equal vectors are one object.
using RankVector = const std::vector<int64_t> *;

/// Which chunks of a dimension have the same elements, as those have that come
/// of one key and value head which was repeated for several query heads: of
/// each chunk, the first one that is like it. A rank that has one of them has
/// all. Null: each has its own. Equal ones are one object.
using Likeness = RankVector;

bool areAlike(Likeness likeness, int64_t a, int64_t b);
/// The first of neighbours, of which the first one's number is a multiple of
/// their count, that are these chunks, or like them; nullopt if there are none.
std::optional<int64_t> findNeighbours(Likeness likeness,
                                      ArrayRef<int64_t> chunks);

/// One dimension of a local tensor, or one loop of a local op.
struct LocalDim {
  int64_t size = kAnySize;
  int64_t extent = 1;
  /// Null: not known, because the value does not depend on it.
  RankVector chunk = nullptr;
  /// What lies in the padding, if that is known.
  const Form *padding = nullptr;
  Likeness likeness = nullptr;
  /// Whether the size is the most that it may be, of a value for which any size
  /// is right: what it meets may say a smaller one.
  bool isGuess = false;
  /// Whether the value does not change along it, up to the size.
  bool isConstant = false;
};

/// What is left to combine of a value that ranks hold contributions to.
struct Contribution {
  enum Kind {
    Whole,
    /// Parts of a tree: neighbours join, in order.
    Ordered,
    /// Parts that may be combined in any order.
    Exact,
    /// One rank has the element, all others what adds nothing: -0.0 or 0.
    Disjoint,
    /// Outputs and log-sum-exps of attention over some of the keys, which join
    /// by weights (LiftRing.cpp). A part is a set of chunks of the keys.
    Attention
  };
  Kind kind = Whole;
  ReduceKind reduction = ReduceKind::Sum;
  /// Which part a rank has; of all but Ordered ones, the number of its set.
  RankVector part = nullptr;
  int64_t parts = 1;

  bool isSame(const Contribution &other) const {
    return kind == other.kind && reduction == other.reduction &&
           part == other.part && parts == other.parts;
  }
};

/// Number of chunks of a dimension.
int64_t countChunks(const LocalDim &dim);
/// The size of a dimension with its padding.
int64_t getPaddedSize(const LocalDim &dim);
bool hasPadding(const LocalDim &dim);
/// Whether what some rank has goes past the size.
bool holdsPadding(const LocalDim &dim);
/// Whether a dimension of `size`, cut in equal parts for the ranks, has such
/// chunks: the last ones may have nothing of it.
bool fitsChunks(const LocalDim &dim, int64_t size);
/// Takes `size` for one that was guessed; false if the size is another one.
bool takeSize(LocalDim &dim, int64_t size);
/// What was known of a value's elements is not known of those that an op makes:
/// padding, which do not change, and which are alike.
void forgetElements(LocalDim &dim);
/// Whether each rank has this chunk of a dimension, or one that is like it.
bool holds(const LocalDim &dim, RankVector chunk);
/// As in [0, 1, 2, 3].
std::string describeRanks(RankVector vector);

struct LocalValue {
  const Form *form = nullptr;
  SmallVector<LocalDim, 4> dims;
  Contribution contribution;
};

/// A scalar in a body or around it: a form, or a number per rank.
struct LocalScalar {
  const Form *form = nullptr;
  /// The value on each rank, plus the local index of `loop` if that is >= 0.
  RankVector offset = nullptr;
  int loop = -1;
  /// The offset is a place along a loop of one iteration, also where it is the
  /// same number on each rank: weft.part_offset.
  bool isPlace = false;
  /// True for all indices that are valid; false in the padding of these loops.
  bool isMask = false;
  uint64_t maskedLoops = 0;
  /// In the padding of these it may be something else than the form says.
  uint64_t changedLoops = 0;
  /// For loops with padding, what the value is there.
  SmallVector<std::pair<unsigned, const Form *>, 1> padding;
};

/// Where a slice begins along a dimension: a number on each rank, or, if it is
/// computed from data, what that is on all of them.
struct SlicePlace {
  RankVector number = nullptr;
  const Form *form = nullptr;
};

/// Whether an insertion replaces all of dimension `i`, on each rank.
bool isInsertedWhole(tensor::InsertSliceOp op, unsigned i,
                     const SlicePlace &place, const LocalDim &dim,
                     const llvm::SmallBitVector &dropped);

/// What a slice cuts of the global tensor.
struct SliceCut {
  std::string details;
  SmallVector<const Form *, 2> places;
};

/// A reduction with an order, for the certificate.
struct LiftedReduction {
  Operation *op;
  const Form *form;
};

/// The order that an op declares of a sum of which ranks have `parts` parts.
struct DeclaredOrder {
  Operation *op;
  int64_t leaves, lanes, parts;
  /// Whether each leaf is rounded to the result's type.
  bool isRounded;
};

/// What an output over some keys counts in that over more.
struct AttentionWeight {
  /// The log-sum-exp of all keys.
  const Form *sum = nullptr;
  /// The keys of one and of the other; null: all.
  RankVector from = nullptr, to = nullptr;
  /// Of a gradient times it: which of its dimensions the weight has.
  AffineMap rows;
};

/// What is converted to another floating-point type, or the value itself.
Value skipCast(Value value);

class BodyLifter;

class LocalLifter {
public:
  /// `reference`: whether this is the program to which another is compared.
  LocalLifter(FormTable &forms, func::FuncOp func, const Mesh &mesh,
              bool isReference);

  /// Follows the function, or emits what is in the way.
  LogicalResult run();

  ArrayRef<const Form *> getResults() const { return results; }
  ArrayRef<LiftedReduction> getReductions() const { return reductions; }
  /// Over the reals, where forms do not have them.
  ArrayRef<DeclaredOrder> getDeclaredOrders() const { return declared; }
  /// What the first result of an op is.
  const Form *getFormOf(Operation *op) const {
    return tensors.at(op->getResult(0)).form;
  }
  /// The first op that made a tensor of this form, or null.
  Operation *getOrigin(const Form *form) const;

private:
  friend class BodyLifter;

  // The function and its ops.
  LogicalResult liftArguments();
  LogicalResult checkBorder(StringRef what, unsigned index, Type type);
  LogicalResult liftOp(Operation *op);
  bool hasKnownForms(Operation *op) const;
  bool liftRegrouped(Operation *op);
  void carryWays(Operation *op);
  LogicalResult liftAsIs(Operation *op);
  LogicalResult liftReturn(func::ReturnOp op);
  LogicalResult liftConstant(Operation *op, Attribute value);
  LogicalResult foldConstant(Operation *op, LogicalResult lifted);
  void addWay(Value result, const Form *form, LocalValue value);
  LogicalResult liftUniform(Operation *op, const Form *form);
  LogicalResult liftScalar(Operation *op);
  LogicalResult liftOther(Operation *op);
  LogicalResult liftUninterpreted(Operation *op);
  SmallVector<LocalDim, 4> getBorderDims(DictionaryAttr attrs,
                                         RankedTensorType type);

  // Collectives.
  LogicalResult liftCollective(Operation *op);
  LogicalResult liftOperand(Operation *op, unsigned index, LocalValue &value);
  LogicalResult gather(Operation *op, LocalDim &dim);
  void scatter(LocalDim &dim);
  LogicalResult combine(Operation *op, ReduceKind kind, LocalValue &value);
  LogicalResult checkJoined(Operation *op, OrderAttr order);
  LogicalResult joinParts(Operation *op, LocalValue &value);
  LogicalResult
  uniteParts(Operation *op, LocalValue &value,
             function_ref<int64_t(int64_t rank)> getLeader,
             function_ref<SmallVector<int64_t>(int64_t rank)> getSets);
  LogicalResult uniteMembers(Operation *op, LocalValue &value);
  int64_t getSet(std::vector<int64_t> parts);
  Contribution addParts(const Contribution &a, const Contribution &b);
  Contribution multiplyParts(const Contribution &a, const Contribution &b);
  void carryParts(const Contribution &carried, Contribution &own);
  FailureOr<Contribution> getTogether(Operation *op,
                                      ArrayRef<const LocalValue *> values);
  FailureOr<Contribution> getProduct(Operation *op, const LocalValue &factor,
                                     const LocalValue &other);
  bool isSameOfMembers(RankVector vector);
  LogicalResult checkSame(Operation *op, const LocalValue &value,
                          ArrayRef<int64_t> exceptDims, bool withParts);
  LogicalResult permute(PermuteOp op, LocalValue &value);
  int64_t getMember(int64_t rank, int64_t index) const {
    return mesh.groupMember(rank, group, index);
  }
  SmallVector<int64_t> getOfMembers(RankVector vector, int64_t rank) const;

  // Movement.
  LogicalResult liftExtractSlice(tensor::ExtractSliceOp op);
  FailureOr<LocalValue> slice(tensor::ExtractSliceOp op);
  FailureOr<LocalValue> sliceTensor(tensor::ExtractSliceOp op);
  std::optional<LocalValue> sliceInChunks(tensor::ExtractSliceOp op);
  std::optional<LocalDim> getPart(RankVector begin, int64_t extent,
                                  int64_t stride, const NotedSlice::Dim &slice);
  void findSliced(const LocalValue &value, std::vector<LocalValue> &found);
  std::optional<LocalDim> getPlaced(const LocalDim &dim, int64_t size,
                                    const NotedSlice::Dim &place);
  void findPlaced(const LocalValue &value, std::vector<LocalValue> &found);
  void findTransposed(const LocalValue &value, std::vector<LocalValue> &found);
  std::optional<LocalValue> sliceAsPart(tensor::ExtractSliceOp op);
  bool gatherRows(AllGatherOp gatherOp, unsigned index, LocalValue value);
  bool liftNestedGathers(tensor::CollapseShapeOp op);
  void liftUnitGathers(AllGatherOp op);
  void noteSlice(tensor::ExtractSliceOp op, const Form *source,
                 const Form *made);
  void noteInsertion(tensor::InsertSliceOp op, ArrayRef<SlicePlace> places,
                     const llvm::SmallBitVector &dropped,
                     const LocalValue &source, const LocalValue &made);
  void noteConcat(tensor::ConcatOp op, const LocalValue &made);
  bool padMore(tensor::PadOp op, const LocalValue &value, const Form *padding);
  FailureOr<LocalValue> dropDims(tensor::ExtractSliceOp op, LocalValue value,
                                 const llvm::SmallBitVector &dropped);
  std::vector<LocalValue> dropInAllWays(tensor::ExtractSliceOp op,
                                        const LocalValue &value);
  FailureOr<SlicePlace> getPlace(Operation *op, OpFoldResult value);
  LogicalResult sliceDim(tensor::ExtractSliceOp op, unsigned dim, bool inChunks,
                         LocalDim &state, SliceCut &cut);
  LogicalResult sliceAt(tensor::ExtractSliceOp op, unsigned dim,
                        const Form *place, LocalDim &state, SliceCut &cut);
  RankVector joinNumbers(ArrayRef<RankVector> chunks, Likeness likeness);
  void moveCutsApart(tensor::ConcatOp op, SmallVectorImpl<LocalValue> &parts);
  bool concatChunks(tensor::ConcatOp op);
  Form makeInsertion(tensor::InsertSliceOp op, ArrayRef<SlicePlace> places,
                     const llvm::SmallBitVector &dropped,
                     const LocalValue &source, const LocalValue &dest);
  llvm::SmallBitVector getDropped(tensor::InsertSliceOp op,
                                  ArrayRef<SlicePlace> places,
                                  const LocalValue &source,
                                  const LocalValue &dest);
  LogicalResult liftInsertSlice(tensor::InsertSliceOp op);
  LogicalResult liftPad(tensor::PadOp op);
  LogicalResult liftConcat(tensor::ConcatOp op);
  void moveCutOutwards(Operation *op, LocalValue &value, unsigned dim);
  LogicalResult liftCollapse(tensor::CollapseShapeOp op);
  LogicalResult liftExpand(tensor::ExpandShapeOp op);
  FailureOr<LocalValue> collapse(Operation *op, LocalValue value,
                                 ArrayRef<ReassociationIndices> groups);
  FailureOr<LocalValue> collapseTo(Operation *op, LocalValue value,
                                   ArrayRef<ReassociationIndices> reassociation,
                                   ArrayRef<int64_t> known);
  void takeNotedRows(const LocalValue &value, ArrayRef<int64_t> group,
                     SmallVectorImpl<int64_t> &rows) const;
  SmallVector<SmallVector<int64_t>>
  getCollapses(const LocalValue &value,
               ArrayRef<ReassociationIndices> groups) const;
  bool expandAgain(Operation *op, const LocalValue &joined, unsigned first,
                   unsigned last, ArrayRef<int64_t> shape, LocalValue &value);
  FailureOr<bool> regroup(Operation *op, LocalValue &value, unsigned first,
                          unsigned last);
  LogicalResult regroupForMembers(Operation *op, LocalValue &value,
                                  unsigned last);
  void findSized(const LocalValue &value, std::vector<LocalValue> &found);
  std::vector<LocalValue> findRegrouped(Operation *op, Value seen);
  std::optional<LocalDim> joinSingles(ArrayRef<LocalDim> group);

  // What is repeated.
  Likeness getLikeness(int64_t chunks,
                       function_ref<std::vector<int64_t>(int64_t)> describe);
  Likeness repeatEach(const LocalDim &dim, int64_t times);
  Likeness repeatAll(const LocalDim &dim, int64_t times);
  Likeness cutChunks(Likeness likeness, int64_t pieces);
  Likeness joinChunks(Likeness likeness, int64_t neighbours);
  Likeness nestLikeness(ArrayRef<LocalDim> dims);
  Likeness expandLikeness(Likeness likeness, ArrayRef<int64_t> counts,
                          unsigned dim);
  Likeness meetLikeness(Likeness a, Likeness b);
  bool collapseRepeated(ArrayRef<LocalDim> group, int64_t size,
                        LocalDim &result, SmallVectorImpl<int64_t> &sizes);
  LogicalResult collapseGroup(Operation *op, ArrayRef<LocalDim> group,
                              int64_t size, LocalDim &result,
                              SmallVectorImpl<int64_t> &sizes);
  LogicalResult expandGroup(const LocalDim &dim, ArrayRef<int64_t> extents,
                            ArrayRef<int64_t> sizes,
                            SmallVectorImpl<LocalDim> &results);
  bool padLastPart(tensor::PadOp op, const Form *padding);
  bool padForRanks(tensor::PadOp op, LocalValue &value, const Form *padding);
  LogicalResult checkPadded(tensor::PadOp op, const LocalValue &value,
                            const Form *padding);
  bool maySeePadded(tensor::PadOp op, const LocalValue &value,
                    const Form *padding);
  bool isNotedPad(const LocalValue &value, const LocalValue &padded) const;
  RankVector getNumber(OpFoldResult value);

  // Stacks.
  bool isStacked(Operation *op) const;
  bool stackEntries(tensor::ConcatOp op);
  LocalValue moveEntry(
      const LocalValue &alike,
      function_ref<std::pair<const LocalValue *, int64_t>(int64_t)> getSource);
  LogicalResult pickEntry(tensor::ExtractSliceOp op);

  // Computation.
  LogicalResult liftLinalg(linalg::LinalgOp op);
  LogicalResult liftStructured(linalg::LinalgOp op, int choice);
  int countFolded(linalg::LinalgOp op) const;
  /// Of ops that take all operands in the order of their loops: the map of
  /// each, and their form's details; null for others.
  struct PlainLoops {
    AffineMap map;
    std::string details;
  };
  const PlainLoops &getPlainLoops(linalg::GenericOp op);
  using PlainForms = llvm::SmallDenseMap<Value, const Form *, 16>;
  void computePlainly(Block &body, PlainForms &scalars);
  /// Follows an op of whose operands nothing else is known than their elements;
  /// nullopt if it is another one.
  std::optional<LogicalResult> liftPlainly(linalg::LinalgOp op);
  void setMapped(Operation *op, const Form *form, AffineMap map,
                 StringRef details, uint64_t changed, LocalValue &value);
  LogicalResult liftMatmul(MatmulOp op);
  FailureOr<LocalValue> liftMap(linalg::LinalgOp op, unsigned index,
                                BodyLifter &body,
                                MutableArrayRef<LocalDim> loops);
  FailureOr<LocalValue> liftReduction(linalg::LinalgOp op, unsigned index,
                                      BodyLifter &body,
                                      MutableArrayRef<LocalDim> loops);
  void tryShared(MutableArrayRef<LocalDim> loops, unsigned index, Form &form,
                 function_ref<void()> describe);
  void shareAlike(Operation *op, LocalDim &loop);
  LogicalResult liftFold(linalg::LinalgOp op, BodyLifter &body,
                         MutableArrayRef<LocalDim> loops);
  bool haveSameForm(Value a, Value b) const;
  bool isJoin(linalg::LinalgOp op) const;
  bool joinNeighbours(LocalValue &a, const LocalValue &b);
  FailureOr<LocalValue> meetParts(linalg::LinalgOp op);
  LogicalResult unitePair(Operation *op, LocalValue &a, const LocalValue &b);
  LogicalResult liftJoin(linalg::LinalgOp op);
  const Form *skipRounding(const Form *form);
  const Form *getRounded(const Form *form, Type element, Operation *op);
  bool isRoundedJoin(linalg::LinalgOp op);
  LogicalResult liftRoundedJoin(linalg::LinalgOp op);
  LogicalResult readOperands(linalg::LinalgOp op, BodyLifter &body,
                             ArrayRef<AffineMap> maps, ArrayRef<LocalDim> loops,
                             bool reduces);
  FailureOr<Contribution> getCarried(linalg::LinalgOp op, const Form *form);
  LogicalResult carryContribution(linalg::LinalgOp op, const Form *form,
                                  LocalValue &result);
  LogicalResult checkSummed(MatmulOp op, const LocalValue &operand,
                            AffineMap map, ArrayRef<LocalDim> loops);
  LogicalResult liftAttention(Operation *op, Value start);
  LogicalResult setAttentionResult(Operation *op, const AttentionPart &part,
                                   ArrayRef<int> summed,
                                   ArrayRef<LocalDim> loops, Form form);
  LogicalResult checkStart(Operation *op, Value start, const LocalDim &queries,
                           const LocalDim &keys);
  LogicalResult checkKeys(Operation *op, const AttentionShape &shape,
                          LocalDim &keys);
  Contribution getKeyParts(const AttentionShape &shape, AttentionTensor tensor,
                           ArrayRef<LocalDim> loops, Contribution made);
  void noteRows(Operation *op, const AttentionShape &shape);

  // Attention by pieces of the keys.
  bool hasKeyParts(linalg::LinalgOp op) const;
  LogicalResult liftKeyParts(linalg::LinalgOp op);
  LogicalResult uniteKeys(linalg::LinalgOp op, LocalValue &a,
                          const LocalValue &b);
  LogicalResult joinSums(linalg::LinalgOp op);
  LogicalResult weighPart(linalg::LinalgOp op);
  LogicalResult joinOutputs(linalg::LinalgOp op);
  LogicalResult weigh(linalg::LinalgOp op);
  FailureOr<LocalValue> getAttentionInput(Operation *op,
                                          const AttentionPart &part);
  LogicalResult checkSums(Operation *op, const AttentionShape &shape,
                          ArrayRef<LocalDim> loops);
  LogicalResult checkSummed(Operation *op, const LocalValue &value,
                            const AttentionPart &part, ArrayRef<int> summed,
                            ArrayRef<LocalDim> loops);
  LogicalResult liftTake(TakeOp op);
  LogicalResult addUpdates(ScatterAddOp op, const LocalValue &init,
                           const LocalValue &indices,
                           MutableArrayRef<LocalDim> loops, Order &order,
                           Contribution &contribution);
  LogicalResult liftScatterAdd(ScatterAddOp op);
  void inferRows(Value base, LocalDim &rows);
  void inferTable(Value base, const Form *indices, LocalDim &rows);
  void takeRows(const Form *indices, LocalDim &rows);
  LogicalResult checkBase(Operation *op, Value base, const LocalDim &rows);
  void moveToBase(Value base, LocalDim &rows);
  /// Meets the dims of `value` with the loops that `map` says.
  LogicalResult meetLoops(Operation *op, const LocalValue &value, AffineMap map,
                          MutableArrayRef<LocalDim> loops);
  LogicalResult meet(Operation *op, LocalDim &a, const LocalDim &b);
  /// Notes of an operand that says no sizes which ones the reference reduces.
  void noteReduced(const LocalValue &value, AffineMap map,
                   ArrayRef<LocalDim> loops);
  /// The order of a reduction over `loops`, and which part of it ranks hold.
  LogicalResult noteOrder(Operation *op, int64_t local, int64_t parts);
  LogicalResult makeOrder(Operation *op, ArrayRef<LocalDim> loops,
                          bool lastIsReduction, Type joinType, Order &order,
                          Contribution &contribution);
  Order findOrder(Operation *op, ArrayRef<LocalDim> loops, bool lastIsReduction,
                  Type joinType);
  Contribution makeParts(ArrayRef<LocalDim> loops, Contribution::Kind kind);
  LogicalResult checkNested(Operation *op, ArrayRef<LocalDim> loops);

  // Helpers.
  AxisList getAxes(AxesAttr axes) const;
  RankVector intern(std::vector<int64_t> values);
  RankVector uniform(int64_t value);
  RankVector perRank(function_ref<int64_t(int64_t rank)> value);
  /// The number that is the same on all ranks, or nullopt.
  static std::optional<int64_t> getUniform(RankVector vector);
  /// A dim on which nothing depends becomes one of which all ranks hold all.
  void fix(LocalDim &dim);
  LogicalResult fixWhole(Operation *op, LocalDim &dim, StringRef what);
  /// The tensor; fails if it is a contribution.
  FailureOr<LocalValue> getUncombined(Operation *op, Value value);
  /// The tensor; fails if some rank does not have all of it. `what` the op does
  /// with a dimension that needs it is for the error.
  static constexpr StringLiteral kReadsAnywhere =
      "reads by a computed index a dimension";
  FailureOr<LocalValue> getWhole(Operation *op, Value value,
                                 StringRef what = kReadsAnywhere);

  // Loops.
  LogicalResult liftFor(scf::ForOp op);
  LogicalResult liftWhile(scf::WhileOp op);
  LogicalResult liftIf(scf::IfOp op);
  LogicalResult liftSelect(arith::SelectOp op);
  LogicalResult setChoice(OpResult result, Value condition, Value first,
                          Value second);
  LogicalResult liftBlock(Block &block);
  void setCarried(Operation *op, Block &block, StringRef name, int64_t depth);
  LogicalResult addWhole(Operation *op, ValueRange values, Form &form);
  FailureOr<const Form *> getWholeForm(Operation *op, Value value,
                                       StringRef what = kReadsAnywhere);
  LogicalResult setWhole(Operation *op, Value value, Form form);

  const LocalValue &getTensor(Value value) const { return tensors.at(value); }
  /// Notes what a result is. Always succeeds: the end of following an op.
  LogicalResult setTensor(Operation *op, Value result, LocalValue value);
  static SmallVector<int64_t> getSizes(ArrayRef<LocalDim> dims);

  FormTable &forms;
  func::FuncOp func;
  const Mesh &mesh;
  bool isReference;
  /// Whether it is a reference that is the same on all ranks. One with axes
  /// along which bits need not be the same has ranks along these.
  bool isGlobal;
  int64_t numRanks;
  struct HashNumbers {
    size_t operator()(const std::vector<int64_t> &numbers) const {
      return llvm::hash_combine_range(numbers);
    }
  };
  std::unordered_set<std::vector<int64_t>, HashNumbers> vectors;
  std::map<int64_t, RankVector> uniforms;
  /// Sets of parts, ascending, by number.
  std::vector<std::vector<int64_t>> sets;
  std::map<std::vector<int64_t>, int64_t> setNumbers;
  DenseMap<Value, LocalValue> tensors;
  /// Other ways to see values, as right as that one.
  DenseMap<Value, std::vector<LocalValue>> otherWays;
  /// Of the outputs of attention, the log-sum-exp of the same op, and which
  /// dimensions of the output that has.
  DenseMap<const Form *, std::pair<const Form *, AffineMap>> rowSums;
  DenseMap<Value, AttentionWeight> weights;
  /// Outputs, and gradients of outputs, times a weight: what was multiplied,
  /// and the weight.
  DenseMap<Value, std::pair<LocalValue, AttentionWeight>> weighted;
  /// The entries of values that are stacked, to be picked.
  DenseMap<Value, std::vector<LocalValue>> stacks;
  /// Between the ops that were followed as one.
  DenseSet<Value> inside;
  DenseMap<Value, LocalScalar> scalars;
  OpAttributes attributes;
  /// By iterators and maps.
  DenseMap<std::pair<Attribute, Attribute>, PlainLoops> plainLoops;
  /// Axes of the collective at hand, and its number of members.
  AxesAttr groupAxes;
  /// Loops of the op at hand that only say how often something is combined.
  SmallVector<unsigned> freeLoops;
  AxisList group;
  /// What collectives do to numbers of ranks, by their axes: many do the same.
  using GroupKey = std::pair<const void *, RankVector>;
  DenseMap<GroupKey, RankVector> gathered, scattered;
  DenseSet<GroupKey> same;
  /// The united sets of the members, and whether each has all parts; by the
  /// number of these and what combines them.
  std::map<std::tuple<GroupKey, int64_t, ReduceKind>,
           std::pair<RankVector, bool>>
      united;
  std::map<std::vector<std::pair<RankVector, int64_t>>, RankVector> pieces;
  std::map<std::array<std::pair<RankVector, int64_t>, 2>, RankVector> added;
  int64_t groupSize = 1;
  /// The number of loops around what is followed.
  int64_t loopDepth = 0;
  SmallVector<const Form *> results;
  /// What ops made, in their order, and by what each was made first. The latter
  /// is of use in diagnostics only, and made for them.
  std::vector<std::pair<const Form *, Operation *>> made;
  mutable DenseMap<const Form *, Operation *> origins;
  SmallVector<LiftedReduction> reductions;
  SmallVector<DeclaredOrder> declared;
};

/// Follows scalar ops: those of a linalg body, with its loops, or those of the
/// function, with none.
class BodyLifter {
public:
  BodyLifter(LocalLifter &lifter, MutableArrayRef<LocalDim> loops)
      : lifter(lifter), loops(loops) {}

  void set(Value value, LocalScalar scalar) { scalars[value] = scalar; }
  void setForm(Value value, const Form *form, uint64_t changedLoops = 0) {
    LocalScalar scalar;
    scalar.form = form;
    scalar.changedLoops = changedLoops;
    set(value, scalar);
  }
  /// Follows an op with scalar results.
  LogicalResult lift(Operation *op);
  FailureOr<LocalScalar> get(Operation *op, Value value);
  FailureOr<const Form *> getForm(Operation *op, Value value);
  /// The form of a scalar at global indices.
  FailureOr<const Form *> toForm(Operation *op, const LocalScalar &scalar,
                                 Type type);
  void inferChunks(Block &body, int choice);

private:
  LogicalResult liftIndexMath(Operation *op, bool &isDone);
  LogicalResult liftCompare(arith::CmpIOp op, bool &isDone);
  LogicalResult liftSelect(arith::SelectOp op, bool &isDone);
  FailureOr<LocalScalar> choose(Operation *op, const LocalScalar &condition,
                                Value value, Value other);
  static void setPadding(const LocalScalar &condition, LocalScalar &chosen,
                         const Form *other);
  uint64_t getChangedLoops(ValueRange values) const;
  LogicalResult liftIf(scf::IfOp op);
  LogicalResult liftAnd(arith::AndIOp op, bool &isDone);
  LogicalResult liftExtract(tensor::ExtractOp op);
  LogicalResult liftOther(Operation *op);
  LogicalResult liftUninterpreted(Operation *op);
  std::optional<int64_t> getBound(const LocalScalar &index,
                                  const LocalScalar &bound);
  void setConstant(Value value, Attribute attr);
  const Form *makeIndex(unsigned loop, int64_t added);
  bool hasIndex(unsigned loop, int64_t added) const;

  LocalLifter &lifter;
  MutableArrayRef<LocalDim> loops;
  llvm::SmallDenseMap<Value, LocalScalar, 16> scalars;
};

} // namespace mlir::weft::proof

#endif // WEFT_LIB_VERIFY_SUMS_LOCALLIFTER_H
