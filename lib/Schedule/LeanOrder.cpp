// SPDX-License-Identifier: Apache-2.0

// Greedy walks, forward and backward in time, which do first what frees memory;
// then what is alive at the peak of the best one, and not used there, is made
// later or used up earlier. The least peak of any order is hard to find
// (register sufficiency; R. Sethi, "Complete register allocation problems",
// SIAM J. Comput. 4, 1975), so this is a search with a fixed effort.

#include "LeanOrder.h"
#include "weft/Schedule/Scheduler.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <queue>
#include <random>
#include <tuple>

using namespace mlir::weft;

namespace {

/// What is done, of what needs memory, when nothing that is ready frees any.
enum class Preference { Program, Newest, Smallest };

/// Tasks and buffers, either as they are or with time turned round: a buffer is
/// alive from the first to the last of the tasks that touch it.
struct Walk {
  Walk(const ScheduleProblem &problem, bool isBackward);

  int size;
  Adjacency before, after;
  /// The buffers of each task, and the tasks of each buffer.
  Adjacency touched, touchers;
  std::vector<int64_t> bytes;
};

Walk::Walk(const ScheduleProblem &problem, bool isBackward)
    : size(problem.size()) {
  std::vector<std::pair<int, int>> edges, reversed, ofTask, ofBuffer;
  for (int i = 0; i < size; ++i)
    for (int next : problem.successors(i)) {
      edges.emplace_back(i, next);
      reversed.emplace_back(next, i);
    }
  const std::vector<ScheduleBuffer> &buffers = problem.getBuffers();
  auto touch = [&](int task, int buffer) {
    ofTask.emplace_back(task, buffer);
    ofBuffer.emplace_back(buffer, task);
  };
  for (int i = 0, e = buffers.size(); i < e; ++i) {
    bytes.push_back(buffers[i].bytes);
    touch(buffers[i].producer, i);
    for (int reader : buffers[i].readers)
      touch(reader, i);
  }
  after = Adjacency(size, isBackward ? reversed : edges);
  before = Adjacency(size, isBackward ? edges : reversed);
  touched = Adjacency(size, ofTask);
  touchers = Adjacency(bytes.size(), ofBuffer);
}

/// Takes the tasks one by one.
class GreedyWalk {
public:
  GreedyWalk(const Walk &walk, Preference preference)
      : walk(walk), preference(preference), numBefore(walk.size),
        readySince(walk.size, -1), isDone(walk.size, false),
        growth(walk.size, 0), left(walk.bytes.size()),
        isAlive(walk.bytes.size(), false) {}

  std::vector<int> run() {
    for (int b = 0, e = walk.bytes.size(); b < e; ++b) {
      left[b] = walk.touchers[b].size();
      for (int task : walk.touchers[b])
        growth[task] += left[b] == 1 ? 0 : walk.bytes[b];
    }
    for (int i = 0; i < walk.size; ++i) {
      numBefore[i] = walk.before[i].size();
      if (numBefore[i] == 0)
        push(i);
    }
    while (!ready.empty()) {
      Entry entry = ready.top();
      ready.pop();
      if (!isDone[entry.task] && entry.growth == growth[entry.task])
        take(entry.task);
    }
    return std::move(order);
  }

private:
  struct Entry {
    /// What frees memory comes first.
    bool grows;
    int64_t key;
    int task;
    int64_t growth;

    bool operator>(const Entry &other) const {
      return std::tie(grows, key, task) >
             std::tie(other.grows, other.key, other.task);
    }
  };

  void push(int task) {
    if (readySince[task] < 0)
      readySince[task] = static_cast<int>(order.size());
    bool grows = growth[task] > 0;
    int64_t key = growth[task];
    if (grows && preference == Preference::Program)
      key = 0;
    else if (grows && preference == Preference::Newest)
      key = -readySince[task];
    ready.push(Entry{grows, key, task, growth[task]});
  }

