// SPDX-License-Identifier: Apache-2.0

// Movement inside a rank. What only changes which part of a value the rank has
// (slices at the rank's own offset, padding for equal chunks) leaves the form;
// what moves elements of the global tensor is part of it.

#include "LocalLifter.h"

#include "weft/Analysis/Traffic.h"

#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

/// The number on each rank, or null for one that is computed from data.
RankVector LocalLifter::getNumber(OpFoldResult value) {
  if (std::optional<int64_t> number = getConstantIntValue(value))
    return uniform(*number);
  return scalars.lookup(cast<Value>(value)).offset;
}

/// Follows one dimension of a slice; `details` gets what is cut globally.
LogicalResult LocalLifter::sliceDim(tensor::ExtractSliceOp op, unsigned index,
                                    bool inChunks, LocalDim &dim,
                                    std::string &details) {
  int64_t size = op.getStaticSizes()[index];
  std::optional<int64_t> stride =
      getConstantIntValue(op.getMixedStrides()[index]);
  RankVector offset = getNumber(op.getMixedOffsets()[index]);
  if (ShapedType::isDynamic(size) || !stride || !offset)
    return op.emitOpError("cuts dim ")
           << index << " at a place that is computed from data";
  std::optional<int64_t> number = getUniform(offset);
  if (number == 0 && size == dim.extent && *stride == 1)
    return success();
  if (!dim.chunk) {
    dim.extent = size; // the same everywhere
    return success();
  }
  bool isWhole = countChunks(dim) == 1;
  // A chunk, and not less of a dimension of any size: its other chunks are cut
  // out, too.
  if (isWhole && size > 0 && dim.extent % size == 0)
    fix(dim);
  if (isWhole && number && *stride == 1 && number == 0 && size >= dim.size) {
    dim.extent = size; // padding goes
    return success();
  }
  if (isWhole && inChunks)
    fix(dim);
  bool isChunk = number && *stride == 1 && size > 0 && *number % size == 0 &&
                 dim.size % size == 0;
  if (isWhole && inChunks && isChunk) {
    dim = {dim.size, size, uniform(*number / size)};
    return success();
  }
  if (isWhole && number) {
    fix(dim);
    if (*number + (size - 1) * *stride >= dim.size)
      return op.emitOpError("reads behind the end of dim ")
             << index << " of size " << dim.size;
    details += std::to_string(index) + ": " + std::to_string(*number) + " + " +
               std::to_string(size) + " * " + std::to_string(*stride) + ", ";
    dim = {size, size, uniform(0)};
    return success();
  }
  RankVector begin = perRank([&](int64_t rank) {
    return (*dim.chunk)[rank] * dim.extent + (*offset)[rank];
  });
  for (int64_t rank = 0; rank < numRanks; ++rank)
    if (*stride != 1 || size == 0 || (*begin)[rank] % size != 0 ||
        (*offset)[rank] < 0 || (*offset)[rank] + size > dim.extent)
      return op.emitOpError("cuts dim ")
             << index << " of size " << dim.size << " at "
             << describeRanks(begin) << ", which is not at chunks of " << size;
  dim.extent = size;
  dim.chunk = perRank([&](int64_t rank) { return (*begin)[rank] / size; });
  dim.repeats = {};
  return success();
}

