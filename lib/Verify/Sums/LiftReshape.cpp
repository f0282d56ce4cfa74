// SPDX-License-Identifier: Apache-2.0

// Reshapes. Several dimensions become one, or one becomes several: what a rank
// has must be one piece before and after. Where the program of a rank does not
// say global sizes, the one-rank program does.

#include "LocalLifter.h"

#include "weft/Analysis/QuietDiagnostics.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

/// Whether the value does not change along a dimension.
static bool isRepeated(const LocalDim &dim) {
  return !dim.chunk && dim.size == kAnySize;
}

/// The dimension that dimensions make of which a rank has one index each, or
/// all; or the only one.
std::optional<LocalDim> LocalLifter::joinSingles(ArrayRef<LocalDim> group) {
  SmallVector<LocalDim> dims(group);
  for (LocalDim &dim : dims)
    fix(dim);
  if (dims.empty() || llvm::any_of(dims, proof::hasPadding))
    return std::nullopt;
  if (dims.size() == 1)
    return dims.front();
  LocalDim joined;
  joined.size = computeProduct(getSizes(dims));
  auto isCut = [](const LocalDim &dim) { return countChunks(dim) > 1; };
  if (llvm::none_of(dims, isCut)) {
    joined.extent = joined.size;
    joined.chunk = uniform(0);
    return joined;
  }
  if (llvm::any_of(dims, [](const LocalDim &dim) { return dim.extent > 1; }))
    return std::nullopt;
  Contribution parts = makeParts(dims, Contribution::Ordered);
  joined.chunk = parts.part ? parts.part : uniform(0);
  return joined;
}

/// What is repeated along the last or the first dimensions of a group becomes
/// one dimension of `size`, as in the one-rank program: of 4 heads in 4 chunks,
/// each repeated, 8 in 8 chunks, of which each two neighbours are alike. So
/// does what is repeated before dimensions that ranks have all of: rows that
/// stand there twice each. False if it is no such group.
bool LocalLifter::collapseRepeated(ArrayRef<LocalDim> group, int64_t size,
                                   LocalDim &result,
                                   SmallVectorImpl<int64_t> &sizes) {
  int64_t extent = 1;
  bool isLast = !isRepeated(group.front()) || isRepeated(group.back());
  SmallVector<LocalDim> fixed(group);
  for (LocalDim &dim : fixed)
    fix(dim);
  while (isLast && !isRepeated(group.back())) {
    const LocalDim &row = fixed[group.size() - 1];
    if (countChunks(row) > 1 || proof::hasPadding(row))
      return false;
    extent *= row.extent;
    group = group.drop_back();
  }
  while (!group.empty() && isRepeated(isLast ? group.back() : group.front())) {
    extent *= (isLast ? group.back() : group.front()).extent;
    group = isLast ? group.drop_back() : group.drop_front();
  }
  std::optional<LocalDim> single = joinSingles(group);
  if (!single || size <= 0 || size % (single->size * extent) != 0)
    return false;
  int64_t chunks = size / (single->size * extent);
  RankVector chunk = single->chunk;
  // Of what is repeated, ranks share the outermost dimension.
  sizes = getSizes(fixed);
  sizes[isLast ? group.size() : 0] *= chunks;
  if (isLast) {
    if (single->extent != 1)
      return false;
    result = {size, extent,
              perRank([&](int64_t rank) { return (*chunk)[rank] * chunks; })};
    result.likeness = repeatEach(*single, chunks);
    return true;
  }
  if (extent > 1 && countChunks(*single) > 1)
    return false;
  result = {size, single->extent * extent, chunk};
  result.likeness = repeatAll(*single, chunks);
  return true;
}

/// How many elements a rank has along dimensions.
static int64_t countLocal(ArrayRef<LocalDim> dims) {
  int64_t count = 1;
  for (const LocalDim &dim : dims)
    count *= dim.extent;
  return count;
}

/// Rows that end in padding are no chunks of what they become together: the
/// next row begins where this one ends.
static LogicalResult checkRows(Operation *op, ArrayRef<LocalDim> dims) {
  int64_t outer = 1;
  for (const LocalDim &dim : dims) {
    if (outer > 1 && proof::hasPadding(dim))
      return op->emitOpError("makes one dimension of rows of ")
             << dim.size << " elements that are cut unequally";
    outer *= dim.size;
  }
  return success();
}

