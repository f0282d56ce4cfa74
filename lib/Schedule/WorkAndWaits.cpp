// SPDX-License-Identifier: Apache-2.0

// How long a resource must stand still beside a path.
//
// Let v(1) -> v(2) -> ... be tasks that depend on each other in this order, and
// R a resource. The tasks of the path that are not R's, say collectives between
// layers where R is the compute stream, come in gaps: between two of R's that
// take time, or in front of the first or past the last. While one of them
// runs, R stands still or does a task j that is not on the path, since R's own
// on the path come before or after it. This j
//
// - neither depends on v(i) nor the other way round, if they run at the same
//   time. What is on the path in front of something that j depends on comes
//   before j as well, so that the v(i) in question are a range of the path;
// - runs beside one gap only, since between two gaps R does a task of the path,
//   and no task is interrupted;
// - and so fills at most min(duration of j, length of that gap in its range).
//
// Where R is the compute stream, each collective is a gap by itself: between
// two that follow each other stand, in the line of events, the wait for the one
// and the start of the other, and j is computed in front of these or after.
// Where the other only comes later on their link, both are one gap.
//
// A schedule therefore fills at most what can flow from all j into the gaps,
// each j into those of its range, no gap by more than its length. Ranges are
// intervals, so that filling gap after gap with what is possible no longer than
// the others is a largest flow (F. Glover, "Maximum matching in a convex
// bipartite graph", NRLQ 14, 1967). The rest of the gaps R stands still, and
// besides it has to do all of its work.
//
// A link may delay the path. Let J be collectives of one link L that are not on
// the path. By the same argument, with R = L, those of the path that are not
// L's run beside J for no longer than the flow from J into L's gaps. So there
// are times Z, as long as J less that flow, in which one of J runs and none of
// the path does. While the path's collectives run, or in Z, the compute stream
// stands still, or does a task j that is not on the path. Outside of Z, j fills
// gaps as above. In Z it runs beside one of J, so that neither what J needs of
// the path comes after j nor what j needs of it after J. If j has a gap in its
// range, all of j is taken to be such a filler; if it has none, then only with
// others of its window, the part of the path between two of L's: each of J runs
// within one window.
//
// A limit of memory says how much can be done ahead. Let x be a task beside
// which M bytes must be alive in any order, since what x depends on made them
// and what depends on x reads them. Where x depends on a collective of the
// path, what is done beside it comes before x. If something that depends on x
// reads what such a j makes, then these bytes are alive beside x as well, and
// are none of the M, since x does not depend on j. So such j fill gaps in front
// of x only as far as limit - M goes: no more than those that take longest for
// their bytes. Of a collective y on which x does not depend, and that reads
// what was made for something in front of x, say a gather that is done again,
// either what it reads is alive beside x, or what it brings. The lesser counts
// as well, for each such y once; that is no j, since j is computed.

#include "LeanOrder.h"
#include "PathGaps.h"
#include "weft/Schedule/Bound.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <queue>

using namespace mlir::weft;

/// The longest path to `task`, or of all, if that is -1.
static std::vector<int> findPath(const TaskGraph &graph, int task) {
  std::vector<int64_t> ends(graph.size(), 0);
  std::vector<int> previous(graph.size(), -1);
  int last = -1;
  for (int i = 0; i < graph.size(); ++i) {
    for (int before : graph.before[i])
      if (previous[i] < 0 || ends[before] > ends[i]) {
        ends[i] = ends[before];
        previous[i] = before;
      }
    ends[i] += graph.durations[i];
    if (last < 0 || ends[i] > ends[last])
      last = i;
  }
  std::vector<int> path;
  for (int i = task < 0 ? last : task; i >= 0; i = previous[i])
    path.push_back(i);
  std::reverse(path.begin(), path.end());
  return path;
}

std::vector<int> mlir::weft::findLongestPath(const TaskGraph &graph) {
  return findPath(graph, -1);
}

std::vector<int> mlir::weft::findLongestPathTo(const TaskGraph &graph,
                                               int task) {
  return findPath(graph, task);
}

