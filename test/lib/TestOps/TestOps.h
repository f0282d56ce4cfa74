// SPDX-License-Identifier: Apache-2.0

// Ops that weft does not know, and what registers them.

#ifndef WEFT_TEST_LIB_TESTOPS_H
#define WEFT_TEST_LIB_TESTOPS_H

#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "TestDialect.h.inc"

#define GET_OP_CLASSES
#include "TestOps.h.inc"

namespace mlir::weft::test {

/// Adds --test-lower-ops: what weft_test ops compute, as linalg ops.
void registerLowerTestOps();

/// Adds --test-emulate-device: device kernels as kernels of the host.
void registerEmulateDevice();

} // namespace mlir::weft::test

#endif // WEFT_TEST_LIB_TESTOPS_H
