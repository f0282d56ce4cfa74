// SPDX-License-Identifier: Apache-2.0

// The data movement of collectives between ranks that share memory: each
// member reads what it needs straight from the others' buffers and writes only
// its own output. No intermediate copy is made.
//
// A collective has one or two phases; between phases, and before any buffer is
// used for something else, all members must meet. Only all_reduce has two:
// each member first reduces its slice, then copies the others' slices.

#ifndef WEFT_RT_HOST_MOVEMENT_H
#define WEFT_RT_HOST_MOVEMENT_H

#include "weft-rt/abi.h"

namespace weft::rt {

/// The buffers that one member brought, one pointer per operand.
struct MemberBuffers {
  const void *const *in;
  void *const *out;
};

/// The members of a group at a collective, in group order, and who asks.
struct Exchange {
  const weft_rt_collective *collective;
  const MemberBuffers *members;
  const void **inputs; // room for one pointer per member
  int64_t size;
  int64_t index;
};

/// Phases of the kind: 1 or 2.
int phaseCount(weft_rt_collective_kind kind);

/// Does the part of `phase` that belongs to member `exchange.index`.
void movePhase(const Exchange &exchange, int phase);

} // namespace weft::rt

#endif // WEFT_RT_HOST_MOVEMENT_H