namespace {

/// The largest of any range of a list.
class RangeMaximum {
public:
  explicit RangeMaximum(std::vector<int64_t> values) {
    levels.push_back(std::move(values));
    for (size_t width = 1; 2 * width <= levels[0].size(); width *= 2) {
      const std::vector<int64_t> &half = levels.back();
      std::vector<int64_t> level;
      for (size_t i = 0; i + width < half.size(); ++i)
        level.push_back(std::max(half[i], half[i + width]));
      levels.push_back(std::move(level));
    }
  }

  /// Of the values from `first` to `last`, at least one.
  int64_t get(int first, int last) const {
    int level = 0;
    while (2 << level <= last - first + 1)
      ++level;
    return std::max(levels[level][first],
                    levels[level][last + 1 - (1 << level)]);
  }

private:
  /// Of each number of values that is a power of two.
  std::vector<std::vector<int64_t>> levels;
};

/// Where each task may run beside the path. Places are positions on the path.
struct Places {
  Places(const TaskGraph &graph, const std::vector<int> &path);

  /// The last place that each task depends on, or its own, and the first that
  /// depends on it.
  std::vector<int> before, after;
  std::vector<bool> isOnPath;
};

Places::Places(const TaskGraph &graph, const std::vector<int> &path)
    : before(graph.size(), -1), after(graph.size(), path.size()),
      isOnPath(graph.size(), false) {
  for (int place = 0, e = path.size(); place < e; ++place) {
    before[path[place]] = after[path[place]] = place;
    isOnPath[path[place]] = true;
  }
  for (int i = 0; i < graph.size(); ++i)
    for (int previous : graph.before[i])
      before[i] = std::max(before[i], before[previous]);
  for (int i = graph.size(); i-- > 0;)
    for (int next : graph.after[i])
      after[i] = std::min(after[i], after[next]);
}

/// What the path has for one resource: gaps, and what fills them.
class Gaps {
public:
  Gaps(const TaskGraph &graph, const std::vector<int> &path,
       const Places &places, int resource);

  /// A task that is not on the path. It fills up to `amount` of the gaps from
  /// `first` to `last`; none if there is no such gap.
  struct Filler {
    int task, first, last;
    int64_t amount;
  };

  const std::vector<Filler> &getFillers() const { return fillers; }
  int64_t getWork() const { return work; }
  /// The length of all gaps.
  int64_t getLength() const { return lengthBefore.back(); }
  int getCount() const { return static_cast<int>(gaps.size()); }
  /// The number of those that are up to a place.
  int getCountUpTo(int place) const;
  /// How much those fillers fill that `isCounted` says, of all gaps or of those
  /// from number `from` to before number `to`.
  template <typename Predicate> int64_t fill(Predicate isCounted) const {
    return fill(isCounted, 0, getCount());
  }
  template <typename Predicate>
  int64_t fill(Predicate isCounted, int from, int to) const;
  /// The work of the resource and how long it stands still.
  int64_t getBound() const {
    return work + getLength() - fill([](int) { return true; });
  }

private:
  /// Tasks from one place to another that are not the resource's, except those
  /// that take no time, and how long they take. Of the compute stream each task
  /// is one that is waited for before the next is started.
  struct Gap {
    int first, last;
    int64_t length;
  };

  void findGaps(const TaskGraph &graph, const std::vector<int> &path,
                int resource);
  void addFiller(int task, int from, int to, int64_t duration,
                 const RangeMaximum &lengths);
  int64_t getClipped(int gap, int from, int to) const;