LogicalResult LocalLifter::liftExtractSlice(tensor::ExtractSliceOp op) {
  if (stacks.contains(op.getSource()))
    return pickEntry(op);
  LocalValue value = getTensor(op.getSource());
  // What the one-rank program does not cut is a part that the rank goes through
  // by itself.
  std::string details;
  for (bool inChunks : {false, true}) {
    value = getTensor(op.getSource());
    details.clear();
    for (auto [i, dim] : llvm::enumerate(value.dims))
      if (failed(sliceDim(op, i, inChunks, dim, details)))
        return failure();
    if (details.empty() || isReference ||
        forms.hasMove("slice", details, value.form, getSizes(value.dims)))
      break;
  }
  if (!details.empty())
    value.form =
        forms.getMove("slice", details, value.form, getSizes(value.dims), op);
  llvm::SmallBitVector dropped = op.getDroppedDims();
  if (dropped.any()) {
    // One index of a dimension that is cut: a part of it and the next together.
    SmallVector<LocalDim, 4> kept, cut;
    for (auto [i, dim] : llvm::enumerate(value.dims)) {
      if (!dropped[i]) {
        cut.push_back(dim);
        LocalDim merged;
        if (failed(collapseGroup(op, cut, kAnySize, merged)))
          return failure();
        kept.push_back(merged);
        cut.clear();
        continue;
      }
      fix(dim);
      if (countChunks(dim) > 1)
        cut.push_back(dim);
    }
    for (LocalDim &dim : cut)
      if (failed(fixWhole(op, dim, "drops a dimension")))
        return failure();
    value.dims = std::move(kept);
    value.form =
        forms.getReshape(value.form, getSizes(value.dims), "slice", op);
  }
  return setTensor(op, op.getResult(), std::move(value));
}

/// The ways to see which dimensions a rank-reduced slice of `sizes` lacks, of
/// those with one element: local types do not tell if there are several.
static SmallVector<llvm::SmallBitVector> getDroppings(ArrayRef<int64_t> sizes,
                                                      ArrayRef<int64_t> slice) {
  constexpr unsigned kMaxRank = 8;
  SmallVector<llvm::SmallBitVector> droppings;
  if (sizes.size() > kMaxRank)
    return droppings;
  for (unsigned bits = 0; bits < 1u << sizes.size(); ++bits) {
    SmallVector<int64_t> kept;
    llvm::SmallBitVector dropped(sizes.size());
    bool isPossible = true;
    for (auto [i, size] : llvm::enumerate(sizes)) {
      dropped[i] = (bits >> i) & 1;
      isPossible &= !dropped[i] || size == 1;
      if (!dropped[i])
        kept.push_back(size);
    }
    if (isPossible && ArrayRef<int64_t>(kept) == slice)
      droppings.push_back(dropped);
  }
  return droppings;
}

/// Whether all of dimension `i` is replaced, on each rank.
static bool isInsertedWhole(tensor::InsertSliceOp op, unsigned i,
                            const LocalDim &dim,
                            const llvm::SmallBitVector &dropped) {
  int64_t size = op.getStaticSizes()[i];
  return !dropped[i] && op.getStaticOffsets()[i] == 0 && size == dim.extent &&
         (size == 1 || op.getStaticStrides()[i] == 1);
}

/// Where an insertion goes, in words.
static std::string describeInsertion(tensor::InsertSliceOp op,
                                     ArrayRef<LocalDim> dims,
                                     const llvm::SmallBitVector &dropped) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (auto [i, dim] : llvm::enumerate(dims)) {
    if (isInsertedWhole(op, i, dim, dropped)) {
      os << "all, ";
      continue;
    }
    int64_t size = op.getStaticSizes()[i];
    os << op.getStaticOffsets()[i] << " + " << size << " * "
       << (size == 1 ? 1 : op.getStaticStrides()[i])
       << (dropped[i] ? " dropped, " : ", ");
  }
  return text;
}

