// SPDX-License-Identifier: Apache-2.0

// What every backend must know of a collective: whether its descriptor makes
// sense, whether two ranks mean the same one, how large its buffers are, and
// how many bytes it brings. weft_rt_operand in abi.h defines the layouts.

#ifndef WEFT_RT_CORE_COLLECTIVE_H
#define WEFT_RT_CORE_COLLECTIVE_H

#include "core/status.h"
#include "weft-rt/abi.h"

namespace weft::rt {

/// Bytes of one member's input and output for an operand, in a group of `size`.
int64_t inputBytes(weft_rt_collective_kind kind, const weft_rt_operand &operand,
                   int64_t size);
int64_t outputBytes(weft_rt_collective_kind kind,
                    const weft_rt_operand &operand, int64_t size);

/// Bytes that member `index` receives from others, as weft_rt_traffic counts.
int64_t receivedBytes(const weft_rt_collective &collective, int64_t size,
                      int64_t index);

/// Says whether the kind combines values.
bool isReduction(weft_rt_collective_kind kind);

/// Says whether members' parts join in a tree, and not one after the other.
bool isTree(const weft_rt_collective &collective);

/// "all_gather 'wq'", for messages; "'all_gather wq'" if the name has the kind.
/// A tree is told: "all_reduce 'loss' (tree)".
std::string collectiveName(const weft_rt_collective &collective);

/// Fails unless the descriptor is complete, its sizes are sound and start on
/// whole bytes, and the buffers do not overlap in a way that abi.h forbids.
/// Which types can be reduced is the backend's to say.
Status checkCollective(const weft_rt_collective &collective, int64_t size,
                       const void *const *in, void *const *out);

/// Says how the descriptors differ, or returns "" when they are equal. Names
/// may differ.
std::string differenceOf(const weft_rt_collective &a,
                         const weft_rt_collective &b, int64_t size);

} // namespace weft::rt

#endif // WEFT_RT_CORE_COLLECTIVE_H
