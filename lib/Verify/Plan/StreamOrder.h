// SPDX-License-Identifier: Apache-2.0

// Which ops of different streams have an order, and that those which touch the
// same bytes have one.

#ifndef WEFT_LIB_VERIFY_PLAN_STREAMORDER_H
#define WEFT_LIB_VERIFY_PLAN_STREAMORDER_H

#include "PlannedProgram.h"

namespace mlir::weft::proof {

/// Of a program that names streams or events: two ops of different streams
/// of which one writes a byte that the other one reads or writes are in the
/// order in which they stand, by streams, events, starts and waits; each event
/// that is awaited is recorded before; and at the end of a block, and of the
/// step, what computes is after all that the block has put on other streams.
/// Says what is not so.
LogicalResult checkStreams(const PlannedProgram &program);

} // namespace mlir::weft::proof

#endif // WEFT_LIB_VERIFY_PLAN_STREAMORDER_H