  std::vector<Gap> gaps;
  /// Per place, how long those in front of it take that are not the resource's.
  std::vector<int64_t> lengthBefore;
  /// By the first gap.
  std::vector<Filler> fillers;
  int64_t work = 0;
};

Gaps::Gaps(const TaskGraph &graph, const std::vector<int> &path,
           const Places &places, int resource) {
  findGaps(graph, path, resource);
  std::vector<int64_t> lengths;
  for (const Gap &gap : gaps)
    lengths.push_back(gap.length);
  RangeMaximum maximum(std::move(lengths));
  for (int i = 0; i < graph.size(); ++i) {
    if (graph.resources[i] != resource || graph.durations[i] == 0)
      continue;
    work += graph.durations[i];
    if (!places.isOnPath[i])
      addFiller(i, places.before[i] + 1, places.after[i] - 1,
                graph.durations[i], maximum);
  }
  std::stable_sort(
      fillers.begin(), fillers.end(),
      [](const Filler &a, const Filler &b) { return a.first < b.first; });
}

void Gaps::findGaps(const TaskGraph &graph, const std::vector<int> &path,
                    int resource) {
  lengthBefore.assign(1, 0);
  bool isOpen = false;
  for (int place = 0, e = path.size(); place < e; ++place) {
    bool isOwn = graph.resources[path[place]] == resource;
    int64_t duration = graph.durations[path[place]];
    lengthBefore.push_back(lengthBefore.back() + (isOwn ? 0 : duration));
    if (duration == 0)
      continue;
    bool isWaitedFor =
        resource == kComputeStream &&
        !(place > 0 && graph.isLinkOrder(path[place - 1], path[place]));
    if (!isOwn && (!isOpen || isWaitedFor))
      gaps.push_back(Gap{place, place, 0});
    isOpen = !isOwn;
    if (isOwn)
      continue;
    gaps.back().last = place;
    gaps.back().length += duration;
  }
}

/// How long the part of a gap takes that is from place `from` to place `to`.
int64_t Gaps::getClipped(int gap, int from, int to) const {
  return lengthBefore[std::min(to, gaps[gap].last) + 1] -
         lengthBefore[std::max(from, gaps[gap].first)];
}

void Gaps::addFiller(int task, int from, int to, int64_t duration,
                     const RangeMaximum &lengths) {
  int first =
      std::partition_point(gaps.begin(), gaps.end(),
                           [&](const Gap &g) { return g.last < from; }) -
      gaps.begin();
  int last = std::partition_point(gaps.begin(), gaps.end(),
                                  [&](const Gap &g) { return g.first <= to; }) -
             gaps.begin() - 1;
  int64_t longest = 0;
  if (first <= last)
    longest = std::max(getClipped(first, from, to), getClipped(last, from, to));
  if (last - first > 1)
    longest = std::max(longest, lengths.get(first + 1, last - 1));
  fillers.push_back(Filler{task, first, last, std::min(duration, longest)});
}

int Gaps::getCountUpTo(int place) const {
  auto isUpTo = [&](const Gap &gap) { return gap.last <= place; };
  return static_cast<int>(
      std::partition_point(gaps.begin(), gaps.end(), isUpTo) - gaps.begin());
}

/// Fills the gaps one after the other.
template <typename Predicate>
int64_t Gaps::fill(Predicate isCounted, int from, int to) const {
  // By their last gap, the nearest first; then what is left of the amount.
  using Entry = std::pair<int, int64_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  size_t next = 0;
  int64_t filled = 0;
  for (int i = from; i < to; ++i) {
    for (; next < fillers.size() && fillers[next].first <= i; ++next)
      if (fillers[next].amount > 0 && isCounted(fillers[next].task))
        open.emplace(fillers[next].last, fillers[next].amount);
    int64_t left = gaps[i].length;
    while (left > 0 && !open.empty()) {
      auto [last, amount] = open.top();
      open.pop();
      if (last < i)
        continue;
      int64_t part = std::min(left, amount);
      left -= part;
      filled += part;
      if (part < amount)
        open.emplace(last, amount - part);
    }
  }
  return filled;
}

/// The work and waits of the compute stream where a link delays the path.
class DelaysOfPath {
public:
  DelaysOfPath(const TaskGraph &graph, const std::vector<int> &path,
               const Places &places, const Gaps &compute, const Gaps &link,
               int resource)
      : graph(graph), places(places), compute(compute), link(link) {
    for (int place = 0, e = path.size(); place < e; ++place)
      if (graph.resources[path[place]] == resource &&
          graph.durations[path[place]] > 0)
        own.push_back(place);
  }

  int64_t getBound() const;

private:
  int getWindow(int task) const {
    return std::upper_bound(own.begin(), own.end(), places.before[task]) -
           own.begin();
  }
  int64_t getBoundOf(const std::vector<int> &jobs) const;
  int64_t getFilled(int first, int last, size_t numJobs) const;

