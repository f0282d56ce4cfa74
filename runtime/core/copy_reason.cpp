// SPDX-License-Identifier: Apache-2.0

#include "core/copy_reason.h"

namespace weft::rt {

const char *copyReason(const weft_rt_copy &copy) {
  if (copy.element_bytes < 1)
    return "elements of no size";
  if (copy.num_dims < 0 || copy.num_dims > WEFT_RT_COPY_MAX_DIMS)
    return "too many dimensions";
  for (int32_t i = 0; i < copy.num_dims; ++i)
    if (copy.dims[i].size < 0 || copy.dims[i].stride_source < 0 ||
        copy.dims[i].stride_target < 0)
      return "a negative size or stride";
  return nullptr;
}

} // namespace weft::rt
