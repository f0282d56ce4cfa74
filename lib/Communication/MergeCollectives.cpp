// SPDX-License-Identifier: Apache-2.0

// weft-merge-collectives: fewer and cheaper collectives in the program of one
// rank.
//
// In this order: an all_reduce of which each rank keeps its own part becomes a
// reduce_scatter; a reduce_scatter moves before an all_reduce, which then works
// on less; all_reduces of slices that are all of a tensor become one of the
// tensor, which lies in one piece already; collectives without uses go; two
// gathers of one tensor along neighbouring dims become one; small reductions of
// one group that wait for one another needlessly become one. So that they may,
// what maxima are computed from is moved up, and what is small and computed
// from reductions down to where it is needed.
//
// That a weight is gathered twice was decided before, and stays. Gathers of
// what small reductions made are grouped like these, and gathers of elements
// and scales that one op reads.

#include "JoinGathers.h"
#include "RaiseMaxima.h"

#include "weft/Analysis/Traffic.h"
#include "weft/Communication/Passes.h"
#include "weft/Rules/ShardingRule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::weft {
#define GEN_PASS_DEF_MERGECOLLECTIVESPASS
#include "weft/Communication/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

//===----------------------------------------------------------------------===//
// all_reduce and reduce_scatter
//===----------------------------------------------------------------------===//

