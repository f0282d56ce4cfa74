// SPDX-License-Identifier: Apache-2.0

// Attention as weft_rt_attention defines it, one query after the other, in f64
// or in f32, for comparison.

#ifndef WEFT_RT_ATTENTION_ATTENTION_REFERENCE_H
#define WEFT_RT_ATTENTION_ATTENTION_REFERENCE_H

#include "attention.h"

#include <vector>

namespace weft::rt::test {

/// A descriptor with its tensors; a tensor without elements is not there.
struct Case {
  weft_rt_attention desc{};
  int64_t queryStart = 0;
  std::vector<char> data[WEFT_RT_ATTENTION_NUM_BUFFERS];

  bool has(int tensor) const { return !data[tensor].empty(); }
  weft_rt_type typeOf(int tensor) const;
};

/// Elements of a tensor that the dims address, in the order of the dims.
std::vector<double> elementsOf(const Case &c, int tensor);
/// Their offsets.
std::vector<int64_t> offsetsOf(const Case &c, int tensor);

/// out, lse, dq, dk or dv of the case's other tensors. Number: double, or float
/// for what plain code makes of it. `narrow`: P and dS are rounded to bf16.
template <class Number>
std::vector<double> evaluateAttention(const Case &c, int tensor,
                                      bool narrow = false);

} // namespace weft::rt::test

#endif // WEFT_RT_ATTENTION_ATTENTION_REFERENCE_H