  void grow(int task, int64_t bytes) {
    growth[task] += bytes;
    if (bytes != 0 && !isDone[task] && numBefore[task] == 0)
      push(task);
  }

  void take(int task) {
    isDone[task] = true;
    order.push_back(task);
    for (int buffer : walk.touched[task])
      touch(buffer);
    for (int next : walk.after[task])
      if (--numBefore[next] == 0)
        push(next);
  }

  /// What is alive costs those that touch it nothing more, and the last of
  /// them frees it.
  void touch(int buffer) {
    int64_t bytes = walk.bytes[buffer];
    --left[buffer];
    bool isNew = !isAlive[buffer];
    isAlive[buffer] = true;
    if (!isNew && left[buffer] != 1)
      return;
    for (int task : walk.touchers[buffer])
      if (!isDone[task])
        grow(task, (isNew ? -bytes : 0) - (left[buffer] == 1 ? bytes : 0));
  }

  const Walk &walk;
  Preference preference;
  std::vector<int> numBefore;
  /// How many tasks were done when a task became ready.
  std::vector<int> readySince;
  std::vector<bool> isDone;
  /// By how many bytes more are alive after a task than before it.
  std::vector<int64_t> growth;
  /// Tasks that have not touched a buffer yet.
  std::vector<int> left;
  std::vector<bool> isAlive;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> ready;
  std::vector<int> order;
};

/// Where an order needs most memory.
struct Peak {
  int64_t bytes = 0;
  /// How many places need as much.
  int count = 0;
  /// The first of them.
  int place = 0;

  bool operator<(const Peak &other) const {
    return std::tie(bytes, count) < std::tie(other.bytes, other.count);
  }
};

/// Improves an order by moving tasks past its peak.
class PeakSearch {
public:
  PeakSearch(const ScheduleProblem &problem, std::vector<int> first)
      : problem(problem), order(std::move(first)), place(order.size()),
        isMember(order.size(), false) {
    for (const ScheduleBuffer &buffer : problem.getBuffers())
      numReaders.push_back(static_cast<int>(buffer.readers.size()));
    budget = kEffort / std::max<int64_t>(1, problem.size());
    setOrder(std::move(order));
  }

  std::vector<int> run() {
    while (budget > 0 && improve()) {
    }
    return order;
  }

  /// As `run`, and then from orders that were shaken.
  std::vector<int> runShaken(int rounds) {
    std::mt19937 random(1);
    std::vector<int> best = run();
    Peak least = peak;
    for (int i = 0; i < rounds && budget > 0; ++i) {
      shake(random);
      run();
      if (peak < least) {
        least = peak;
        best = order;
      } else if (least < peak) {
        setOrder(best);
      }
    }
    setOrder(best);
    return best;
  }

  const Peak &getPeak() const { return peak; }

private:
  /// Tasks that are looked at in all, and buffers at one peak.
  static constexpr int64_t kEffort = 4000000;
  static constexpr size_t kMaxTried = 12;

  void setOrder(std::vector<int> next) {
    order = std::move(next);
    for (int i = 0, e = order.size(); i < e; ++i)
      place[order[i]] = i;
    peak = measure(order, std::numeric_limits<int64_t>::max());
  }

  Peak measure(const std::vector<int> &line, int64_t most);
  bool improve();
  std::vector<int> getIdleAtPeak() const;
  void note(std::vector<int> line);
  void tryLater(int buffer);
  void tryEarlier(int buffer);
  std::vector<int> moveMembers(int to) const;
  int getFirstUse() const;
  void tryMove(bool isLater);
  void drop();
  void addUnused();
  void shake(std::mt19937 &random);

