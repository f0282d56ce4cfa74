// SPDX-License-Identifier: Apache-2.0

// A collective that a rank has waited for longer than the deadline.

#ifndef WEFT_RT_CUDA_LATE_H
#define WEFT_RT_CUDA_LATE_H

#include <cstdint>
#include <string>

namespace weft::rt::cuda {

struct LateCollective {
  int64_t rank = -1; // -1: none is late
  int64_t channel = 0, number = 0;
  std::string name; // "all_reduce 'total'"
};

} // namespace weft::rt::cuda

#endif // WEFT_RT_CUDA_LATE_H
