// SPDX-License-Identifier: Apache-2.0

// Two movements that are one op on a rank, or none. Where the global program
// cuts or pads a tensor and ranks take their parts of that, a rank may cut or
// pad once; a transpose that moves no element of a rank is no op there. What
// the global program makes so is noted, and what a rank has is seen as a part
// of it.
//
// What the global program puts into a tensor, or together to one, may be a part
// of that: a rank that takes parts of it takes what was put there.
//
// Gathers of two neighbouring dimensions are one of what both become, of which
// the parts need not lie next to each other.
//
// Worked example. Of x[3:] of five elements two ranks take one each: slices at
// 3 and 4 of x. They are chunks 3 and 4 of x, and chunks 0 and 1 of x[3:].

#include "LocalLifter.h"

#include "weft/Analysis/QuietDiagnostics.h"
#include "weft/Analysis/Traffic.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

/// What `dim`, at `begin` of a tensor, is of a slice of it; nullopt if some
/// rank has what is before the slice, or between its elements, or all have
/// nothing of it.
std::optional<LocalDim> LocalLifter::getPart(RankVector begin, int64_t extent,
                                             int64_t stride,
                                             const NotedSlice::Dim &slice) {
  bool isOrdered = extent == 1 || stride == slice.stride;
  if (extent <= 0 || !isOrdered || extent > slice.size)
    return std::nullopt;
  std::vector<int64_t> chunks;
  bool isEmpty = true;
  for (int64_t place : *begin) {
    int64_t step = extent * slice.stride, from = place - slice.begin;
    if (from < 0 || from % step != 0)
      return std::nullopt;
    chunks.push_back(from / step);
    isEmpty &= chunks.back() * extent >= slice.size;
  }
  if (isEmpty)
    return std::nullopt;
  return LocalDim{slice.size, extent, intern(std::move(chunks))};
}

/// A value as one of another form, with the dims that `getDim` makes of its
/// own; nullopt if there is none for some of them, or another number of them.
static std::optional<LocalValue>
seeAs(const LocalValue &value, const Form *form, size_t rank,
      function_ref<std::optional<LocalDim>(unsigned)> getDim) {
  if (rank != value.dims.size())
    return std::nullopt;
  LocalValue part = value;
  part.form = form;
  for (unsigned i = 0; i < rank; ++i) {
    std::optional<LocalDim> dim = getDim(i);
    if (!dim)
      return std::nullopt;
    part.dims[i] = *dim;
  }
  return part;
}

/// A value as parts of the slices that the global program makes of its tensor.
void LocalLifter::findSliced(const LocalValue &value,
                             std::vector<LocalValue> &found) {
  for (const NotedSlice &slice : forms.getSlices(value.form)) {
    auto getDim = [&](unsigned i) -> std::optional<LocalDim> {
      const LocalDim &dim = value.dims[i];
      if (slice.dims[i].isWhole())
        return dim;
      if (!dim.chunk)
        return std::nullopt;
      return getPart(perRank([&](int64_t rank) {
                       return (*dim.chunk)[rank] * dim.extent;
                     }),
                     dim.extent, /*stride=*/1, slice.dims[i]);
    };
    if (auto part = seeAs(value, slice.form, slice.dims.size(), getDim))
      found.push_back(std::move(*part));
  }
}

/// What `dim` of a tensor of `size` is of one that this is put into; nullopt if
/// some rank has what is past its end, or what is not next to each other there.
std::optional<LocalDim> LocalLifter::getPlaced(const LocalDim &dim,
                                               int64_t size,
                                               const NotedSlice::Dim &place) {
  if (place.isWhole()) {
    // What does not change along it, or is alike, has others around it there.
    if (dim.size == size && dim.chunk)
      return LocalDim{size, dim.extent, dim.chunk, dim.padding};
    if (dim.chunk || dim.extent != size)
      return std::nullopt;
    return LocalDim{size, size, uniform(0)};
  }
  if (!dim.chunk || dim.extent <= 0 || (dim.extent > 1 && place.stride != 1))
    return std::nullopt;
  std::vector<int64_t> chunks;
  for (int64_t chunk : *dim.chunk) {
    int64_t begin = chunk * dim.extent;
    int64_t placed = place.begin + begin * place.stride;
    if (begin + dim.extent > size || placed % dim.extent != 0)
      return std::nullopt;
    chunks.push_back(placed / dim.extent);
  }
  return LocalDim{place.size, dim.extent, intern(std::move(chunks))};
}

