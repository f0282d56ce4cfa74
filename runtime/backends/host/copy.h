// SPDX-License-Identifier: Apache-2.0

// Elements from one place to another, as weft_rt_copy says.

#ifndef WEFT_RT_HOST_COPY_H
#define WEFT_RT_HOST_COPY_H

#include "weft-rt/abi.h"

namespace weft::rt {

void copyElements(const weft_rt_copy &copy, const void *source, void *target);

} // namespace weft::rt

#endif // WEFT_RT_HOST_COPY_H
