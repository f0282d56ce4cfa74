// SPDX-License-Identifier: Apache-2.0

// Collectives: what the members of a group have becomes one thing on all of
// them. Each step is checked on every rank.

#include "LocalLifter.h"
#include "Shares.h"

#include "weft/Analysis/Traffic.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

/// The numbers of the members of the rank's group, in member order.
SmallVector<int64_t> LocalLifter::getOfMembers(RankVector vector,
                                               int64_t rank) const {
  SmallVector<int64_t> numbers;
  for (int64_t i = 0; i < groupSize; ++i)
    numbers.push_back((*vector)[getMember(rank, i)]);
  return numbers;
}

/// Whether the numbers of the members of each group are one.
bool LocalLifter::isSameOfMembers(RankVector vector) {
  if (!vector || same.contains({groupAxes.getAsOpaquePointer(), vector}))
    return true;
  for (int64_t rank = 0; rank < numRanks; ++rank)
    if ((*vector)[rank] != (*vector)[getMember(rank, 0)])
      return false;
  same.insert({groupAxes.getAsOpaquePointer(), vector});
  return true;
}

/// Fails unless the members of each group have the same part of the tensor, but
/// for some dims.
LogicalResult LocalLifter::checkSame(Operation *op, const LocalValue &value,
                                     ArrayRef<int64_t> exceptDims,
                                     bool withParts) {
  auto check = [&](RankVector vector, const Twine &what) -> LogicalResult {
    if (isSameOfMembers(vector))
      return success();
    int64_t rank = 0;
    while ((*vector)[rank] == (*vector)[getMember(rank, 0)])
      ++rank;
    return op->emitOpError("works on different parts of a tensor: ranks ")
           << getMember(rank, 0) << " and " << rank << " have " << what << ' '
           << (*vector)[getMember(rank, 0)] << " and " << (*vector)[rank];
  };
  for (auto [i, dim] : llvm::enumerate(value.dims))
    if (!llvm::is_contained(exceptDims, int64_t(i)) &&
        failed(check(dim.chunk, "along dim " + Twine(i) + " chunks")))
      return failure();
  return withParts ? check(value.contribution.part, "of a sum the parts")
                   : success();
}

/// The members' chunks, one after the other, are one chunk.
LogicalResult LocalLifter::gather(Operation *op, LocalDim &dim) {
  int64_t extent = dim.extent;
  dim.extent *= groupSize;
  if (!dim.chunk)
    return success();
  Likeness likeness = dim.likeness;
  RankVector &known = gathered[{groupAxes.getAsOpaquePointer(), dim.chunk}];
  if (known && !likeness) {
    dim.chunk = known;
    return success();
  }
  std::vector<int64_t> made;
  for (int64_t rank = 0; rank < numRanks; ++rank) {
    if (int64_t leader = getMember(rank, 0); leader != rank) {
      made.push_back(made[leader]);
      continue;
    }
    SmallVector<int64_t> chunks = getOfMembers(dim.chunk, rank);
    std::optional<int64_t> first = findNeighbours(likeness, chunks);
    if (!first) {
      InFlightDiagnostic diag = op->emitOpError("puts chunks ");
      llvm::interleaveComma(chunks, diag);
      return diag << " of " << extent
                  << " elements one after the other, which are no neighbours";
    }
    made.push_back(*first / groupSize);
  }
  dim.chunk = intern(std::move(made));
  dim.likeness = joinChunks(likeness, groupSize);
  if (!likeness)
    known = dim.chunk;
  return success();
}

/// Each member keeps its part of what all of them have.
void LocalLifter::scatter(LocalDim &dim) {
  dim.extent /= groupSize;
  dim.likeness = cutChunks(dim.likeness, groupSize);
  RankVector chunk = dim.chunk;
  if (!chunk)
    return;
  RankVector &known = scattered[{groupAxes.getAsOpaquePointer(), chunk}];
  if (!known)
    known = perRank([&](int64_t rank) {
      return (*chunk)[rank] * groupSize + mesh.groupIndex(rank, group);
    });
  dim.chunk = known;
}

