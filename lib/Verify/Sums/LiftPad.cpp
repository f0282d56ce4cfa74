// SPDX-License-Identifier: Apache-2.0

// Pads: the user's, which make another tensor, and those that make a dimension
// long enough to be cut equally, which make none.

#include "LocalLifter.h"

#include "weft/Analysis/QuietDiagnostics.h"
#include "weft/Analysis/Traffic.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

/// Whether a slice is one of equal parts of a dimension.
static bool cutsPart(tensor::ExtractSliceOp op, unsigned dim) {
  if (op.isDynamicOffset(dim) || op.isDynamicSize(dim))
    return op.isDynamicOffset(dim);
  int64_t whole = op.getSourceType().getDimSize(dim);
  int64_t size = op.getStaticSize(dim);
  return size > 0 && size < whole && whole % size == 0 &&
         op.getStaticOffset(dim) % size == 0;
}

/// Whether an op combines two values element by element, as a rank does that
/// computes their parts one after the other.
static bool combinesTwo(linalg::LinalgOp op) {
  return op->getNumResults() == 1 && op.getNumDpsInputs() == 2 &&
         op.getNumReductionLoops() == 0 &&
         llvm::all_of(op.getIndexingMapsArray(),
                      [](AffineMap map) { return map.isIdentity(); });
}

/// Whether a pad only makes a dimension long enough to be cut equally: it is
/// cut next, perhaps after parts of a reduction have been combined.
static bool isCutNext(Value padded, unsigned dim, unsigned depth = 0) {
  constexpr unsigned kMaxDepth = 64;
  if (depth == kMaxDepth)
    return false;
  return llvm::all_of(padded.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    unsigned number = use.getOperandNumber();
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(user))
      return cutsPart(slice, dim);
    if (auto pad = dyn_cast<tensor::PadOp>(user))
      return isCutNext(pad.getResult(), dim, depth + 1);
    if (auto op = dyn_cast<linalg::LinalgOp>(user); op && combinesTwo(op))
      return isCutNext(op->getResult(0), dim, depth + 1);
    // Beside those of other microbatches: this one is what it was.
    if (auto concat = dyn_cast<tensor::ConcatOp>(user);
        concat && concat.getDim() != dim)
      return isCutNext(concat.getResult(), dim, depth + 1);
    // Of another dimension, as well.
    if (auto gather = dyn_cast<AllGatherOp>(user);
        gather && gather.getDims()[number] != dim)
      return isCutNext(gather->getResult(number), dim, depth + 1);
    return getCollectiveKind(user).has_value();
  });
}

/// Follows a pad that leaves the form: elements past the end.
bool LocalLifter::padForRanks(tensor::PadOp op, LocalValue &value,
                              const Form *padding) {
  for (auto [i, dim] : llvm::enumerate(value.dims)) {
    int64_t added = op.getStaticHigh()[i];
    if (op.getStaticLow()[i] != 0)
      return false;
    if (added == 0)
      continue;
    if (countChunks(dim) > 1 || !isCutNext(op.getResult(), i))
      return false;
    fix(dim);
    dim.padding =
        dim.extent == dim.size || dim.padding == padding ? padding : nullptr;
    dim.extent += added;
  }
  return true;
}

/// Follows a pad that makes the end of a dimension as long as the parts before
/// it, of which a rank computes one after the other: of 5 elements in parts of
/// 3, the last two and one past the end.
bool LocalLifter::padLastPart(tensor::PadOp op, const Form *padding) {
  auto slice = op.getSource().getDefiningOp<tensor::ExtractSliceOp>();
  if (!slice || slice.getDroppedDims().any() ||
      stacks.contains(slice.getSource()))
    return false;
  LocalValue value = getTensor(slice.getSource());
  for (auto [i, dim] : llvm::enumerate(value.dims)) {
    int64_t offset = slice.getStaticOffsets()[i];
    int64_t size = slice.getStaticSizes()[i], high = op.getStaticHigh()[i];
    if (op.getStaticLow()[i] != 0 || slice.getStaticStrides()[i] != 1)
      return false;
    if (offset == 0 && size == dim.extent && high == 0)
      continue;
    bool isEnd = dim.chunk && countChunks(dim) == 1 && !hasPadding(dim) &&
                 !ShapedType::isDynamic(offset) && offset + size == dim.size;
    if (!isEnd || high <= 0 || offset % (size + high) != 0)
      return false;
    int64_t extent = size + high;
    dim = {dim.size, extent, uniform(offset / extent), padding};
  }
  return succeeded(setTensor(op, op.getResult(), std::move(value)));
}

