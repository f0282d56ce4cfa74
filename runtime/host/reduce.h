// SPDX-License-Identifier: Apache-2.0

// Combining equally shaped buffers of several ranks, element by element, in
// rank order: x0 + x1, then + x2, and so on. bf16, f16 and f8 are combined in
// f32 and rounded once. There are kernels for several instruction sets; all of
// them give the same bits.
//
// Example: bf16 buffers that hold 1, 2^-8 and 2^-8 sum to 1 + 2^-7. Rounding
// after each addition would give 1.

#ifndef WEFT_RT_HOST_REDUCE_H
#define WEFT_RT_HOST_REDUCE_H

#include "weft-rt/abi.h"

namespace weft::rt {

/// Says whether values of the type can be combined this way: sum and prod on
/// numbers, max and min also on i1 and f8E8M0FNU, and and or on integers.
bool canReduce(weft_rt_type type, weft_rt_reduction reduction);

/// Combines `count` elements at element `offset` of each of the `members`
/// inputs into `out` (whose first element belongs to `offset`). `out` may be
/// the place of one of the inputs. What lies `ahead` elements further is
/// expected to be read soon.
void reduce(weft_rt_type type, weft_rt_reduction reduction,
            const void *const *inputs, int64_t members, int64_t offset,
            int64_t count, int64_t ahead, void *out);

} // namespace weft::rt

#endif // WEFT_RT_HOST_REDUCE_H