/// Several dimensions, of `sizes`, become one; `size` is that of the one-rank
/// program, or any.
LogicalResult LocalLifter::collapseGroup(Operation *op,
                                         ArrayRef<LocalDim> group, int64_t size,
                                         LocalDim &result,
                                         SmallVectorImpl<int64_t> &sizes) {
  SmallVector<LocalDim> dims(group);
  result = LocalDim();
  result.extent = countLocal(dims);
  if (llvm::all_of(dims, [](const LocalDim &dim) { return !dim.chunk; }))
    return success();
  // One element says nothing of the others.
  auto isSingle = [](const LocalDim &dim) {
    return dim.size == 1 && dim.extent == 1 && countChunks(dim) == 1;
  };
  SmallVector<LocalDim> several(dims);
  llvm::erase_if(several, isSingle);
  if (several.size() <= 1) {
    result = several.empty() ? dims[0] : several[0];
    return success();
  }
  // One element that is repeated, however often.
  if (llvm::all_of(several, isRepeated))
    return success();
  if (llvm::any_of(several, isRepeated) &&
      collapseRepeated(several, size, result, sizes)) {
    for (auto [i, dim] : llvm::enumerate(dims))
      if (isSingle(dim))
        sizes.insert(sizes.begin() + i, 1);
    return success();
  }
  for (LocalDim &dim : dims)
    fix(dim);
  // A size that was guessed is what the others leave of the whole.
  for (LocalDim &dim : dims)
    if (int64_t all = computeProduct(getSizes(dims));
        dim.isGuess && size > 0 && all > 0 && size % (all / dim.size) == 0)
      takeSize(dim, size / (all / dim.size));
  if (failed(checkNested(op, dims)) || failed(checkRows(op, dims)))
    return failure();
  sizes = getSizes(dims);
  result.size = computeProduct(sizes);
  Contribution parts = makeParts(dims, Contribution::Ordered);
  result.chunk = parts.part ? parts.part : uniform(0);
  result.likeness = nestLikeness(dims);
  return success();
}

/// Which dimensions become one, or are made of one. Where the form does not say
/// their sizes, as of what is made of indices, elements go to other places if
/// these are others.
static void describeRows(ArrayRef<int64_t> sizes, std::string &groups) {
  if (sizes.size() < 2)
    return;
  llvm::raw_string_ostream os(groups);
  os << ", ";
  // Those of one element move nothing.
  if (llvm::count_if(sizes, [](int64_t size) { return size != 1; }) > 1)
    llvm::interleave(sizes, os, "x");
}

static std::string print(ArrayRef<ReassociationIndices> groups) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto printGroup = [&](ArrayRef<int64_t> group) {
    os << '[';
    llvm::interleaveComma(group, os);
    os << ']';
  };
  os << '[';
  llvm::interleaveComma(groups, os, printGroup);
  os << ']';
  return text;
}

/// Sizes of what dimensions become, in expansions by describeCollapse: any, of
/// what changes along it. Plain kAnySize: of what does not.
static constexpr int64_t kPlacesOfAnySize = kAnySize - 1;

static SmallVector<int64_t> getSizesToTell(ArrayRef<LocalDim> dims) {
  return llvm::map_to_vector(dims, [](const LocalDim &dim) {
    return dim.size == kAnySize && dim.chunk ? kPlacesOfAnySize : dim.size;
  });
}

static std::string describeCollapse(ArrayRef<ReassociationIndices> groups) {
  // Not to be taken for an expansion by the same groups.
  return "collapse " + print(groups);
}

/// Whether the ranks' elements along dimensions that become one are as many as
/// that one has; otherwise they may still have some of them.
static bool fitsAll(const LocalValue &value,
                    ArrayRef<ReassociationIndices> groups,
                    ArrayRef<int64_t> sizes) {
  return llvm::all_of(llvm::zip(groups, sizes), [&](auto entry) {
    auto [group, size] = entry;
    int64_t count = 1;
    for (int64_t dim : group)
      count *= getPaddedSize(value.dims[dim]);
    return size < 0 || size == count;
  });
}

