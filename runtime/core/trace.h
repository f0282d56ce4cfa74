// SPDX-License-Identifier: Apache-2.0

// Writes what ranks recorded as Chrome trace events, which Perfetto and
// chrome://tracing show: one row per rank, with steps and, inside them,
// collectives, contractions and kernels.

#ifndef WEFT_RT_CORE_TRACE_H
#define WEFT_RT_CORE_TRACE_H

#include "core/rank_log.h"
#include "core/status.h"

namespace weft::rt {

/// Writes the ranks' spans to a JSON file. Times are relative to the earliest.
Status writeTrace(const std::string &path, const weft_rt_program &program,
                  const std::vector<const RankLog *> &logs);

} // namespace weft::rt

#endif // WEFT_RT_CORE_TRACE_H
