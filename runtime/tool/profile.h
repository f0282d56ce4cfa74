// SPDX-License-Identifier: Apache-2.0

// A session's profile as a table, and as JSON for --stats.

#ifndef WEFT_RT_TOOL_PROFILE_H
#define WEFT_RT_TOOL_PROFILE_H

#include "weft-rt/session.h"

#include <string>
#include <vector>

namespace weft::rt {

/// What steps spend their time on: by activity, by rank, and by name, the
/// costliest first. Milliseconds per step, mean of the ranks.
std::string profileText(weft_rt_session *session);

/// JSON objects, one per name, or one per op that has a name; the same figures.
std::vector<std::string> profileEntries(weft_rt_session *session);
std::vector<std::string> profileOpEntries(weft_rt_session *session);

} // namespace weft::rt

#endif // WEFT_RT_TOOL_PROFILE_H
