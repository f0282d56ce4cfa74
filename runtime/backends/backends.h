// SPDX-License-Identifier: Apache-2.0

// The backends of this build. A new one gets a folder beside this file, and a
// line in backends.cpp.

#ifndef WEFT_RT_BACKENDS_BACKENDS_H
#define WEFT_RT_BACKENDS_BACKENDS_H

namespace weft::rt {

/// Makes them known to sessions; does nothing the second time.
void registerBackendsOfThisBuild();

} // namespace weft::rt

#endif // WEFT_RT_BACKENDS_BACKENDS_H