/// The dimensions that an insertion's source lacks. Each way to see them that
/// keeps to what ranks have of both is right; one that gives a form that is
/// known is of use.
llvm::SmallBitVector LocalLifter::getDropped(tensor::InsertSliceOp op,
                                             const LocalValue &source,
                                             const LocalValue &dest) {
  auto isCut = [](const LocalDim &dim) {
    return dim.chunk && (countChunks(dim) > 1 || hasPadding(dim));
  };
  std::optional<llvm::SmallBitVector> first;
  for (const llvm::SmallBitVector &dropped :
       getDroppings(op.getStaticSizes(), op.getSourceType().getShape())) {
    bool isRight = true;
    unsigned sourceDim = 0;
    for (auto [i, dim] : llvm::enumerate(dest.dims)) {
      const LocalDim *other = dropped[i] ? nullptr : &source.dims[sourceDim++];
      isRight &= isInsertedWhole(op, i, dim, dropped)
                     ? !dim.chunk || !other->chunk || dim.chunk == other->chunk
                     : !isCut(dim) && (!other || !isCut(*other));
    }
    if (!isRight)
      continue;
    Form form{FormKind::Tensor,
              "insert_slice",
              describeInsertion(op, dest.dims, dropped),
              {source.form, dest.form}};
    form.element = source.form->element;
    if (isReference || forms.find(form))
      return dropped;
    if (!first)
      first = dropped;
  }
  return first ? *first : op.getDroppedDims();
}

LogicalResult LocalLifter::liftInsertSlice(tensor::InsertSliceOp op) {
  LocalValue source = getTensor(op.getSource()), dest = getTensor(op.getDest());
  FailureOr<Contribution> together = getTogether(op, {&source, &dest});
  if (failed(together))
    return failure();
  dest.contribution = *together;
  if (!op.getOffsets().empty() || !op.getStrides().empty() ||
      !op.getSizes().empty())
    return op.emitOpError("inserts at a place that is computed");
  llvm::SmallBitVector dropped = getDropped(op, source, dest);
  Form form{FormKind::Tensor,
            "insert_slice",
            describeInsertion(op, dest.dims, dropped),
            {source.form, dest.form}};
  unsigned sourceDim = 0;
  for (auto [i, dim] : llvm::enumerate(dest.dims)) {
    bool isAll = isInsertedWhole(op, i, dim, dropped);
    LocalDim *other = dropped[i] ? nullptr : &source.dims[sourceDim++];
    dim.padding = nullptr;
    if (isAll) {
      if (failed(meet(op, dim, *other)))
        return failure();
      continue;
    }
    if (failed(fixWhole(op, dim, "inserts along a dimension")) ||
        (other && failed(fixWhole(op, *other, "inserts along a dimension"))))
      return failure();
  }
  form.shape = getSizes(dest.dims);
  form.element = getElementTypeOrSelf(op.getType());
  form.op = op;
  dest.form = forms.get(std::move(form));
  return setTensor(op, op.getResult(), std::move(dest));
}

//===----------------------------------------------------------------------===//
// Padding and concatenation
//===----------------------------------------------------------------------===//

/// Whether a pad only makes a dimension long enough to be cut equally: it is
/// cut next.
static bool isCutNext(tensor::PadOp op, unsigned dim) {
  return llvm::all_of(op->getUsers(), [&](Operation *user) {
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(user))
      return slice.isDynamicOffset(dim);
    if (auto pad = dyn_cast<tensor::PadOp>(user))
      return isCutNext(pad, dim);
    return getCollectiveKind(user).has_value();
  });
}

/// Follows a pad that leaves the form: elements behind the end.
bool LocalLifter::padForRanks(tensor::PadOp op, LocalValue &value,
                              const Form *padding) {
  for (auto [i, dim] : llvm::enumerate(value.dims)) {
    int64_t added = op.getStaticHigh()[i];
    if (op.getStaticLow()[i] != 0)
      return false;
    if (added == 0)
      continue;
    if (numRanks == 1 || countChunks(dim) > 1 || !isCutNext(op, i))
      return false;
    fix(dim);
    dim.padding =
        dim.extent == dim.size || dim.padding == padding ? padding : nullptr;
    dim.extent += added;
  }
  return true;
}

