// SPDX-License-Identifier: Apache-2.0

// The checksum of a program's table, as abi.h defines it. It finds damage, and
// is no protection from somebody who means to deceive.

#ifndef WEFT_RT_CORE_CHECKSUM_H
#define WEFT_RT_CORE_CHECKSUM_H

#include "core/status.h"
#include "weft-rt/abi.h"

namespace weft::rt {

/// The checksum of the table as 64 hexadecimal digits. What the table points to
/// must be readable.
std::string checksumOf(const weft_rt_program &program);

/// Fails if the table has a checksum that is not its own.
Status checkChecksum(const weft_rt_program &program);

} // namespace weft::rt

#endif // WEFT_RT_CORE_CHECKSUM_H