/// Of neighbours along which a value does not change just the product counts:
/// 4x1x2 elements of which 2 differ are 2x2x2. So `rows` become those of the
/// one-rank program, which tells the reshape by them.
void LocalLifter::takeNotedRows(const LocalValue &value,
                                ArrayRef<int64_t> group,
                                SmallVectorImpl<int64_t> &rows) const {
  auto isSame = [&](ArrayRef<int64_t> noted) {
    int64_t own = 1, other = 1; // of neighbours that are repeated
    for (auto [row, size, dim] : llvm::zip_equal(rows, noted, group)) {
      if (isRepeated(value.dims[dim])) {
        own *= row;
        other *= size;
      } else if (row != size || own != other) {
        return false;
      }
    }
    return own == other;
  };
  if (rows.size() != group.size() || llvm::is_contained(rows, kAnySize))
    return;
  for (ArrayRef<int64_t> noted : forms.getNotedSizes(value.form)) {
    if (noted.size() != value.dims.size())
      continue;
    ArrayRef<int64_t> sizes = noted.slice(group.front(), group.size());
    if (isSame(sizes)) {
      rows.assign(sizes.begin(), sizes.end());
      return;
    }
  }
}

/// The global sizes that partitioning says the result of a reshape has.
static std::optional<ArrayRef<int64_t>> getGlobalShape(Operation *op) {
  auto global = op->getAttrOfType<TypeAttr>(WeftDialect::kGlobalTypeAttr);
  auto type = global ? dyn_cast<RankedTensorType>(global.getValue()) : nullptr;
  auto own = cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || !type.hasStaticShape() || type.getRank() != own.getRank())
    return std::nullopt;
  return type.getShape();
}

/// Dimensions become one each, of sizes that the one-rank program knows; empty:
/// it knows none.
FailureOr<LocalValue>
LocalLifter::collapseTo(Operation *op, LocalValue value,
                        ArrayRef<ReassociationIndices> reassociation,
                        ArrayRef<int64_t> known) {
  SmallVector<LocalDim, 4> dims;
  std::string groups = print(reassociation);
  SmallVector<int64_t> all;
  bool isKnown = !known.empty();
  SmallVector<int64_t> sizes(reassociation.size(), kAnySize);
  if (isKnown)
    sizes.assign(known.begin(), known.end());
  for (auto [group, known] : llvm::zip(reassociation, sizes)) {
    int64_t size = known;
    LocalDim dim;
    SmallVector<int64_t> rows;
    auto made = ArrayRef(value.dims).slice(group.front(), group.size());
    // What does not change along any of them there does not here.
    if (isKnown && size == kAnySize && llvm::none_of(made, proof::hasPadding)) {
      dims.push_back({kAnySize, countLocal(made)});
      all.append(made.size(), kAnySize);
      continue;
    }
    if (size == kPlacesOfAnySize)
      size = kAnySize;
    if (failed(collapseGroup(op, made, size, dim, rows)))
      return failure();
    if (!isReference)
      takeNotedRows(value, group, rows);
    describeRows(rows, groups);
    dims.push_back(dim);
    llvm::append_range(all, rows.empty() ? getSizes(made) : rows);
  }
  if (dims.empty())
    for (LocalDim &dim : value.dims)
      if (failed(fixWhole(op, dim, "drops a dimension")))
        return failure();
  const Form *source = value.form;
  auto extents = llvm::map_to_vector(
      value.dims, [](const LocalDim &dim) { return dim.extent; });
  value.dims = std::move(dims);
  SmallVector<int64_t> shape = getSizes(value.dims);
  for (auto [dim, made, known] : llvm::zip(value.dims, shape, sizes))
    // What is repeated there, here up to a size that was guessed; or what is
    // repeated here, there up to a size.
    if ((known == kAnySize && dim.isGuess && dim.isConstant) ||
        (made == kAnySize && !isReference))
      made = known == kPlacesOfAnySize ? kAnySize : known;
  // Dimensions of one element move nothing, whatever the sizes of the others.
  bool joinsAny = llvm::any_of(reassociation, [&](ArrayRef<int64_t> group) {
    return llvm::count_if(group, [&](int64_t dim) { return all[dim] != 1; }) >
           1;
  });
  bool hasAll = joinsAny && !llvm::is_contained(all, kAnySize) &&
                !llvm::is_contained(shape, kAnySize) &&
                computeProduct(all) == computeProduct(shape);
  value.form = hasAll && llvm::is_contained(source->shape, kAnySize)
                   ? forms.getReshapeOf(source, all, shape, op)
                   : forms.getReshape(source, shape, groups, op);
  if (isReference) {
    forms.noteExpansion(source, describeCollapse(reassociation),
                        getSizesToTell(value.dims));
    forms.noteSizes(source, extents);
  }
  return value;
}

