// SPDX-License-Identifier: Apache-2.0

// What all resources together must do beside the longest path.
//
// Let the path be cut into parts: one is from the end of what it has before, to
// the end of what it has there, and the last from its end on. In part k a
// resource works no longer than that takes. So for weights w(k, r) of which
// those of a part add up to one, part k takes at least the sum of w(k, r) and
// the work of r in it. What is on the path has its part. Anything else is done
// in parts that its dependences allow, and costs its time and the weight there.
// If each takes what costs least, all that adds up to a bound, whatever the
// weights are.
//
// What depends on another task is done in no earlier part. Say that a gradient
// can be computed while an exchange is under way, but its reduction would then
// delay the last one; or earlier, and then it delays the exchange: neither the
// work of the link nor that of the compute stream alone tells. One such
// dependence of each task is kept, so that these are trees, and what is
// cheapest is known part after part. A task may be done in several parts: then
// no part of it is in one before that of what it depends on, and no such choice
// is cheaper than the best whole one.
//
// These are Lagrange multipliers of the capacities of the parts. They are
// raised where a resource has more to do than others, by steps as long as what
// the bound misses says (M. Held, P. Wolfe, H. Crowder, "Validation of
// subgradient optimization", Mathematical Programming 6, 1974). All numbers are
// integers, so that the bound is the same everywhere.

#include "weft/Schedule/Bound.h"

#include <algorithm>
#include <limits>
#include <numeric>

using namespace mlir::weft;

namespace {

/// The sum of the weights of a part.
constexpr int64_t kUnit = 1 << 16;

/// Where all of the path is of one resource, it has this many runs. What is
/// shorter than it by the other makes no run.
constexpr int64_t kNumRuns = 40, kShortPart = 50;

/// Weights that are tried at most, those that raise nothing before steps are
/// halved, and how often they are.
constexpr int kMaxSteps = 120, kPatience = 15, kMaxHalvings = 10;

/// Where tasks have more parts in all, nothing is tried.
constexpr int64_t kMaxChoices = 2000000;

/// A task that is not on the path, or takes no time and leads to one.
struct FreeTask {
  int resource;
  int64_t duration;
  /// The parts in which it may be.
  int first, last;
  /// What it comes after, as far as that counts: a place in the list, or -1.
  int after;
  /// Where its choices begin in the lists of all.
  int64_t offset;
};

class PathWeights {
public:
  explicit PathWeights(const TaskGraph &graph)
      : graph(graph), numResources(graph.numResources),
        isOnPath(graph.size(), false), earliest(graph.size(), 0),
        latest(graph.size(), 0) {
    cutPath();
    listTasks();
    loads.resize(weights.size());
    costs.resize(numChoices);
    choice.resize(numChoices);
    place.resize(tasks.size());
  }

  int64_t getBound(int64_t enough);

private:
  bool waits(int task, int64_t least) const;
  void cutPath();
  void listTasks();
  int64_t evaluate();
  void chooseParts();
  bool step(int64_t missing);
  void findDirection(int ofPart);
  void project(int ofPart);

  int64_t &at(std::vector<int64_t> &list, int ofPart, int resource) const {
    return list[static_cast<size_t>(resource) * numParts + ofPart];
  }

