// SPDX-License-Identifier: Apache-2.0

// The descriptor of attention: sizes, and the strides of each tensor.

#include "AbiRecords.h"
#include "ProgramTable.h"

#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

// The two enumerations are one, on both sides of the border.
constexpr bool isSame(AttentionTensor tensor, weft_rt_attention_buffer buffer) {
  return static_cast<int>(tensor) == static_cast<int>(buffer);
}
static_assert(isSame(AttentionTensor::Q, WEFT_RT_ATTENTION_Q) &&
              isSame(AttentionTensor::K, WEFT_RT_ATTENTION_K) &&
              isSame(AttentionTensor::V, WEFT_RT_ATTENTION_V) &&
              isSame(AttentionTensor::Bias, WEFT_RT_ATTENTION_BIAS) &&
              isSame(AttentionTensor::Mask, WEFT_RT_ATTENTION_MASK));
static_assert(
    isSame(AttentionTensor::QSegments, WEFT_RT_ATTENTION_Q_SEGMENTS) &&
    isSame(AttentionTensor::KSegments, WEFT_RT_ATTENTION_K_SEGMENTS) &&
    isSame(AttentionTensor::LowSeeds, WEFT_RT_ATTENTION_LOW_SEEDS) &&
    isSame(AttentionTensor::HighSeeds, WEFT_RT_ATTENTION_HIGH_SEEDS) &&
    isSame(AttentionTensor::Out, WEFT_RT_ATTENTION_OUT) &&
    isSame(AttentionTensor::Lse, WEFT_RT_ATTENTION_LSE));
static_assert(isSame(AttentionTensor::DOut, WEFT_RT_ATTENTION_DOUT) &&
              isSame(AttentionTensor::DQ, WEFT_RT_ATTENTION_DQ) &&
              isSame(AttentionTensor::DK, WEFT_RT_ATTENTION_DK) &&
              isSame(AttentionTensor::DV, WEFT_RT_ATTENTION_DV));
static_assert(
    static_cast<int>(AttentionRole::Batch) == WEFT_RT_ATTENTION_BATCH &&
    static_cast<int>(AttentionRole::Group) == WEFT_RT_ATTENTION_GROUP &&
    static_cast<int>(AttentionRole::Query) == WEFT_RT_ATTENTION_QUERY &&
    static_cast<int>(AttentionRole::Key) == WEFT_RT_ATTENTION_KEY &&
    static_cast<int>(AttentionRole::Depth) == WEFT_RT_ATTENTION_DEPTH &&
    static_cast<int>(AttentionRole::Value) == WEFT_RT_ATTENTION_VALUE);

/// Where the stride of a tensor stands in a dim.
int64_t &getStride(record::weft_rt_attention_dim &dim, AttentionTensor tensor) {
  switch (tensor) {
  case AttentionTensor::Q:
    return dim.stride_q;
  case AttentionTensor::K:
    return dim.stride_k;
  case AttentionTensor::V:
    return dim.stride_v;
  case AttentionTensor::Bias:
    return dim.stride_bias;
  case AttentionTensor::Mask:
    return dim.stride_mask;
  case AttentionTensor::QSegments:
    return dim.stride_q_segments;
  case AttentionTensor::KSegments:
    return dim.stride_k_segments;
  case AttentionTensor::LowSeeds:
    return dim.stride_low_seeds;
  case AttentionTensor::HighSeeds:
    return dim.stride_high_seeds;
  case AttentionTensor::Out:
    return dim.stride_out;
  case AttentionTensor::Lse:
    return dim.stride_lse;
  case AttentionTensor::DOut:
    return dim.stride_dout;
  case AttentionTensor::DQ:
    return dim.stride_dq;
  case AttentionTensor::DK:
    return dim.stride_dk;
  case AttentionTensor::DV:
    return dim.stride_dv;
  }
  llvm_unreachable("a tensor that is not listed");
}

/// Single batches and groups are left out; the other four loops are there.
std::vector<record::weft_rt_attention_dim>
getDims(const AttentionShape &shape) {
  std::vector<record::weft_rt_attention_dim> dims(shape.getNumLoops());
  for (auto [loop, size] : llvm::enumerate(shape.getLoopSizes())) {
    dims[loop].role = static_cast<int64_t>(shape.getRole(loop));
    dims[loop].size = size;
  }
  for (const AttentionPart &part : shape.parts) {
    SmallVector<int64_t> strides =
        rt::getBufferStrides(cast<MemRefType>(part.getType()));
    for (auto [i, expr] : llvm::enumerate(part.map.getResults()))
      getStride(dims[cast<AffineDimExpr>(expr).getPosition()], part.tensor) =
          strides[i];
  }
  std::vector<record::weft_rt_attention_dim> kept;
  for (auto [loop, dim] : llvm::enumerate(dims))
    if (loop >= shape.getQuery() || dim.size != 1)
      kept.push_back(dim);
  return kept;
}

int64_t getBits(float value) { return llvm::bit_cast<int32_t>(value); }

} // namespace

FailureOr<std::string> ProgramTable::addAttention(rt::AttentionOp op) {
  AttentionShape shape =
      makeAttentionShape(op.getIndexingMaps(), op.getConfig(), op.getValues());
  record::weft_rt_attention attention;
  attention.dims = getDims(shape);
  attention.num_dims = attention.dims.size();
  if (attention.num_dims > WEFT_RT_ATTENTION_MAX_DIMS)
    return op.emitOpError("has ")
           << attention.num_dims << " loops, at most "
           << WEFT_RT_ATTENTION_MAX_DIMS << " are possible";
  for (const record::weft_rt_attention_dim &dim : attention.dims)
    if (dim.role >= WEFT_RT_ATTENTION_DEPTH &&
        dim.size > WEFT_RT_ATTENTION_MAX_HEAD)
      return op.emitOpError("has heads of ")
             << dim.size << " elements, at most " << WEFT_RT_ATTENTION_MAX_HEAD
             << " are possible";
  for (const AttentionPart &part : shape.parts) {
    FailureOr<int64_t> code = getTypeCode(op, part.getType().getElementType());
    if (failed(code))
      return failure();
    // Of those that are not there nobody asks.
    if (part.tensor == AttentionTensor::Q)
      attention.type = attention.type_bias = attention.type_dq =
          attention.type_dk = attention.type_dv = *code;
    else if (part.tensor == AttentionTensor::Bias)
      attention.type_bias = *code;
    else if (part.tensor == AttentionTensor::DQ)
      attention.type_dq = *code;
    else if (part.tensor == AttentionTensor::DK)
      attention.type_dk = *code;
    else if (part.tensor == AttentionTensor::DV)
      attention.type_dv = *code;
  }
  attention.backward = shape.isGradient();
  attention.scale = getBits(shape.config.getScaleValue());
  attention.softcap = getBits(shape.config.getSoftcapValue());
  attention.fill = getBits(shape.config.getFillValue());
  attention.dropout = getBits(shape.config.getDropoutValue());
  attention.left = shape.config.getLeft().value_or(-1);
  attention.right = shape.config.getRight().value_or(-1);
  if (auto order = op->getAttrOfType<OrderAttr>(WeftDialect::kOrderAttr))
    attention.leaves = order.getLeaves();
  return data.add(toDatum(attention));
}
