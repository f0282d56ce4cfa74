// SPDX-License-Identifier: Apache-2.0

// One long computation, say the gradient of the output table, could hide any
// of several collectives, but it is in one place only, and what comes of it is
// sent and used after that. Bounds see what there is beside each collective,
// and not that the same place is good for the one and bad for the other. So it
// is with a long gather: where it is put, it delays what its link does next.
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
// - is after the wait for v(b).
//
// If j is a collective, and v(i) are those of its link, it is done before v(i)
// begins, or begins when that is done. Neither need be waited for in between,
// so that where one comes after the other only for that, a computation beside
// v(i) may be beside v(i + 1) as well: it is in the first place of these.
//
// Every schedule is one of these, so that the least of their bounds is a bound.
// The schedules of a place are those of a problem with more dependences, whose
// longest path may be another one: so they are split again.

#include "EitherPlace.h"
#include "ImpliedOrder.h"
#include "weft/Schedule/Bound.h"

#include <algorithm>
#include <tuple>

using namespace mlir::weft;

namespace {

/// Of each resource the places of up to so many tasks are looked at.
constexpr size_t kMaxTasks = 6;

/// What of a path is beside the tasks of one resource: its collectives, where
/// that is the compute stream, and of a link its own.
class BesidePath {
public:
  BesidePath(const TaskGraph &graph, const std::vector<int> &path,
             int resource);

  /// The tasks that could be beside most of one of them, of such the longest
  /// first.
  std::vector<int> findTasks() const;

  Places listPlaces(int task) const;

private:
  const TaskGraph &graph;
  int resource;
  std::vector<int> stops;
  /// Which of them each task neither depends on nor the other way round: those
  /// from `first` to before `last`.
  std::vector<int> first, last;
};

BesidePath::BesidePath(const TaskGraph &graph, const std::vector<int> &path,
                       int resource)
    : graph(graph), resource(resource), first(graph.size(), 0) {
  for (int task : path)
    if (graph.durations[task] > 0 &&
        (resource == kComputeStream ? graph.resources[task] != kComputeStream
                                    : graph.resources[task] == resource))
      stops.push_back(task);
  last.assign(graph.size(), static_cast<int>(stops.size()));
  for (size_t i = 0; i < stops.size(); ++i) {
    first[stops[i]] = static_cast<int>(i) + 1;
    last[stops[i]] = static_cast<int>(i);
  }
  for (int i = 0; i < graph.size(); ++i)
    for (int before : graph.before[i])
      first[i] = std::max(first[i], first[before]);
  for (int i = graph.size(); i-- > 0;)
    for (int after : graph.after[i])
      last[i] = std::min(last[i], last[after]);
}

std::vector<int> BesidePath::findTasks() const {
  std::vector<std::tuple<int64_t, int64_t, int>> beside;
  for (int i = 0; i < graph.size(); ++i) {
    int64_t longest = 0, duration = graph.durations[i];
    if (graph.resources[i] != resource || duration == 0)
      continue;
    for (int k = first[i]; k < last[i]; ++k)
      longest = std::max(longest, graph.durations[stops[k]]);
    if (longest > 0)
      beside.emplace_back(-std::min(duration, longest), -duration, i);
  }
  size_t count = std::min(beside.size(), kMaxTasks);
  std::partial_sort(beside.begin(), beside.begin() + count, beside.end());
  std::vector<int> tasks;
  for (size_t i = 0; i < count; ++i)
    tasks.push_back(std::get<int>(beside[i]));
  return tasks;
}

Places BesidePath::listPlaces(int task) const {
  Places places;
  int from = first[task], to = last[task];
  for (int i = from; i <= to; ++i) {
    Precedences between, beside;
    if (i > from)
      between.emplace_back(stops[i - 1], task);
    if (i < to)
      between.emplace_back(task, stops[i]);
    places.push_back(between);
    if (i == to || resource != kComputeStream)
      continue;
    for (int before : graph.before[stops[i]])
      if (!graph.isLinkOrder(before, stops[i]))
        beside.emplace_back(before, task);
    for (int after : graph.after[stops[i]])
      if (!graph.isLinkOrder(stops[i], after))
        beside.emplace_back(task, after);
    places.push_back(beside);
  }
  return places;
}

} // namespace