  const TaskGraph &graph;
  const Places &places;
  const Gaps &compute, &link;
  /// The places of the link's tasks on the path. Windows are in between.
  std::vector<int> own;
};

/// How much is computed in the gaps of the path, or while jobs that are done
/// between two places delay it.
int64_t DelaysOfPath::getFilled(int first, int last, size_t numJobs) const {
  auto isBeside = [&](int task) {
    return places.before[task] < last && places.after[task] > first;
  };
  int64_t filled = compute.fill([&](int task) { return !isBeside(task); });
  // What has no gap may be done in one window, where there is a job.
  std::vector<int64_t> ofWindow(own.size() + 1, 0);
  for (const Gaps::Filler &filler : compute.getFillers()) {
    if (!isBeside(filler.task))
      continue;
    bool hasGap = filler.first <= filler.last;
    (hasGap ? filled : ofWindow[getWindow(filler.task)]) +=
        graph.durations[filler.task];
  }
  numJobs = std::min(numJobs, ofWindow.size());
  std::partial_sort(ofWindow.begin(), ofWindow.begin() + numJobs,
                    ofWindow.end(), std::greater<>());
  return std::accumulate(ofWindow.begin(), ofWindow.begin() + numJobs, filled);
}

/// The bound by collectives that are not on the path.
int64_t DelaysOfPath::getBoundOf(const std::vector<int> &jobs) const {
  std::vector<bool> isJob(graph.size(), false);
  int first = std::numeric_limits<int>::max(), last = -1;
  int64_t delay = 0;
  for (int job : jobs) {
    isJob[job] = true;
    delay += graph.durations[job];
    first = std::min(first, places.before[job]);
    last = std::max(last, places.after[job]);
  }
  delay -= link.fill([&](int task) { return isJob[task]; });
  if (delay <= 0)
    return 0;
  return compute.getWork() + compute.getLength() + delay -
         getFilled(first, last, jobs.size());
}

/// Those that delay the path most count: each alone, and together.
int64_t DelaysOfPath::getBound() const {
  constexpr size_t kMaxJobs = 6;
  std::vector<std::pair<int64_t, int>> longest;
  for (const Gaps::Filler &filler : link.getFillers())
    if (graph.durations[filler.task] > filler.amount)
      longest.emplace_back(filler.amount - graph.durations[filler.task],
                           filler.task);
  std::sort(longest.begin(), longest.end());
  longest.resize(std::min(longest.size(), kMaxJobs));
  int64_t bound = 0;
  std::vector<int> jobs;
  for (auto [delay, job] : longest) {
    bound = std::max(bound, getBoundOf({job}));
    jobs.push_back(job);
    bound = std::max(bound, getBoundOf(jobs));
  }
  return bound;
}

/// What can be alive beside a task x besides what must be.
class AliveBesideTask {
public:
  AliveBesideTask(const ScheduleProblem &problem, int task);

  /// The bytes that each task on which x does not depend holds beside x if it
  /// is done before: what something that depends on x reads.
  const std::vector<int64_t> &getHeld() const { return held; }
  /// The bytes that are held since collectives are done before x, or since they
  /// are not: then what they read is alive.
  int64_t getEitherWay() const;

private:
  bool isReadBesideOrAfter(const ScheduleBuffer &buffer) const {
    return std::any_of(buffer.readers.begin(), buffer.readers.end(),
                       [&](int reader) { return isAfter[reader]; });
  }