/// The sizes that the one-rank program gives what dimensions become.
SmallVector<SmallVector<int64_t>>
LocalLifter::getCollapses(const LocalValue &value,
                          ArrayRef<ReassociationIndices> groups) const {
  SmallVector<SmallVector<int64_t>> known;
  if (isReference)
    return known;
  llvm::append_range(known,
                     forms.getExpansions(value.form, describeCollapse(groups)));
  llvm::erase_if(known, [&](ArrayRef<int64_t> sizes) {
    return sizes.size() != groups.size();
  });
  if (!known.empty())
    return known;
  // It has no such groups, but others: what is repeated has a size there.
  for (ArrayRef<int64_t> noted : forms.getNotedSizes(value.form)) {
    if (noted.size() != value.dims.size())
      continue;
    SmallVector<int64_t> sizes;
    for (ArrayRef<int64_t> group : groups) {
      bool isAny = llvm::all_of(
          group, [&](int64_t dim) { return isRepeated(value.dims[dim]); });
      int64_t size = 1;
      for (int64_t dim : group)
        size *= noted[dim];
      sizes.push_back(isAny ? kAnySize : size);
    }
    known.push_back(std::move(sizes));
  }
  return known;
}

FailureOr<LocalValue>
LocalLifter::collapse(Operation *op, LocalValue value,
                      ArrayRef<ReassociationIndices> groups) {
  SmallVector<SmallVector<int64_t>> known = getCollapses(value, groups);
  if (known.empty() && isa<tensor::CollapseShapeOp>(op))
    if (std::optional<ArrayRef<int64_t>> said = getGlobalShape(op))
      known.emplace_back(*said);
  ArrayRef<int64_t> sizes;
  for (ArrayRef<int64_t> made : known) {
    sizes = made;
    if (fitsAll(value, groups, sizes))
      break;
  }
  return collapseTo(op, std::move(value), groups, sizes);
}

LogicalResult LocalLifter::liftCollapse(tensor::CollapseShapeOp op) {
  const LocalValue source = getTensor(op.getSrc());
  auto groups = op.getReassociationIndices();
  FailureOr<LocalValue> value = collapse(op, source, groups);
  if (failed(value))
    return failure();
  // What is repeated is as often as any of them says.
  std::vector<LocalValue> &ways = otherWays[op.getResult()];
  ways.clear();
  QuietDiagnostics quiet(op.getContext());
  for (ArrayRef<int64_t> sizes : getCollapses(source, groups))
    if (FailureOr<LocalValue> other = collapseTo(op, source, groups, sizes);
        succeeded(other) && other->form != value->form)
      ways.push_back(std::move(*other));
  return setTensor(op, op.getResult(), std::move(*value));
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
    // Only the outermost dimension may be cut unequally.
    if (size > 1 && counts.back() * extent != global)
      return failure();
    inner *= extent;
    size *= global;
    chunks *= counts.back();
  }
  // Chunks past the end are past the end of the outermost one that is cut.
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
  for (unsigned i = 0; i < counts.size(); ++i)
    results[results.size() - counts.size() + i].likeness =
        expandLikeness(dim.likeness, counts, i);
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

/// Sizes of the one-rank program that fit those of a rank, where what does not
/// change along a dimension has any size. So does a dimension that is passed on
/// if it has any there: which element goes where does not depend on it.
static SmallVector<int64_t>
findExpansion(ArrayRef<int64_t> shape, ArrayRef<SmallVector<int64_t>> known,
              ArrayRef<ReassociationIndices> groups) {
  SmallVector<int64_t> own(shape);
  if (llvm::is_contained(known, own))
    return own;
  llvm::SmallBitVector isPassedOn(own.size());
  for (const ReassociationIndices &group : groups)
    if (group.size() == 1)
      isPassedOn.set(group.front());
  auto fits = [&](ArrayRef<int64_t> other) {
    return llvm::all_of(llvm::enumerate(other), [&](auto entry) {
      int64_t mine = own[entry.index()], theirs = entry.value();
      return mine == kAnySize || mine == theirs ||
             (theirs == kAnySize && isPassedOn[entry.index()]);
    });
  };
  for (const SmallVector<int64_t> &other : known)
    if (other.size() == own.size() && fits(other))
      return other;
  return own;
}

