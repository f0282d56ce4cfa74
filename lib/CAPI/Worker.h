// SPDX-License-Identifier: Apache-2.0

// The process that compiles for a caller of libweft: what ends it (a stack that
// overflows, memory that runs out, a defect of a parser or of LLVM) is an error
// for the caller, not the caller's end; and it can be stopped at any time.

#ifndef WEFT_LIB_CAPI_WORKER_H
#define WEFT_LIB_CAPI_WORKER_H

#include "Records.h"

namespace mlir::weft {

/// The descriptors that weft-worker is started with.
enum WorkerDescriptor { kRequestFile = 3, kOutcomeFile = 4, kLifeline = 5 };

/// Compiles in a process of its own and waits for it. What the process prints
/// goes to the standard error.
Outcome compileInWorker(const Request &request, weft_poll poll, void *user);

/// Compiles in this process.
Outcome compileHere(const Request &request);

} // namespace mlir::weft

#endif // WEFT_LIB_CAPI_WORKER_H
