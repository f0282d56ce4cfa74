// SPDX-License-Identifier: Apache-2.0

// Attention: a function of all keys, row by row of queries. The gradients of
// keys and values are sums over groups and queries, of which ranks may have
// parts.

#include "LocalLifter.h"
#include "Shares.h"

#include "weft/Dialect/Weft/IR/Attention.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

/// Queries see keys by where both are: the rank's have to begin where it says,
/// counted from its first key.
LogicalResult LocalLifter::checkStart(Operation *op, Value start,
                                      const LocalDim &queries,
                                      const LocalDim &keys) {
  RankVector begin = uniform(0);
  if (start)
    begin = scalars.lookup(start).offset;
  RankVector expected = perRank([&](int64_t rank) {
    return (*queries.chunk)[rank] * queries.extent -
           (*keys.chunk)[rank] * keys.extent;
  });
  if (begin == expected)
    return success();
  return op->emitOpError("begins at query ")
         << (begin ? describeRanks(begin) : "?")
         << ", but the rank's queries begin at " << describeRanks(expected);
}

/// From the dims of what has the loops of outputs to those of the log-sum-exp.
static AffineMap getRows(AffineMap output, const AttentionShape &shape) {
  AffineMap sum;
  for (const AttentionPart &part : shape.parts)
    if (part.tensor == AttentionTensor::Lse)
      sum = part.map;
  SmallVector<AffineExpr> dims;
  for (AffineExpr loop : sum.getResults())
    dims.push_back(
        getAffineDimExpr(*output.getResultPosition(loop), output.getContext()));
  return AffineMap::get(output.getNumResults(), 0, dims, output.getContext());
}

/// Over the reals a rank may have some of the keys: what it makes of them is a
/// part of something. What is dropped is told by a key's number among all.
LogicalResult LocalLifter::checkKeys(Operation *op, const AttentionShape &shape,
                                     LocalDim &keys) {
  fix(keys);
  bool mayBePart = forms.isOfReals() && !isReference && !keys.isGuess &&
                   !hasPadding(keys) && !shape.config.getDropout();
  if (!mayBePart || countChunks(keys) == 1)
    return fixWhole(op, keys, "needs whole a loop");
  keys.likeness = nullptr;
  return success();
}

/// Which parts a rank has of what is a sum over keys, or, where it is `made` of
/// queries, over these. A piece of queries that sees nothing of a piece of keys
/// adds nothing: of all that have them, the rank with its queries beside its
/// keys is taken to have these parts as well, and who makes them has none.
Contribution LocalLifter::getKeyParts(const AttentionShape &shape,
                                      AttentionTensor tensor,
                                      ArrayRef<LocalDim> loops,
                                      Contribution made) {
  const LocalDim &queries = loops[shape.getQuery()];
  const LocalDim &keys = loops[shape.getKey()];
  const int64_t pieces = countChunks(keys);
  bool isOfQueries =
      tensor == AttentionTensor::DK || tensor == AttentionTensor::DV;
  if (pieces == 1 || (isOfQueries && made.kind == Contribution::Whole))
    return made;
  bool isAligned = queries.extent == keys.extent &&
                   countChunks(queries) == pieces && !hasPadding(queries);
  // Of the numbers of two pieces.
  auto isSeen = [&](int64_t query, int64_t key) {
    std::optional<int64_t> bound =
        query > key ? shape.config.getLeft() : shape.config.getRight();
    int64_t distance = std::abs(query - key);
    return !isAligned || distance == 0 || !bound ||
           (distance - 1) * keys.extent + 1 <= *bound;
  };
  Contribution parts = made;
  if (!isOfQueries) {
    bool isOutput =
        tensor == AttentionTensor::Out || tensor == AttentionTensor::Lse;
    parts.kind = isOutput ? Contribution::Attention : Contribution::Exact;
    parts.parts = pieces;
  }
  bool isWhole = true;
  parts.part = perRank([&](int64_t rank) {
    int64_t query = (*queries.chunk)[rank], key = (*keys.chunk)[rank];
    std::vector<int64_t> set;
    // Numbers of queries come after those of groups.
    if (isOfQueries && sets[(*made.part)[rank]].empty())
      return isWhole = false, (*made.part)[rank];
    int64_t own = isOfQueries ? sets[(*made.part)[rank]].front() : key;
    if (isSeen(query, key))
      set.push_back(own);
    for (int64_t other = 0; isAligned && query == key && other < pieces;
         ++other)
      if (isOfQueries ? !isSeen(other, key) : !isSeen(query, other))
        set.push_back(own - key + other);
    llvm::sort(set);
    isWhole &= int64_t(set.size()) == parts.parts;
    return getSet(std::move(set));
  });
  return isWhole ? Contribution() : parts;
}

