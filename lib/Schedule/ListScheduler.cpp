// SPDX-License-Identifier: Apache-2.0

// The walk through time. Heaps of indices; ties go by program order.

#include "ListScheduler.h"
#include "MemoryProfile.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <queue>

using namespace mlir::weft;

namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

/// How many tasks that cannot go first are passed over in search of one that
/// can.
constexpr int kMaxPassedOver = 8;

/// Smallest first: (key, task).
using Entry = std::pair<int64_t, int>;
using Heap =
    std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>>;

class ListScheduler {
public:
  ListScheduler(const ScheduleProblem &problem, const ListOptions &options)
      : problem(problem), options(options), numBefore(problem.size()),
        states(problem.size(), Fresh), ends(problem.size(), 0),
        ready(problem.getNumResources()), freeAt(problem.getNumResources(), 0),
        live(problem.fixedBytes), unread(problem.getBuffers().size()) {
    for (size_t i = 0; i < unread.size(); ++i)
      unread[i] = problem.getBuffers()[i].readers.size();
    if (options.limit > 0)
      profile = std::make_unique<MemoryProfile>(problem);
  }

  std::vector<ScheduleEvent> run();

private:
  /// Issued is under way, Finished is known to be done by now; what it read is
  /// free when it is Waited for (a collective) or at once.
  enum State : char { Fresh, Issued, Finished, Waited };

  void finishCollectives();
  void finish(int task);
  int chooseCompute();
  int chooseFiller(const Entry &first, int64_t wait);
  std::pair<int64_t, int64_t> findUrgent(int64_t key) const;
  void startCollectives(int next);
  void startFrom(int resource, int64_t horizon, int64_t reserved);
  void listActivations();
  void foretell(int next);
  int findAwaited(int resource);
  bool blocksActivation(int task);
  bool fits(int task, int64_t reserved);
  void issue(int task);
  void wait(int task);
  void proceed();

  int64_t getMadeBytes(int task) const;
  bool freesMemory(int task) const;

  const ScheduleProblem &problem;
  const ListOptions &options;
  std::vector<int> numBefore;
  std::vector<State> states;
  std::vector<int64_t> ends;
  /// What could be issued now, by resource.
  std::vector<Heap> ready;
  std::vector<int64_t> freeAt;
  /// Collectives that are under way: (end, task).
  Heap inFlight;
  int64_t now = 0;
  int64_t live;
  std::vector<int> unread;
  std::unique_ptr<MemoryProfile> profile;
  /// Per resource the activation collectives in the order of the previous
  /// schedule, and the first that was not issued.
  std::vector<std::vector<int>> activations;
  std::vector<size_t> firstActivation;
  /// When each of them could begin in the previous schedule, and what has to be
  /// added to a time there for the same moment now.
  std::vector<int64_t> readyBefore;
  int64_t shift = 0;
  /// All tasks before this one were issued.
  int firstLeft = 0;
  int numIssued = 0;
  std::vector<ScheduleEvent> events;
};

int64_t ListScheduler::getMadeBytes(int task) const {
  int64_t bytes = 0;
  for (int output : problem.outputs(task)) {
    const ScheduleBuffer &made = problem.getBuffers()[output];
    bytes += made.bytes;
    if (made.inPlaceOf >= 0 && unread[made.inPlaceOf] == 1)
      bytes -= problem.getBuffers()[made.inPlaceOf].bytes;
  }
  return bytes;
}

/// Says whether the memory of something is free after the wait for `task`.
bool ListScheduler::freesMemory(int task) const {
  for (int input : problem.inputs(task))
    if (unread[input] == 1 && problem.getBuffers()[input].bytes > 0)
      return true;
  return false;
}

/// Says whether `task` can be issued, with `reserved` bytes for what is about
/// to be issued, and all others can still follow.
bool ListScheduler::fits(int task, int64_t reserved) {
  if (!profile)
    return true;
  if (live + getMadeBytes(task) + reserved > options.limit)
    return false;
  return task == firstLeft || profile->getPeakAfter(task) <= options.limit;
}

/// Marks a task as done: what depends on it may go.
void ListScheduler::finish(int task) {
  states[task] = Finished;
  for (int next : problem.successors(task))
    if (--numBefore[next] == 0)
      ready[problem.resource(next)].emplace(options.keys[next], next);
}

void ListScheduler::wait(int task) {
  states[task] = Waited;
  events.push_back({ScheduleEvent::Wait, task});
  for (int input : problem.inputs(task))
    if (--unread[input] == 0)
      live -= problem.getBuffers()[input].bytes;
  for (int output : problem.outputs(task))
    if (problem.getBuffers()[output].readers.empty())
      live -= problem.getBuffers()[output].bytes;
}

void ListScheduler::finishCollectives() {
  while (!inFlight.empty() && inFlight.top().first <= now) {
    int task = inFlight.top().second;
    inFlight.pop();
    finish(task);
    if (profile || freesMemory(task))
      wait(task);
  }
}

