// SPDX-License-Identifier: Apache-2.0

// A rank's threads: every iteration runs once, whatever the grain. And how
// many threads there should be.

#include "backends/host/cores.h"
#include "backends/host/team.h"

#include <gtest/gtest.h>

#include <vector>

using namespace weft::rt;

namespace {

/// buffers: counts, then the smallest chunk seen. scalars: how much to count.
void count(void *const *buffers, const int64_t *scalars, int64_t begin,
           int64_t end) {
  auto *counts = static_cast<int *>(buffers[0]);
  for (int64_t i = begin; i < end; ++i)
    counts[i] += int(scalars[0]);
  auto *least = static_cast<std::atomic<int64_t> *>(buffers[1]);
  int64_t seen = least->load();
  while (end - begin < seen && !least->compare_exchange_weak(seen, end - begin))
    ;
}

void checkLaunch(Team &team, int64_t extent, int64_t grain) {
  std::vector<int> counts(extent + 1, 0);
  std::atomic<int64_t> least{INT64_MAX};
  void *buffers[] = {counts.data(), &least};
  int64_t scalars[] = {3};
  team.launch(count, buffers, scalars, extent, grain);
  for (int64_t i = 0; i < extent; ++i)
    EXPECT_EQ(counts[i], 3) << i;
  EXPECT_EQ(counts[extent], 0);
  if (extent > grain) {
    EXPECT_GE(least.load(), grain);
  }
}

TEST(Team, RunsEachIterationOnce) {
  for (int helpers : {0, 1, 3}) {
    for (int spins : {0, 100}) {
      Team team;
      ASSERT_TRUE(team.start(helpers, spins, nullptr, nullptr).ok());
      EXPECT_EQ(team.size(), helpers + 1);
      for (int64_t extent : {0, 1, 2, 7, 100, 1000})
        for (int64_t grain : {0, 1, 3, 64, 5000})
          checkLaunch(team, extent, grain);
    }
  }
}

TEST(Cores, QuotaRoundsUp) {
  EXPECT_EQ(coresOfQuota("max 100000\n"), 0);
  EXPECT_EQ(coresOfQuota("200000 100000\n"), 2);
  EXPECT_EQ(coresOfQuota("150000 100000"), 2);
  EXPECT_EQ(coresOfQuota("1000 100000"), 1);
  EXPECT_EQ(coresOfQuota("-1 100000"), 0);
  EXPECT_EQ(coresOfQuota(" "), 0);
  EXPECT_GE(coreCount(), 1);
}

TEST(Team, ManyJobsInARow) {
  Team team;
  ASSERT_TRUE(team.start(2, 0, nullptr, nullptr).ok());
  std::atomic<int64_t> sum{0};
  for (int i = 0; i < 300; ++i)
    team.run(
        5,
        [](void *context, int64_t piece) {
          *static_cast<std::atomic<int64_t> *>(context) += piece;
        },
        &sum);
  EXPECT_EQ(sum.load(), 3000);
}

} // namespace
