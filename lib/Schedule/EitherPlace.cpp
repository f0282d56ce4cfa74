// SPDX-License-Identifier: Apache-2.0

// One long computation, say the gradient of the output table, could hide any
// of several collectives, but it is in one place only, and what comes of it is
// sent and used after that. Bounds see what there is beside each collective,
// and not that the same place is good for the one and bad for the other.
//
// Let v(1) -> v(2) -> ... be the collectives of the longest path, and j a
// computation that neither depends on v(a), ..., v(b) nor the other way round.
// In the line of events v(i) is waited for before v(i + 1) is started. So j
//
// - is in front of the start of v(a), and done before it begins; or
// - is between the start of v(i) and its wait: then what v(i) depends on is
//   done before j begins, and j before what depends on v(i) begins; or
// - is between the wait for v(i) and the start of v(i + 1): then it begins
//   after the one, and is done before the other; or
// - is behind the wait for v(b).
//
// Every schedule is one of these, so that the least of their bounds is a bound.

#include "EitherPlace.h"
#include "weft/Schedule/Bound.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>

using namespace mlir::weft;

namespace {

/// The collectives of the longest path, and which of them each task neither
/// depends on nor the other way round: those from `first` to before `last`.
class BesidePath {
public:
  explicit BesidePath(const ScheduleProblem &problem);

  /// The computation that could hide most of one of them, of such the longest;
  /// -1: none.
  int findComputation() const;

  std::vector<Precedences> listPlaces(int computation) const;

private:
  const ScheduleProblem &problem;
  std::vector<int> collectives;
  std::vector<int> first, last;
};

BesidePath::BesidePath(const ScheduleProblem &problem)
    : problem(problem), first(problem.size(), 0) {
  std::vector<int> path = findLongestPath(TaskGraph(problem));
  for (int task : path)
    if (problem.task(task).isCollective() && problem.task(task).duration > 0)
      collectives.push_back(task);
  last.assign(problem.size(), static_cast<int>(collectives.size()));
  for (size_t i = 0; i < collectives.size(); ++i) {
    first[collectives[i]] = static_cast<int>(i) + 1;
    last[collectives[i]] = static_cast<int>(i);
  }
  for (int i = 0; i < problem.size(); ++i)
    for (int before : problem.predecessors(i))
      first[i] = std::max(first[i], first[before]);
  for (int i = problem.size(); i-- > 0;)
    for (int after : problem.successors(i))
      last[i] = std::min(last[i], last[after]);
}

int BesidePath::findComputation() const {
  int found = -1;
  std::pair<int64_t, int64_t> most{0, 0};
  for (int i = 0; i < problem.size(); ++i) {
    if (problem.task(i).isCollective())
      continue;
    int64_t longest = 0, duration = problem.task(i).duration;
    for (int k = first[i]; k < last[i]; ++k)
      longest = std::max(longest, problem.task(collectives[k]).duration);
    std::pair<int64_t, int64_t> hidden{std::min(duration, longest), duration};
    if (hidden > most) {
      most = hidden;
      found = i;
    }
  }
  return found;
}

std::vector<Precedences> BesidePath::listPlaces(int computation) const {
  std::vector<Precedences> places;
  int from = first[computation], to = last[computation];
  for (int i = from; i <= to; ++i) {
    Precedences between, beside;
    if (i > from)
      between.emplace_back(collectives[i - 1], computation);
    if (i < to)
      between.emplace_back(computation, collectives[i]);
    places.push_back(between);
    if (i == to)
      break;
    for (int before : problem.predecessors(collectives[i]))
      beside.emplace_back(before, computation);
    for (int after : problem.successors(collectives[i]))
      beside.emplace_back(computation, after);
    places.push_back(beside);
  }
  return places;
}

} // namespace

std::vector<Precedences>
mlir::weft::listPlaces(const ScheduleProblem &problem) {
  BesidePath path(problem);
  int computation = path.findComputation();
  return computation < 0 ? std::vector<Precedences>()
                         : path.listPlaces(computation);
}

std::vector<int> mlir::weft::orderTasks(const ScheduleProblem &problem,
                                        const Precedences &precedences) {
  std::vector<std::vector<int>> more(problem.size());
  std::vector<int> numBefore(problem.size());
  for (int i = 0; i < problem.size(); ++i)
    numBefore[i] = problem.predecessors(i).size();
  for (auto [from, to] : precedences) {
    more[from].push_back(to);
    ++numBefore[to];
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < problem.size(); ++i)
    if (numBefore[i] == 0)
      ready.push(i);
  std::vector<int> order;
  auto finish = [&](int task) {
    if (--numBefore[task] == 0)
      ready.push(task);
  };
  while (!ready.empty()) {
    int task = ready.top();
    ready.pop();
    order.push_back(task);
    for (int next : problem.successors(task))
      finish(next);
    for (int next : more[task])
      finish(next);
  }
  return order;
}

/// A bound on the time of the schedules that keep to `precedences`.
static int64_t computeBoundWith(const ScheduleProblem &problem,
                                const Precedences &precedences) {
  return computeLowerBound(
             problem.reordered(orderTasks(problem, precedences), precedences))
      .get();
}

std::vector<Place> mlir::weft::boundPlaces(const ScheduleProblem &problem,
                                           int64_t bound) {
  std::vector<Place> places;
  for (Precedences &precedences : listPlaces(problem)) {
    int64_t own = computeBoundWith(problem, precedences);
    places.push_back({std::move(precedences), std::max(bound, own)});
  }
  std::stable_sort(
      places.begin(), places.end(),
      [](const Place &a, const Place &b) { return a.bound < b.bound; });
  return places;
}

int64_t mlir::weft::computeBoundOfPlaces(const ScheduleProblem &problem,
                                         int64_t bound) {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const Precedences &precedences : listPlaces(problem)) {
    least = std::min(least, computeBoundWith(problem, precedences));
    if (least <= bound)
      return bound;
  }
  return least < std::numeric_limits<int64_t>::max() ? least : bound;
}