  const TaskGraph &graph;
  int numResources, numParts = 0;
  /// Of each part of the path its resource and the time that it takes there.
  std::vector<int> resources;
  std::vector<int64_t> lengths;
  /// Of each task of the path the part in which what it depends on is done at
  /// the latest, and that in which what depends on it begins at the earliest.
  std::vector<bool> isOnPath;
  std::vector<int> earliest, latest;
  std::vector<FreeTask> tasks;
  int64_t numChoices = 0;
  /// By resource and part. In `loads` the work, then what weights follow.
  std::vector<int64_t> weights, loads;
  /// What each task costs with all that comes after it if it is in a part or
  /// later, and the part for that.
  std::vector<int64_t> costs;
  std::vector<int> choice;
  std::vector<int> place;
};

/// Says whether `task`, which is on the path, waits for another resource's work
/// that is not.
bool PathWeights::waits(int task, int64_t least) const {
  for (int before : graph.before[task])
    if (!isOnPath[before] && graph.durations[before] >= least &&
        graph.resources[before] != graph.resources[task])
      return true;
  return false;
}

/// A run is of one resource, not very long, and begins with what waits for
/// much. In front of each is a part in which nothing of the path is done, and
/// so is the last part.
void PathWeights::cutPath() {
  int64_t total = 0;
  std::vector<int> path = findLongestPath(graph);
  for (int task : path) {
    total += graph.durations[task];
    isOnPath[task] = true;
  }
  int previous = -1;
  for (int task : path) {
    int64_t duration = graph.durations[task];
    if (previous < 0 || graph.resources[task] != resources.back() ||
        lengths.back() + duration > total / kNumRuns ||
        waits(task, total / kShortPart)) {
      resources.insert(resources.end(), 2, graph.resources[task]);
      lengths.insert(lengths.end(), 2, 0);
      if (previous >= 0)
        ++latest[previous];
      previous = -1;
    }
    lengths.back() += duration;
    int part = static_cast<int>(lengths.size()) - 1;
    earliest[task] = previous < 0 ? part - 1 : part;
    latest[task] = part;
    previous = task;
  }
  if (previous >= 0)
    ++latest[previous];
  resources.push_back(0);
  lengths.push_back(0);
  numParts = static_cast<int>(lengths.size());
  weights.assign(static_cast<size_t>(numParts) * numResources, 0);
  for (int k = 0; k < numParts; ++k)
    for (int r = 0; r < numResources; ++r)
      at(weights, k, r) =
          lengths[k] == 0 ? kUnit / numResources : kUnit * (r == resources[k]);
}

/// Of what a task depends on, that counts which has most work in front of it.
void PathWeights::listTasks() {
  std::vector<int> first(graph.size(), 0), last(graph.size(), numParts - 1);
  std::vector<int> number(graph.size(), -1), after(graph.size(), -1);
  std::vector<int64_t> work(graph.size(), 0);
  for (int i = graph.size(); i-- > 0;)
    for (int next : graph.after[i])
      last[i] = std::min(last[i], isOnPath[next] ? earliest[next] : last[next]);
  for (int i = 0; i < graph.size(); ++i) {
    if (isOnPath[i])
      continue;
    for (int before : graph.before[i]) {
      first[i] =
          std::max(first[i], isOnPath[before] ? latest[before] : first[before]);
      if (work[before] > 0 && (after[i] < 0 || work[before] > work[after[i]]))
        after[i] = before;
    }
    work[i] = graph.durations[i] + (after[i] < 0 ? 0 : work[after[i]]);
    if (work[i] == 0)
      continue;
    number[i] = static_cast<int>(tasks.size());
    tasks.push_back({graph.resources[i], graph.durations[i], first[i], last[i],
                     after[i] < 0 ? -1 : number[after[i]], numChoices});
    numChoices += last[i] - first[i] + 1;
    if (numChoices > kMaxChoices)
      break;
  }
}

/// The bound by the weights as they are.
int64_t PathWeights::evaluate() {
  int64_t sum = 0;
  for (int k = 0; k < numParts; ++k)
    sum += at(weights, k, resources[k]) * lengths[k];
  for (const FreeTask &task : tasks)
    for (int k = task.first; k <= task.last; ++k)
      costs[task.offset + k - task.first] =
          at(weights, k, task.resource) * task.duration;
  for (size_t i = tasks.size(); i-- > 0;) {
    const FreeTask &task = tasks[i];
    int64_t *cost = &costs[task.offset];
    int *chosen = &choice[task.offset];
    int count = task.last - task.first + 1;
    chosen[count - 1] = task.last;
    for (int k = count - 1; k-- > 0;) {
      bool isNow = cost[k] < cost[k + 1];
      chosen[k] = isNow ? task.first + k : chosen[k + 1];
      cost[k] = isNow ? cost[k] : cost[k + 1];
    }
    if (task.after < 0) {
      sum += cost[0];
      continue;
    }
    // It is in no later part, nor may it be in one before.
    const FreeTask &before = tasks[task.after];
    for (int k = before.first; k <= before.last; ++k)
      costs[before.offset + k - before.first] +=
          cost[std::max(0, k - task.first)];
  }
  return sum / kUnit;
}

/// The work in each part, if each task is where it costs least.
void PathWeights::chooseParts() {
  std::fill(loads.begin(), loads.end(), 0);
  for (int k = 0; k < numParts; ++k)
    at(loads, k, resources[k]) = lengths[k];
  for (size_t i = 0; i < tasks.size(); ++i) {
    const FreeTask &task = tasks[i];
    int from = task.first;
    if (task.after >= 0)
      from = std::max(from, place[task.after]);
    place[i] = choice[task.offset + from - task.first];
    at(loads, place[i], task.resource) += task.duration;
  }
}

/// From the loads of a part to how its weights change: what has more to do than
/// the mean gets more. What has no weight cannot get less.
void PathWeights::findDirection(int ofPart) {
  std::vector<bool> isFixed(numResources, false);
  for (bool isChanged = true; isChanged;) {
    int64_t sum = 0, count = 0;
    for (int r = 0; r < numResources; ++r)
      if (!isFixed[r]) {
        sum += at(loads, ofPart, r);
        ++count;
      }
    isChanged = false;
    for (int r = 0; r < numResources; ++r)
      if (!isFixed[r] && at(weights, ofPart, r) == 0 &&
          at(loads, ofPart, r) * count < sum)
        isFixed[r] = isChanged = true;
    if (isChanged)
      continue;
    for (int r = 0; r < numResources; ++r)
      at(loads, ofPart, r) =
          isFixed[r] ? 0 : at(loads, ofPart, r) - sum / count;
  }
}

/// The nearest weights of which none is negative and the sum is one.
void PathWeights::project(int ofPart) {
  std::vector<int64_t> sorted;
  for (int r = 0; r < numResources; ++r)
    sorted.push_back(at(weights, ofPart, r));
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  int64_t sum = 0, less = 0;
  for (int r = 0; r < numResources; ++r) {
    sum += sorted[r];
    int64_t each = (sum - kUnit) / (r + 1);
    if (sorted[r] > each)
      less = each;
  }
  int64_t left = kUnit;
  int most = 0;
  for (int r = 0; r < numResources; ++r) {
    int64_t &weight = at(weights, ofPart, r);
    weight = std::max<int64_t>(0, weight - less);
    left -= weight;
    if (weight > at(weights, ofPart, most))
      most = r;
  }
  // What rounding makes of it.
  at(weights, ofPart, most) += left;
}

/// Changes the weights by what the loads say, as far as the bound would miss
/// nothing if it were linear. Says whether anything is changed.
bool PathWeights::step(int64_t missing) {
  constexpr int64_t kMaxLoad = 1 << 20;
  int64_t largest = 1, norm = 0;
  for (int k = 0; k < numParts; ++k)
    findDirection(k);
  for (int64_t load : loads)
    largest = std::max(largest, std::abs(load));
  int64_t scale = (largest + kMaxLoad - 1) / kMaxLoad;
  for (int64_t &load : loads) {
    load /= scale;
    norm += load * load;
  }
  if (norm == 0)
    return false;
  missing = std::clamp<int64_t>(missing / scale, 1, kMaxLoad);
  for (size_t i = 0; i < weights.size(); ++i)
    weights[i] += kUnit * missing * loads[i] / norm;
  for (int k = 0; k < numParts; ++k)
    project(k);
  return true;
}

int64_t PathWeights::getBound(int64_t enough) {
  if (numChoices > kMaxChoices)
    return 0;
  int64_t bound = 0;
  int numStale = 0, halvings = 0;
  for (int i = 0; i < kMaxSteps && bound < enough; ++i) {
    int64_t now = evaluate();
    numStale = now > bound ? 0 : numStale + 1;
    bound = std::max(bound, now);
    if (numStale == kPatience) {
      numStale = 0;
      ++halvings;
    }
    chooseParts();
    if (halvings > kMaxHalvings || !step((enough - now) >> halvings))
      break;
  }
  return bound;
}

} // namespace

/// Says whether all durations together, weighed, have more than 64 bits.
static bool isTooLong(const TaskGraph &graph) {
  int64_t left = std::numeric_limits<int64_t>::max() / kUnit;
  return std::any_of(graph.durations.begin(), graph.durations.end(),
                     [&](int64_t duration) { return (left -= duration) < 0; });
}

int64_t mlir::weft::computeWeightedPath(const TaskGraph &graph,
                                        int64_t enough) {
  return graph.size() == 0 || isTooLong(graph)
             ? 0
             : PathWeights(graph).getBound(enough);
}
