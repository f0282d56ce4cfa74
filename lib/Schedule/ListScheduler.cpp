// SPDX-License-Identifier: Apache-2.0

// The walk through time. Heaps of indices; ties go by program order.

#include "ListScheduler.h"
#include "LinkFeed.h"
#include "MemoryProfile.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <queue>
#include <set>

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
    if (options.keepsLinkFree)
      findLeads();
    if (options.keepsLinkBusy && problem.getNumResources() > 1)
      feed = std::make_unique<LinkFeed>(problem, options.keys);
  }

  std::vector<ScheduleEvent> run();

private:
  /// Issued is under way, Finished is known to be done by now; what it read is
  /// free when it is Waited for (a collective) or at once.
  enum State : char { Fresh, Issued, Finished, Waited };

  void finishCollectives();
  void makeReady(int task);
  void finish(int task);
  int chooseCompute();
  int chooseFeeder(int task);
  int chooseFiller(const Entry &first, int64_t wait);
  bool mayOverrun(int task, int64_t wait) const;
  bool delaysUrgent(const Entry &entry) const;
  int64_t findUrgent(int64_t key, int64_t before) const;
  int startFirst(int next);
  void startCollectives(int next, int64_t horizon);
  void startFrom(int resource, int64_t horizon, int64_t reserved,
                 int64_t freed);
  void listActivations();
  void foretell(int next);
  int findAwaited(int resource);
  bool blocksActivation(int task);
  bool blocksNext(int task);
  void findLeads();
  bool fits(int task, int64_t reserved);
  void issue(int task);
  void wait(int task);
  void take(int task);
  void proceed();

  int64_t getMadeBytes(int task) const;
  int64_t getFreedBytes(int task) const;
  int64_t getSpareBytes(int task, int64_t freed = 0) const;
  bool isTooEarly(int task);

  const ScheduleProblem &problem;
  const ListOptions &options;
  std::vector<int> numBefore;
  std::vector<State> states;
  std::vector<int64_t> ends;
  /// What could be issued now, by resource.
  std::vector<Heap> ready;
  std::vector<int64_t> freeAt;
  /// Collectives that are under way: (end, task).
  std::set<Entry> inFlight;
  int64_t now = 0;
  int64_t live;
  std::vector<int> unread;
  std::unique_ptr<MemoryProfile> profile;
  /// A task that the profile has executed, which is issued next; -1: none.
  int foreseen = -1;
  std::unique_ptr<LinkFeed> feed;
  /// Per computation, the nearest collective that others wait for, and how long
  /// it takes until that could begin; those that can be computed, soonest
  /// first.
  std::vector<int> leadsTo;
  std::vector<int64_t> leadTimes;
  Heap leads;
  /// What is computed after the collectives that are being started.
  int nextComputed = -1;
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

/// The bytes that are free after `task`, or the wait for it.
int64_t ListScheduler::getFreedBytes(int task) const {
  int64_t bytes = 0;
  for (int input : problem.inputs(task))
    if (unread[input] == 1)
      bytes += problem.getBuffers()[input].bytes;
  return bytes;
}

/// What a gather leaves to computations, of which `freed` bytes are free when
/// the next begins, unless it is what all wait for.
int64_t ListScheduler::getSpareBytes(int task, int64_t freed) const {
  bool isAhead = feed && problem.task(task).role == TaskRole::Gather &&
                 task != firstLeft && !inFlight.empty();
  return isAhead ? std::max<int64_t>(0, options.spareBytes - freed) : 0;
}

/// Says whether computing `task` now takes memory that the link needs more.
bool ListScheduler::isTooEarly(int task) {
  return feed && options.ahead > 0 &&
         (options.isAlwaysShort || feed->isBinding()) &&
         options.keys[task] > feed->getLowestKey() + options.ahead &&
         getMadeBytes(task) > getFreedBytes(task);
}

/// Says whether `task` can be issued, with `reserved` bytes for what is about
/// to be issued, and all others can still follow.
bool ListScheduler::fits(int task, int64_t reserved) {
  if (!profile)
    return true;
  if (live + getMadeBytes(task) + reserved > options.limit)
    return false;
  return task == firstLeft || profile->staysWithin(options.limit, task);
}

void ListScheduler::makeReady(int task) {
  ready[problem.resource(task)].emplace(options.keys[task], task);
  if (!leadsTo.empty() && leadsTo[task] >= 0)
    leads.emplace(leadTimes[task], task);
  if (feed)
    feed->makeReady(task);
}

