// SPDX-License-Identifier: Apache-2.0

// Shared libraries of backends that have only some of a job's ranks, for
// weft-run.

#include "programs/some_ranks.h"

using namespace weft::rt;

extern "C" const BackendLibrary weft_rt_backend;
const BackendLibrary weft_rt_backend = {
    backendVersion,
    WEFT_RT_ABI_VERSION,
    __VERSION__,
    {BACKEND_NAME, createSomeRanks<BACKEND_RANKS>}};
