// SPDX-License-Identifier: Apache-2.0

// Checks of a program's table before anything in it is used: a table written
// by hand, by another compiler, or for another mesh ends in a message and not
// in a wild pointer or a wrong result.

#ifndef WEFT_RT_CORE_MANIFEST_H
#define WEFT_RT_CORE_MANIFEST_H

#include "core/status.h"
#include "weft-rt/abi.h"

namespace weft::rt {

/// Fails unless the table has the fields of this runtime's ABI.
Status checkVersion(const weft_rt_program &program);

/// Fails unless the table is of this runtime's ABI and is consistent: mesh,
/// tensors, shardings, local shapes, aliases, channels, certificate.
Status checkProgram(const weft_rt_program &program);

/// Fails unless the launch is of a kernel of the program, and has `numConfig`
/// numbers, where that is not -1.
Status checkLaunch(const weft_rt_program &program, const weft_rt_launch &launch,
                   int32_t numConfig = -1);

/// What ranks must agree on so that they can share arguments, results and
/// channels.
std::string describeInterface(const weft_rt_program &program);

/// Fails unless the ranks' programs were planned together: equal plan hashes,
/// certificates, meshes, arguments, results and channels.
Status checkSamePlan(const weft_rt_program *const *programs, int64_t count);

/// Prints the manifest for a person: mesh, arguments, results, channels,
/// traffic, memory.
std::string describeProgram(const weft_rt_program &program);

/// Prints a tensor's sharding as "[{"fsdp"}, {}]".
std::string shardingName(const weft_rt_program &program,
                         const weft_rt_tensor &tensor);

} // namespace weft::rt

#endif // WEFT_RT_CORE_MANIFEST_H
