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

/// Queries see keys by where both are: the rank's have to begin where it says.
LogicalResult LocalLifter::checkStart(Operation *op, Value start,
                                      const LocalDim &queries) {
  RankVector begin = uniform(0);
  if (start)
    begin = scalars.lookup(start).offset;
  RankVector expected = perRank(
      [&](int64_t rank) { return (*queries.chunk)[rank] * queries.extent; });
  if (begin == expected)
    return success();
  return op->emitOpError("begins at query ")
         << (begin ? describeRanks(begin) : "?")
         << ", but the rank's queries begin at " << describeRanks(expected);
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
    FailureOr<LocalValue> input = getUncombined(op, part.value);
    if (failed(input) || failed(meetLoops(op, *input, part.map, loops)))
      return failure();
    form.operands.push_back(input->form);
    inputs.push_back(*input);
  }
  for (auto [input, part] : llvm::zip(inputs, parts))
    if (failed(checkSummed(op, input, part, summed, loops)))
      return failure();
  for (unsigned loop = shape.getKey(); loop < loops.size(); ++loop)
    if (failed(fixWhole(op, loops[loop], "needs whole a loop")))
      return failure();
  fix(loops[shape.getQuery()]);
  if (shape.config.hasWindow() &&
      failed(checkStart(op, start, loops[shape.getQuery()])))
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
  form.element = part.getType().getElementType();
  form.shape = getSizes(value.dims);
  form.op = op;
  bool isSum =
      part.tensor == AttentionTensor::DK || part.tensor == AttentionTensor::DV;
  auto added = llvm::map_to_vector(summed, [&](int i) { return loops[i]; });
  if (!isSum)
    added.clear();
  // The order of a gradient is that of its sums.
  Type accumulator = Float32Type::get(op->getContext());
  if ((isSum || summed.empty()) &&
      failed(makeOrder(op, added, /*lastIsReduction=*/false, accumulator,
                       form.order, value.contribution)))
    return failure();
  value.form = forms.get(std::move(form));
  if (isSum && value.form->order.isNeeded())
    reductions.push_back({op, value.form});
  return setTensor(op, part.value, std::move(value));
}
