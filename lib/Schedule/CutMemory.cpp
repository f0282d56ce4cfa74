// SPDX-License-Identifier: Apache-2.0

// Let c be a computation beside which M bytes must be alive, and j a task that
// neither depends on c nor the other way round.
//
// - If j has begun before c, what it makes is alive beside c where something
//   that depends on c reads it. That is none of the M, which is made by what c
//   depends on.
// - If j is not done by c, what it reads is alive beside c. Of that, what c
//   depends on makes and nothing that depends on c reads is none of the M.
//
// Each task holds the one or the other: the lesser of both at least, and what
// it holds more on one side only if it is there. So what all of those on one
// side hold more is at most limit - M less the sum of the lesser. They take no
// longer than those that take most time for their bytes, the last of them in
// parts. What several tasks read is counted at one of them.
//
// Let k read what j makes, both beside c. If j has begun before c and k has
// not, then what j makes is alive beside c; if both have, then what k makes. So
// of what k holds more ahead, j holds as much as it makes, for one j, where k
// is on another resource and not counted itself. The same holds for k after
// c, with what j holds more there.

#include "CutMemory.h"

using namespace mlir::weft;

/// Counts what is held beside a cut.
class CutMemory::Counting {
public:
  Counting(const ScheduleProblem &problem, const std::vector<CutSide> &sides);

  int64_t getLesser() const { return lesserOfAll; }
  /// Per task, what it holds more ahead of the cut, or after it, if only the
  /// tasks of its resource count.
  std::vector<int64_t> getMore(bool isAhead) const;

private:
  /// What one task beside the cut makes and others beside it read.
  struct Between {
    int from, to;
    int64_t bytes;
  };

  void count(const ScheduleBuffer &buffer);

  const ScheduleProblem &problem;
  const std::vector<CutSide> &sides;
  std::vector<int64_t> ahead, behind;
  std::vector<Between> between;
  int64_t lesserOfAll = 0;
};

CutMemory::Counting::Counting(const ScheduleProblem &problem,
                              const std::vector<CutSide> &sides)
    : problem(problem), sides(sides), ahead(problem.size(), 0),
      behind(problem.size(), 0) {
  for (const ScheduleBuffer &buffer : problem.getBuffers())
    count(buffer);
  for (int i = 0; i < problem.size(); ++i) {
    int64_t lesser = std::min(ahead[i], behind[i]);
    lesserOfAll += lesser;
    ahead[i] -= lesser;
    behind[i] -= lesser;
  }
}

void CutMemory::Counting::count(const ScheduleBuffer &buffer) {
  int beside = -1;
  for (int reader : buffer.readers)
    if (sides[reader] == CutSide::Beside && beside < 0)
      beside = reader;
  bool isReadOn = std::any_of(
      buffer.readers.begin(), buffer.readers.end(), [&](int reader) {
        return sides[reader] == CutSide::At || sides[reader] == CutSide::After;
      });
  CutSide made = sides[buffer.producer];
  if (made == CutSide::Beside && isReadOn)
    ahead[buffer.producer] += buffer.bytes;
  else if (made == CutSide::Beside && beside >= 0)
    between.push_back({buffer.producer, beside, buffer.bytes});
  else if (made == CutSide::Before && !isReadOn && beside >= 0)
    behind[beside] += buffer.bytes;
}

std::vector<int64_t> CutMemory::Counting::getMore(bool isAhead) const {
  const std::vector<int64_t> &own = isAhead ? ahead : behind;
  std::vector<int64_t> more = own;
  std::vector<bool> isCounted(problem.size(), false);
  for (const Between &each : between) {
    int task = isAhead ? each.from : each.to;
    int other = isAhead ? each.to : each.from;
    if (problem.resource(task) == problem.resource(other) || isCounted[other])
      continue;
    isCounted[other] = true;
    more[task] += std::min(each.bytes, own[other]);
  }
  return more;
}

CutMemory::CutMemory(const ScheduleProblem &problem,
                     const std::vector<CutSide> &sides, int64_t alive,
                     int64_t limit)
    : ahead(problem.getNumResources()), behind(problem.getNumResources()) {
  Counting counting(problem, sides);
  capacity = std::max<int64_t>(0, limit - alive - counting.getLesser());
  for (bool isAhead : {true, false}) {
    std::vector<int64_t> more = counting.getMore(isAhead);
    auto &items = isAhead ? ahead : behind;
    for (int i = 0; i < problem.size(); ++i)
      if (sides[i] == CutSide::Beside && more[i] > 0 &&
          problem.task(i).duration > 0)
        items[problem.resource(i)].push_back(
            {i, problem.task(i).duration, more[i]});
    auto takesLonger = [](const Item &a, const Item &b) {
      return static_cast<double>(a.duration) / static_cast<double>(a.bytes) >
             static_cast<double>(b.duration) / static_cast<double>(b.bytes);
    };
    for (std::vector<Item> &ofResource : items)
      std::stable_sort(ofResource.begin(), ofResource.end(), takesLonger);
  }
}

void CutMemory::addForced(int cut,
                          std::vector<std::pair<int, int>> &precedences) const {
  for (const std::vector<Item> &items : ahead)
    for (const Item &item : items)
      if (item.bytes > capacity)
        precedences.emplace_back(cut, item.task);
  for (const std::vector<Item> &items : behind)
    for (const Item &item : items)
      if (item.bytes > capacity)
        precedences.emplace_back(item.task, cut);
}
