// SPDX-License-Identifier: Apache-2.0

// The null backend in a shared library, under a name of its own, and libraries
// that must be refused.

#include "backends/null/null.h"
#include "core/backend_registry.h"

using namespace weft::rt;

#ifndef BACKEND_VERSION
#define BACKEND_VERSION backendVersion
#endif
#ifndef BACKEND_COMPILER
#define BACKEND_COMPILER __VERSION__
#endif
#ifndef BACKEND_CREATE
#define BACKEND_CREATE createNullBackend
#endif

extern "C" const BackendLibrary weft_rt_backend;
const BackendLibrary weft_rt_backend = {BACKEND_VERSION,
                                        WEFT_RT_ABI_VERSION,
                                        BACKEND_COMPILER,
                                        {BACKEND_NAME, BACKEND_CREATE}};
