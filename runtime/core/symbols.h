// SPDX-License-Identifier: Apache-2.0

// Names of functions of a compiled step. They are hidden, so that the dynamic
// linker does not know them; but the file that holds them lists them.

#ifndef WEFT_RT_CORE_SYMBOLS_H
#define WEFT_RT_CORE_SYMBOLS_H

#include <string>

namespace weft::rt {

/// The name of the function at this address, or "function at OFFSET" where the
/// file that holds it was stripped of names.
std::string functionName(const void *address);

} // namespace weft::rt

#endif // WEFT_RT_CORE_SYMBOLS_H