/// A value as parts of the tensors that the global program puts it into.
void LocalLifter::findPlaced(const LocalValue &value,
                             std::vector<LocalValue> &found) {
  for (const NotedPlacing &placing : forms.getPlacings(value.form)) {
    auto getDim = [&](unsigned i) {
      return getPlaced(value.dims[i], placing.sizes[i], placing.dims[i]);
    };
    if (auto part = seeAs(value, placing.form, placing.dims.size(), getDim))
      found.push_back(std::move(*part));
  }
}

/// A value as transposes of it that move none of a rank's elements, and slices
/// of those.
void LocalLifter::findTransposed(const LocalValue &value,
                                 std::vector<LocalValue> &found) {
  for (const NotedTranspose &transpose : forms.getTransposes(value.form)) {
    SmallVector<unsigned> order(value.dims.size());
    for (auto [i, expr] : llvm::enumerate(transpose.map.getResults()))
      order[cast<AffineDimExpr>(expr).getPosition()] = i;
    LocalValue turned = value;
    turned.form = transpose.form;
    SmallVector<unsigned> moved;
    for (auto [i, dim] : llvm::enumerate(order)) {
      turned.dims[i] = value.dims[dim];
      if (turned.dims[i].extent != 1)
        moved.push_back(dim);
    }
    if (!llvm::is_sorted(moved))
      continue;
    findSliced(turned, found);
    found.push_back(std::move(turned));
  }
}

/// A slice as a part of one that the global program makes of the same tensor.
std::optional<LocalValue> LocalLifter::sliceAsPart(tensor::ExtractSliceOp op) {
  const LocalValue &source = getTensor(op.getSource());
  for (const NotedSlice &slice : forms.getSlices(source.form)) {
    SliceCut cut;
    auto getDim = [&](unsigned i) -> std::optional<LocalDim> {
      LocalDim dim = source.dims[i];
      if (slice.dims[i].isWhole()) {
        bool isPart = succeeded(sliceDim(op, i, /*inChunks=*/true, dim, cut)) &&
                      cut.details.empty();
        return isPart ? std::optional<LocalDim>(dim) : std::nullopt;
      }
      RankVector offset = getNumber(op.getMixedOffsets()[i]);
      int64_t size = op.getStaticSizes()[i];
      int64_t stride = op.getStaticStrides()[i];
      if (!dim.chunk || !offset || ShapedType::isDynamic(size) ||
          ShapedType::isDynamic(stride))
        return std::nullopt;
      return getPart(perRank([&](int64_t rank) {
                       return (*dim.chunk)[rank] * dim.extent + (*offset)[rank];
                     }),
                     size, stride, slice.dims[i]);
    };
    if (auto part = seeAs(source, slice.form, slice.dims.size(), getDim))
      return part;
  }
  return std::nullopt;
}

/// Notes a slice that the global program makes.
void LocalLifter::noteSlice(tensor::ExtractSliceOp op, const Form *source,
                            const Form *made) {
  NotedSlice noted;
  noted.form = made;
  for (auto [i, extent] : llvm::enumerate(op.getSourceType().getShape())) {
    RankVector begin = getNumber(op.getMixedOffsets()[i]);
    int64_t size = op.getStaticSizes()[i], stride = op.getStaticStrides()[i];
    if (!begin || ShapedType::isDynamic(stride))
      return;
    NotedSlice::Dim dim{begin->front(), size, stride};
    bool isWhole = size == extent && dim.begin == 0 && stride == 1;
    noted.dims.push_back(isWhole ? NotedSlice::Dim() : dim);
  }
  forms.noteSlice(source, std::move(noted));
}

/// Notes that the global program puts a tensor into another one. Of a number
/// that is the same everywhere ranks have no part.
void LocalLifter::noteInsertion(tensor::InsertSliceOp op,
                                ArrayRef<SlicePlace> places,
                                const llvm::SmallBitVector &dropped,
                                const LocalValue &source,
                                const LocalValue &made) {
  NotedPlacing noted;
  noted.form = made.form;
  llvm::append_range(noted.sizes, op.getStaticSizes());
  for (auto [i, dim] : llvm::enumerate(made.dims)) {
    RankVector begin = places[i].number;
    int64_t stride = op.getStaticStrides()[i];
    if (!begin || dropped.any() || ShapedType::isDynamic(stride))
      return;
    noted.dims.push_back({begin->front(), dim.extent, stride});
    if (isInsertedWhole(op, i, places[i], dim, dropped))
      noted.dims.back() = NotedSlice::Dim();
    else if (!source.dims[i].chunk)
      return;
  }
  forms.notePlacing(source.form, std::move(noted));
}

