// SPDX-License-Identifier: Apache-2.0

// Bounds on schedules that keep to a limit of memory, against the fastest of
// all lines of events.

#ifndef WEFT_TEST_UNIT_LIMITEDBOUND_H
#define WEFT_TEST_UNIT_LIMITEDBOUND_H

#include "FastestOrder.h"

#include "weft/Schedule/Scheduler.h"

#include "gtest/gtest.h"

namespace mlir::weft::test {

/// The bytes of the order that needs least, of those that the scheduler finds.
inline int64_t getLeanBytes(const ScheduleProblem &problem) {
  ScheduleOptions options;
  options.policy = SchedulePolicy::Sync;
  options.isLean = true;
  return makeSchedule(problem, options).result.peakBytes;
}

/// Counts what bounds within limits say more than those without.
struct LimitedBoundCount {
  int numAbove = 0, numReached = 0;

  /// Fails where the bound is above the fastest line.
  void add(const ScheduleProblem &problem, int64_t limit, int64_t bound) {
    int64_t fastest = FastestLine(problem, limit).get();
    EXPECT_LE(bound, fastest);
    bool isAbove = bound > computeLowerBound(problem).get();
    numAbove += isAbove;
    numReached += isAbove && bound == fastest;
  }
};

} // namespace mlir::weft::test

#endif // WEFT_TEST_UNIT_LIMITEDBOUND_H