LogicalResult LocalLifter::liftPad(tensor::PadOp op) {
  Value constant = op.getConstantPaddingValue();
  if (!constant || ShapedType::isDynamicShape(op.getStaticLow()) ||
      ShapedType::isDynamicShape(op.getStaticHigh()))
    return op.emitOpError("pads with something that is computed");
  BodyLifter body(*this, {});
  FailureOr<const Form *> padding = body.getForm(op, constant);
  if (failed(padding))
    return failure();
  LocalValue value = getTensor(op.getSource());
  Form form{FormKind::Tensor, "pad", "", {value.form, *padding}};
  LocalValue padded = value;
  for (auto [i, dim] : llvm::enumerate(padded.dims)) {
    int64_t low = op.getStaticLow()[i], high = op.getStaticHigh()[i];
    form.details += std::to_string(low) + "/" + std::to_string(high) + ' ';
    dim.padding = nullptr;
    if (low == 0 && high == 0)
      continue;
    if (countChunks(dim) == 1)
      fix(dim);
    dim = {dim.size + low + high, dim.extent + low + high, dim.chunk};
  }
  form.shape = getSizes(padded.dims);
  form.element = padded.form->element;
  form.op = op;
  LocalValue forRanks = value;
  bool isKnown = !isReference && forms.find(form);
  if (!isKnown && padForRanks(op, forRanks, *padding))
    return setTensor(op, op.getResult(), std::move(forRanks));
  LocalValue around;
  around.form = *padding;
  FailureOr<Contribution> together = getTogether(op, {&value, &around});
  if (failed(together))
    return failure();
  for (auto [i, dim] : llvm::enumerate(value.dims))
    if ((op.getStaticLow()[i] != 0 || op.getStaticHigh()[i] != 0) &&
        failed(fixWhole(op, dim, "pads a dimension")))
      return failure();
  padded.form = forms.get(std::move(form));
  return setTensor(op, op.getResult(), std::move(padded));
}

/// If the rank has one index of the dimension before, the cut may as well be
/// seen there: of 2x16 elements in 2 and 4 chunks a rank has 1x4, as of 8x4 in
/// 8 and 1. Local reshapes between the two fold away.
void LocalLifter::moveCutOutwards(Operation *op, LocalValue &value,
                                  unsigned dim) {
  while (dim > 0 && value.dims[dim].chunk && value.dims[dim - 1].chunk &&
         value.dims[dim].size != kAnySize &&
         value.dims[dim - 1].size != kAnySize &&
         value.dims[dim - 1].extent == 1 && countChunks(value.dims[dim]) > 1 &&
         !hasPadding(value.dims[dim])) {
    LocalDim &outer = value.dims[dim - 1], &inner = value.dims[dim];
    int64_t chunks = countChunks(inner);
    RankVector major = outer.chunk, minor = inner.chunk;
    outer = {outer.size * chunks, 1, perRank([&](int64_t rank) {
               return (*major)[rank] * chunks + (*minor)[rank];
             })};
    inner = {inner.extent, inner.extent, uniform(0)};
    value.form = forms.getReshape(value.form, getSizes(value.dims), "cut", op);
  }
}

/// Puts chunks of one tensor together again; false if the parts are others.
bool LocalLifter::concatChunks(tensor::ConcatOp op) {
  int64_t count = op.getInputs().size();
  LocalValue value = getTensor(op.getInputs().front());
  unsigned at = op.getDim();
  RankVector first = value.dims[at].chunk;
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    const LocalValue &part = getTensor(input);
    if (part.form != value.form || !part.dims[at].chunk || !first ||
        !part.contribution.isSame(value.contribution))
      return false;
    for (auto [d, dim] : llvm::enumerate(part.dims)) {
      const LocalDim &own = value.dims[d];
      if (dim.size != own.size || dim.extent != own.extent ||
          (d != at && dim.chunk != own.chunk))
        return false;
    }
    for (int64_t rank = 0; rank < numRanks; ++rank)
      if ((*first)[rank] % count != 0 ||
          (*part.dims[at].chunk)[rank] != (*first)[rank] + int64_t(i))
        return false;
  }
  LocalDim &dim = value.dims[at];
  dim = {dim.size, dim.extent * count,
         perRank([&](int64_t rank) { return (*first)[rank] / count; })};
  (void)setTensor(op, op.getResult(), std::move(value));
  return true;
}

