// SPDX-License-Identifier: Apache-2.0

// Verifiers of weft.attention, its gradient and its attribute.

#include "weft/Dialect/Weft/IR/Attention.h"
#include "weft/Dialect/Weft/IR/Leaves.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::weft;

//===----------------------------------------------------------------------===//
// The attribute
//===----------------------------------------------------------------------===//

float AttentionAttr::getScaleValue() const {
  return getScale().getValue().convertToFloat();
}

float AttentionAttr::getSoftcapValue() const {
  return getSoftcap() ? getSoftcap().getValue().convertToFloat() : 0.0f;
}

float AttentionAttr::getFillValue() const {
  return getFill() ? getFill().getValue().convertToFloat()
                   : -std::numeric_limits<float>::infinity();
}

float AttentionAttr::getDropoutValue() const {
  return getDropout() ? getDropout().getValue().convertToFloat() : 0.0f;
}

LogicalResult
AttentionAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                      FloatAttr scale, FloatAttr softcap, FloatAttr fill,
                      std::optional<int64_t> left, std::optional<int64_t> right,
                      FloatAttr dropout) {
  // attention_attr_c1
  if (!scale.getType().isF32() || !scale.getValue().isFinite())
    return emitError() << "the scale of attention is a finite f32, got "
                       << scale;
  if (softcap &&
      (!softcap.getType().isF32() || !softcap.getValue().isFinite() ||
       softcap.getValue().isNegative() || softcap.getValue().isZero()))
    return emitError() << "the softcap of attention is a positive f32, got "
                       << softcap;
  if (fill && (!fill.getType().isF32() || fill.getValue().isNaN() ||
               (!fill.getValue().isNegative() && !fill.getValue().isZero())))
    return emitError() << "the fill of attention is an f32 of at most 0, got "
                       << fill;
  if (dropout && (!dropout.getType().isF32() ||
                  !(dropout.getValue().convertToFloat() >= 0 &&
                    dropout.getValue().convertToFloat() < 1)))
    return emitError()
           << "the dropout of attention is an f32 of at least 0 and "
              "below 1, got "
           << dropout;
  // attention_attr_c2
  for (std::optional<int64_t> bound : {left, right})
    if (bound && *bound < 0)
      return emitError() << "a bound of attention is not negative, got "
                         << *bound;
  return success();
}

//===----------------------------------------------------------------------===//
// The ops
//===----------------------------------------------------------------------===//