LogicalResult LocalLifter::liftExpand(tensor::ExpandShapeOp op) {
  LocalValue value = getTensor(op.getSrc());
  std::string groups = print(op.getReassociationIndices());
  ArrayRef<int64_t> extents = op.getResultType().getShape();
  SmallVector<SmallVector<int64_t>> candidates;
  if (std::optional<ArrayRef<int64_t>> said = getGlobalShape(op))
    candidates.emplace_back(*said);
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
    for (ArrayRef<int64_t> candidate : candidates) {
      LocalDim sized = dim;
      ArrayRef<int64_t> sizes = candidate.slice(group.front(), group.size());
      takeSize(sized, computeProduct(sizes));
      isDone = isDone || succeeded(expandGroup(sized, part, sizes, results));
    }
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
  SmallVector<int64_t> shape = getSizes(value.dims);
  if (isReference)
    forms.noteExpansion(source, groups, shape);
  else
    shape = findExpansion(shape, forms.getExpansions(source, groups),
                          op.getReassociationIndices());
  std::string told = groups;
  for (ArrayRef<int64_t> group : op.getReassociationIndices())
    if (auto rows = ArrayRef(shape).slice(group.front(), group.size());
        !llvm::is_contained(rows, kAnySize))
      describeRows(rows, told);
  value.form = forms.getReshape(source, shape, told, op);
  return setTensor(op, op.getResult(), std::move(value));
}

/// Which of `rank` dimensions become one: those of [first, last].
static SmallVector<ReassociationIndices>
joinRange(unsigned rank, unsigned first, unsigned last) {
  SmallVector<ReassociationIndices> groups;
  for (unsigned i = 0; i < rank; ++i)
    if (i <= first || i > last)
      groups.push_back({i});
    else
      groups.back().push_back(i);
  return groups;
}

/// Dimensions [first, last] of a value, which are one in `joined`, become as
/// many again, of sizes that `shape` says. False if these do not fit.
bool LocalLifter::expandAgain(Operation *op, const LocalValue &joined,
                              unsigned first, unsigned last,
                              ArrayRef<int64_t> shape, LocalValue &value) {
  SmallVector<int64_t> extents;
  for (unsigned i = first; i <= last; ++i)
    extents.push_back(value.dims[i].extent);
  ArrayRef<int64_t> sizes = shape.slice(first, extents.size());
  SmallVector<LocalDim> results;
  LocalDim sized = joined.dims[first];
  fix(sized);
  takeSize(sized, computeProduct(sizes));
  if (failed(expandGroup(sized, extents, sizes, results)))
    return false;
  llvm::copy(results, value.dims.begin() + first);
  std::string told = print(joinRange(value.dims.size(), first, last));
  describeRows(sizes, told);
  value.form = forms.getReshape(joined.form, getSizes(value.dims), told, op);
  return true;
}

/// Rows of which a rank has one each are `dims` [first, last); they become one
/// dimension with the last one, and that becomes as many again, of sizes that
/// the one-rank program knows. False if it knows none that fit.
FailureOr<bool> LocalLifter::regroup(Operation *op, LocalValue &value,
                                     unsigned first, unsigned last) {
  SmallVector<ReassociationIndices> groups =
      joinRange(value.dims.size(), first, last);
  FailureOr<LocalValue> joined = collapse(op, value, groups);
  if (failed(joined))
    return failure();
  for (ArrayRef<int64_t> shape :
       forms.getExpansions(joined->form, print(groups)))
    if (expandAgain(op, *joined, first, last, shape, value))
      return true;
  return false;
}

