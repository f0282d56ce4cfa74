// SPDX-License-Identifier: Apache-2.0

// Combining equally shaped buffers of several ranks, element by element, in one
// of two orders (weft_rt_collective.tree). There are kernels for several
// instruction sets; all of them give the same bits, but for the payloads of
// NaNs that sums and products give.
//
// Example: bf16 buffers that hold 1, 2^-8 and 2^-8 sum to 1 + 2^-7 as a chain,
// which is rounded once, and to 1 as a tree, which is rounded at each join.

#ifndef WEFT_RT_HOST_REDUCE_H
#define WEFT_RT_HOST_REDUCE_H

#include "weft-rt/abi.h"

namespace weft::rt {

/// In which order, and where it is rounded. What is exact is the same in both:
/// integers, max, min, and, or.
enum class ReduceOrder {
  Chain, ///< x0 + x1, then + x2, ...; bf16, f16 and f8 in f32, rounded once
  Tree   ///< n values are the tree of the first m joined with the tree of the
         ///< rest, where m is the largest power of two below n; each join is
         ///< rounded to the type
};

/// Says whether values of the type can be combined this way: sum and prod on
/// numbers, max and min also on i1 and f8E8M0FNU, and and or on integers.
bool canReduce(weft_rt_type type, weft_rt_reduction reduction);

/// Combines `count` elements at element `offset` of each of the `members`
/// inputs into `out` (whose first element belongs to `offset`). `out` may be
/// the place of one of the inputs. What lies `ahead` elements further is
/// expected to be read soon.
void reduce(weft_rt_type type, weft_rt_reduction reduction, ReduceOrder order,
            const void *const *inputs, int64_t members, int64_t offset,
            int64_t count, int64_t ahead, void *out);

} // namespace weft::rt

#endif // WEFT_RT_HOST_REDUCE_H
