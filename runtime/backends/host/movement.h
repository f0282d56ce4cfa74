// SPDX-License-Identifier: Apache-2.0

// The data movement of collectives between ranks that share memory: straight
// from the members' inputs to their outputs, with no copy in between.
//
// The work has one part per member, and parts may run at once, on any thread.
// A part fills the output of its member; of an all_reduce, it reduces a slice
// and writes that to all outputs.

#ifndef WEFT_RT_HOST_MOVEMENT_H
#define WEFT_RT_HOST_MOVEMENT_H

#include "weft-rt/abi.h"

namespace weft::rt {

/// The buffers that one member brought, one pointer per operand.
struct MemberBuffers {
  const void *const *in;
  void *const *out;
};

/// The members of a group at a collective, in group order, and a part.
struct Exchange {
  const weft_rt_collective *collective;
  const MemberBuffers *members;
  const void **inputs; // room for one pointer per member
  int64_t size;
  int64_t index; // the part's member
};

/// Does the part of member `exchange.index`.
void movePart(const Exchange &exchange);

} // namespace weft::rt

#endif // WEFT_RT_HOST_MOVEMENT_H