/// An operand of attention: whole, but for what a gradient over some keys
/// takes.
FailureOr<LocalValue>
LocalLifter::getAttentionInput(Operation *op, const AttentionPart &part) {
  if (!isa<AttentionGradOp>(op))
    return getUncombined(op, part.value);
  if (auto it = weighted.find(part.value);
      it != weighted.end() && part.tensor == AttentionTensor::DOut)
    return it->second.first;
  const LocalValue &value = getTensor(part.value);
  if (part.tensor == AttentionTensor::Lse &&
      value.contribution.kind == Contribution::Attention)
    return value;
  return getUncombined(op, part.value);
}

/// With S the keys that the rank has, P[i, j] = exp(s[i, j] - l(S)[i]) times
/// the weight of S: a gradient takes l(S), and dout with this weight.
LogicalResult LocalLifter::checkSums(Operation *op, const AttentionShape &shape,
                                     ArrayRef<LocalDim> loops) {
  auto gradient = dyn_cast<AttentionGradOp>(op);
  if (!gradient)
    return success();
  auto getKeys = [](const Contribution &contribution) {
    return contribution.kind == Contribution::Whole ? nullptr
                                                    : contribution.part;
  };
  RankVector own =
      getKeys(getKeyParts(shape, AttentionTensor::Lse, loops, Contribution()));
  const LocalValue &sum = getTensor(gradient.getLse());
  if (own != getKeys(sum.contribution))
    return op->emitOpError("has the log-sum-exp of other keys than its own: ")
           << sum.form->str();
  auto it = weighted.find(gradient.getDout());
  if (!own && it == weighted.end())
    return success();
  AttentionWeight weight;
  if (it != weighted.end())
    weight = it->second.second;
  AffineMap rows;
  for (const AttentionPart &part : shape.parts)
    if (part.tensor == AttentionTensor::DOut)
      rows = getRows(part.map, shape);
  if (weight.sum != sum.form || weight.from != own || weight.to ||
      weight.rows != rows)
    return op->emitOpError("has a gradient of its output without the weight of "
                           "its keys among all");
  return success();
}

/// Notes which sum belongs to an output, and its rows.
void LocalLifter::noteRows(Operation *op, const AttentionShape &shape) {
  for (const AttentionPart &part : shape.parts)
    if (auto forward = dyn_cast<AttentionOp>(op);
        forward && part.tensor == AttentionTensor::Out)
      rowSums[getTensor(forward.getOut()).form] = {
          getTensor(forward.getLse()).form, getRows(part.map, shape)};
}

/// A query past the end adds zero times a finite number to the sums.
LogicalResult LocalLifter::checkSummed(Operation *op, const LocalValue &value,
                                       const AttentionPart &part,
                                       ArrayRef<int> summed,
                                       ArrayRef<LocalDim> loops) {
  if (!isa<FloatType>(part.getType().getElementType()))
    return success();
  for (auto [own, expr] : llvm::zip(value.dims, part.map.getResults())) {
    int loop = cast<AffineDimExpr>(expr).getPosition();
    LocalDim dim = own;
    takeSize(dim, loops[loop].size);
    if (llvm::is_contained(summed, loop) && hasPadding(dim) &&
        !isZero(dim.padding))
      return op->emitOpError("combines elements past the end of a dimension of "
                             "size ")
             << dim.size;
  }
  return success();
}

