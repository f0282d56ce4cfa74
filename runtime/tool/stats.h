// SPDX-License-Identifier: Apache-2.0

// What --stats writes.

#ifndef WEFT_RT_TOOL_STATS_H
#define WEFT_RT_TOOL_STATS_H

#include "weft-rt/session.h"

#include <string>
#include <vector>

namespace weft::rt {

/// A JSON object with the steps' times, memory, and traffic per rank and step:
/// as measured, and as the compiler planned it; and the profile, if one was
/// kept.
std::string statsText(weft_rt_session *session, bool withProfile,
                      const std::vector<double> &seconds);

} // namespace weft::rt

#endif // WEFT_RT_TOOL_STATS_H
