// SPDX-License-Identifier: Apache-2.0

// A rank's memory: one mapping that holds its arguments, results and arena.
// Pages are large where the system grants them, and belong to the thread that
// touches them first, which should be the rank's own.

#ifndef WEFT_RT_HOST_MEMORY_H
#define WEFT_RT_HOST_MEMORY_H

#include "core/status.h"

#include <cstddef>
#include <cstdint>

namespace weft::rt {

/// An anonymous mapping, aligned to 2 MiB, freed with the object.
class Mapping {
public:
  Mapping() = default;
  ~Mapping();
  Mapping(const Mapping &) = delete;
  Mapping &operator=(const Mapping &) = delete;

  /// Maps `bytes` of zeros; `what` names them in the message.
  Status map(int64_t bytes, const std::string &what);

  /// Writes to every page, so that no later access faults.
  void touch();

  uint8_t *data() const { return begin; }

private:
  void *mapping = nullptr;
  size_t mappedBytes = 0;
  uint8_t *begin = nullptr;
  int64_t usedBytes = 0;
};

} // namespace weft::rt

#endif // WEFT_RT_HOST_MEMORY_H
