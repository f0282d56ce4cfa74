// SPDX-License-Identifier: Apache-2.0

// Movement inside a rank. What only changes which part of a value the rank has
// (slices at the rank's own offset, padding for equal chunks) leaves the form;
// what moves elements of the global tensor is part of it.

#include "LocalLifter.h"

#include "weft/Analysis/QuietDiagnostics.h"

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

/// The least and the greatest number that an index can be, if that is known of
/// what bounds it.
static std::pair<std::optional<int64_t>, std::optional<int64_t>>
getRange(const Form *form, unsigned depth = 0) {
  constexpr unsigned kMaxDepth = 4;
  if (auto number = dyn_cast_if_present<IntegerAttr>(form->value))
    return {number.getInt(), number.getInt()};
  bool isMin = form->name == "arith.minsi", isMax = form->name == "arith.maxsi";
  if (form->kind != FormKind::Scalar || (!isMin && !isMax) ||
      depth == kMaxDepth)
    return {};
  auto [low, high] = getRange(form->operands[0], depth + 1);
  auto [otherLow, otherHigh] = getRange(form->operands[1], depth + 1);
  auto limit = [&](std::optional<int64_t> a, std::optional<int64_t> b,
                   bool isOneEnough) -> std::optional<int64_t> {
    if (!a || !b)
      return isOneEnough ? (a ? a : b) : std::nullopt;
    return isMin ? std::min(*a, *b) : std::max(*a, *b);
  };
  return {limit(low, otherLow, isMax), limit(high, otherHigh, isMin)};
}

/// Where a slice begins; fails if that is computed from data and the rank.
FailureOr<SlicePlace> LocalLifter::getPlace(Operation *op, OpFoldResult value) {
  if (RankVector number = getNumber(value))
    return SlicePlace{number, nullptr};
  BodyLifter body(*this, {});
  FailureOr<const Form *> form = body.getForm(op, cast<Value>(value));
  if (failed(form))
    return failure();
  auto [low, high] = getRange(*form);
  if (low && low == high)
    return SlicePlace{uniform(*low), nullptr};
  return SlicePlace{nullptr, *form};
}

/// Follows one dimension of a slice that begins where data says: each rank has
/// all of what it is cut from.
LogicalResult LocalLifter::sliceAt(tensor::ExtractSliceOp op, unsigned index,
                                   const Form *place, LocalDim &dim,
                                   SliceCut &cut) {
  int64_t size = op.getStaticSizes()[index];
  int64_t span = (size - 1) * op.getStaticStrides()[index] + 1;
  if (dim.chunk && failed(fixWhole(op, dim,
                                   "cuts at a place that is computed from data "
                                   "a dimension")))
    return failure();
  // That a place is inside is taken for granted of the global program only: the
  // elements of what does not change say nothing of it.
  int64_t last = op.getSourceType().getDimSize(index) - span;
  if (isReference)
    forms.notePlace(place, last);
  else if (!dim.chunk && !forms.isPlace(place, last))
    return op.emitOpError("cuts dim ")
           << index << " at a place that is computed from data, of which "
           << "nothing says that it is not past " << last
           << ", the last one that is inside";
  if (!dim.chunk) {
    dim.extent = size; // the same everywhere
    return success();
  }
  cut.details += std::to_string(index) + ": data + " + std::to_string(size) +
                 " * " + std::to_string(op.getStaticStrides()[index]) + ", ";
  cut.places.push_back(place);
  dim = {size, size, uniform(0)};
  return success();
}

/// Whether the end of the dimension is cut, too, and made as long as `size`:
/// the last of parts that a rank goes through.
static bool hasLastPart(tensor::ExtractSliceOp op, unsigned dim, int64_t size) {
  int64_t whole = op.getSourceType().getShape()[dim];
  return llvm::any_of(op.getSource().getUsers(), [&](Operation *user) {
    auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
    return slice && slice.getSource() == op.getSource() &&
           slice.getDroppedDims().none() && !slice.isDynamicOffset(dim) &&
           slice.getStaticOffset(dim) % size == 0 &&
           slice.getStaticOffset(dim) + slice.getStaticSize(dim) == whole &&
           llvm::any_of(slice->getUsers(), [&](Operation *next) {
             auto pad = dyn_cast<tensor::PadOp>(next);
             return pad && pad.getType().getShape()[dim] == size;
           });
  });
}

