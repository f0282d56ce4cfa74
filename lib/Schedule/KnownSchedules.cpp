// SPDX-License-Identifier: Apache-2.0

// A program is planned under many limits, and of many programs that are tried
// some are the same: what takes long to find is looked for once.

#include "LeanOrder.h"

#include "weft/Schedule/Scheduler.h"

using namespace mlir::weft;

/// All of `problem` that an order depends on which needs little memory.
static std::vector<int64_t> listMemory(const ScheduleProblem &problem) {
  std::vector<int64_t> all{problem.size(), problem.fixedBytes};
  for (int i = 0; i < problem.size(); ++i) {
    Adjacency::Range next = problem.successors(i);
    all.push_back(next.size());
    all.insert(all.end(), next.begin(), next.end());
  }
  for (const ScheduleBuffer &buffer : problem.getBuffers()) {
    all.insert(all.end(), {buffer.bytes, buffer.producer, buffer.inPlaceOf,
                           static_cast<int64_t>(buffer.readers.size())});
    all.insert(all.end(), buffer.readers.begin(), buffer.readers.end());
  }
  return all;
}

/// All that a schedule depends on.
static std::vector<int64_t> listAll(const ScheduleProblem &problem,
                                    const ScheduleOptions &options) {
  std::vector<int64_t> all = listMemory(problem);
  for (const ScheduleTask &task : problem.getTasks())
    all.insert(all.end(), {task.duration, task.channel, task.link,
                           static_cast<int64_t>(task.role), task.layer,
                           task.sameAs, task.mayOverwrite, task.isFetch});
  all.insert(all.end(),
             {static_cast<int64_t>(options.policy), options.memoryLimit,
              options.isLean, options.isThorough, options.isQuick});
  return all;
}

const std::vector<int> &
KnownSchedules::getLeanOrder(const ScheduleProblem &problem) {
  auto [it, isNew] = leanOrders.try_emplace(listMemory(problem));
  if (isNew)
    it->second = findLeanOrder(problem);
  return it->second;
}

std::pair<Schedule &, bool>
KnownSchedules::addSchedule(const ScheduleProblem &problem,
                            const ScheduleOptions &options) {
  auto [it, isNew] = schedules.try_emplace(listAll(problem, options));
  return {it->second, isNew};
}