/// A reshape between shapes that are the same on a rank is no op there. 8 rows
/// of 6 elements, on each of 8 ranks one, are 2 of 24, on each rank a quarter
/// of one; a collective may put together what is told apart by the latter.
LogicalResult LocalLifter::regroupForMembers(Operation *op, LocalValue &value,
                                             unsigned last) {
  auto isSingle = [&](const LocalDim &dim) {
    return dim.extent == 1 && dim.chunk && !proof::hasPadding(dim);
  };
  for (unsigned first = last; first-- > 0;) {
    const LocalDim &dim = value.dims[first];
    if (!isSingle(dim))
      return success();
    if (isSameOfMembers(dim.chunk))
      continue;
    FailureOr<bool> isDone = regroup(op, value, first, last);
    if (failed(isDone) || *isDone)
      return isDone;
  }
  return success();
}

/// The dimensions of a value that a reshape to `shape` would join, and cut
/// again: those around all that have other sizes, the fewest first.
static SmallVector<std::pair<unsigned, unsigned>>
findRanges(const LocalValue &value, ArrayRef<int64_t> shape) {
  SmallVector<std::pair<unsigned, unsigned>> ranges;
  unsigned rank = value.dims.size();
  auto isOther = [&](unsigned i) {
    return value.dims[i].size != kAnySize && value.dims[i].size != shape[i];
  };
  for (unsigned length = 2; length <= rank; ++length)
    for (unsigned first = 0; first + length <= rank; ++first) {
      auto isInside = [&](unsigned i) {
        return i >= first && i < first + length;
      };
      const LocalDim &dim = value.dims[first];
      if (dim.extent == 1 && dim.chunk &&
          llvm::all_of(llvm::seq(rank), [&](unsigned i) {
            return isOther(i) ? isInside(i) : true;
          }))
        ranges.push_back({first, first + length - 1});
    }
  return ranges;
}

/// Whether nobody has said yet how long a dimension is of which ranks have
/// parts.
static bool isOpen(const LocalDim &dim) {
  return dim.chunk && dim.size == kAnySize;
}

static bool hasOpenDim(const LocalValue &value) {
  return llvm::any_of(value.dims, isOpen);
}

/// The value as a part of the tensor that the one-rank program makes: of parts
/// that a rank computes one after the other none says how many there are.
void LocalLifter::findSized(const LocalValue &value,
                            std::vector<LocalValue> &found) {
  if (!hasOpenDim(value))
    return;
  auto add = [&](ArrayRef<int64_t> sizes) {
    LocalValue sized = value;
    bool isOther = false;
    if (sizes.size() != value.dims.size())
      return;
    for (auto [dim, size] : llvm::zip(sized.dims, sizes)) {
      if (!isOpen(dim) || size == kAnySize ||
          size <= getPaddedSize(dim) - dim.extent)
        continue;
      dim.size = size;
      isOther = true;
    }
    if (isOther)
      found.push_back(std::move(sized));
  };
  add(value.form->shape);
  for (ArrayRef<int64_t> sizes : forms.getReduced(value.form))
    add(sizes);
}

/// The value as reshapes, slices, insertions, concatenations and transposes of
/// the one-rank program show it that are no ops on a rank, and so stand nowhere
/// in its program.
std::vector<LocalValue> LocalLifter::findRegrouped(Operation *op, Value seen) {
  const LocalValue &value = getTensor(seen);
  std::vector<LocalValue> found = otherWays.lookup(seen);
  if (found.empty() && !hasOpenDim(value) && !forms.isSeenOtherwise(value.form))
    return found;
  // What does not fit is no error: the value is what it is as well.
  QuietDiagnostics quiet(op->getContext());
  findSliced(value, found);
  findPlaced(value, found);
  findTransposed(value, found);
  findSized(value, found);
  unsigned rank = value.dims.size();
  SmallVector<int64_t> own = getSizes(value.dims);
  for (const SmallVector<int64_t> &shape : forms.getShapes(value.form)) {
    if (shape.size() != rank || shape == own ||
        llvm::any_of(shape, [](int64_t size) { return size < 0; }))
      continue;
    for (auto [first, last] : findRanges(value, shape)) {
      FailureOr<LocalValue> joined =
          collapse(op, value, joinRange(rank, first, last));
      LocalValue regrouped = value;
      if (failed(joined) ||
          !expandAgain(op, *joined, first, last, shape, regrouped))
        continue;
      found.push_back(std::move(regrouped));
      break;
    }
  }
  return found;
}
