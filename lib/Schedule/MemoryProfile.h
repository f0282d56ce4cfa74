// SPDX-License-Identifier: Apache-2.0

// How many bytes are needed at most if the tasks that are left are executed in
// program order, each collective waited for at once. A list scheduler that
// keeps this below the limit can always go on: it never runs into a dead end.

#ifndef WEFT_LIB_SCHEDULE_MEMORYPROFILE_H
#define WEFT_LIB_SCHEDULE_MEMORYPROFILE_H

#include "weft/Schedule/Problem.h"

namespace mlir::weft {

class MemoryProfile {
public:
  explicit MemoryProfile(const ScheduleProblem &problem);

  /// The largest sum of live bytes from now on.
  int64_t getPeak() const { return tree[1].max; }

  /// Says whether the peak from now on were within `limit` if `task` were
  /// executed next.
  bool staysWithin(int64_t limit, int task);

  /// Executes `task`.
  void execute(int task);

  /// Keeps what `first` brings for the readers of `second`, which is no longer
  /// needed, if the peak stays within `limit`. Says whether it did.
  bool keep(int first, int second, int64_t limit);

private:
  /// `max` is the largest sum below the node without what its ancestors add.
  struct Node {
    int64_t max = 0, add = 0;
  };

  /// Adds `bytes` to the positions in [first, last].
  void add(int first, int last, int64_t bytes);
  void addToNode(int node, int64_t bytes);
  void update(int node);
  /// The last position at which a buffer is alive if `reader` is the last task
  /// that reads it.
  int getEnd(int buffer, int reader) const;
  /// The last reader before position `i` of the list that was not executed yet
  /// and is not `task`; -1: none. Moves `i` to it.
  int findReader(const std::vector<int> &readers, int &i, int task) const;
  /// Applies the effect of `task`, or (sign -1) takes it back.
  void apply(int task, int sign);

  const ScheduleProblem &problem;
  /// The node of the first leaf, and half as many as there are nodes. That leaf
  /// is no position, nor is the last: position i has node firstLeaf + 1 + i.
  int firstLeaf;
  /// The root is node 1, the children of node i are 2 i and 2 i + 1.
  std::vector<Node> tree;
  std::vector<bool> isDone;
  /// Per buffer: the position in its readers of the last that is left.
  std::vector<int> lastReader;
  /// Per buffer: the buffer that takes it over; -1: none.
  std::vector<int> takenBy;
};

} // namespace mlir::weft

#endif // WEFT_LIB_SCHEDULE_MEMORYPROFILE_H