LogicalResult LocalLifter::liftConcat(tensor::ConcatOp op) {
  if (stackEntries(op) || concatChunks(op))
    return success();
  Form form{FormKind::Tensor, "concat", std::to_string(op.getDim())};
  SmallVector<const LocalValue *> inputs;
  for (Value input : op.getInputs())
    inputs.push_back(&getTensor(input));
  FailureOr<Contribution> together = getTogether(op, inputs);
  if (failed(together))
    return failure();
  LocalValue value;
  value.contribution = *together;
  for (Value input : op.getInputs()) {
    LocalValue part = getTensor(input);
    moveCutOutwards(op, part, op.getDim());
    form.operands.push_back(part.form);
    LocalDim &dim = part.dims[op.getDim()];
    if (failed(fixWhole(op, dim, "concatenates along a dimension")))
      return failure();
    form.details += ' ' + std::to_string(dim.size);
    if (value.dims.empty()) {
      value.dims = part.dims;
      continue;
    }
    LocalDim &sum = value.dims[op.getDim()];
    sum = {sum.size + dim.size, sum.extent + dim.extent, sum.chunk};
    dim = sum;
    for (auto [a, b] : llvm::zip(value.dims, part.dims))
      if (failed(meet(op, a, b)))
        return failure();
  }
  for (LocalDim &dim : value.dims)
    dim.padding = nullptr;
  form.shape = getSizes(value.dims);
  form.element = getElementTypeOrSelf(op.getType());
  form.op = op;
  value.form = forms.get(std::move(form));
  return setTensor(op, op.getResult(), std::move(value));
}

//===----------------------------------------------------------------------===//
// Reshapes
//===----------------------------------------------------------------------===//

/// Whether the value does not change along a dimension.
static bool isRepeated(const LocalDim &dim) {
  return !dim.chunk && dim.size == kAnySize;
}

/// The dimension that dimensions make of which a rank has one index each; or
/// the only one.
std::optional<LocalDim> LocalLifter::joinSingles(ArrayRef<LocalDim> group) {
  SmallVector<LocalDim> dims(group);
  for (LocalDim &dim : dims)
    fix(dim);
  if (dims.empty() || llvm::any_of(dims, proof::hasPadding))
    return std::nullopt;
  if (dims.size() == 1)
    return dims.front();
  if (llvm::any_of(dims, [](const LocalDim &dim) { return dim.extent > 1; }))
    return std::nullopt;
  LocalDim joined;
  joined.size = 1;
  for (const LocalDim &dim : dims)
    joined.size *= dim.size;
  Contribution parts = makeParts(dims, Contribution::Ordered);
  joined.chunk = parts.part ? parts.part : uniform(0);
  return joined;
}

/// What is repeated along the last or the first dimensions of a group becomes
/// one dimension of `size`, as in the one-rank program: of 4 heads in 4 chunks,
/// each repeated, 8 in 8 chunks, of which each two neighbours are alike. False
/// if it is no such group.
bool LocalLifter::collapseRepeated(ArrayRef<LocalDim> group, int64_t size,
                                   LocalDim &result) {
  int64_t extent = 1;
  bool isLast = isRepeated(group.back());
  while (!group.empty() && isRepeated(isLast ? group.back() : group.front())) {
    extent *= (isLast ? group.back() : group.front()).extent;
    group = isLast ? group.drop_back() : group.drop_front();
  }
  std::optional<LocalDim> single = joinSingles(group);
  if (!single || size <= 0 || size % (single->size * extent) != 0)
    return false;
  int64_t chunks = size / (single->size * extent);
  RankVector chunk = single->chunk;
  if (isLast) {
    if (single->extent != 1)
      return false;
    result = {size, extent,
              perRank([&](int64_t rank) { return (*chunk)[rank] * chunks; })};
    result.repeats.neighbours = chunks;
    return true;
  }
  if (extent > 1 && countChunks(*single) > 1)
    return false;
  result = {size, single->extent * extent, chunk};
  result.repeats.period = countChunks(*single);
  return true;
}

