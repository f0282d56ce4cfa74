// SPDX-License-Identifier: Apache-2.0

// How many threads can run at once.

#ifndef WEFT_RT_HOST_CORES_H
#define WEFT_RT_HOST_CORES_H

#include <string>

namespace weft::rt {

/// Cores that this process may use: by its affinity, and by the share of time
/// that its control group grants (a container with 2 of 64 cores sees all 64).
/// At least 1; found once.
int coreCount();

/// The cores that a control group's quota is worth, rounded up; 0: no limit.
/// `text` is "QUOTA PERIOD" in microseconds, "max" for no limit.
int coresOfQuota(const std::string &text);

} // namespace weft::rt

#endif // WEFT_RT_HOST_CORES_H
