// SPDX-License-Identifier: Apache-2.0

// Writes what ranks recorded as Chrome trace events, which Perfetto and
// chrome://tracing show: a process per rank, in it a row of what the rank's
// thread does and a row per channel. docs/runtime.md says what the events hold.

#ifndef WEFT_RT_CORE_TRACE_H
#define WEFT_RT_CORE_TRACE_H

#include "core/rank_log.h"
#include "core/status.h"

namespace weft::rt {

/// A rank and its records.
struct TracedRank {
  int64_t rank;
  const RankLog *log;
};

/// Writes the ranks' spans to a JSON file. Times are relative to the earliest.
Status writeTrace(const std::string &path,
                  const std::vector<TracedRank> &ranks);

} // namespace weft::rt

#endif // WEFT_RT_CORE_TRACE_H