LogicalResult LocalLifter::liftAttention(Operation *op, Value start) {
  AttentionShape shape = getAttentionShape(op);
  SmallVector<int> summed;
  if (shape.isGradient())
    summed = shape.getSummedLoops();
  SmallVector<LocalDim> loops;
  for (int64_t extent : shape.getLoopSizes())
    loops.push_back({kAnySize, extent});
  Form form{FormKind::Tensor, op->getName().stripDialect().str()};
  ArrayRef<AttentionPart> parts = shape.parts;
  SmallVector<LocalValue> inputs;
  for (const AttentionPart &part : parts.drop_back(op->getNumResults())) {
    FailureOr<LocalValue> input = getAttentionInput(op, part);
    if (failed(input) || failed(meetLoops(op, *input, part.map, loops)))
      return failure();
    form.operands.push_back(input->form);
    inputs.push_back(*input);
  }
  for (auto [input, part] : llvm::zip(inputs, parts))
    if (failed(checkSummed(op, input, part, summed, loops)))
      return failure();
  if (failed(checkKeys(op, shape, loops[shape.getKey()])))
    return failure();
  for (unsigned loop = shape.getDepth(); loop < loops.size(); ++loop)
    if (failed(fixWhole(op, loops[loop], "needs whole a loop")))
      return failure();
  fix(loops[shape.getQuery()]);
  if (shape.config.hasWindow() &&
      failed(checkStart(op, start, loops[shape.getQuery()],
                        loops[shape.getKey()])))
    return failure();
  // Two queries that are alike see other keys.
  if (shape.config.hasWindow())
    for (unsigned loop : {shape.getQuery(), shape.getKey()})
      forgetElements(loops[loop]);
  // Of two keys that are alike, one may be dropped. What queries differ in is
  // in their seeds.
  if (shape.config.getDropout())
    forgetElements(loops[shape.getKey()]);
  for (int loop : summed)
    fix(loops[loop]);
  if (failed(checkSums(op, shape, loops)))
    return failure();
  llvm::raw_string_ostream os(form.details);
  os << shape.config << ' ' << op->getAttr("indexing_maps");
  for (const LocalDim &loop : loops)
    os << ' ' << loop.size;
  for (OpResult result : op->getResults())
    if (failed(setAttentionResult(op,
                                  parts[parts.size() - op->getNumResults() +
                                        result.getResultNumber()],
                                  summed, loops, form)))
      return failure();
  noteRows(op, shape);
  return success();
}

/// Sets one result of attention, `form` being what all have in common.
LogicalResult LocalLifter::setAttentionResult(Operation *op,
                                              const AttentionPart &part,
                                              ArrayRef<int> summed,
                                              ArrayRef<LocalDim> loops,
                                              Form form) {
  LocalValue value;
  for (AffineExpr expr : part.map.getResults()) {
    value.dims.push_back(loops[cast<AffineDimExpr>(expr).getPosition()]);
    value.dims.back().padding = nullptr;
  }
  form.details += (" " + stringifyAttentionTensor(part.tensor)).str();
  Type element = part.getType().getElementType();
  Type accumulator = Float32Type::get(op->getContext());
  // Over the reals a gradient is a sum, and then perhaps rounded.
  bool isRounded =
      forms.isOfReals() && !summed.empty() && element != accumulator;
  form.element = isRounded ? accumulator : element;
  form.shape = getSizes(value.dims);
  form.op = op;
  bool isSum =
      part.tensor == AttentionTensor::DK || part.tensor == AttentionTensor::DV;
  auto added = llvm::map_to_vector(summed, [&](int i) { return loops[i]; });
  if (!isSum)
    added.clear();
  // The order of a gradient is that of its sums.
  if ((isSum || summed.empty()) &&
      failed(makeOrder(op, added, /*lastIsReduction=*/false, accumulator,
                       form.order, value.contribution)))
    return failure();
  AttentionShape shape = getAttentionShape(op);
  value.contribution =
      getKeyParts(shape, part.tensor, loops, value.contribution);
  value.form = forms.get(std::move(form));
  if (isRounded)
    value.form = getRounded(value.form, element, op);
  if (isSum && value.form->order.isNeeded())
    reductions.push_back({op, value.form});
  return setTensor(op, part.value, std::move(value));
}