/// An order of a collective is one of its members' parts.
LogicalResult LocalLifter::checkJoined(Operation *op, OrderAttr order) {
  if (order.getLeaves() == groupSize && order.getLanes() == 1)
    return success();
  return op->emitOpError("has an order of ")
         << order.getLeaves() << " leaves in " << order.getLanes()
         << " lanes, but joins " << groupSize << " parts";
}

/// Joins parts of a tree.
LogicalResult LocalLifter::joinParts(Operation *op, LocalValue &value) {
  if (!op->hasAttr(WeftDialect::kOrderAttr))
    return op->emitOpError("adds up ")
           << groupSize << " parts of " << value.form->str()
           << " in an open order: it has no 'weft.order'";
  for (int64_t rank = 0; rank < numRanks; ++rank) {
    if (getMember(rank, 0) != rank)
      continue; // as its group's first member
    SmallVector<int64_t> parts = getOfMembers(value.contribution.part, rank);
    for (int64_t i = 0; i < groupSize; ++i)
      if (parts[i] != parts[0] + i || parts[0] % groupSize != 0) {
        InFlightDiagnostic diag = op->emitOpError("joins parts ");
        llvm::interleaveComma(parts, diag);
        return diag << " of " << value.contribution.parts << " of "
                    << value.form->str()
                    << ", which are not one subtree in order";
      }
  }
  value.form = forms.getJoined(value.form, {groupSize, value.form->element});
  RankVector part = value.contribution.part;
  value.contribution.part =
      perRank([&](int64_t rank) { return (*part)[rank] / groupSize; });
  return success();
}

int64_t LocalLifter::getSet(std::vector<int64_t> parts) {
  auto [it, isNew] = setNumbers.try_emplace(std::move(parts), sets.size());
  if (isNew)
    sets.push_back(it->first);
  return it->second;
}

/// Combines sets of parts, of which each is needed once, in any order. Ranks
/// get what their leader gets, which is the first of those that get the same.
LogicalResult LocalLifter::uniteParts(
    Operation *op, LocalValue &value,
    function_ref<int64_t(int64_t rank)> getLeader,
    function_ref<SmallVector<int64_t>(int64_t rank)> getSets) {
  Contribution &contribution = value.contribution;
  std::vector<int64_t> united;
  bool isWhole = true;
  for (int64_t rank = 0; rank < numRanks; ++rank) {
    if (int64_t leader = getLeader(rank); leader != rank) {
      united.push_back(united[leader]);
      continue;
    }
    std::vector<int64_t> parts;
    for (int64_t set : getSets(rank))
      llvm::append_range(parts, sets[set]);
    llvm::sort(parts);
    if (isIdempotent(contribution.reduction))
      parts.erase(llvm::unique(parts), parts.end());
    if (llvm::adjacent_find(parts) != parts.end()) {
      InFlightDiagnostic diag = op->emitOpError("combines parts ");
      llvm::interleaveComma(parts, diag);
      return diag << " of " << contribution.parts << " of " << value.form->str()
                  << ", which are not all different";
    }
    isWhole &= int64_t(parts.size()) == contribution.parts;
    united.push_back(getSet(std::move(parts)));
  }
  contribution.part = intern(std::move(united));
  if (isWhole)
    contribution = Contribution();
  return success();
}

/// Combines the sets of parts of the members.
LogicalResult LocalLifter::uniteMembers(Operation *op, LocalValue &value) {
  GroupKey group(groupAxes.getAsOpaquePointer(), value.contribution.part);
  // Parts that a maximum may have twice a sum may not.
  auto key =
      std::tuple(group, value.contribution.parts, value.contribution.reduction);
  if (auto it = united.find(key);
      it != united.end() && value.contribution.kind == Contribution::Exact) {
    auto [part, isWhole] = it->second;
    value.contribution.part = part;
    if (isWhole)
      value.contribution = Contribution();
    return success();
  }
  if (failed(uniteParts(
          op, value, [&](int64_t rank) { return getMember(rank, 0); },
          [&](int64_t rank) { return getOfMembers(group.second, rank); })))
    return failure();
  united[key] = {value.contribution.part,
                 value.contribution.kind == Contribution::Whole};
  return success();
}