namespace {

/// The roles of loops, as a set.
enum Roles : unsigned {
  kBatch = 1 << int(AttentionRole::Batch),
  kGroup = 1 << int(AttentionRole::Group),
  kQuery = 1 << int(AttentionRole::Query),
  kKey = 1 << int(AttentionRole::Key),
  kDepth = 1 << int(AttentionRole::Depth),
  kValue = 1 << int(AttentionRole::Value),
};

/// The loops that a tensor has, and those that it may lack of them.
struct TensorLoops {
  unsigned all, optional = 0;
};

TensorLoops getLoops(AttentionTensor tensor) {
  switch (tensor) {
  case AttentionTensor::Q:
  case AttentionTensor::DQ:
    return {kBatch | kGroup | kQuery | kDepth};
  case AttentionTensor::K:
  case AttentionTensor::DK:
    return {kBatch | kKey | kDepth};
  case AttentionTensor::V:
  case AttentionTensor::DV:
    return {kBatch | kKey | kValue};
  case AttentionTensor::Bias:
  case AttentionTensor::Mask:
    return {kBatch | kGroup | kQuery | kKey, kBatch | kGroup | kQuery | kKey};
  case AttentionTensor::QSegments:
  case AttentionTensor::LowSeeds:
  case AttentionTensor::HighSeeds:
    return {kBatch | kGroup | kQuery, kBatch | kGroup};
  case AttentionTensor::KSegments:
    return {kBatch | kKey, kBatch};
  case AttentionTensor::Out:
  case AttentionTensor::DOut:
    return {kBatch | kGroup | kQuery | kValue};
  case AttentionTensor::Lse:
    return {kBatch | kGroup | kQuery};
  }
  return {0};
}

/// Which elements a tensor may have.
bool hasType(AttentionTensor tensor, Type element, Type query) {
  switch (tensor) {
  case AttentionTensor::Q:
    return element.isF32() || element.isBF16() || element.isF16();
  case AttentionTensor::K:
  case AttentionTensor::V:
  case AttentionTensor::Out:
  case AttentionTensor::DOut:
    return element == query;
  case AttentionTensor::Lse:
    return element.isF32();
  case AttentionTensor::Bias:
  case AttentionTensor::DQ:
  case AttentionTensor::DK:
  case AttentionTensor::DV:
    return element.isF32() || element == query;
  case AttentionTensor::Mask:
    return element.isInteger(1);
  case AttentionTensor::QSegments:
  case AttentionTensor::KSegments:
  case AttentionTensor::LowSeeds:
  case AttentionTensor::HighSeeds:
    return element.isSignlessInteger(32);
  }
  return false;
}

LogicalResult verifyMap(Operation *op, const AttentionPart &part,
                        SmallVectorImpl<int64_t> &sizes) {
  StringRef name = stringifyAttentionTensor(part.tensor);
  if (part.map.getNumSymbols() != 0 || part.map.getNumDims() != sizes.size() ||
      !part.map.isProjectedPermutation(/*allowZeroInResults=*/false) ||
      int64_t(part.map.getNumResults()) != part.getType().getRank()) // c1
    return op->emitOpError("has the map ")
           << AffineMapAttr::get(part.map) << " for '" << name
           << "', expected a projected permutation of " << sizes.size()
           << " loops to " << part.getType().getRank() << " dims";
  for (auto [i, expr] : llvm::enumerate(part.map.getResults())) {
    unsigned loop = cast<AffineDimExpr>(expr).getPosition();
    int64_t size = part.getType().getDimSize(i);
    if (sizes[loop] >= 0 && sizes[loop] != size) // c2
      return op->emitOpError("has dim ")
             << i << " of '" << name << "' of size " << size << ", expected "
             << sizes[loop] << " (d" << loop << ")";
    sizes[loop] = size;
  }
  return success();
}

/// c3.
LogicalResult verifyRoles(Operation *op, const AttentionShape &shape,
                          const AttentionPart &part) {
  TensorLoops loops = getLoops(part.tensor);
  for (unsigned loop = 0; loop < shape.getNumLoops(); ++loop) {
    unsigned role = 1u << int(shape.getRole(loop));
    bool isThere = part.map.isFunctionOfDim(loop);
    bool isRight =
        isThere ? (loops.all & role) : !(loops.all & ~loops.optional & role);
    if (!isRight)
      return op->emitOpError("has '")
             << stringifyAttentionTensor(part.tensor) << "' "
             << (isThere ? "with" : "without") << " d" << loop << ", which "
             << (isThere ? "it cannot have" : "it needs");
  }
  return success();
}

/// c5.
LogicalResult verifyTogether(Operation *op, AttentionAttr config, Value start,
                             AttentionValues values) {
  auto isThere = [&](AttentionTensor tensor) {
    return llvm::any_of(values, [&](const auto &entry) {
      return entry.first == tensor && entry.second;
    });
  };
  if (start && !config.hasWindow())
    return op->emitOpError("has a start, but sees all keys from anywhere");
  if (config.getFill() && !isThere(AttentionTensor::Mask))
    return op->emitOpError("has the fill ")
           << config.getFill() << ", but no mask";
  if (isThere(AttentionTensor::QSegments) !=
      isThere(AttentionTensor::KSegments))
    return op->emitOpError("has segments of queries or keys, expected both");
  bool wantsSeeds = config.getDropout() != nullptr;
  if (isThere(AttentionTensor::LowSeeds) != wantsSeeds ||
      isThere(AttentionTensor::HighSeeds) != wantsSeeds)
    return op->emitOpError(
        wantsSeeds ? "has a dropout, but not both low and high seeds"
                   : "has seeds, but no dropout");
  return success();
}

} // namespace

LogicalResult mlir::weft::verifyAttention(Operation *op, ArrayAttr maps,
                                          AttentionAttr config, Value start,
                                          AttentionValues values) {
  size_t count = llvm::count_if(
      values, [](const auto &entry) { return entry.second != nullptr; });
  if (maps.size() != count) // c1
    return op->emitOpError("has ")
           << maps.size() << " maps for " << count << " tensors";
  AttentionShape shape = makeAttentionShape(maps, config, values);
  if (shape.getNumLoops() < 4) // c1
    return op->emitOpError("has ")
           << shape.getNumLoops() << " loops, expected at least 4";
  SmallVector<int64_t> sizes(shape.getNumLoops(), -1);
  for (const AttentionPart &part : shape.parts)
    if (failed(verifyMap(op, part, sizes)))
      return failure();
  Type query = shape.parts[0].getType().getElementType();
  for (const AttentionPart &part : shape.parts) {
    if (failed(verifyRoles(op, shape, part)))
      return failure();
    Type element = part.getType().getElementType();
    if (!hasType(part.tensor, element, query)) // c4
      return op->emitOpError("has '")
             << stringifyAttentionTensor(part.tensor) << "' with elements of "
             << element << " for queries of " << query;
  }
  if (failed(verifyTogether(op, config, start, values)))
    return failure();
  int64_t summed = 1;
  for (int loop : shape.getSummedLoops())
    summed *= sizes[loop];
  return shape.isGradient() ? verifyLeaves(op, summed) : success();
}

LogicalResult AttentionOp::verify() {
  return verifyAttention(*this, getIndexingMaps(), getConfig(), getStart(),
                         getAttentionValues(*this));
}

LogicalResult AttentionGradOp::verify() {
  return verifyAttention(*this, getIndexingMaps(), getConfig(), getStart(),
                         getAttentionValues(*this));
}