  const ScheduleProblem &problem;
  std::vector<int> order, place;
  Peak peak;
  int64_t budget = 0;
  /// The best of the moves that are looked at, and what it needs.
  std::vector<int> bestLine;
  Peak bestPeak;
  /// Tasks that are about to be moved.
  std::vector<bool> isMember;
  std::vector<int> members;
  /// Per buffer how many tasks read it, and how many have not yet.
  std::vector<int> numReaders, unread;
};

/// By the rules of `replay`, as far as it needs no more than `most` bytes.
Peak PeakSearch::measure(const std::vector<int> &line, int64_t most) {
  --budget;
  const std::vector<ScheduleBuffer> &buffers = problem.getBuffers();
  unread = numReaders;
  Peak found;
  int64_t live = problem.fixedBytes;
  for (int i = 0, e = line.size(); i < e; ++i) {
    int64_t reused = 0;
    for (int output : problem.outputs(line[i])) {
      live += buffers[output].bytes;
      int old = buffers[output].inPlaceOf;
      if (old >= 0 && unread[old] == 1)
        reused += buffers[old].bytes;
    }
    if (live - reused > found.bytes)
      found = Peak{live - reused, 0, i};
    if (found.bytes > most)
      return found;
    found.count += live - reused == found.bytes;
    for (int input : problem.inputs(line[i]))
      if (--unread[input] == 0)
        live -= buffers[input].bytes;
    for (int output : problem.outputs(line[i]))
      if (unread[output] == 0)
        live -= buffers[output].bytes;
  }
  return found;
}

/// The tasks that `next` leads to from `task`, and that one.
template <typename Next>
void mark(int task, std::vector<bool> &isMarked, Next next) {
  isMarked[task] = true;
  std::vector<int> stack{task};
  while (!stack.empty()) {
    int top = stack.back();
    stack.pop_back();
    for (int other : next(top))
      if (!isMarked[other]) {
        isMarked[other] = true;
        stack.push_back(other);
      }
  }
}

/// What is alive at the peak, and neither made nor read there, largest first;
/// not what the peak's task needs to be made, and its readers need the task.
std::vector<int> PeakSearch::getIdleAtPeak() const {
  const std::vector<ScheduleBuffer> &buffers = problem.getBuffers();
  std::vector<bool> isBefore(order.size(), false), isAfter(isBefore);
  int task = order[peak.place];
  mark(task, isBefore, [&](int i) { return problem.predecessors(i); });
  mark(task, isAfter, [&](int i) { return problem.successors(i); });
  std::vector<int> idle;
  for (int i = 0, e = buffers.size(); i < e; ++i) {
    const ScheduleBuffer &buffer = buffers[i];
    if (buffer.bytes == 0 || place[buffer.producer] >= peak.place)
      continue;
    bool isReadHere = false, isReadLater = false, isReadAfter = false;
    for (int reader : buffer.readers) {
      isReadHere |= place[reader] == peak.place;
      isReadLater |= place[reader] > peak.place;
      isReadAfter |= isAfter[reader];
    }
    bool isFixed = isBefore[buffer.producer] && isReadAfter;
    if (isReadLater && !isReadHere && !isFixed)
      idle.push_back(i);
  }
  std::stable_sort(idle.begin(), idle.end(), [&](int a, int b) {
    return buffers[a].bytes > buffers[b].bytes;
  });
  if (idle.size() > kMaxTried)
    idle.resize(kMaxTried);
  return idle;
}

/// Takes the move that helps most: a small help may be in the way of others.
bool PeakSearch::improve() {
  bestLine.clear();
  bestPeak = peak;
  for (int buffer : getIdleAtPeak()) {
    tryLater(buffer);
    tryEarlier(buffer);
  }
  if (bestLine.empty())
    return false;
  setOrder(std::move(bestLine));
  return true;
}

/// Notes a line that needs less than others.
void PeakSearch::note(std::vector<int> line) {
  Peak found = measure(line, bestPeak.bytes);
  if (!(found < bestPeak))
    return;
  bestPeak = found;
  bestLine = std::move(line);
}

/// The members, in their order, in front of place `to`, and all others as they
/// are.
std::vector<int> PeakSearch::moveMembers(int to) const {
  std::vector<int> line;
  line.reserve(order.size());
  auto addMembers = [&] {
    for (int task : order)
      if (isMember[task])
        line.push_back(task);
  };
  for (int i = 0, e = order.size(); i < e; ++i) {
    if (i == to)
      addMembers();
    if (!isMember[order[i]])
      line.push_back(order[i]);
  }
  if (to == static_cast<int>(order.size()))
    addMembers();
  return line;
}

/// The first place at which something needs a member.
int PeakSearch::getFirstUse() const {
  int first = order.size();
  for (int task : members)
    for (int next : problem.successors(task))
      if (!isMember[next])
        first = std::min(first, place[next]);
  return first;
}

/// Moves the members after the peak, there or to where they are needed, or in
/// front of the peak. There are no members afterwards.
void PeakSearch::tryMove(bool isLater) {
  int to = peak.place + (isLater ? 1 : 0);
  note(moveMembers(to));
  if (int use = isLater ? getFirstUse() : to; use > to)
    note(moveMembers(use));
  drop();
}

void PeakSearch::drop() {
  for (int task : members)
    isMember[task] = false;
  members.clear();
}

/// Adds what only the members need: tasks in front of them of which nothing
/// else reads before the peak.
void PeakSearch::addUnused() {
  for (size_t i = 0; i < members.size(); ++i)
    for (int task : problem.predecessors(members[i])) {
      if (isMember[task])
        continue;
      bool isNeeded = false;
      for (int next : problem.successors(task))
        isNeeded |= !isMember[next] && place[next] <= peak.place;
      if (!isNeeded) {
        isMember[task] = true;
        members.push_back(task);
      }
    }
}

/// Makes `buffer` after the peak, with what depends on its producer; then with
/// what only they need as well.
void PeakSearch::tryLater(int buffer) {
  int producer = problem.getBuffers()[buffer].producer;
  auto collect = [&] {
    isMember[producer] = true;
    members.push_back(producer);
    for (size_t i = 0; i < members.size(); ++i)
      for (int next : problem.successors(members[i]))
        if (place[next] <= peak.place && !isMember[next]) {
          isMember[next] = true;
          members.push_back(next);
        }
    return !isMember[order[peak.place]];
  };
  if (!collect())
    return drop();
  tryMove(/*isLater=*/true);
  collect();
  addUnused();
  tryMove(/*isLater=*/true);
}

/// Uses `buffer` up in front of the peak, with what its readers need; then with
/// all that can go on from there without needing memory.
void PeakSearch::tryEarlier(int buffer) {
  auto add = [&](int task) {
    if (!isMember[task] && place[task] >= peak.place) {
      isMember[task] = true;
      members.push_back(task);
    }
  };
  for (int reader : problem.getBuffers()[buffer].readers)
    add(reader);
  for (size_t i = 0; i < members.size(); ++i)
    for (int task : problem.predecessors(members[i]))
      add(task);
  if (isMember[order[peak.place]])
    return drop();
  tryMove(/*isLater=*/false);
}

/// Moves some tasks to where else they may stand.
void PeakSearch::shake(std::mt19937 &random) {
  std::vector<int> line = order;
  for (int k = 0; k < 4; ++k) {
    int i = static_cast<int>(random() % line.size());
    std::vector<int> at(line.size());
    for (int j = 0, e = line.size(); j < e; ++j)
      at[line[j]] = j;
    int low = 0, high = static_cast<int>(line.size()) - 1, task = line[i];
    for (int before : problem.predecessors(task))
      low = std::max(low, at[before] + 1);
    for (int next : problem.successors(task))
      high = std::min(high, at[next] - 1);
    int to = low + static_cast<int>(random() % (high - low + 1));
    line.erase(line.begin() + i);
    line.insert(line.begin() + to, task);
  }
  setOrder(std::move(line));
}

/// Steps of up to so many tasks are shaken, so often.
constexpr int kMaxShaken = 2000;
constexpr int kNumShakes = 300;

} // namespace

