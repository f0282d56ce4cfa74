// SPDX-License-Identifier: Apache-2.0

// Scalars as text, with enough digits to read back the same value.

#ifndef WEFT_RT_TOOL_SCALAR_H
#define WEFT_RT_TOOL_SCALAR_H

#include "weft-rt/abi.h"

#include <string>

namespace weft::rt {

/// Says whether scalarText knows the type: all but the 4- and 8-bit floats.
bool canPrint(weft_rt_type type);

/// The value at `data` as text.
std::string scalarText(weft_rt_type type, const void *data);

} // namespace weft::rt

#endif // WEFT_RT_TOOL_SCALAR_H