/// Marks a task as done: what depends on it may go.
void ListScheduler::finish(int task) {
  states[task] = Finished;
  for (int next : problem.successors(task))
    if (--numBefore[next] == 0)
      makeReady(next);
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
  while (!inFlight.empty() && inFlight.begin()->first <= now) {
    int task = inFlight.begin()->second;
    inFlight.erase(inFlight.begin());
    finish(task);
    if (profile || getFreedBytes(task) > 0)
      wait(task);
  }
}

/// Puts a task into the line.
void ListScheduler::issue(int task) {
  for (int before : problem.predecessors(task))
    if (states[before] == Finished && problem.task(before).isCollective())
      wait(before);
  ++numIssued;
  if (feed)
    feed->issue(task);
  if (profile && task != foreseen)
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

/// When the first collective ends, of those that are under way and end before
/// `before`, that lets something go that is more urgent than `key`. Only the
/// first of all is looked at unless a link is kept busy.
int64_t ListScheduler::findUrgent(int64_t key, int64_t before) const {
  for (auto [end, task] : inFlight) {
    if (end >= before)
      break;
    for (int next : problem.successors(task))
      if (numBefore[next] == 1 && options.keys[next] < key)
        return end;
    if (!feed)
      break;
  }
  return kNever;
}

/// Says whether `task` may be done in `wait`, although it takes longer.
bool ListScheduler::mayOverrun(int task, int64_t wait) const {
  int64_t longer = problem.task(task).duration - wait;
  return longer * 100 <= wait * options.overrunPercent;
}

/// Says whether computing what is in `entry` now keeps something more urgent
/// from being computed.
bool ListScheduler::delaysUrgent(const Entry &entry) const {
  int64_t urgent =
      findUrgent(entry.first, now + problem.task(entry.second).duration);
  return urgent != kNever && !mayOverrun(entry.second, urgent - now);
}

/// Something that is done within `wait`, or runs over by little; -1: none.
int ListScheduler::chooseFiller(const Entry &first, int64_t wait) {
  Heap &heap = ready[0];
  std::vector<Entry> passed;
  int chosen = -1;
  while (!heap.empty() && chosen < 0 && passed.size() < kMaxPassedOver) {
    Entry entry = heap.top();
    heap.pop();
    if (problem.task(entry.second).duration <= wait &&
        !isTooEarly(entry.second) && fits(entry.second, 0))
      chosen = entry.second;
    else
      passed.push_back(entry);
  }
  for (const Entry &entry : passed) {
    if (chosen < 0 && mayOverrun(first.second, wait) && fits(entry.second, 0) &&
        entry.second == first.second)
      chosen = entry.second;
    else
      heap.push(entry);
  }
  return chosen;
}

/// Takes what lets the link go on before it stands still, where it would do so
/// while `task` is computed; -1: it would not, or nothing does.
int ListScheduler::chooseFeeder(int task) {
  if (!feed || !feed->isBinding())
    return -1;
  int64_t end = now + problem.task(task).duration;
  int64_t idle = std::max(now, freeAt[feed->getLink()]);
  if (idle >= end)
    return -1;
  if (idle + feed->getQueued() >= end) {
    int queued = ready[feed->getLink()].top().second;
    if (fits(queued, getSpareBytes(queued)))
      return -1;
  }
  int feeder = feed->findSooner(task);
  if (feeder < 0 || !fits(feeder, 0))
    return -1;
  take(feeder);
  return feeder;
}

/// Takes what the compute stream does next; -1: it has to wait.
int ListScheduler::chooseCompute() {
  Heap &heap = ready[0];
  if (heap.empty())
    return -1;
  Entry first = heap.top();
  if (int feeder = chooseFeeder(first.second); feeder >= 0)
    return feeder;
  int64_t urgent =
      findUrgent(first.first, now + problem.task(first.second).duration);
  if (urgent != kNever)
    return chooseFiller(first, urgent - now);
  std::vector<Entry> passed;
  int chosen = -1;
  while (!heap.empty() && chosen < 0 && passed.size() < kMaxPassedOver) {
    Entry entry = heap.top();
    heap.pop();
    // What goes in place of the first may take longer than that.
    bool isLate = !passed.empty() && delaysUrgent(entry);
    if (!isLate && !isTooEarly(entry.second) && fits(entry.second, 0))
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
    shift = inFlight.begin()->first -
            options.previous->end[inFlight.begin()->second];
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

void ListScheduler::findLeads() {
  leadsTo.assign(problem.size(), -1);
  leadTimes.assign(problem.size(), kNever);
  for (int i = problem.size(); i-- > 0;) {
    if (problem.task(i).isCollective())
      continue;
    for (int next : problem.successors(i)) {
      bool isActivation = problem.task(next).role == TaskRole::Activation;
      int to = isActivation ? next : leadsTo[next];
      int64_t time = isActivation ? 0 : leadTimes[next];
      if (to >= 0 && (leadsTo[i] < 0 || time < leadTimes[i])) {
        leadsTo[i] = to;
        leadTimes[i] = time;
      }
    }
    if (leadsTo[i] >= 0)
      leadTimes[i] += problem.task(i).duration;
  }
}

/// Says whether starting `task` now would make a collective wait that others
/// wait for, and that something leads to which can be computed, although `task`
/// is less urgent.
bool ListScheduler::blocksNext(int task) {
  if (!options.keepsLinkFree || problem.task(task).role == TaskRole::Activation)
    return false;
  while (!leads.empty() && states[leads.top().second] != Fresh)
    leads.pop();
  if (leads.empty())
    return false;
  auto [time, lead] = leads.top();
  int awaited = leadsTo[lead], resource = problem.resource(task);
  if (problem.resource(awaited) != resource ||
      options.keys[task] <= options.keys[awaited])
    return false;
  if (nextComputed >= 0 && nextComputed != lead)
    time += problem.task(nextComputed).duration;
  return std::max(now, freeAt[resource]) + problem.task(task).duration >
         now + time;
}

void ListScheduler::startFrom(int resource, int64_t horizon, int64_t reserved,
                              int64_t freed) {
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
    if (!blocksActivation(entry.second) && !blocksNext(entry.second) &&
        fits(entry.second, reserved + getSpareBytes(entry.second, freed)))
      issue(entry.second);
    else
      passed.push_back(entry);
  }
  for (const Entry &entry : passed)
    heap.push(entry);
}

/// Starts what links can take up until `horizon`. `next` is what is computed
/// after that (-1: nothing).
void ListScheduler::startCollectives(int next, int64_t horizon) {
  int64_t reserved = next >= 0 && profile ? getMadeBytes(next) : 0;
  int64_t freed = next >= 0 && profile ? getFreedBytes(next) : 0;
  nextComputed = next;
  if (options.previous)
    foretell(next);
  for (int r = 1, e = ready.size(); r < e; ++r)
    startFrom(r, horizon, reserved, freed);
}

/// Starts what can begin before `next` does. Returns what is computed then:
/// what is under way now may be worth to be waited for.
int ListScheduler::startFirst(int next) {
  int numBeforeStarts = numIssued;
  int64_t end = now + problem.task(next).duration;
  int64_t free = std::max(now, freeAt[feed->getLink()]);
  startCollectives(next, std::min(free, end));
  if (numIssued == numBeforeStarts)
    return next;
  ready[0].emplace(options.keys[next], next);
  return chooseCompute();
}

/// Takes `task` out of what could be issued.
void ListScheduler::take(int task) {
  Heap &heap = ready[problem.resource(task)];
  std::vector<Entry> passed;
  while (heap.top().second != task) {
    passed.push_back(heap.top());
    heap.pop();
  }
  heap.pop();
  for (const Entry &entry : passed)
    heap.push(entry);
}

/// Nothing can be computed now: lets time go on, or takes what is next in
/// program order, which always fits.
void ListScheduler::proceed() {
  if (!inFlight.empty()) {
    int task = inFlight.begin()->second;
    now = std::max(now, inFlight.begin()->first);
    inFlight.erase(inFlight.begin());
    finish(task);
    wait(task);
    return;
  }
  take(firstLeft);
  issue(firstLeft);
}

std::vector<ScheduleEvent> ListScheduler::run() {
  if (options.previous)
    listActivations();
  for (int i = 0; i < problem.size(); ++i) {
    numBefore[i] = problem.predecessors(i).size();
    if (numBefore[i] == 0)
      makeReady(i);
  }
  while (numIssued < problem.size()) {
    finishCollectives();
    int next = chooseCompute();
    int numBeforeStarts = numIssued;
    if (feed && next >= 0)
      next = startFirst(next);
    // What links can bring ahead is told by what `next` leaves.
    foreseen = profile && feed && feed->isBinding() ? next : -1;
    if (foreseen >= 0)
      profile->execute(next);
    startCollectives(next, next < 0 ? now : now + problem.task(next).duration);
    bool hasStarted = numIssued > numBeforeStarts;
    // What was started may have taken the memory.
    if (next >= 0 && (!hasStarted || next == foreseen || fits(next, 0)))
      issue(next);
    else if (next >= 0)
      ready[0].emplace(options.keys[next], next);
    else if (numIssued < problem.size() && !hasStarted)
      proceed();
  }
  while (!inFlight.empty()) {
    now = std::max(now, inFlight.begin()->first);
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