/// Notes what the global program puts together.
void LocalLifter::noteConcat(tensor::ConcatOp op, const LocalValue &made) {
  unsigned at = op.getDim();
  int64_t begin = 0;
  for (Value input : op.getInputs()) {
    const LocalValue &part = getTensor(input);
    NotedPlacing noted;
    noted.form = made.form;
    llvm::append_range(noted.sizes,
                       cast<RankedTensorType>(input.getType()).getShape());
    noted.dims.resize(made.dims.size());
    noted.dims[at] = {begin, made.dims[at].extent, 1};
    begin += noted.sizes[at];
    if (part.dims[at].chunk)
      forms.notePlacing(part.form, std::move(noted));
  }
}

/// Follows a pad that pads as the global program does, and then for ranks. Of
/// parts of a sum zeros are such parts.
bool LocalLifter::padMore(tensor::PadOp op, const LocalValue &value,
                          const Form *padding) {
  QuietDiagnostics quiet(op.getContext());
  LocalValue around;
  around.form = padding;
  FailureOr<Contribution> together = getTogether(op, {&value, &around});
  if (failed(together))
    return false;
  for (const NotedPad &pad : forms.getPads(value.form)) {
    LocalValue padded = value;
    padded.form = pad.form;
    padded.contribution = *together;
    bool isMore =
        pad.padding == padding && ArrayRef(pad.low) == op.getStaticLow();
    for (unsigned i = 0; isMore && i < padded.dims.size(); ++i) {
      LocalDim &dim = padded.dims[i];
      int64_t low = pad.low[i], high = op.getStaticHigh()[i];
      dim.padding = nullptr;
      if (low == 0 && high == 0 && pad.high[i] == 0)
        continue;
      fix(dim);
      bool isWhole = countChunks(dim) == 1 && !proof::hasPadding(dim);
      bool isPadded = low != 0 || pad.high[i] != 0;
      isMore = isWhole && high >= pad.high[i] &&
               (!isPadded || dim.size == pad.sizes[i]);
      int64_t size = dim.size + low + pad.high[i];
      dim = {size, dim.extent + low + high, dim.chunk, padding};
    }
    if (!isMore)
      continue;
    (void)setTensor(op, op.getResult(), std::move(padded));
    return true;
  }
  return false;
}

/// The chunk that chunks of members are together; nullptr if they are not
/// neighbours. `getIndex` says which of the `count` neighbours a member has.
static RankVector
joinMembers(RankVector chunk, int64_t count, int64_t members,
            function_ref<int64_t(int64_t member)> getIndex,
            function_ref<int64_t(int64_t rank, int64_t member)> getMember,
            function_ref<RankVector(function_ref<int64_t(int64_t)>)> perRank) {
  bool isRight = true;
  RankVector joined = perRank([&](int64_t rank) {
    int64_t first = (*chunk)[getMember(rank, 0)];
    isRight &= first % count == 0;
    for (int64_t member = 0; member < members; ++member)
      isRight &= (*chunk)[getMember(rank, member)] == first + getIndex(member);
    return first / count;
  });
  return isRight ? joined : nullptr;
}

/// The reshape of what is gathered that makes two dimensions of `dim`, and no
/// others; null if there is none.
static tensor::ExpandShapeOp getRowsOf(Value gathered, int64_t dim) {
  auto expand = gathered.hasOneUse()
                    ? dyn_cast<tensor::ExpandShapeOp>(*gathered.user_begin())
                    : tensor::ExpandShapeOp();
  if (!expand ||
      !llvm::all_of(llvm::enumerate(expand.getReassociationIndices()),
                    [&](auto entry) {
                      return entry.value().size() ==
                             (int64_t(entry.index()) == dim ? 2 : 1);
                    }))
    return {};
  return expand;
}

