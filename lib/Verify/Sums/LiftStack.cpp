// SPDX-License-Identifier: Apache-2.0

// Stacks: values of which each rank needs another one, and that are put below
// each other, gathered, and picked by number. A rank that computes
// several microbatches gets those of other ranks so. Entries are parts of one
// tensor that lie anywhere in it, so that the stack as a whole is a part of
// nothing; each entry is followed by itself.
//
// Worked example. On 2 ranks of 2 microbatches each, entries have the chunks
// [0, 2] and [1, 3]. After the gather the four entries have the chunks [0, 0],
// [1, 1], [2, 2] and [3, 3]; picking entry 2 on rank 0 and 1 on rank 1 gives
// chunks [2, 1].

#include "LocalLifter.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

/// Whether a slice is one entry of a stack.
static bool isPick(Operation *user) {
  auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
  if (!slice)
    return false;
  ArrayRef<int64_t> entry = slice.getSourceType().getShape().drop_front();
  ArrayRef<int64_t> sizes = slice.getStaticSizes();
  auto isZero = [](int64_t offset) { return offset == 0; };
  auto isOne = [](int64_t stride) { return stride == 1; };
  return slice.getType().getShape() == entry && sizes.front() == 1 &&
         sizes.drop_front() == entry &&
         llvm::all_of(slice.getStaticOffsets().drop_front(), isZero) &&
         llvm::all_of(slice.getStaticStrides(), isOne);
}

/// Whether all that is done to a concatenation is to gather it along its first
/// dimension and to pick entries.
static bool isGatheredToPick(tensor::ConcatOp op) {
  if (op.getDim() != 0 || !op->hasOneUse())
    return false;
  OpOperand &use = *op->use_begin();
  auto gather = dyn_cast<AllGatherOp>(use.getOwner());
  if (!gather || gather.getDims()[use.getOperandNumber()] != 0)
    return false;
  return llvm::all_of(gather->getResult(use.getOperandNumber()).getUsers(),
                      isPick);
}

/// The tensor that `input` is with a first dimension of one; null if it is not
/// made so.
static Value getEntry(Value input) {
  auto expand = input.getDefiningOp<tensor::ExpandShapeOp>();
  if (!expand)
    return nullptr;
  ArrayRef<int64_t> shape = expand.getResultType().getShape();
  bool isEntry = shape.size() == expand.getSrcType().getShape().size() + 1 &&
                 shape.front() == 1 &&
                 shape.drop_front() == expand.getSrcType().getShape();
  return isEntry ? expand.getSrc() : Value();
}

/// Whether two values are parts of one tensor, of one size.
static bool areOfOne(const LocalValue &a, const LocalValue &b) {
  const Contribution &own = a.contribution, &other = b.contribution;
  return a.form == b.form && own.kind == other.kind &&
         own.reduction == other.reduction && own.parts == other.parts &&
         llvm::all_of(llvm::zip_equal(a.dims, b.dims), [](auto dims) {
           auto &[x, y] = dims;
           return x.size == y.size && x.extent == y.extent &&
                  x.likeness == y.likeness && !x.chunk == !y.chunk;
         });
}

bool LocalLifter::stackEntries(tensor::ConcatOp op) {
  if (!isGatheredToPick(op))
    return false;
  std::vector<LocalValue> entries;
  for (Value input : op.getInputs()) {
    Value entry = getEntry(input);
    if (!entry)
      return false;
    entries.push_back(getTensor(entry));
    for (LocalDim &dim : entries.back().dims)
      dim.padding = nullptr;
    if (!areOfOne(entries.front(), entries.back()))
      return false;
  }
  stacks[op.getResult()] = std::move(entries);
  return true;
}

/// The part that each rank has, if it has the one of `getSource`.
LocalValue LocalLifter::moveEntry(
    const LocalValue &alike,
    function_ref<std::pair<const LocalValue *, int64_t>(int64_t)> getSource) {
  LocalValue value = alike;
  for (auto [i, dim] : llvm::enumerate(value.dims))
    if (dim.chunk)
      dim.chunk = perRank([&, d = i](int64_t rank) {
        auto [entry, source] = getSource(rank);
        return (*entry->dims[d].chunk)[source];
      });
  if (value.contribution.part)
    value.contribution.part = perRank([&](int64_t rank) {
      auto [entry, source] = getSource(rank);
      return (*entry->contribution.part)[source];
    });
  return value;
}

/// All entries of the first member, then those of the next one.
void LocalLifter::gatherStack(Value stack, Value result) {
  const std::vector<LocalValue> own = stacks.at(stack);
  std::vector<LocalValue> entries;
  for (int64_t member = 0; member < groupSize; ++member)
    for (const LocalValue &entry : own)
      entries.push_back(moveEntry(entry, [&](int64_t rank) {
        return std::pair(&entry, getMember(rank, member));
      }));
  stacks[result] = std::move(entries);
}

LogicalResult LocalLifter::pickEntry(tensor::ExtractSliceOp op) {
  const std::vector<LocalValue> &entries = stacks.at(op.getSource());
  int64_t count = entries.size();
  RankVector number = getNumber(op.getMixedOffsets().front());
  if (!number)
    return op.emitOpError("picks one of ")
           << count << " values by a number that is computed from data";
  for (int64_t entry : *number)
    if (entry < 0 || entry >= count)
      return op.emitOpError("picks value ") << entry << " of " << count;
  return setTensor(op, op.getResult(),
                   moveEntry(entries.front(), [&](int64_t rank) {
                     return std::pair(&entries[(*number)[rank]], rank);
                   }));
}