  const ScheduleProblem &problem;
  /// x itself is both.
  std::vector<bool> isBefore, isAfter;
  std::vector<int64_t> held;
};

AliveBesideTask::AliveBesideTask(const ScheduleProblem &problem, int task)
    : problem(problem), isBefore(problem.size(), false), isAfter(isBefore),
      held(problem.size(), 0) {
  isBefore[task] = isAfter[task] = true;
  for (int i = task; i >= 0; --i)
    for (int previous : problem.predecessors(i))
      isBefore[previous] = isBefore[previous] || isBefore[i];
  for (int i = task; i < problem.size(); ++i)
    for (int next : problem.successors(i))
      isAfter[next] = isAfter[next] || isAfter[i];
  // What only x reads would make x depend on it.
  for (const ScheduleBuffer &buffer : problem.getBuffers())
    if (!isBefore[buffer.producer] && isReadBesideOrAfter(buffer))
      held[buffer.producer] += buffer.bytes;
}

int64_t AliveBesideTask::getEitherWay() const {
  std::vector<bool> isCounted(problem.size(), false);
  int64_t sum = 0;
  for (const ScheduleBuffer &buffer : problem.getBuffers()) {
    if (!isBefore[buffer.producer] || isAfter[buffer.producer] ||
        isReadBesideOrAfter(buffer))
      continue;
    int most = -1;
    for (int reader : buffer.readers)
      if (!isBefore[reader] && !isCounted[reader] &&
          problem.task(reader).isCollective() &&
          (most < 0 || held[reader] > held[most]))
        most = reader;
    if (most < 0)
      continue;
    isCounted[most] = true;
    sum += std::min(buffer.bytes, held[most]);
  }
  return sum;
}

/// How much of the fillers that may be in one of the first gaps, and hold
/// something, is in so many bytes. The last of them counts whole.
int64_t getMostWithin(const std::vector<Gaps::Filler> &fillers, int numGaps,
                      const std::vector<int64_t> &held, int64_t capacity) {
  std::vector<Gaps::Filler> holding;
  for (const Gaps::Filler &filler : fillers)
    if (held[filler.task] > 0 && filler.first < numGaps &&
        filler.first <= filler.last)
      holding.push_back(filler);
  auto getDensity = [&](const Gaps::Filler &filler) {
    return static_cast<double>(filler.amount) /
           static_cast<double>(held[filler.task]);
  };
  std::stable_sort(holding.begin(), holding.end(),
                   [&](const Gaps::Filler &a, const Gaps::Filler &b) {
                     return getDensity(a) > getDensity(b);
                   });
  int64_t most = 0;
  for (const Gaps::Filler &filler : holding) {
    if (capacity <= 0)
      break;
    most += filler.amount;
    capacity -= held[filler.task];
  }
  return most;
}

} // namespace

int64_t mlir::weft::getIdleOnPath(const TaskGraph &graph,
                                  const std::vector<int> &path) {
  Gaps gaps(graph, path, Places(graph, path), kComputeStream);
  return gaps.getBound() - gaps.getWork();
}

int64_t mlir::weft::computeWorkAndWaits(const TaskGraph &graph) {
  std::vector<int> path = findLongestPath(graph);
  Places places(graph, path);
  Gaps compute(graph, path, places, kComputeStream);
  int64_t bound = compute.getBound();
  for (int r = 1; r < graph.numResources; ++r) {
    Gaps link(graph, path, places, r);
    DelaysOfPath delays(graph, path, places, compute, link, r);
    bound = std::max({bound, link.getBound(), delays.getBound()});
  }
  return bound;
}

int64_t mlir::weft::computeWorkAndWaitsWithin(const ScheduleProblem &problem,
                                              int64_t limit) {
  FullTask full = findFullTask(problem);
  TaskGraph graph(problem);
  std::vector<int> path = findLongestPath(graph);
  Places places(graph, path);
  Gaps gaps(graph, path, places, kComputeStream);
  if (full.task < 0)
    return gaps.getBound();
  AliveBesideTask beside(problem, full.task);
  const std::vector<int64_t> &held = beside.getHeld();
  int64_t capacity = limit - full.bytes - beside.getEitherWay();
  // Of a task on the path `before` is its own place.
  bool isOnPath = places.isOnPath[full.task];
  int numBefore =
      gaps.getCountUpTo(places.before[full.task] - (isOnPath ? 1 : 0));
  auto isHeld = [&](int task) { return held[task] > 0; };
  auto isFree = [&](int task) { return held[task] == 0; };
  int64_t mostHeld =
      std::min(gaps.fill(isHeld, 0, numBefore),
               getMostWithin(gaps.getFillers(), numBefore, held, capacity));
  int64_t filled =
      mostHeld + gaps.fill(isFree, 0, numBefore) +
      gaps.fill([](int) { return true; }, numBefore, gaps.getCount());
  return std::max(gaps.getBound(), gaps.getWork() + gaps.getLength() - filled);
}
