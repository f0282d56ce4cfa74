// SPDX-License-Identifier: Apache-2.0

// Where ranks stand in the mesh. Rank ids are row-major over the axes; a
// (sub-)axis reference picks a digit of one coordinate; a list of references
// makes a mixed-radix number, first reference major.
//
// Example: on the mesh dp=2, tp=4, rank 6 has coordinates (1, 2). The list
// {"tp":(1)2} gives 2 / 2 = 1, "tp":(2)2 gives 2 % 2 = 0, and {"tp", "dp"}
// gives 2 * 2 + 1 = 5. The channel {"tp"} puts rank 6 in the group 4, 5, 6, 7
// as member 2.

#ifndef WEFT_RT_CORE_TOPOLOGY_H
#define WEFT_RT_CORE_TOPOLOGY_H

#include "core/status.h"
#include "weft-rt/abi.h"

#include <vector>

namespace weft::rt {

/// Product of the axis sizes: the number of ranks of the mesh.
int64_t meshSize(const weft_rt_program &program);

/// Product of the references' sizes.
int64_t shardCount(const weft_rt_axis_ref *refs, int32_t count);

/// The mixed-radix number that `rank` has along the references.
int64_t indexAlong(const weft_rt_program &program, int64_t rank,
                   const weft_rt_axis_ref *refs, int32_t count);

/// The rank that has digit 0 along the references and is like `rank` elsewhere.
int64_t rankAtOrigin(const weft_rt_program &program, int64_t rank,
                     const weft_rt_axis_ref *refs, int32_t count);

/// A rank's place in a channel.
struct Membership {
  int64_t group; // dense number of the group within the channel
  int64_t index; // position in the group
};

/// The groups of one channel: members of each in order, and each rank's place.
struct ChannelGroups {
  std::vector<std::vector<int64_t>> groups;
  std::vector<Membership> ofRank;
};

/// Splits the ranks into the channel's groups, ordered by their lowest rank.
ChannelGroups groupsOf(const weft_rt_program &program,
                       const weft_rt_channel &channel);

/// Fails unless every reference names an axis of the program, divides it, and
/// no digit of an axis is named twice. `what` begins the message.
Status checkAxisRefs(const weft_rt_program &program,
                     const std::vector<weft_rt_axis_ref> &refs,
                     const std::string &what);

} // namespace weft::rt

#endif // WEFT_RT_CORE_TOPOLOGY_H