/// Follows a gather of two dimensions as one, `value` being what it is before
/// they are: a rank has one index of the first. Members have chunks of both.
/// What is between these ops is part of nothing where other ranks have elements
/// in between. False if it is no such gather.
bool LocalLifter::gatherRows(AllGatherOp gatherOp, unsigned index,
                             LocalValue value) {
  int64_t dim = gatherOp.getDims()[index];
  Value gathered = gatherOp->getResult(index);
  tensor::ExpandShapeOp expand = getRowsOf(gathered, dim);
  if (!expand)
    return false;
  groupAxes = getCollectiveAxes(gatherOp);
  group = getAxes(groupAxes);
  groupSize = numShards(group);
  LocalDim &outer = value.dims[dim], &inner = value.dims[dim + 1];
  int64_t rows = expand.getResultType().getDimSize(dim);
  if (outer.extent != 1 || rows <= 0 || groupSize % rows != 0)
    return false;
  int64_t columns = groupSize / rows;
  for (auto [i, other] : llvm::enumerate(value.dims)) {
    other.padding = nullptr;
    bool isGathered = int64_t(i) == dim || int64_t(i) == dim + 1;
    if (!isGathered && other.chunk && !isSameOfMembers(other.chunk))
      return false;
  }
  if (value.contribution.part && !isSameOfMembers(value.contribution.part))
    return false;
  auto join = [&](LocalDim &own, int64_t count,
                  function_ref<int64_t(int64_t)> getIndex) {
    own.extent *= count;
    own.likeness = nullptr;
    // What does not change along it is as much as members have.
    if (!own.chunk)
      return true;
    own.chunk = joinMembers(
        own.chunk, count, groupSize, getIndex,
        [&](int64_t rank, int64_t member) { return getMember(rank, member); },
        [&](function_ref<int64_t(int64_t)> get) { return perRank(get); });
    return own.chunk != nullptr;
  };
  if (!join(outer, rows, [&](int64_t member) { return member / columns; }) ||
      !join(inner, columns, [&](int64_t member) { return member % columns; }))
    return false;
  inside.insert(gathered);
  return succeeded(setTensor(expand, expand.getResult(), std::move(value)));
}

/// Follows the gather of what two dimensions become.
bool LocalLifter::liftNestedGathers(tensor::CollapseShapeOp op) {
  if (isReference || !op->hasOneUse())
    return false;
  OpOperand &use = *op->use_begin();
  auto gatherOp = dyn_cast<AllGatherOp>(use.getOwner());
  if (!gatherOp)
    return false;
  unsigned index = use.getOperandNumber();
  tensor::ExpandShapeOp expand =
      getRowsOf(gatherOp->getResult(index), gatherOp.getDims()[index]);
  if (!expand ||
      expand.getReassociationIndices() != op.getReassociationIndices() ||
      !gatherRows(gatherOp, index, getTensor(op.getSrc())))
    return false;
  inside.insert(op.getResult());
  return true;
}

/// Follows what a gather puts together of one dimension where the one-rank
/// program has one more, of one element: 8 rows of 2x4 elements are 1x2x4 each,
/// and a rank that has one of the two needs no reshape. Of 1x2x8 elements, in
/// 2, 4 and 1 chunks, 1x1x2x8 are gathered to 1x2x4x8.
void LocalLifter::liftUnitGathers(AllGatherOp op) {
  groupAxes = getCollectiveAxes(op);
  group = getAxes(groupAxes);
  groupSize = numShards(group);
  for (auto [index, operand] : llvm::enumerate(op.getOperands())) {
    int64_t dim = op.getDims()[index];
    if (inside.contains(operand) || !getRowsOf(op->getResult(index), dim))
      continue;
    const LocalValue &value = getTensor(operand);
    auto isShared = [&](auto entry) {
      return int64_t(entry.index()) == dim ||
             isSameOfMembers(entry.value().chunk);
    };
    if (llvm::all_of(llvm::enumerate(value.dims), isShared))
      continue;
    // The ranks' elements stay where they are if there are none in between.
    for (int64_t at = dim; at >= 0; --at) {
      if (at < dim && value.dims[at].extent != 1)
        break;
      LocalValue seen = value;
      seen.dims.insert(seen.dims.begin() + at, LocalDim{1, 1, uniform(0)});
      SmallVector<int64_t> shape = getSizes(seen.dims);
      if (llvm::is_contained(shape, kAnySize) ||
          !llvm::is_contained(forms.getShapes(value.form), shape))
        continue;
      seen.form = forms.getReshape(value.form, shape, "", op);
      if (seen.form->isOfReference && gatherRows(op, index, std::move(seen)))
        break;
    }
  }
}