/// Whether a pad's result is padded once more.
static bool isPaddedAgain(tensor::PadOp op) {
  return llvm::any_of(op->getUsers(),
                      [](Operation *user) { return isa<tensor::PadOp>(user); });
}

/// Checks that elements may be added to a value, whatever ranks have of others.
LogicalResult LocalLifter::checkPadded(tensor::PadOp op,
                                       const LocalValue &value,
                                       const Form *padding) {
  LocalValue around;
  around.form = padding;
  if (failed(getTogether(op, {&value, &around})))
    return failure();
  for (auto [dim, low, high] :
       llvm::zip(value.dims, op.getStaticLow(), op.getStaticHigh())) {
    LocalDim whole = dim;
    if ((low != 0 || high != 0) &&
        failed(fixWhole(op, whole, "pads a dimension")))
      return failure();
  }
  return success();
}

/// The same, where there is another way to see it.
bool LocalLifter::maySeePadded(tensor::PadOp op, const LocalValue &value,
                               const Form *padding) {
  QuietDiagnostics quiet(op.getContext());
  return succeeded(checkPadded(op, value, padding));
}

/// Whether the reference pads `value` to `padded`, and not for its ranks.
bool LocalLifter::isNotedPad(const LocalValue &value,
                             const LocalValue &padded) const {
  return llvm::any_of(forms.getPads(value.form), [&](const NotedPad &pad) {
    return pad.form == padded.form;
  });
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
  SmallVector<int64_t> sizes = getSizes(value.dims);
  for (auto [i, dim] : llvm::enumerate(padded.dims)) {
    int64_t low = op.getStaticLow()[i], high = op.getStaticHigh()[i];
    form.details += std::to_string(low) + "/" + std::to_string(high) + ' ';
    dim.padding = nullptr;
    if (low == 0 && high == 0)
      continue;
    if (countChunks(dim) == 1)
      fix(dim);
    // Where the padding begins.
    form.details += "of " + std::to_string(dim.size) + ' ';
    sizes[i] = dim.size;
    dim = {dim.size + low + high, dim.extent + low + high, dim.chunk};
  }
  form.shape = getSizes(padded.dims);
  form.element = padded.form->element;
  form.op = op;
  LocalValue forRanks = value;
  bool isKnown = !isReference && forms.find(form);
  if (!isKnown && !isReference &&
      (padLastPart(op, *padding) || padMore(op, value, *padding)))
    return success();
  // In a one-rank program, too, if only some axes are invariant: the others are
  // cut in it, and what is cut next to it is cut unequally. The last of its
  // pads is for its ranks.
  bool isForRanks = !isGlobal && padForRanks(op, forRanks, *padding);
  bool isLast = isForRanks && isReference && !isPaddedAgain(op);
  if ((isForRanks && !isReference && !isKnown) ||
      (isLast && !maySeePadded(op, value, *padding)))
    return setTensor(op, op.getResult(), std::move(forRanks));
  if (failed(checkPadded(op, value, *padding)))
    return failure();
  padded.form = forms.get(std::move(form));
  if (isForRanks && !isReference)
    isLast = !isNotedPad(value, padded);
  if (isReference && !isLast)
    forms.notePad(value.form,
                  {*padding, SmallVector<int64_t>(op.getStaticLow()),
                   SmallVector<int64_t>(op.getStaticHigh()), std::move(sizes),
                   padded.form});
  // It may be the other one all the same.
  if (isLast)
    std::swap(forRanks, padded);
  if (isForRanks)
    otherWays[op.getResult()].push_back(std::move(forRanks));
  return setTensor(op, op.getResult(), std::move(padded));
}