/// Puts a task into the line.
void ListScheduler::issue(int task) {
  for (int before : problem.predecessors(task))
    if (states[before] == Finished && problem.task(before).isCollective())
      wait(before);
  ++numIssued;
  if (profile)
    profile->execute(task);
  for (int output : problem.outputs(task))
    live += problem.getBuffers()[output].bytes;
  int64_t &free = freeAt[problem.resource(task)];
  free = std::max(now, free) + problem.task(task).duration;
  ends[task] = free;
  states[task] = Issued;
  if (problem.task(task).isCollective()) {
    events.push_back({ScheduleEvent::Start, task});
    inFlight.emplace(ends[task], task);
  } else {
    events.push_back({ScheduleEvent::Compute, task});
    now = ends[task];
    for (int input : problem.inputs(task))
      if (--unread[input] == 0)
        live -= problem.getBuffers()[input].bytes;
    for (int output : problem.outputs(task))
      if (problem.getBuffers()[output].readers.empty())
        live -= problem.getBuffers()[output].bytes;
    finish(task);
  }
  while (firstLeft < problem.size() && states[firstLeft] != Fresh)
    ++firstLeft;
}

/// The first collective that is under way to end and lets something go that is
/// more urgent than `key`: when it ends, and how urgent that is.
std::pair<int64_t, int64_t> ListScheduler::findUrgent(int64_t key) const {
  if (inFlight.empty())
    return {kNever, kNever};
  auto [end, task] = inFlight.top();
  int64_t urgency = kNever;
  for (int next : problem.successors(task))
    if (numBefore[next] == 1)
      urgency = std::min(urgency, options.keys[next]);
  return urgency < key ? std::make_pair(end, urgency)
                       : std::make_pair(kNever, kNever);
}

/// Something that is done within `wait`, or runs over by little; -1: none.
int ListScheduler::chooseFiller(const Entry &first, int64_t wait) {
  Heap &heap = ready[0];
  std::vector<Entry> passed;
  int chosen = -1;
  while (!heap.empty() && chosen < 0 && passed.size() < kMaxPassedOver) {
    Entry entry = heap.top();
    heap.pop();
    if (problem.task(entry.second).duration <= wait && fits(entry.second, 0))
      chosen = entry.second;
    else
      passed.push_back(entry);
  }
  int64_t longer = problem.task(first.second).duration - wait;
  bool mayOverrun = longer * 100 <= wait * options.overrunPercent;
  for (const Entry &entry : passed) {
    if (chosen < 0 && mayOverrun && fits(entry.second, 0) &&
        entry.second == first.second)
      chosen = entry.second;
    else
      heap.push(entry);
  }
  return chosen;
}

/// Takes what the compute stream does next; -1: it has to wait.
int ListScheduler::chooseCompute() {
  Heap &heap = ready[0];
  if (heap.empty())
    return -1;
  Entry first = heap.top();
  int64_t urgent = findUrgent(first.first).first;
  if (urgent != kNever && now + problem.task(first.second).duration > urgent)
    return chooseFiller(first, urgent - now);
  std::vector<Entry> passed;
  int chosen = -1;
  while (!heap.empty() && chosen < 0 && passed.size() < kMaxPassedOver) {
    Entry entry = heap.top();
    heap.pop();
    if (fits(entry.second, 0))
      chosen = entry.second;
    else
      passed.push_back(entry);
  }
  for (const Entry &entry : passed)
    heap.push(entry);
  return chosen;
}

void ListScheduler::listActivations() {
  const ScheduleResult &previous = *options.previous;
  activations.resize(ready.size());
  firstActivation.assign(ready.size(), 0);
  readyBefore.assign(problem.size(), 0);
  for (int i = 0; i < problem.size(); ++i) {
    if (problem.task(i).role != TaskRole::Activation)
      continue;
    for (int before : problem.predecessors(i))
      readyBefore[i] = std::max(readyBefore[i], previous.end[before]);
    activations[problem.resource(i)].push_back(i);
  }
  for (std::vector<int> &list : activations)
    std::stable_sort(list.begin(), list.end(), [&](int a, int b) {
      return readyBefore[a] < readyBefore[b];
    });
}

/// Sets what lies between times of the previous schedule and those of this one.
void ListScheduler::foretell(int next) {
  if (next >= 0)
    shift = now - options.previous->begin[next];
  else if (!inFlight.empty())
    shift = inFlight.top().first - options.previous->end[inFlight.top().second];
}

/// The activation collective of a link that turns up next; -1: none is known.
/// What should have turned up some time ago and did not may take long, since
/// this schedule's order is another: nothing is kept free for it.
int ListScheduler::findAwaited(int resource) {
  constexpr size_t kMaxLate = 32;
  const std::vector<int> &list = activations[resource];
  size_t &first = firstActivation[resource];
  while (first < list.size() && states[list[first]] != Fresh)
    ++first;
  for (size_t i = first, e = std::min(list.size(), first + kMaxLate); i < e;
       ++i) {
    int task = list[i];
    int64_t latest = readyBefore[task] + shift + problem.task(task).duration;
    if (states[task] == Fresh && latest >= now)
      return task;
  }
  return -1;
}