/// Several dimensions become one; `size` is that of the one-rank program, or
/// any.
LogicalResult LocalLifter::collapseGroup(Operation *op,
                                         ArrayRef<LocalDim> group, int64_t size,
                                         LocalDim &result) {
  SmallVector<LocalDim> dims(group);
  result = LocalDim();
  result.extent = 1;
  for (LocalDim &dim : dims)
    result.extent *= dim.extent;
  if (llvm::all_of(dims, [](const LocalDim &dim) { return !dim.chunk; }))
    return success();
  if (dims.size() == 1) {
    result = dims[0];
    return success();
  }
  if ((isRepeated(dims.front()) || isRepeated(dims.back())) &&
      collapseRepeated(dims, size, result))
    return success();
  for (LocalDim &dim : dims)
    fix(dim);
  if (failed(checkNested(op, dims)))
    return failure();
  result.size = 1;
  for (const LocalDim &dim : dims)
    result.size *= dim.size;
  Contribution parts = makeParts(dims, Contribution::Ordered);
  result.chunk = parts.part ? parts.part : uniform(0);
  return success();
}

LogicalResult LocalLifter::liftCollapse(tensor::CollapseShapeOp op) {
  LocalValue value = getTensor(op.getSrc());
  SmallVector<LocalDim, 4> dims;
  std::string groups;
  llvm::raw_string_ostream(groups) << op.getReassociation();
  // Not to be taken for an expansion by the same groups.
  std::string collapse = "collapse " + groups;
  SmallVector<int64_t> sizes(op.getResultType().getRank(), kAnySize);
  for (ArrayRef<int64_t> known : forms.getExpansions(value.form, collapse))
    if (known.size() == sizes.size())
      sizes.assign(known.begin(), known.end());
  for (auto [group, size] : llvm::zip(op.getReassociationIndices(), sizes)) {
    LocalDim dim;
    if (failed(collapseGroup(
            op, ArrayRef(value.dims).slice(group.front(), group.size()), size,
            dim)))
      return failure();
    dims.push_back(dim);
  }
  if (dims.empty())
    for (LocalDim &dim : value.dims)
      if (failed(fixWhole(op, dim, "drops a dimension")))
        return failure();
  const Form *source = value.form;
  value.dims = std::move(dims);
  value.form = forms.getReshape(source, getSizes(value.dims), groups, op);
  if (isReference)
    forms.noteExpansion(source, collapse, getSizes(value.dims));
  return setTensor(op, op.getResult(), std::move(value));
}

/// One dimension becomes several, of the given global sizes. Fails silently if
/// these do not fit.
LogicalResult LocalLifter::expandGroup(const LocalDim &dim,
                                       ArrayRef<int64_t> extents,
                                       ArrayRef<int64_t> sizes,
                                       SmallVectorImpl<LocalDim> &results) {
  int64_t size = 1, chunks = 1, inner = 1;
  SmallVector<int64_t> counts;
  for (auto [extent, global] : llvm::zip(extents, sizes)) {
    counts.push_back(llvm::divideCeil(global, std::max<int64_t>(extent, 1)));
    if (inner > 1 && (counts.back() > 1 || global != extent))
      return failure();
    inner *= extent;
    size *= global;
    chunks *= counts.back();
  }
  // Chunks behind the end are behind the end of the outermost one that is cut.
  auto *cut = llvm::find_if(counts, [](int64_t count) { return count > 1; });
  if (cut == counts.end())
    cut = counts.begin();
  int64_t others = chunks / *cut;
  chunks = countChunks(dim);
  if (size != dim.size || chunks < others * *cut || chunks % others != 0)
    return failure();
  *cut = chunks / others;
  int64_t below = chunks;
  for (auto [i, extent] : llvm::enumerate(extents)) {
    below /= counts[i];
    RankVector chunk = perRank(
        [&](int64_t rank) { return (*dim.chunk)[rank] / below % counts[i]; });
    results.push_back({sizes[i], extent, chunk});
  }
  return success();
}