/// Follows one dimension of a slice; `cut` gets what is cut globally.
LogicalResult LocalLifter::sliceDim(tensor::ExtractSliceOp op, unsigned index,
                                    bool inChunks, LocalDim &dim,
                                    SliceCut &cut) {
  int64_t size = op.getStaticSizes()[index];
  std::optional<int64_t> stride =
      getConstantIntValue(op.getMixedStrides()[index]);
  if (ShapedType::isDynamic(size) || !stride)
    return op.emitOpError("cuts dim ")
           << index << " by a size or stride that is computed";
  FailureOr<SlicePlace> place = getPlace(op, op.getMixedOffsets()[index]);
  if (failed(place))
    return failure();
  if (place->form)
    return sliceAt(op, index, place->form, dim, cut);
  RankVector offset = place->number;
  std::optional<int64_t> number = getUniform(offset);
  if (number == 0 && size == dim.extent && *stride == 1)
    return success();
  if (!dim.chunk) {
    int64_t last = op.getSourceType().getDimSize(index) - (size - 1) * *stride;
    if (size > 0 && llvm::any_of(*offset, [&](int64_t begin) {
          return begin < 0 || begin >= last;
        }))
      return op.emitOpError("cuts dim ")
             << index << " at " << describeRanks(offset)
             << ", which is past the end of its "
             << op.getSourceType().getDimSize(index) << " elements";
    dim.extent = size; // the same everywhere
    return success();
  }
  bool isWhole = countChunks(dim) == 1;
  // Nor does it matter which part it is where a size was guessed.
  if (isWhole && dim.isConstant && number && *number >= 0 && *stride > 0 &&
      *number + (size - 1) * *stride < dim.size) {
    dim = {kAnySize, size};
    return success();
  }
  // A chunk, and not less of a dimension of any size: its other chunks are cut
  // out, too. Where each rank cuts its own, there may be more after these.
  if (isWhole && number && size > 0 && dim.extent % size == 0)
    fix(dim);
  if (isWhole && number && *stride == 1 && number == 0 && size >= dim.size) {
    dim.extent = size; // padding goes
    return success();
  }
  if (isWhole && inChunks)
    fix(dim);
  bool isPart =
      number && *number >= 0 && *stride == 1 && size > 0 && *number % size == 0;
  // One of equal parts of what was made as long as all of them: the last ones
  // go past the end.
  bool isOfEqual = isPart && hasPadding(dim) && dim.extent % size == 0 &&
                   *number + size <= dim.extent;
  bool isPastEnd = isOfEqual && *number + size > dim.size;
  bool isChunk =
      isOfEqual ||
      (isPart && (dim.size % size == 0 || (*number + size <= dim.size &&
                                           hasLastPart(op, index, size))));
  if (isWhole && isChunk && (inChunks || isPastEnd)) {
    bool isGuess = dim.isGuess; // what is left may still end before that
    dim = {dim.size, size, uniform(*number / size), dim.padding};
    dim.isGuess = isGuess;
    return success();
  }
  if (isWhole && inChunks && number == 0 && *stride == 1 &&
      takeSize(dim, size)) {
    dim.extent = size;
    return success();
  }
  if (isWhole && number) {
    fix(dim);
    if (*number + (size - 1) * *stride >= dim.size)
      return op.emitOpError("reads past the end of dim ")
             << index << " of size " << dim.size;
    cut.details += std::to_string(index) + ": " + std::to_string(*number) +
                   " + " + std::to_string(size) + " * " +
                   std::to_string(*stride) + ", ";
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
  bool isEven = dim.extent % size == 0;
  dim.likeness =
      isEven ? cutChunks(dim.likeness, dim.extent / size) : Likeness();
  dim.extent = size;
  dim.chunk = perRank([&](int64_t rank) { return (*begin)[rank] / size; });
  return success();
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

/// Drops dimensions of one element. One index of a dimension that is cut is a
/// part of it and the next together.
FailureOr<LocalValue>
LocalLifter::dropDims(tensor::ExtractSliceOp op, LocalValue value,
                      const llvm::SmallBitVector &dropped) {
  SmallVector<LocalDim, 4> kept, cut;
  SmallVector<int64_t> sizes;
  for (auto [i, dim] : llvm::enumerate(value.dims)) {
    if (!dropped[i]) {
      cut.push_back(dim);
      LocalDim merged;
      if (failed(collapseGroup(op, cut, kAnySize, merged, sizes)))
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
  SmallVector<int64_t> shape = getSizes(value.dims);
  // What is repeated there, here up to a size that was guessed.
  SmallVector<int64_t> repeated = shape;
  for (auto [dim, size] : llvm::zip(value.dims, repeated))
    if (dim.isGuess && dim.isConstant)
      size = kAnySize;
  if (forms.hasMove("reshape", "slice", value.form, repeated))
    shape = repeated;
  value.form = forms.getReshape(value.form, shape, "slice", op);
  return value;
}

/// The values that a rank-reduced slice makes of which the one-rank program has
/// the form: 1x1x6 of 1x1x1x6 may lack either dimension.
std::vector<LocalValue> LocalLifter::dropInAllWays(tensor::ExtractSliceOp op,
                                                   const LocalValue &value) {
  QuietDiagnostics quiet(op.getContext());
  std::vector<LocalValue> known;
  for (const llvm::SmallBitVector &dropped :
       getDroppings(op.getStaticSizes(), op.getType().getShape())) {
    int64_t others = forms.countOthers();
    FailureOr<LocalValue> reduced = dropDims(op, value, dropped);
    if (succeeded(reduced) && forms.countOthers() == others)
      known.push_back(std::move(*reduced));
  }
  return known;
}

/// What a slice is of the tensor that it cuts, or of a slice of that.
FailureOr<LocalValue> LocalLifter::slice(tensor::ExtractSliceOp op) {
  const LocalValue &source = getTensor(op.getSource());
  if (isReference || forms.getSlices(source.form).empty())
    return sliceTensor(op);
  {
    QuietDiagnostics quiet(op.getContext());
    FailureOr<LocalValue> value = sliceTensor(op);
    if (succeeded(value))
      return value;
    if (std::optional<LocalValue> part = sliceAsPart(op))
      return std::move(*part);
  }
  return sliceTensor(op);
}

FailureOr<LocalValue> LocalLifter::sliceTensor(tensor::ExtractSliceOp op) {
  LocalValue value = getTensor(op.getSource());
  // What the one-rank program does not cut is a part that the rank goes through
  // by itself. What it cuts of a sum is not told by the form of a contribution,
  // which has less of its order.
  bool isPart = value.contribution.kind == Contribution::Ordered;
  SliceCut made;
  bool isKnown = false;
  for (bool inChunks : {false, true}) {
    value = getTensor(op.getSource());
    made = SliceCut();
    for (auto [i, dim] : llvm::enumerate(value.dims))
      if (failed(sliceDim(op, i, inChunks, dim, made)))
        return failure();
    if (made.details.empty() || isReference)
      break;
    isKnown = !inChunks &&
              (isPart ? forms.isCutOfSum(value.form, made.details)
                      : forms.hasMove("slice", made.details, value.form,
                                      getSizes(value.dims), made.places));
    if (isKnown)
      break;
  }
  std::vector<LocalValue> &ways = otherWays[op.getResult()];
  ways.clear();
  if (isKnown)
    if (std::optional<LocalValue> chunk = sliceInChunks(op))
      ways.push_back(std::move(*chunk));
  if (!made.details.empty()) {
    const Form *source = value.form;
    value.form = forms.getMove("slice", made.details, source,
                               getSizes(value.dims), op, made.places);
    if (isReference) {
      noteSlice(op, source, value.form);
      forms.noteCutOfSum(source, made.details);
    }
  }
  return value;
}

/// A slice that the one-rank program makes may be a part that the rank goes
/// through by itself all the same.
std::optional<LocalValue>
LocalLifter::sliceInChunks(tensor::ExtractSliceOp op) {
  QuietDiagnostics quiet(op.getContext());
  LocalValue value = getTensor(op.getSource());
  SliceCut made;
  for (auto [i, dim] : llvm::enumerate(value.dims))
    if (failed(sliceDim(op, i, /*inChunks=*/true, dim, made)))
      return std::nullopt;
  bool isChunk = made.details.empty() && op.getDroppedDims().none();
  return isChunk ? std::optional<LocalValue>(std::move(value)) : std::nullopt;
}

LogicalResult LocalLifter::liftExtractSlice(tensor::ExtractSliceOp op) {
  if (stacks.contains(op.getSource()))
    return pickEntry(op);
  FailureOr<LocalValue> cut = slice(op);
  if (failed(cut))
    return failure();
  LocalValue &value = *cut;
  llvm::SmallBitVector dropped = op.getDroppedDims();
  if (dropped.none())
    return setTensor(op, op.getResult(), std::move(value));
  // Each way to see them is right; those that give forms that are known are of
  // use, and what is made of the value says which.
  if (!isReference) {
    std::vector<LocalValue> known = dropInAllWays(op, value);
    if (!known.empty()) {
      (void)setTensor(op, op.getResult(), std::move(known.front()));
      known.erase(known.begin());
      otherWays[op.getResult()] = std::move(known);
      return success();
    }
  }
  FailureOr<LocalValue> reduced = dropDims(op, value, dropped);
  if (failed(reduced))
    return failure();
  return setTensor(op, op.getResult(), std::move(*reduced));
}

bool mlir::weft::proof::isInsertedWhole(tensor::InsertSliceOp op, unsigned i,
                                        const SlicePlace &place,
                                        const LocalDim &dim,
                                        const llvm::SmallBitVector &dropped) {
  int64_t size = op.getStaticSizes()[i];
  return !dropped[i] && place.number && place.number->front() == 0 &&
         size == dim.extent && (size == 1 || op.getStaticStrides()[i] == 1);
}

/// What an insertion makes: the source, where it goes, and what is around it.
Form LocalLifter::makeInsertion(tensor::InsertSliceOp op,
                                ArrayRef<SlicePlace> places,
                                const llvm::SmallBitVector &dropped,
                                const LocalValue &source,
                                const LocalValue &dest) {
  Form form{FormKind::Tensor, "insert_slice", "", {source.form, dest.form}};
  form.element = source.form->element;
  llvm::raw_string_ostream os(form.details);
  for (auto [i, dim] : llvm::enumerate(dest.dims)) {
    const SlicePlace &place = places[i];
    if (isInsertedWhole(op, i, place, dim, dropped)) {
      os << "all, ";
      continue;
    }
    if (place.form) {
      os << "data";
      form.operands.push_back(place.form);
    } else {
      os << place.number->front();
    }
    int64_t size = op.getStaticSizes()[i];
    os << " + " << size << " * " << (size == 1 ? 1 : op.getStaticStrides()[i])
       << (dropped[i] ? " dropped, " : ", ");
  }
  return form;
}

/// The dimensions that an insertion's source lacks. Each way to see them that
/// keeps to what ranks have of both is right; one that gives a form that is
/// known is of use.
llvm::SmallBitVector LocalLifter::getDropped(tensor::InsertSliceOp op,
                                             ArrayRef<SlicePlace> places,
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
      isRight &= isInsertedWhole(op, i, places[i], dim, dropped)
                     ? !dim.chunk || !other->chunk || dim.chunk == other->chunk
                     : !isCut(dim) && (!other || !isCut(*other));
    }
    if (!isRight)
      continue;
    if (isReference ||
        forms.find(makeInsertion(op, places, dropped, source, dest)))
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
  if (!op.getStrides().empty() || !op.getSizes().empty())
    return op.emitOpError("inserts by a size or stride that is computed");
  SmallVector<SlicePlace> places;
  for (auto [i, offset] : llvm::enumerate(op.getMixedOffsets())) {
    FailureOr<SlicePlace> place = getPlace(op, offset);
    if (failed(place))
      return failure();
    if (place->number && !getUniform(place->number))
      return op.emitOpError("inserts along dim ")
             << i << " at a place that depends on the rank: "
             << describeRanks(place->number);
    places.push_back(*place);
  }
  llvm::SmallBitVector dropped = getDropped(op, places, source, dest);
  Form form = makeInsertion(op, places, dropped, source, dest);
  unsigned sourceDim = 0;
  for (auto [i, dim] : llvm::enumerate(dest.dims)) {
    bool isAll = isInsertedWhole(op, i, places[i], dim, dropped);
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
    forgetElements(dim);
  }
  form.shape = getSizes(dest.dims);
  form.op = op;
  dest.form = forms.get(std::move(form));
  if (isReference)
    noteInsertion(op, places, dropped, source, dest);
  return setTensor(op, op.getResult(), std::move(dest));
}

//===----------------------------------------------------------------------===//
// Concatenation
//===----------------------------------------------------------------------===//

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

/// Of two parts of one tensor what both know of a dimension; false if they
/// contradict each other.
static bool joinKnown(LocalDim &own, const LocalDim &other) {
  if (own.extent != other.extent)
    return false;
  LocalDim sized = other;
  if (own.size == kAnySize) {
    own.size = other.size;
    own.isGuess = other.isGuess;
  } else if (other.size != kAnySize) {
    if (!takeSize(own, other.size) && !takeSize(sized, own.size))
      return false;
    own.isGuess &= other.isGuess;
  }
  if (own.padding != sized.padding)
    own.padding = nullptr;
  return true;
}

/// The first of neighbours that are these parts of a dimension, on each rank;
/// null if they are none. Parts of what does not change along it are any.
RankVector LocalLifter::joinNumbers(ArrayRef<RankVector> chunks,
                                    Likeness likeness) {
  int64_t count = chunks.size();
  auto *known = llvm::find_if(chunks, [](RankVector chunk) { return chunk; });
  int64_t at = known - chunks.begin();
  std::vector<int64_t> made;
  for (int64_t rank = 0; rank < numRanks; ++rank) {
    SmallVector<int64_t> own;
    for (auto [i, chunk] : llvm::enumerate(chunks))
      own.push_back(chunk ? (*chunk)[rank] : (**known)[rank] - at + int64_t(i));
    bool isRight =
        llvm::all_of(own, [](int64_t number) { return number >= 0; });
    std::optional<int64_t> first;
    if (isRight)
      first = findNeighbours(likeness, own);
    if (!first)
      return nullptr;
    made.push_back(*first / count);
  }
  return intern(std::move(made));
}

/// Of parts that are not neighbours in a dimension, but as far apart for each
/// rank, the cut may as well be seen in the dimensions of one index before it,
/// of which they are put together along the second: chunks 4a + b and 4a + 2 +
/// b of a dimension, with b < 2, are (a, 0, b) and (a, 1, b).
void LocalLifter::moveCutsApart(tensor::ConcatOp op,
                                SmallVectorImpl<LocalValue> &parts) {
  unsigned at = op.getDim(), cut = at + 2;
  int64_t count = parts.size();
  auto isOne = [](const LocalDim &dim) {
    return dim.size == 1 && dim.extent == 1;
  };
  for (const LocalValue &part : parts)
    if (at == 0 || cut >= part.dims.size() || !isOne(part.dims[at - 1]) ||
        !isOne(part.dims[at]) || !isOne(part.dims[at + 1]) ||
        !part.dims[cut].chunk || part.dims[cut].size == kAnySize ||
        hasPadding(part.dims[cut]))
      return;
  int64_t distance =
      parts[1].dims[cut].chunk->front() - parts[0].dims[cut].chunk->front();
  if (distance <= 0 || countChunks(parts[0].dims[cut]) % (distance * count))
    return;
  for (auto [i, part] : llvm::enumerate(parts))
    for (auto [first, own] :
         llvm::zip_equal(*parts[0].dims[cut].chunk, *part.dims[cut].chunk))
      if (own != first + int64_t(i) * distance ||
          own / distance % count != int64_t(i))
        return;
  for (LocalValue &part : parts) {
    LocalDim &dim = part.dims[cut];
    RankVector chunk = dim.chunk;
    auto see = [&](int64_t size, int64_t stride) {
      return LocalDim{size, 1, perRank([&](int64_t rank) {
                        return (*chunk)[rank] / stride % size;
                      })};
    };
    part.dims[at - 1] =
        see(countChunks(dim) / (distance * count), distance * count);
    part.dims[at] = see(count, distance);
    part.dims[at + 1] = see(distance, 1);
    dim = {dim.extent, dim.extent, uniform(0)};
    part.form = forms.getReshape(part.form, getSizes(part.dims), "cut", op);
  }
}

/// Puts chunks of one tensor together again; false if the parts are others. Of
/// chunks that are alike a rank may have any.
bool LocalLifter::concatChunks(tensor::ConcatOp op) {
  SmallVector<LocalValue> parts = llvm::map_to_vector(
      op.getInputs(), [&](Value input) { return getTensor(input); });
  moveCutsApart(op, parts);
  int64_t count = parts.size();
  LocalValue value = parts.front();
  unsigned at = op.getDim();
  Likeness likeness = value.dims[at].likeness;
  SmallVector<RankVector> chunks;
  for (const LocalValue &part : parts) {
    chunks.push_back(part.dims[at].chunk);
    if (part.form != value.form ||
        !part.contribution.isSame(value.contribution))
      return false;
    likeness = meetLikeness(likeness, part.dims[at].likeness);
    for (auto [d, dim] : llvm::enumerate(part.dims)) {
      LocalDim &own = value.dims[d];
      if (!joinKnown(own, dim))
        return false;
      if (d == at)
        continue;
      if (!own.chunk)
        own.chunk = dim.chunk;
      if (dim.chunk && dim.chunk != own.chunk)
        return false;
    }
  }
  LocalDim &dim = value.dims[at];
  int64_t extent = dim.extent * count;
  if (llvm::none_of(chunks, [](RankVector chunk) { return chunk; })) {
    if (dim.size != kAnySize)
      return false;
    dim.extent = extent; // as often as all of them
  } else {
    RankVector chunk = joinNumbers(chunks, likeness);
    if (!chunk)
      return false;
    dim = {dim.size, extent, chunk};
    dim.likeness = joinChunks(likeness, count);
  }
  (void)setTensor(op, op.getResult(), std::move(value));
  return true;
}

LogicalResult LocalLifter::liftConcat(tensor::ConcatOp op) {
  if (stackEntries(op))
    return success();
  for (Value input : op.getInputs())
    if (Operation *entry = input.getDefiningOp();
        entry && isStacked(entry) && failed(liftAsIs(entry)))
      return failure();
  if (concatChunks(op))
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
  const Form *first = form.operands.front();
  bool isOneNumber =
      first->kind == FormKind::Constant && llvm::all_equal(form.operands);
  value.form = isOneNumber ? first : forms.get(std::move(form));
  // A part that is the whole has no place in it.
  if (isReference && !isOneNumber)
    noteConcat(op, value);
  return setTensor(op, op.getResult(), std::move(value));
}