namespace {

/// Says whether `offset` is this rank's position along `axes` times `size`.
bool isChunkOffset(OpFoldResult offset, AxesAttr axes, int64_t size) {
  auto value = dyn_cast<Value>(offset);
  if (!value)
    return false;
  if (auto product = value.getDefiningOp<arith::MulIOp>()) {
    APInt factor;
    if (!matchPattern(product.getRhs(), m_ConstantInt(&factor)) ||
        factor != size)
      return false;
    value = product.getLhs();
  } else if (size != 1) {
    return false;
  }
  auto index = value.getDefiningOp<AxisIndexOp>();
  return index && index.getAxesAttr() == axes;
}

/// Returns the dimension of which `slice` keeps this rank's part over `axes`,
/// if that is all it does.
std::optional<int64_t> getScatteredDim(tensor::ExtractSliceOp slice,
                                       AxesAttr axes, int64_t group) {
  RankedTensorType source = slice.getSourceType();
  if (slice.getType().getRank() != source.getRank() || !slice.hasUnitStride())
    return std::nullopt;
  std::optional<int64_t> scattered;
  for (int64_t dim = 0; dim < source.getRank(); ++dim) {
    OpFoldResult offset = slice.getMixedOffsets()[dim];
    int64_t size = slice.getStaticSizes()[dim];
    if (size == source.getDimSize(dim) && isZeroInteger(offset))
      continue;
    if (scattered || size * group != source.getDimSize(dim) ||
        !isChunkOffset(offset, axes, size))
      return std::nullopt;
    scattered = dim;
  }
  return scattered;
}

/// What a collective becomes joins contributions in the same order.
void copyOrder(Operation *from, Operation *to) {
  if (Attribute order = from->getAttr(WeftDialect::kOrderAttr))
    to->setAttr(WeftDialect::kOrderAttr, order);
}

/// all_reduce, then keep a part -> reduce_scatter.
bool scatterReduction(AllReduceOp reduce) {
  if (reduce.getInputs().size() != 1 || !reduce->hasOneUse())
    return false;
  auto slice = dyn_cast<tensor::ExtractSliceOp>(*reduce->user_begin());
  if (!slice)
    return false;
  int64_t group = getNumShards(lookupMesh(reduce, reduce.getMeshAttr()),
                               reduce.getAxes().getAxes());
  std::optional<int64_t> dim =
      getScatteredDim(slice, reduce.getAxesAttr(), group);
  if (!dim)
    return false;
  OpBuilder builder(slice);
  auto scatter = ReduceScatterOp::create(
      builder, reduce.getLoc(), TypeRange(slice.getType()), reduce.getKind(),
      reduce.getInputs(), reduce.getMesh(), reduce.getAxes(),
      ArrayRef<int64_t>{*dim}, reduce.getChannelAttr());
  copyOrder(reduce, scatter);
  slice.getResult().replaceAllUsesWith(scatter.getResult(0));
  slice.erase();
  reduce.erase();
  return true;
}

/// all_reduce, then reduce_scatter over other axes -> the other order. Not
/// where contributions join in a declared order.
bool scatterFirst(ReduceScatterOp scatter) {
  if (scatter.getInputs().size() != 1)
    return false;
  auto reduce = scatter.getInputs()[0].getDefiningOp<AllReduceOp>();
  if (!reduce || reduce.getInputs().size() != 1 || !reduce->hasOneUse() ||
      reduce.getKind() != scatter.getKind() ||
      reduce->hasAttr(WeftDialect::kOrderAttr) ||
      scatter->hasAttr(WeftDialect::kOrderAttr))
    return false;
  OpBuilder builder(scatter);
  auto first = ReduceScatterOp::create(
      builder, scatter.getLoc(), scatter.getResultTypes(), scatter.getKind(),
      reduce.getInputs(), scatter.getMesh(), scatter.getAxes(),
      scatter.getDims(), scatter.getChannelAttr());
  auto second = AllReduceOp::create(builder, reduce.getLoc(),
                                    scatter.getResultTypes(), reduce.getKind(),
                                    first.getResults(), reduce.getMesh(),
                                    reduce.getAxes(), reduce.getChannelAttr());
  scatter.replaceAllUsesWith(second);
  scatter.erase();
  reduce.erase();
  return true;
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

/// What is reduced of a slice that nothing else uses; null if that is not so.
tensor::ExtractSliceOp getReducedSlice(AllReduceOp reduce) {
  if (reduce.getInputs().size() != 1)
    return {};
  auto slice = reduce.getInputs()[0].getDefiningOp<tensor::ExtractSliceOp>();
  bool isFixed = slice && slice->hasOneUse() && slice.hasUnitStride() &&
                 slice.getType().getRank() == slice.getSourceType().getRank() &&
                 slice->getBlock() == reduce->getBlock() &&
                 llvm::none_of(slice.getStaticOffsets(), ShapedType::isDynamic);
  return isFixed ? slice : tensor::ExtractSliceOp();
}

bool areDisjoint(tensor::ExtractSliceOp a, tensor::ExtractSliceOp b) {
  for (auto [beginA, sizeA, beginB, sizeB] :
       llvm::zip(a.getStaticOffsets(), a.getStaticSizes(), b.getStaticOffsets(),
                 b.getStaticSizes()))
    if (beginA + sizeA <= beginB || beginB + sizeB <= beginA)
      return true;
  return false;
}

/// Says whether each element of what they are taken from is in one slice.
bool isPartition(MutableArrayRef<tensor::ExtractSliceOp> slices) {
  int64_t numElements = 0;
  for (auto [i, slice] : llvm::enumerate(slices)) {
    numElements += slice.getType().getNumElements();
    for (tensor::ExtractSliceOp other : slices.take_front(i))
      if (!areDisjoint(slice, other))
        return false;
  }
  return numElements == slices.front().getSourceType().getNumElements();
}

/// all_reduces of slices of a tensor -> slices of one all_reduce. Returns how
/// many all_reduces are gone.
unsigned reduceWhole(Value whole, ArrayRef<AllReduceOp> members) {
  auto slices = llvm::map_to_vector(members, getReducedSlice);
  if (members.size() < 2 || !isPartition(slices))
    return 0;
  AllReduceOp first = members.front();
  OpBuilder builder(first);
  auto reduce = AllReduceOp::create(
      builder, first.getLoc(), TypeRange(whole.getType()), first.getKindAttr(),
      whole, first.getMeshAttr(), first.getAxesAttr(), first.getChannelAttr());
  copyOrder(first, reduce);
  for (auto [member, slice] : llvm::zip(members, slices)) {
    slice->moveAfter(reduce);
    slice.getSourceMutable().assign(reduce.getResult(0));
    member->getResult(0).replaceAllUsesWith(slice.getResult());
    member->erase();
  }
  return members.size() - 1;
}

unsigned reduceWholes(Block &block) {
  // What is reduced alike, by the tensor that it is a slice of.
  llvm::MapVector<
      std::tuple<Value, ReduceKind, Attribute, Attribute, Attribute>,
      SmallVector<AllReduceOp>>
      groups;
  for (auto reduce : block.getOps<AllReduceOp>())
    if (tensor::ExtractSliceOp slice = getReducedSlice(reduce))
      groups[{slice.getSource(), reduce.getKind(), reduce.getAxesAttr(),
              reduce.getChannelAttr(),
              reduce->getAttr(WeftDialect::kOrderAttr)}]
          .push_back(reduce);
  unsigned gone = 0;
  for (const auto &[key, members] : groups)
    gone += reduceWhole(std::get<0>(key), members);
  return gone;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// A reduction that may be moved to any place after `defined` and before
/// `used`, positions in its block.
struct Candidate {
  Operation *op;
  int64_t defined;
  int64_t used;
};

/// What the members of a group have in common.
using GroupKey = std::tuple<OperationName, std::optional<ReduceKind>, AxesAttr,
                            Attribute, Attribute>;

std::optional<GroupKey> getGroupKey(Operation *op) {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  if (!collective || isExchange(collective.getCollectiveKind()))
    return std::nullopt;
  return GroupKey(op->getName(), collective.getReduction(),
                  collective.getAxesAttr(), collective.getChannelAttr(),
                  op->getAttr(WeftDialect::kOrderAttr));
}

/// Says whether all tensors that the op takes and makes are small.
bool isSmall(Operation *op, int64_t limit) {
  auto fits = [&](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return !tensor || getBufferBytes(tensor) <= limit;
  };
  return llvm::all_of(op->getOperandTypes(), fits) &&
         llvm::all_of(op->getResultTypes(), fits);
}

/// Small reductions, and what is small and computed from their results alone.
class SmallOps {
public:
  SmallOps(Block &block, int64_t limit) : block(block), limit(limit) {
    for (Operation &op : block)
      if (isSmall(&op, limit))
        add(&op);
  }

  bool isCandidate(Operation *op) const { return candidates.contains(op); }

  /// Moves what is computed from reductions in front of its first use, unless
  /// another waits for it.
  void sink() {
    for (auto [position, op] : llvm::enumerate(block))
      positions[&op] = position;
    for (Operation *op : llvm::reverse(derived)) {
      if (op->use_empty() || llvm::any_of(op->getUsers(), [&](Operation *user) {
            return isReduction(user);
          }))
        continue;
      SmallVector<Operation *> users =
          llvm::map_to_vector(op->getUsers(), [&](Operation *user) {
            return block.findAncestorOpInBlock(*user);
          });
      Operation *first = *llvm::min_element(
          users, [&](Operation *a, Operation *b) { return isBefore(a, b); });
      op->moveBefore(first);
      stays[op] = getStaying(first);
    }
  }

private:
  Operation *getStaying(Operation *op) const {
    auto it = stays.find(op);
    return it == stays.end() ? op : it->second;
  }

  /// Each move would invalidate the order that the block keeps.
  bool isBefore(Operation *a, Operation *b) const {
    Operation *stayingA = getStaying(a), *stayingB = getStaying(b);
    if (stayingA != stayingB)
      return positions.at(stayingA) < positions.at(stayingB);
    while (a != b && a != stayingA) {
      a = a->getNextNode();
      if (a == b)
        return true;
    }
    return false;
  }

  static bool isReduction(Operation *op) {
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    return collective && collective.getReduction();
  }

  static bool isGather(Operation *op) {
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    return collective &&
           collective.getCollectiveKind() == CollectiveKind::AllGather;
  }

  bool isDerived(Operation *op) const {
    if (!isMemoryEffectFree(op) && !isGather(op))
      return false;
    bool isAny = false;
    for (Value operand : op->getOperands()) {
      Operation *def = operand.getDefiningOp();
      bool isOne = def && (candidates.contains(def) || derived.contains(def));
      if (!isOne && !(def && isRematerializable(def)))
        return false;
      isAny |= isOne;
    }
    return isAny;
  }

  void add(Operation *op) {
    bool isNew = isDerived(op);
    if (isNew)
      derived.insert(op);
    if (isReduction(op) || (isNew && isGather(op)))
      candidates.insert(op);
  }

  Block &block;
  int64_t limit;
  llvm::SetVector<Operation *> candidates, derived;
  /// Places in the block before anything moved.
  DenseMap<Operation *, int64_t> positions;
  /// What has moved stands in front of this op, which has not.
  DenseMap<Operation *, Operation *> stays;
};

/// Groups the small reductions of one block.
class Grouper {
public:
  Grouper(Block &block, int64_t limit) : block(block), ops(block, limit) {}

  /// Returns the number of collectives that are gone.
  unsigned run() {
    ops.sink();
    llvm::SetVector<GroupKey> keys;
    for (Operation &op : block)
      if (ops.isCandidate(&op))
        keys.insert(*getGroupKey(&op));
    unsigned merged = 0;
    for (const GroupKey &key : keys)
      merged += groupKey(key);
    return merged;
  }

private:
  SmallVector<Candidate> collect(const GroupKey &key) {
    DenseMap<Operation *, int64_t> positions;
    for (auto [position, op] : llvm::enumerate(block))
      positions[&op] = position;
    SmallVector<Candidate> candidates;
    DenseMap<Operation *, int64_t> available;
    for (Operation &op : block) {
      if (!ops.isCandidate(&op) || getGroupKey(&op) != key)
        continue;
      Candidate candidate{&op, -1, static_cast<int64_t>(positions.size())};
      for (Value operand : op.getOperands())
        if (Operation *def = operand.getDefiningOp()) {
          // The result of another candidate is there where that is used.
          auto other = available.find(def);
          candidate.defined = std::max(
              candidate.defined,
              other != available.end() ? other->second : positions[def]);
        }
      for (Operation *user : op.getUsers())
        candidate.used = std::min(
            candidate.used, positions[block.findAncestorOpInBlock(*user)]);
      available[&op] = candidate.used;
      candidates.push_back(candidate);
    }
    return candidates;
  }

  /// Stabs the candidates' ranges with as few points as possible, and makes
  /// one collective at each.
  unsigned groupKey(const GroupKey &key) {
    SmallVector<Candidate> candidates = collect(key);
    llvm::stable_sort(candidates, [](const Candidate &a, const Candidate &b) {
      return a.used < b.used;
    });
    unsigned merged = 0;
    while (!candidates.empty()) {
      int64_t point = candidates.front().used;
      SmallVector<Operation *> members;
      SmallVector<Candidate> rest;
      for (const Candidate &candidate : candidates) {
        if (candidate.defined < point)
          members.push_back(candidate.op);
        else
          rest.push_back(candidate);
      }
      merged += members.size() - 1;
      if (members.size() > 1)
        merge(members);
      candidates = std::move(rest);
    }
    return merged;
  }

  /// One tensor of a collective, and how it is joined or cut; of two members
  /// that ask for the same one is enough.
  using Moved = std::tuple<Value, int64_t, int64_t>;

  /// Makes one collective of the members, before the first use of any.
  void merge(ArrayRef<Operation *> members) {
    SmallVector<Location> locations;
    llvm::MapVector<Moved, SmallVector<Value, 1>> moved;
    Operation *firstUser = nullptr;
    for (Operation *op : members) {
      locations.push_back(op->getLoc());
      auto member = cast<CollectiveOpInterface>(op);
      ArrayRef<int64_t> gathered = member.getGatheredDims(),
                        scattered = member.getScatteredDims();
      for (auto [i, input] : llvm::enumerate(op->getOperands()))
        moved[{input, gathered.empty() ? -1 : gathered[i],
               scattered.empty() ? -1 : scattered[i]}]
            .push_back(op->getResult(i));
      for (Operation *user : op->getUsers()) {
        Operation *outer = block.findAncestorOpInBlock(*user);
        if (!firstUser || outer->isBeforeInBlock(firstUser))
          firstUser = outer;
      }
    }
    SmallVector<Value> inputs;
    SmallVector<Type> types;
    SmallVector<int64_t> gathered, scattered;
    for (const auto &[tensor, results] : moved) {
      inputs.push_back(std::get<Value>(tensor));
      types.push_back(results.front().getType());
      if (std::get<1>(tensor) >= 0)
        gathered.push_back(std::get<1>(tensor));
      if (std::get<2>(tensor) >= 0)
        scattered.push_back(std::get<2>(tensor));
    }
    OpBuilder builder(firstUser);
    Location loc = builder.getFusedLoc(locations);
    Operation *group =
        createLike(builder, loc, cast<CollectiveOpInterface>(members.front()),
                   types, inputs, gathered, scattered);
    copyOrder(members.front(), group);
    for (auto [entry, result] : llvm::zip(moved, group->getResults()))
      for (Value old : entry.second)
        old.replaceAllUsesWith(result);
    for (Operation *op : members)
      op->erase();
  }

  Block &block;
  SmallOps ops;
};

/// Erases collectives without uses, and what only they used. Every rank runs
/// this program: a collective is unused on all of them.
unsigned eraseUnused(Block &block) {
  unsigned erased = 0;
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    bool isCollective = isa<CollectiveOpInterface>(op);
    if (!op.use_empty() || (!isCollective && !isOpTriviallyDead(&op)))
      continue;
    erased += isCollective;
    op.erase();
  }
  return erased;
}

struct MergeCollectivesPass
    : public weft::impl::MergeCollectivesPassBase<MergeCollectivesPass> {
  using MergeCollectivesPassBase::MergeCollectivesPassBase;

  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal() && func.getBody().hasOneBlock())
        runOnBlock(func.getBody().front());
  }

  void runOnBlock(Block &block) {
    for (auto op : llvm::make_early_inc_range(block.getOps<AllReduceOp>()))
      numScattered += scatterReduction(op);
    for (auto op : llvm::make_early_inc_range(block.getOps<ReduceScatterOp>()))
      numReordered += scatterFirst(op);
    numErased += eraseUnused(block);
    numGrouped += reduceWholes(block);
    numGrouped += joinNestedGathers(block);
    raiseMaxima(block, groupLimit);
    numGrouped += Grouper(block, groupLimit).run();
    numGrouped += joinGathers(block);
  }
};

} // namespace
