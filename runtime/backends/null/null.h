// SPDX-License-Identifier: Apache-2.0

// The null backend, as the list of backends knows it.

#ifndef WEFT_RT_NULL_NULL_H
#define WEFT_RT_NULL_NULL_H

#include "core/backend.h"

namespace weft::rt {

/// Ranks write down what they are asked to do, and do nothing.
Result<std::unique_ptr<Backend>>
createNullBackend(const BackendOptions &options);

} // namespace weft::rt

#endif // WEFT_RT_NULL_NULL_H
