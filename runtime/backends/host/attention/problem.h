// SPDX-License-Identifier: Apache-2.0

// A descriptor with its tensors, brought to the shape that the loops want: one
// index over the batch dims and one over the group dims.

#ifndef WEFT_RT_ATTENTION_PROBLEM_H
#define WEFT_RT_ATTENTION_PROBLEM_H

#include "core/attention_reason.h"

#include <cstdint>

namespace weft::rt::detail {

/// Keys from `first` on and before `last`.
struct KeyRange {
  int64_t first = 0, last = 0;

  bool empty() const { return first >= last; }
  KeyRange within(KeyRange other) const;
  /// Of both and what lies between them.
  KeyRange joined(KeyRange other) const;
};

class Problem {
public:
  Problem(const weft_rt_attention &desc, void *const *buffers,
          int64_t queryStart);

  /// The tensors at one index of batch and group dims; null where there is
  /// none.
  struct Heads {
    char *at[kNumTensors];
  };
  Heads heads(int64_t batch, int64_t group) const;

  weft_rt_type typeOf(int tensor) const;
  int64_t stride(int tensor, const weft_rt_attention_dim &dim) const {
    return dim.*kStrideOf[tensor];
  }
  /// The address of an element of a tensor.
  char *element(const Heads &heads, int tensor, int64_t offset) const;

  /// Keys that a query sees, as far as positions say.
  KeyRange seenBy(int64_t query) const;
  /// Keys that some of the queries see.
  KeyRange seenBy(int64_t query, int64_t count) const;

  const weft_rt_attention &desc;
  weft_rt_attention_dim query, key, depth, value;
  int64_t batches = 1, groups = 1;

private:
  void addOffsets(const int *dims, int count, int64_t index,
                  int64_t *offsets) const;

  void *const *buffers;
  int64_t queryStart, left, right;
  int batchDims[WEFT_RT_ATTENTION_MAX_DIMS], numBatchDims = 0;
  int groupDims[WEFT_RT_ATTENTION_MAX_DIMS], numGroupDims = 0;
};

int64_t bytesOfType(weft_rt_type type);

} // namespace weft::rt::detail

#endif // WEFT_RT_ATTENTION_PROBLEM_H
