// SPDX-License-Identifier: Apache-2.0

// The memory that is in use along a line of events.

#ifndef WEFT_LIB_SCHEDULE_LIVEBYTES_H
#define WEFT_LIB_SCHEDULE_LIVEBYTES_H

#include "weft/Schedule/Problem.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mlir::weft {

/// Which bytes are alive along a line of events.
class LiveBytes {
public:
  explicit LiveBytes(const ScheduleProblem &problem)
      : problem(problem), bytes(problem.fixedBytes),
        unread(problem.getBuffers().size()), isAlive(unread.size(), false) {
    for (size_t i = 0; i < unread.size(); ++i)
      unread[i] = problem.getBuffers()[i].readers.size();
  }

  /// The bytes that are alive while `task` runs, if it is next.
  int64_t getBytesWith(int task) const {
    int64_t sum = bytes;
    for (int buffer : problem.outputs(task)) {
      const ScheduleBuffer &made = problem.getBuffers()[buffer];
      sum += made.bytes;
      int old = made.inPlaceOf;
      if (old >= 0 && unread[old] == 1 && isAlive[old])
        sum -= problem.getBuffers()[old].bytes;
    }
    return sum;
  }

  /// Gives memory to what a task makes. Returns the bytes that are then alive.
  int64_t allocate(int task) {
    int64_t sum = getBytesWith(task);
    for (int buffer : problem.outputs(task)) {
      isAlive[buffer] = true;
      bytes += problem.getBuffers()[buffer].bytes;
    }
    return sum;
  }

  /// Takes back what a task was the last to use.
  void release(int task) {
    for (int buffer : problem.inputs(task))
      if (--unread[buffer] == 0)
        free(buffer);
    for (int buffer : problem.outputs(task))
      if (unread[buffer] == 0)
        free(buffer);
  }

  const std::vector<bool> &getAlive() const { return isAlive; }

private:
  void free(int buffer) {
    isAlive[buffer] = false;
    bytes -= problem.getBuffers()[buffer].bytes;
  }

  const ScheduleProblem &problem;
  int64_t bytes;
  std::vector<int> unread;
  std::vector<bool> isAlive;
};

} // namespace mlir::weft

#endif // WEFT_LIB_SCHEDULE_LIVEBYTES_H
