// SPDX-License-Identifier: Apache-2.0

// What ranks counted, as rows with names.

#ifndef WEFT_RT_CORE_PROFILE_H
#define WEFT_RT_CORE_PROFILE_H

#include "core/rank_log.h"

#include <map>

namespace weft::rt {

/// The name of what a cost is of: "gemm 1 x 8 x 16 x 4 f32 f32 -> f32", a
/// kernel's function, "all_gather 'w'", "step". Ops that do the same share it.
std::string activityName(weft_rt_activity activity, const void *what);

/// The name of an op, or null.
const char *opName(const weft_rt_program &program, int32_t op);

/// Rows for weft_rt_session_profile.
class Profile {
public:
  void clear();

  /// Adds a rank's rows; what has the same name and op is one.
  void add(int64_t rank, const RankLog &log);

  const std::vector<weft_rt_profile_row> &rows() const { return all; }

private:
  const std::string &nameOf(const Cost &cost);

  std::vector<weft_rt_profile_row> all;
  std::map<const void *, std::string> names; // by what, kept over clear
};

} // namespace weft::rt

#endif // WEFT_RT_CORE_PROFILE_H
