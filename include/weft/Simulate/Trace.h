// SPDX-License-Identifier: Apache-2.0

// Timelines as Chrome trace events (JSON), which Perfetto and chrome://tracing
// show. A run's --trace has the same form: a process for each rank, in it a
// thread for its program and one for each channel, names as in the IR, and
// arrows from the start of a collective over its slice to its wait.

#ifndef WEFT_SIMULATE_TRACE_H
#define WEFT_SIMULATE_TRACE_H

#include "weft/Support/Timeline.h"

#include "llvm/Support/raw_ostream.h"

namespace mlir::weft {

void writeTrace(const Timeline &timeline, llvm::raw_ostream &os);

} // namespace mlir::weft

#endif // WEFT_SIMULATE_TRACE_H
