// SPDX-License-Identifier: Apache-2.0

// Whether a kernel may write where it reads.

#ifndef WEFT_LIB_VERIFY_PLAN_KERNELORDER_H
#define WEFT_LIB_VERIFY_PLAN_KERNELORDER_H

#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

namespace mlir::weft::proof {

/// Says whether `op`, with input number `input` and output number `out` in one
/// place, reads each element before it writes it. The kernel may walk over its
/// ops one after the other, or over common loops with all ops in each step:
/// loops are common if a tensor that one op gives to the other, or that both
/// read in the same way, connects them.
bool readsBeforeWriting(rt::FusedOp op, unsigned input, unsigned out);

} // namespace mlir::weft::proof

#endif // WEFT_LIB_VERIFY_PLAN_KERNELORDER_H
