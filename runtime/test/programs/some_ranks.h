// SPDX-License-Identifier: Apache-2.0

// A backend that has only some of a job's ranks in this process. Nobody talks
// to the others: each rank's collectives are with itself.

#ifndef WEFT_RT_TEST_PROGRAMS_SOME_RANKS_H
#define WEFT_RT_TEST_PROGRAMS_SOME_RANKS_H

#include "core/backend_registry.h"

namespace weft::rt {

/// What its memory is like.
enum class Places { Right, TooFew, Null, Odd };

Result<std::unique_ptr<Backend>> createWithRanks(std::vector<int64_t> ranks,
                                                 Places places,
                                                 const BackendOptions &options);

/// A backend with these ranks.
template <int64_t... ranks>
Result<std::unique_ptr<Backend>>
createSomeRanks(const BackendOptions &options) {
  return createWithRanks({ranks...}, Places::Right, options);
}

/// One with ranks 0 and 1, and memory that is not right.
template <Places places>
Result<std::unique_ptr<Backend>>
createWithPlaces(const BackendOptions &options) {
  return createWithRanks({0, 1}, places, options);
}

} // namespace weft::rt

#endif // WEFT_RT_TEST_PROGRAMS_SOME_RANKS_H
