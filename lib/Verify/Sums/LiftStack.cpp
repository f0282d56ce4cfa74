// SPDX-License-Identifier: Apache-2.0

// Stacks: values that are put below each other and picked by number, another
// one by each rank. A rank that computes several microbatches sends, and keeps,
// those of other numbers than others do so. Entries are parts of one tensor
// that lie anywhere in it, so that the stack as a whole is a part of nothing;
// each entry is followed by itself.
//
// Worked example. On 2 ranks of 2 microbatches each, entries have the chunks
// [0, 2] and [1, 3]. Picking entry 1 on rank 0 and 0 on rank 1 gives chunks
// [1, 2].

#include "LocalLifter.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

/// Whether an index is computed of nothing but the number of the rank.
static bool isOfRank(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || isa<AxisIndexOp>(op))
    return op;
  bool isMath = isa<arith::ArithDialect>(op->getDialect());
  return isMath && op->getNumOperands() > 0 &&
         llvm::all_of(op->getOperands(), [](Value operand) {
           return getConstantIntValue(operand) || isOfRank(operand);
         });
}

/// Whether a slice is one entry of a stack, for each rank its own.
static bool isPick(Operation *user) {
  auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
  if (!slice)
    return false;
  ArrayRef<int64_t> entry = slice.getSourceType().getShape().drop_front();
  ArrayRef<int64_t> sizes = slice.getStaticSizes();
  auto isZero = [](int64_t offset) { return offset == 0; };
  auto isOne = [](int64_t stride) { return stride == 1; };
  auto number = dyn_cast<Value>(slice.getMixedOffsets().front());
  return number && isOfRank(number) && slice.getType().getShape() == entry &&
         sizes.front() == 1 && sizes.drop_front() == entry &&
         llvm::all_of(slice.getStaticOffsets().drop_front(), isZero) &&
         llvm::all_of(slice.getStaticStrides(), isOne);
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

/// Whether an op puts tensors below each other, to be picked by ranks.
static bool isStack(Operation *op) {
  auto concat = dyn_cast<tensor::ConcatOp>(op);
  return concat && concat.getDim() == 0 && !concat->use_empty() &&
         llvm::all_of(concat->getUsers(), isPick) &&
         llvm::all_of(concat.getInputs(), getEntry);
}

/// Whether what an op makes is only stacked: then it is no tensor of its own,
/// since one that is cut unequally has no other first dimension.
bool LocalLifter::isStacked(Operation *op) const {
  return !isReference && isa<tensor::ExpandShapeOp>(op) && !op->use_empty() &&
         llvm::all_of(op->getUsers(), isStack);
}

/// Sizes that are guesses become one, unless something else lies past one.
static void guessTogether(LocalValue &a, LocalValue &b) {
  for (auto [x, y] : llvm::zip(a.dims, b.dims)) {
    if (x.size == y.size || !x.chunk || !y.chunk)
      continue;
    auto isOpen = [](const LocalDim &dim) {
      return (dim.size == kAnySize || dim.isGuess) && !holdsPadding(dim);
    };
    if (!isOpen(x) || !isOpen(y))
      continue;
    x.size = y.size = std::max(getPaddedSize(x), getPaddedSize(y));
    x.isGuess = y.isGuess = true;
    x.padding = y.padding = nullptr;
  }
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
  if (op.getDim() != 0 || op->use_empty() ||
      !llvm::all_of(op->getUsers(), isPick))
    return false;
  // Where some entry is a tensor with such a dimension, all are.
  SmallVector<Value> sources = llvm::map_to_vector(
      op.getInputs(), [](Value input) { return getEntry(input); });
  auto isWhole = [](Value input) {
    return cast<RankedTensorType>(input.getType()).getDimSize(0) == 1;
  };
  if (llvm::is_contained(sources, Value())) {
    if (!llvm::all_of(op.getInputs(), isWhole))
      return false;
    sources.assign(op.getInputs().begin(), op.getInputs().end());
  }
  std::vector<LocalValue> entries;
  for (Value source : sources) {
    entries.push_back(getTensor(source));
    for (LocalDim &dim : entries.back().dims)
      dim.padding = nullptr;
  }
  // The first one has the greatest guess at last.
  for (int pass = 0; pass < 2; ++pass)
    for (LocalValue &entry : llvm::drop_begin(entries))
      if (entry.form == entries.front().form &&
          entry.dims.size() == entries.front().dims.size())
        guessTogether(entries.front(), entry);
  if (!llvm::all_of(entries, [&](const LocalValue &entry) {
        return areOfOne(entries.front(), entry);
      }))
    return false;
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

LogicalResult LocalLifter::pickEntry(tensor::ExtractSliceOp op) {
  const std::vector<LocalValue> &entries = stacks.at(op.getSource());
  int64_t count = entries.size();
  RankVector number = getNumber(op.getMixedOffsets().front());
  auto isEntry = [&](int64_t entry) { return entry >= 0 && entry < count; };
  if (!number || !llvm::all_of(*number, isEntry))
    return op.emitOpError("picks ") << (number ? describeRanks(number) : "?")
                                    << " of " << count << " values";
  LocalValue picked = moveEntry(entries.front(), [&](int64_t rank) {
    return std::pair(&entries[(*number)[rank]], rank);
  });
  if (picked.dims.size() == size_t(op.getType().getRank()))
    return setTensor(op, op.getResult(), std::move(picked));
  llvm::SmallBitVector first(picked.dims.size());
  first.set(0);
  FailureOr<LocalValue> dropped = dropDims(op, std::move(picked), first);
  return failed(dropped) ? failure()
                         : setTensor(op, op.getResult(), std::move(*dropped));
}
