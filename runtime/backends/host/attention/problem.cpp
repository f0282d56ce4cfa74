// SPDX-License-Identifier: Apache-2.0

// Indices, addresses, and which keys a query sees.

#include "problem.h"

#include <algorithm>

namespace weft::rt::detail {

int64_t bytesOfType(weft_rt_type type) {
  switch (type) {
  case WEFT_RT_I1:
    return 1;
  case WEFT_RT_BF16:
  case WEFT_RT_F16:
    return 2;
  default:
    return 4;
  }
}

KeyRange KeyRange::within(KeyRange other) const {
  return {std::max(first, other.first), std::min(last, other.last)};
}

KeyRange KeyRange::joined(KeyRange other) const {
  if (empty())
    return other;
  if (other.empty())
    return *this;
  return {std::min(first, other.first), std::max(last, other.last)};
}

/// Far more than there are keys, so that sums of two do not overflow.
static int64_t limited(int64_t position) {
  constexpr int64_t far = int64_t(1) << 60;
  return std::clamp(position, -far, far);
}

Problem::Problem(const weft_rt_attention &desc, void *const *buffers,
                 int64_t queryStart)
    : desc(desc), buffers(buffers), queryStart(limited(queryStart)),
      left(limited(desc.left)), right(limited(desc.right)) {
  for (int i = 0; i < desc.num_dims; ++i) {
    const weft_rt_attention_dim &dim = desc.dims[i];
    switch (dim.role) {
    case WEFT_RT_ATTENTION_BATCH:
      batchDims[numBatchDims++] = i;
      batches *= dim.size;
      break;
    case WEFT_RT_ATTENTION_GROUP:
      groupDims[numGroupDims++] = i;
      groups *= dim.size;
      break;
    case WEFT_RT_ATTENTION_QUERY:
      query = dim;
      break;
    case WEFT_RT_ATTENTION_KEY:
      key = dim;
      break;
    case WEFT_RT_ATTENTION_DEPTH:
      depth = dim;
      break;
    case WEFT_RT_ATTENTION_VALUE:
      value = dim;
      break;
    }
  }
}

weft_rt_type Problem::typeOf(int tensor) const {
  return attentionTypeOf(desc, tensor);
}

void Problem::addOffsets(const int *dims, int count, int64_t index,
                         int64_t *offsets) const {
  for (int i = count; i-- > 0;) {
    const weft_rt_attention_dim &dim = desc.dims[dims[i]];
    if (dim.size == 0)
      continue; // of no group there are still keys
    int64_t place = index % dim.size;
    index /= dim.size;
    for (int tensor = 0; tensor < kNumTensors; ++tensor)
      offsets[tensor] += place * stride(tensor, dim);
  }
}

Problem::Heads Problem::heads(int64_t batch, int64_t group) const {
  int64_t offsets[kNumTensors] = {};
  addOffsets(batchDims, numBatchDims, batch, offsets);
  addOffsets(groupDims, numGroupDims, group, offsets);
  Heads heads;
  for (int tensor = 0; tensor < kNumTensors; ++tensor) {
    char *data = static_cast<char *>(buffers[tensor]);
    heads.at[tensor] =
        data ? data + offsets[tensor] * bytesOfType(typeOf(tensor)) : nullptr;
  }
  return heads;
}

char *Problem::element(const Heads &heads, int tensor, int64_t offset) const {
  return heads.at[tensor] + offset * bytesOfType(typeOf(tensor));
}

KeyRange Problem::seenBy(int64_t index) const {
  const int64_t position = queryStart + index;
  KeyRange all{0, key.size};
  KeyRange near{left < 0 ? 0 : position - left,
                right < 0 ? key.size : position + right + 1};
  return near.within(all);
}

KeyRange Problem::seenBy(int64_t index, int64_t count) const {
  return {seenBy(index).first, seenBy(index + count - 1).last};
}

} // namespace weft::rt::detail