/// Says whether starting `task` now would make an activation collective wait
/// that turns up soon, although `task` could go after it.
bool ListScheduler::blocksActivation(int task) {
  int resource = problem.resource(task);
  if (!options.previous || problem.task(task).role == TaskRole::Activation)
    return false;
  int awaited = findAwaited(resource);
  if (awaited < 0)
    return false;
  int64_t turnsUp = readyBefore[awaited];
  int64_t end = std::max(now, freeAt[resource]) + problem.task(task).duration;
  bool canGoAfter =
      options.keys[task] >= turnsUp + problem.task(awaited).duration;
  return canGoAfter && end > turnsUp + shift;
}

void ListScheduler::startFrom(int resource, int64_t horizon, int64_t reserved) {
  Heap &heap = ready[resource];
  std::vector<Entry> passed;
  while (!heap.empty() && passed.size() < 2) {
    Entry entry = heap.top();
    if (!options.startsEarly && freeAt[resource] > horizon)
      break;
    if (options.lookahead > 0 && inFlight.size() > 0 &&
        entry.first > now - shift + options.lookahead)
      break;
    heap.pop();
    if (!blocksActivation(entry.second) && fits(entry.second, reserved))
      issue(entry.second);
    else
      passed.push_back(entry);
  }
  for (const Entry &entry : passed)
    heap.push(entry);
}

/// Starts what links can take up until the compute stream is free again after
/// `next` (-1: it has nothing to do).
void ListScheduler::startCollectives(int next) {
  int64_t horizon = now, reserved = 0;
  if (next >= 0) {
    horizon += problem.task(next).duration;
    reserved = profile ? getMadeBytes(next) : 0;
  }
  if (options.previous)
    foretell(next);
  for (int r = 1, e = ready.size(); r < e; ++r)
    startFrom(r, horizon, reserved);
}

/// Nothing can be computed now: lets time go on, or takes what is next in
/// program order, which always fits.
void ListScheduler::proceed() {
  if (!inFlight.empty()) {
    int task = inFlight.top().second;
    now = std::max(now, inFlight.top().first);
    inFlight.pop();
    finish(task);
    wait(task);
    return;
  }
  Heap &heap = ready[problem.resource(firstLeft)];
  std::vector<Entry> passed;
  while (heap.top().second != firstLeft) {
    passed.push_back(heap.top());
    heap.pop();
  }
  heap.pop();
  for (const Entry &entry : passed)
    heap.push(entry);
  issue(firstLeft);
}

std::vector<ScheduleEvent> ListScheduler::run() {
  if (options.previous)
    listActivations();
  for (int i = 0; i < problem.size(); ++i) {
    numBefore[i] = problem.predecessors(i).size();
    if (numBefore[i] == 0)
      ready[problem.resource(i)].emplace(options.keys[i], i);
  }
  while (numIssued < problem.size()) {
    finishCollectives();
    int next = chooseCompute();
    int numBeforeStarts = numIssued;
    startCollectives(next);
    bool hasStarted = numIssued > numBeforeStarts;
    // What was started may have taken the memory.
    if (next >= 0 && (!hasStarted || fits(next, 0)))
      issue(next);
    else if (next >= 0)
      ready[0].emplace(options.keys[next], next);
    else if (numIssued < problem.size() && !hasStarted)
      proceed();
  }
  while (!inFlight.empty()) {
    now = std::max(now, inFlight.top().first);
    finishCollectives();
  }
  for (int i = 0; i < problem.size(); ++i)
    if (problem.task(i).isCollective() && states[i] != Waited)
      wait(i);
  return std::move(events);
}

/// The problem with time turned round, for what needs no memory.
ScheduleProblem reverse(const ScheduleProblem &problem) {
  ScheduleProblem result;
  int last = problem.size() - 1;
  for (int i = last; i >= 0; --i)
    result.addTask(problem.task(i));
  for (int i = 0; i <= last; ++i)
    for (int next : problem.successors(i))
      result.addDependence(last - next, last - i);
  result.finalize();
  return result;
}

} // namespace

std::vector<ScheduleEvent>
mlir::weft::scheduleList(const ScheduleProblem &problem,
                         const ListOptions &options) {
  return ListScheduler(problem, options).run();
}

std::vector<int64_t>
mlir::weft::computeLatestBegins(const ScheduleProblem &problem,
                                const ScheduleResult &schedule) {
  ScheduleProblem reversed = reverse(problem);
  ListOptions options;
  for (int i = problem.size() - 1; i >= 0; --i)
    options.keys.push_back(schedule.time - schedule.end[i]);
  ScheduleResult late = replay(reversed, scheduleList(reversed, options));
  std::vector<int64_t> begins;
  for (int i = 0, last = problem.size() - 1; i <= last; ++i)
    begins.push_back(late.time - late.end[last - i]);
  return begins;
}
