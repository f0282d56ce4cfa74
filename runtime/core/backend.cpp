// SPDX-License-Identifier: Apache-2.0

// Memory of the host for backends whose ranks compute there.

#include "core/backend.h"

#include <cstdlib>
#include <cstring>

namespace weft::rt {

Result<std::vector<void *>>
Backend::allocateOnHost(const std::vector<int64_t> &bytes) {
  constexpr size_t alignment = 4096;
  std::vector<void *> places;
  for (int64_t size : bytes) {
    size_t whole = (size_t(size) + alignment - 1) / alignment * alignment;
    void *place = std::aligned_alloc(alignment, whole);
    if (!place)
      return Status(WEFT_RT_NO_MEMORY,
                    format("no %lld bytes of the host's memory for a rank",
                           (long long)size));
    std::memset(place, 0, whole);
    onHost.emplace_back(place, std::free);
    places.push_back(place);
  }
  return places;
}

} // namespace weft::rt
