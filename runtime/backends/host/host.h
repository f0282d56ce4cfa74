// SPDX-License-Identifier: Apache-2.0

// The host backend, as the list of backends knows it.

#ifndef WEFT_RT_HOST_HOST_H
#define WEFT_RT_HOST_HOST_H

#include "core/backend.h"

namespace weft::rt {

/// Ranks are threads of this process that share its memory.
Result<std::unique_ptr<Backend>>
createHostBackend(const BackendOptions &options);

} // namespace weft::rt

#endif // WEFT_RT_HOST_HOST_H