std::vector<std::vector<Places>>
mlir::weft::listPlaces(const TaskGraph &graph) {
  std::vector<int> path = findLongestPath(graph);
  std::vector<std::vector<Places>> all;
  for (int resource = 0; resource < graph.numResources; ++resource) {
    BesidePath beside(graph, path, resource);
    std::vector<int> tasks = beside.findTasks();
    all.resize(std::max(all.size(), tasks.size()));
    for (size_t rank = 0; rank < tasks.size(); ++rank)
      all[rank].push_back(beside.listPlaces(tasks[rank]));
  }
  return all;
}

Places mlir::weft::listPlacesOf(const TaskGraph &graph, int computation) {
  return BesidePath(graph, findLongestPath(graph), kComputeStream)
      .listPlaces(computation);
}

namespace {

class PartSearch {
public:
  PartSearch(const TaskGraph &graph, int64_t bound, int64_t enough,
             int64_t &effort)
      : graph(graph), enough(enough), effort(effort),
        parts{{Precedences(), bound}} {}

  std::vector<SchedulePart> run();

private:
  using Parts = std::vector<SchedulePart>;

  Parts split(const SchedulePart &part);
  Parts splitByBest(const SchedulePart &part, const std::vector<Places> &some,
                    const std::vector<int> &order);
  Parts splitBy(const SchedulePart &part, const Places &places,
                const std::vector<int> &order, int64_t worth);

  const TaskGraph &graph;
  int64_t enough, &effort;
  Parts parts;
};

/// The part by the places of a task, whose numbers are places in `order`. None
/// if the least bound of them is no more than `worth`.
PartSearch::Parts PartSearch::splitBy(const SchedulePart &part,
                                      const Places &places,
                                      const std::vector<int> &order,
                                      int64_t worth) {
  Parts result;
  for (const Precedences &place : places) {
    SchedulePart next = part;
    for (auto [from, to] : place)
      next.precedences.emplace_back(order[from], order[to]);
    effort -= graph.size();
    next.bound =
        std::max(next.bound, getBoundBelow(graph, next.precedences, enough));
    if (next.bound < worth)
      return Parts();
    result.push_back(std::move(next));
  }
  return result;
}

/// The part by those of some places which raise the least bound most, or all
/// bounds together. None if nothing is raised.
PartSearch::Parts PartSearch::splitByBest(const SchedulePart &part,
                                          const std::vector<Places> &some,
                                          const std::vector<int> &order) {
  std::pair<int64_t, int64_t> most{part.bound, 0};
  Parts best;
  for (const Places &places : some) {
    Parts parts = splitBy(part, places, order, most.first);
    if (parts.empty())
      continue;
    int64_t least = enough, sum = 0;
    for (const SchedulePart &each : parts) {
      least = std::min(least, each.bound);
      sum += std::min(each.bound, enough) - part.bound;
    }
    std::pair<int64_t, int64_t> raised(
        least, sum / static_cast<int64_t>(parts.size()));
    if (raised > most) {
      most = raised;
      best = std::move(parts);
    }
  }
  return best;
}

/// The part by the places of the tasks that could hide or delay most, or of
/// those that could do less, if these raise nothing.
PartSearch::Parts PartSearch::split(const SchedulePart &part) {
  std::vector<int> order = orderTasks(graph, part.precedences);
  for (const std::vector<Places> &some :
       listPlaces(graph.ordered(order, part.precedences))) {
    Parts parts = splitByBest(part, some, order);
    if (!parts.empty() || effort <= 0)
      return parts;
  }
  return Parts();
}

std::vector<SchedulePart> PartSearch::run() {
  while (effort > 0 && !parts.empty()) {
    Parts more = split(parts.front());
    if (more.empty())
      break;
    parts.erase(parts.begin());
    for (SchedulePart &part : more)
      if (part.bound < enough)
        parts.push_back(std::move(part));
    std::stable_sort(parts.begin(), parts.end(),
                     [](const SchedulePart &a, const SchedulePart &b) {
                       return a.bound < b.bound;
                     });
  }
  return std::move(parts);
}

} // namespace

std::vector<SchedulePart> mlir::weft::splitSchedules(const TaskGraph &graph,
                                                     int64_t bound,
                                                     int64_t enough,
                                                     int64_t &effort) {
  return PartSearch(graph, bound, enough, effort).run();
}
