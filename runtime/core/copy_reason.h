// SPDX-License-Identifier: Apache-2.0

// What every backend refuses of a program's copy.

#ifndef WEFT_RT_CORE_COPY_REASON_H
#define WEFT_RT_CORE_COPY_REASON_H

#include "weft-rt/abi.h"

namespace weft::rt {

/// Why the copy makes no sense, or null.
const char *copyReason(const weft_rt_copy &copy);

} // namespace weft::rt

#endif // WEFT_RT_CORE_COPY_REASON_H