std::vector<int> mlir::weft::findLeanOrder(const ScheduleProblem &problem) {
  std::vector<int> program(problem.size());
  std::iota(program.begin(), program.end(), 0);
  if (program.empty()) // of a branch that gives what is there
    return program;
  std::vector<std::vector<int>> orders{program};
  for (bool isBackward : {false, true}) {
    Walk walk(problem, isBackward);
    for (Preference preference :
         {Preference::Program, Preference::Newest, Preference::Smallest}) {
      std::vector<int> order = GreedyWalk(walk, preference).run();
      if (isBackward)
        std::reverse(order.begin(), order.end());
      orders.push_back(std::move(order));
    }
  }
  Peak least;
  std::vector<int> best;
  for (std::vector<int> &order : orders) {
    PeakSearch search(problem, std::move(order));
    std::vector<int> found = search.run();
    if (best.empty() || search.getPeak().bytes < least.bytes) {
      least = search.getPeak();
      best = std::move(found);
    }
  }
  if (problem.size() > kMaxShaken)
    return best;
  return PeakSearch(problem, std::move(best)).runShaken(kNumShakes);
}

namespace {

/// The bytes that must be alive while `task` is done.
class AliveBeside {
public:
  explicit AliveBeside(const ScheduleProblem &problem) : problem(problem) {}

