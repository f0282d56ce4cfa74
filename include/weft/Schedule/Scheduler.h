// SPDX-License-Identifier: Apache-2.0

// From a problem to a schedule. docs/schedule.md describes the policies.

#ifndef WEFT_SCHEDULE_SCHEDULER_H
#define WEFT_SCHEDULE_SCHEDULER_H

#include "weft/Schedule/Bound.h"
#include "weft/Schedule/Problem.h"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mlir::weft {

enum class SchedulePolicy {
  /// Each collective is waited for where it stands.
  Sync,
  /// Program order; while a layer computes, the weights of the next one are
  /// gathered, and gradients are waited for a layer later.
  NextLayer,
  /// Program order of what can be computed; collectives as early as they can.
  Greedy,
  /// The best of several list schedules and their improvements.
  Best
};

/// Returns "sync", "next-layer", "greedy" or "best".
const char *stringifySchedulePolicy(SchedulePolicy policy);

/// The policy of that name, or nullopt.
std::optional<SchedulePolicy> symbolizeSchedulePolicy(const std::string &name);

class KnownSchedules;

struct ScheduleOptions {
  SchedulePolicy policy = SchedulePolicy::Best;
  /// Bytes that a rank may use, those of arguments and results included; 0: no
  /// limit is known.
  int64_t memoryLimit = 0;
  /// Takes the order that needs least memory as program order, even if the
  /// problem's own is within the limit.
  bool isLean = false;
  /// Searches longer where the schedule is not near its bound.
  bool isThorough = true;
  /// Takes the best of a few orders: it matters whether there is one within the
  /// limit.
  bool isQuick = false;
  /// Where what takes long to find is remembered; null: nowhere.
  KnownSchedules *known = nullptr;
  /// Of program order, or a quick search, it need not be known how much faster
  /// another order could be at most: of its bounds only that of compute is
  /// made.
  bool isBrief = false;
};

/// A schedule and what there is to say about it.
struct Schedule {
  ScheduleResult result;
  /// Gathers that are not done again: their data is kept since the forward
  /// pass.
  std::vector<bool> kept;
  /// The bound of the problem without the kept gathers.
  ScheduleBound bound;
  /// Whether the limit is kept. If not, this is the schedule that needs least.
  bool fits = true;

  /// The compute stream's idle time beyond what every schedule has, and the
  /// communication that could be hidden, both in nanoseconds.
  int64_t getAvoidableTime() const;
  int64_t getHideableTime(const ScheduleProblem &problem) const;
};

/// Remembers what takes long to find. Orders that need little memory depend on
/// no limit, and a problem is scheduled under many; of many programs that are
/// tried some are the same. For one thread at a time.
class KnownSchedules {
public:
  /// An order of the tasks, each collective waited for where it stands, that
  /// needs as little memory as was found.
  const std::vector<int> &getLeanOrder(const ScheduleProblem &problem);

  /// What makeSchedule finds, and whether nobody has looked for it yet.
  std::pair<Schedule &, bool> addSchedule(const ScheduleProblem &problem,
                                          const ScheduleOptions &options);

  /// Of how many problems there are orders, and how many schedules there are.
  size_t getNumLeanOrders() const { return leanOrders.size(); }
  size_t getNumSchedules() const { return schedules.size(); }

private:
  /// By all that they depend on.
  std::map<std::vector<int64_t>, std::vector<int>> leanOrders;
  std::map<std::vector<int64_t>, Schedule> schedules;
};

/// Why the compute stream has to wait for a collective.
enum class ExposureCause {
  /// With more memory it would start earlier.
  Memory,
  /// Its link is busy with others until it begins.
  Bandwidth,
  /// It begins as soon as its operands are there, and what follows needs it.
  Dependence,
  /// The order that was chosen makes it begin late.
  Order
};

/// Returns "memory", "bandwidth", "dependence" or "order".
const char *stringifyExposureCause(ExposureCause cause);

/// A collective that the compute stream waits for.
struct Exposure {
  int task;
  int64_t nanoseconds;
  ExposureCause cause;
};

/// Explains the waits of `schedule`, longest first. `unlimited` is a schedule
/// of the same problem without a memory limit, or null if there was no limit.
std::vector<Exposure> explainExposures(const ScheduleProblem &problem,
                                       const Schedule &schedule,
                                       const Schedule *unlimited);

/// The problem that `schedule` is a schedule of.
inline ScheduleProblem getScheduledProblem(const ScheduleProblem &problem,
                                           const Schedule &schedule) {
  return problem.keepGathers(schedule.kept);
}

Schedule makeSchedule(const ScheduleProblem &problem,
                      const ScheduleOptions &options);

/// The bound on the time of orders that need no more than `limit` bytes, as the
/// problem counts them, or no more than `schedule` if that needs more. No plan
/// is held to it, since plans share more memory.
int64_t getBoundWithin(const ScheduleProblem &problem, const Schedule &schedule,
                       int64_t limit);

/// Bytes that every order needs: the most that must be alive beside one task,
/// since what it depends on made it and what depends on it reads it.
int64_t computeLeastBytes(const ScheduleProblem &problem);

} // namespace mlir::weft

#endif // WEFT_SCHEDULE_SCHEDULER_H
