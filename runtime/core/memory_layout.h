// SPDX-License-Identifier: Apache-2.0

// Where arguments, results and the arena lie in a rank's memory.

#ifndef WEFT_RT_CORE_MEMORY_LAYOUT_H
#define WEFT_RT_CORE_MEMORY_LAYOUT_H

#include "weft-rt/abi.h"

#include <vector>

namespace weft::rt {

/// Offsets from the beginning, multiples of 64: of the rank's memory, or of its
/// bytes of the host's memory. A result that aliases an argument has its place.
struct MemoryLayout {
  std::vector<int64_t> args, results;
  std::vector<bool> argsOnHost, resultsOnHost;
  int64_t arena = 0, hostArena = 0;
  int64_t argumentBytes = 0, resultBytes = 0, totalBytes = 0;
  int64_t hostBytes = 0; // not in the total
};

MemoryLayout layoutOf(const weft_rt_program &program);

/// Bytes of a rank's buffer for a tensor.
int64_t localBytes(const weft_rt_tensor &tensor);

} // namespace weft::rt

#endif // WEFT_RT_CORE_MEMORY_LAYOUT_H