  int64_t get(int task) {
    isBefore.assign(problem.size(), false);
    isAfter.assign(problem.size(), false);
    mark(task, isBefore, [&](int i) { return problem.predecessors(i); });
    mark(task, isAfter, [&](int i) { return problem.successors(i); });
    int64_t through = problem.fixedBytes, inputs = 0, outputs = 0;
    for (const ScheduleBuffer &buffer : problem.getBuffers()) {
      if (!isBefore[buffer.producer])
        continue;
      bool isReadHere = false, isReadLater = false;
      for (int reader : buffer.readers) {
        isReadHere |= reader == task;
        isReadLater |= reader != task && isAfter[reader];
      }
      // What nobody reads is scratch, of which an order may need less.
      if (buffer.producer == task)
        outputs += buffer.readers.empty() ? 0 : buffer.bytes;
      else if (isReadLater)
        through += buffer.bytes;
      else if (isReadHere)
        inputs += buffer.bytes;
    }
    return through + (problem.task(task).mayOverwrite
                          ? std::max(inputs, outputs)
                          : inputs + outputs);
  }

private:
  const ScheduleProblem &problem;
  std::vector<bool> isBefore, isAfter;
};

} // namespace

int64_t mlir::weft::computeBytesBeside(const ScheduleProblem &problem,
                                       int task) {
  return AliveBeside(problem).get(task);
}

FullTask mlir::weft::findFullTask(const ScheduleProblem &problem) {
  // Those with the largest inputs and outputs, and some along the step.
  constexpr int kNumLargest = 64, kNumAlong = 64;
  std::vector<std::pair<int64_t, int>> sizes;
  for (int i = 0; i < problem.size(); ++i) {
    int64_t bytes = 0;
    for (int input : problem.inputs(i))
      bytes += problem.getBuffers()[input].bytes;
    for (int output : problem.outputs(i))
      bytes += problem.getBuffers()[output].bytes;
    sizes.emplace_back(-bytes, i);
  }
  std::sort(sizes.begin(), sizes.end());
  AliveBeside alive(problem);
  FullTask full{-1, problem.fixedBytes};
  auto consider = [&](int task) {
    if (int64_t bytes = alive.get(task); bytes > full.bytes)
      full = {task, bytes};
  };
  for (int i = 0; i < std::min(problem.size(), kNumLargest); ++i)
    consider(sizes[i].second);
  int distance = problem.size() / kNumAlong + 1;
  for (int i = 0; i < problem.size(); i += distance)
    consider(i);
  return full;
}

int64_t mlir::weft::computeLeastBytes(const ScheduleProblem &problem) {
  return findFullTask(problem).bytes;
}