/// The global sizes if the outermost dimension that ranks do not hold one index
/// of is cut, or the first one.
static SmallVector<int64_t> guessSizes(tensor::ExpandShapeOp op, unsigned first,
                                       const LocalDim &dim,
                                       ArrayRef<int64_t> extents) {
  SmallVector<int64_t> sizes(extents);
  unsigned cut = 0;
  while (cut + 1 < extents.size() && extents[cut] == 1)
    ++cut;
  if (extents[cut] == 1)
    cut = 0;
  // What is put together next is what is cut.
  auto prefer = [&](int64_t joined) {
    if (joined >= first && joined < int64_t(first + extents.size()))
      cut = joined - first;
  };
  for (Operation *user : op->getUsers())
    if (auto gather = dyn_cast<AllGatherOp>(user))
      llvm::for_each(gather.getDims(), prefer);
    else if (auto exchange = dyn_cast<AllToAllOp>(user))
      llvm::for_each(exchange.getConcatDims(), prefer);
    else if (auto concat = dyn_cast<tensor::ConcatOp>(user))
      prefer(concat.getDim());
  int64_t others = 1;
  for (auto [i, extent] : llvm::enumerate(extents))
    others *= i == cut ? 1 : extent;
  sizes[cut] = dim.size / others;
  return sizes;
}

LogicalResult LocalLifter::liftExpand(tensor::ExpandShapeOp op) {
  LocalValue value = getTensor(op.getSrc());
  std::string groups;
  llvm::raw_string_ostream(groups) << op.getReassociation();
  ArrayRef<int64_t> extents = op.getResultType().getShape();
  SmallVector<SmallVector<int64_t>> candidates;
  if (auto global = op->getAttrOfType<TypeAttr>(WeftDialect::kGlobalTypeAttr))
    if (auto type = dyn_cast<RankedTensorType>(global.getValue());
        type && type.getRank() == op.getResultType().getRank())
      candidates.emplace_back(type.getShape());
  llvm::append_range(candidates, forms.getExpansions(value.form, groups));
  SmallVector<LocalDim, 4> dims;
  for (auto [i, group] : llvm::enumerate(op.getReassociationIndices())) {
    ArrayRef<int64_t> part = extents.slice(group.front(), group.size());
    LocalDim &dim = value.dims[i];
    if (!dim.chunk) {
      for (int64_t extent : part)
        dims.push_back({kAnySize, extent});
      continue;
    }
    if (part.size() == 1) {
      dims.push_back(dim);
      continue;
    }
    fix(dim);
    SmallVector<LocalDim> results;
    bool isDone = false;
    for (ArrayRef<int64_t> candidate : candidates)
      isDone =
          isDone || succeeded(expandGroup(
                        dim, part, candidate.slice(group.front(), group.size()),
                        results));
    if (!isDone &&
        failed(expandGroup(dim, part, guessSizes(op, group.front(), dim, part),
                           results)))
      return op.emitOpError("cuts dim ") << i << " of size " << dim.size
                                         << " in a way that ranks' parts do "
                                         << "not fit";
    dims.append(results.begin(), results.end());
  }
  if (op.getReassociationIndices().empty())
    for (int64_t extent : extents)
      dims.push_back({extent, extent, uniform(0)});
  const Form *source = value.form;
  value.dims = std::move(dims);
  value.form = forms.getReshape(source, getSizes(value.dims), groups, op);
  if (isReference)
    forms.noteExpansion(source, groups, getSizes(value.dims));
  return setTensor(op, op.getResult(), std::move(value));
}
