// SPDX-License-Identifier: Apache-2.0

// How long a collective takes on the links of a machine, in each of the ways
// that NCCL knows. The fastest counts, as its tuner would choose. Knows no IR.
//
// With g ranks in a group, S bytes in the whole buffer of a rank, and for each
// level the steps that cross it:
//
//   ring      g - 1 steps, all_reduce twice that. What a rank receives passes
//             at the rate of the slowest level; a level with rails has as many
//             links as the group has members in a block of the level inside it.
//   tree      all_reduce only: up and down a chain within a block, and a binary
//             tree over blocks; bytes and rates are those of a ring
//   switches  S * (1 + 1/g) bytes for all_reduce, S for all_gather and
//             reduce_scatter, and no steps: switches copy and add up
//   exchange  all_to_all and permute: each rank sends to each other (permute:
//             one) over its own link of the level between them, whatever other
//             links the block has; levels work side by side
//
// Worked example. 16 ranks on 2 nodes of 8, 370 GB/s within a node, 47 GB/s for
// each of 8 network cards. A ring crosses the network twice and moves 15/16 S
// at min(370, 8 * 47) = 370 GB/s. In all_to_all a rank sends 8/16 S to the
// other node, at 47 GB/s.

#ifndef WEFT_COST_COLLECTIVETIME_H
#define WEFT_COST_COLLECTIVETIME_H

#include "weft/Analysis/Traffic.h"
#include "weft/Cost/Machine.h"

namespace mlir::weft {

/// How the members of a group lie in the blocks of a level.
struct GroupLevel {
  /// Blocks that a group's members lie in: the most of all groups.
  int64_t blocks = 1;
  /// Members in one block: the fewest of all groups and blocks.
  int64_t members = 1;
};

/// The groups of a collective on a machine: the levels from the innermost to
/// the first whose blocks hold whole groups, which has one block.
struct GroupShape {
  int64_t ranks = 1;
  std::vector<GroupLevel> levels;
};

struct CollectiveTime {
  double nanoseconds = 0;
  /// The part of it that does not depend on the bytes.
  double latency = 0;
};

/// `bufferBytes` is S: what all_gather makes, what the others take.
CollectiveTime getCollectiveTime(const Machine &machine,
                                 const GroupShape &group, CollectiveKind kind,
                                 double bufferBytes);

/// The same on one link that the groups have for themselves, as machines say it
/// for an axis.
CollectiveTime getLinkTime(const LinkRate &link, int64_t ranks,
                           CollectiveKind kind, double bufferBytes);

} // namespace mlir::weft

#endif // WEFT_COST_COLLECTIVETIME_H