LogicalResult LocalLifter::combine(Operation *op, ReduceKind kind,
                                   LocalValue &value) {
  Contribution &contribution = value.contribution;
  if (contribution.kind == Contribution::Whole && isIdempotent(kind))
    return success();
  if (contribution.kind == Contribution::Whole)
    return op->emitOpError("combines whole values, not contributions: ")
           << value.form->str();
  if (contribution.kind == Contribution::Attention)
    return op->emitOpError("combines attention over some of the keys: ")
           << value.form->str();
  if (kind != contribution.reduction)
    return op->emitOpError("combines contributions to a ")
           << stringifyReduceKind(contribution.reduction) << " by "
           << stringifyReduceKind(kind);
  auto order = op->getAttrOfType<OrderAttr>(WeftDialect::kOrderAttr);
  if (order && failed(checkJoined(op, order)))
    return failure();
  if (contribution.kind != Contribution::Ordered)
    return uniteMembers(op, value);
  if (contribution.parts % groupSize != 0)
    return op->emitOpError("combines ")
           << groupSize << " parts of " << contribution.parts;
  if (failed(joinParts(op, value)))
    return failure();
  contribution.parts /= groupSize;
  if (contribution.parts == 1)
    contribution = Contribution();
  return success();
}

/// Member i gets what member sources[i] has.
LogicalResult LocalLifter::permute(PermuteOp op, LocalValue &value) {
  if (llvm::is_contained(op.getSources(), -1))
    return op.emitOpError("gives a rank zeros that are no part of a tensor");
  auto move = [&](RankVector &vector) {
    RankVector old = vector;
    if (old)
      vector = perRank([&](int64_t rank) {
        int64_t source = op.getSources()[mesh.groupIndex(rank, group)];
        return (*old)[getMember(rank, source)];
      });
  };
  for (LocalDim &dim : value.dims)
    move(dim.chunk);
  move(value.contribution.part);
  return success();
}

LogicalResult LocalLifter::liftOperand(Operation *op, unsigned index,
                                       LocalValue &value) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](AllGatherOp op) -> LogicalResult {
        int64_t dim = op.getDims()[index];
        if (failed(regroupForMembers(op, value, dim)) ||
            failed(checkSame(op, value, dim, /*withParts=*/true)))
          return failure();
        return gather(op, value.dims[dim]);
      })
      .Case([&](AllReduceOp op) -> LogicalResult {
        if (failed(checkSame(op, value, {}, /*withParts=*/false)))
          return failure();
        return combine(op, op.getKind(), value);
      })
      .Case([&](ReduceScatterOp op) -> LogicalResult {
        if (failed(checkSame(op, value, {}, /*withParts=*/false)) ||
            failed(combine(op, op.getKind(), value)))
          return failure();
        scatter(value.dims[op.getDims()[index]]);
        return success();
      })
      .Case([&](AllToAllOp op) -> LogicalResult {
        int64_t split = op.getSplitDims()[index];
        int64_t concat = op.getConcatDims()[index];
        if (split == concat)
          return op.emitOpError("splits and concatenates one dim, ") << split;
        if (failed(regroupForMembers(op, value, concat)) ||
            failed(checkSame(op, value, concat, /*withParts=*/true)))
          return failure();
        scatter(value.dims[split]);
        return gather(op, value.dims[concat]);
      })
      .Case([&](PermuteOp op) { return permute(op, value); });
}

LogicalResult LocalLifter::liftCollective(Operation *op) {
  groupAxes = getCollectiveAxes(op);
  group = getAxes(groupAxes);
  groupSize = numShards(group);
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    if (inside.contains(operand) || inside.contains(op->getResult(i)))
      continue;
    LocalValue value = getTensor(operand);
    for (LocalDim &dim : value.dims)
      dim.padding = nullptr;
    if (failed(liftOperand(op, i, value)))
      return failure();
    (void)setTensor(op, op->getResult(i), std::move(value));
  }
  return success();
}
