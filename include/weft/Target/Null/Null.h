// SPDX-License-Identifier: Apache-2.0

// The target that a new one is copied from, and the test of what shared passes
// ask of targets: it accepts everything, and its kernels have no code. Its
// programs run on the runtime's `null` backend, which writes down the calls
// that they make and computes nothing.

#ifndef WEFT_TARGET_NULL_NULL_H
#define WEFT_TARGET_NULL_NULL_H

namespace mlir::weft {

void registerNullTarget();

} // namespace mlir::weft

#endif // WEFT_TARGET_NULL_NULL_H
