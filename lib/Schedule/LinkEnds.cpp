// SPDX-License-Identifier: Apache-2.0

// How long the compute stream must stand still since what could be computed
// beside a collective has to be sent after it.
//
// Let x be a collective of a link L, say the reduction of the gradient of a
// table at the end of a step, which begins at S. Compute has to do C in all.
//
// - Before S it stood still for at least I: for the gaps of a path to x less
//   what fills them of all that does not depend on x, or for the head of
//   something in front of x less all that does not depend on that. So it did
//   no more than S - I of its work.
// - What x depends on is done before S. Of the rest, the work U can come after
//   S. But if another collective y of L, which neither depends on x nor the
//   other way round, needs a computation j, then either y is before x, and j
//   before S; or y is after x, and then L has y to do as well, and what depends
//   on y. Let p(y) be the work that y needs, each computation at one y, r(y)
//   how long y takes and others of L that depend on it, each at one y, and A
//   the y that come after x. Then at least C - U - sum p(A) is done before S.
// - After S it takes as long as x and what must follow it, P, and as long as L
//   has to do then: x, what depends on it, and A, and the least that follows.
//
// So the step takes at least
//
//     C + I - U - sum p(A) + max(P, x + its followers + sum r(A) + least tail)
//
// for the A for which that is least. If the collectives of A could be cut in
// parts, those that let most be computed for their time would be taken, first
// as many as take no time, then those that let more be computed than they take;
// that is no more than what any A gives. The beginning of a step is the same
// with time turned round.

#include "PathGaps.h"
#include "weft/Schedule/Bound.h"

#include <algorithm>
#include <numeric>

using namespace mlir::weft;

namespace {

class LinkEnds {
public:
  LinkEnds(const TaskGraph &graph, const std::vector<int64_t> &heads,
           const std::vector<int64_t> &tails);

  /// The largest of the bounds of some collectives.
  int64_t getBound();

private:
  /// Collectives y that neither depend on x nor the other way round.
  struct Sent {
    int64_t work, duration;
  };

  std::vector<int> chooseCollectives() const;
  void findIdleByHeads();
  void setCollective(int collective);
  int64_t getBoundOf(int collective);
  int64_t getIdleBefore(int collective) const;
  int64_t getLater(int collective, std::vector<Sent> sent) const;
  std::vector<Sent> listSent(int collective);

  const TaskGraph &graph;
  const std::vector<int64_t> &heads;
  /// By task, not from the end.
  std::vector<int64_t> tails;
  /// All computation, and how much idle time there is before each task.
  int64_t work = 0;
  std::vector<int64_t> idleByHead;
  /// What x depends on and what depends on it.
  std::vector<char> isBefore, isAfter;
};

LinkEnds::LinkEnds(const TaskGraph &graph, const std::vector<int64_t> &heads,
                   const std::vector<int64_t> &reversedTails)
    : graph(graph), heads(heads), tails(reversedTails) {
  std::reverse(tails.begin(), tails.end());
  for (int i = 0; i < graph.size(); ++i)
    work += graph.resources[i] == kComputeStream ? graph.durations[i] : 0;
}

/// The longest of each link, the last ones and those of the longest path.
std::vector<int> LinkEnds::chooseCollectives() const {
  constexpr size_t kMaxOfEach = 8;
  std::vector<int> all, chosen;
  for (int i = 0; i < graph.size(); ++i)
    if (graph.resources[i] != kComputeStream && graph.durations[i] > 0)
      all.push_back(i);
  auto choose = [&](auto isFirst) {
    std::stable_sort(all.begin(), all.end(), isFirst);
    chosen.insert(chosen.end(), all.begin(),
                  all.begin() + std::min(all.size(), kMaxOfEach));
  };
  choose([&](int a, int b) { return graph.durations[a] > graph.durations[b]; });
  choose([&](int a, int b) {
    return heads[a] + graph.durations[a] > heads[b] + graph.durations[b];
  });
  std::vector<int> onPath;
  for (int i : findLongestPath(graph))
    if (graph.resources[i] != kComputeStream && graph.durations[i] > 0)
      onPath.push_back(i);
  size_t most = std::min(onPath.size(), kMaxOfEach);
  chosen.insert(chosen.end(), onPath.end() - most, onPath.end());
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

void LinkEnds::setCollective(int collective) {
  isBefore.assign(graph.size(), false);
  isAfter.assign(graph.size(), false);
  isBefore[collective] = isAfter[collective] = true;
  for (int i = collective; i >= 0; --i)
    for (int previous : graph.before[i])
      isBefore[previous] = isBefore[previous] || isBefore[i];
  for (int i = collective; i < graph.size(); ++i)
    for (int next : graph.after[i])
      isAfter[next] = isAfter[next] || isAfter[i];
}

/// The collectives beside x on its link, and what each lets be computed.
std::vector<LinkEnds::Sent> LinkEnds::listSent(int collective) {
  std::vector<int> sentBy(graph.size(), -1);
  std::vector<Sent> sent;
  std::vector<int> number(graph.size(), -1);
  for (int i = graph.size(); i-- > 0;) {
    if (isBefore[i] || isAfter[i])
      continue;
    for (int next : graph.after[i]) {
      int by = number[next] >= 0 ? next : sentBy[next];
      if (by >= 0 &&
          (sentBy[i] < 0 || graph.durations[by] > graph.durations[sentBy[i]]))
        sentBy[i] = by;
    }
    if (graph.resources[i] == graph.resources[collective] &&
        graph.durations[i] > 0) {
      number[i] = static_cast<int>(sent.size());
      sent.push_back({0, graph.durations[i]});
    } else if (graph.resources[i] == kComputeStream && sentBy[i] >= 0) {
      sent[number[sentBy[i]]].work += graph.durations[i];
    }
  }
  // What depends on y, and lets nothing be computed by itself.
  std::vector<int> from(graph.size(), -1);
  for (int i = 0; i < graph.size(); ++i) {
    if (isBefore[i] || isAfter[i])
      continue;
    for (int previous : graph.before[i])
      if (from[i] < 0)
        from[i] = from[previous];
    if (number[i] < 0)
      continue;
    if (sent[number[i]].work > 0)
      from[i] = number[i];
    else if (from[i] >= 0)
      sent[from[i]].duration += graph.durations[i];
  }
  return sent;
}

/// What comes after x begins: how long that takes, less what is computed then.
int64_t LinkEnds::getLater(int collective, std::vector<Sent> sent) const {
  int link = graph.resources[collective];
  int64_t later = 0, onLink = 0, leastTail = tails[collective];
  for (int i = 0; i < graph.size(); ++i) {
    if (graph.resources[i] == kComputeStream && !isBefore[i])
      later -= graph.durations[i];
    if (graph.resources[i] != link || isBefore[i] || graph.durations[i] == 0)
      continue;
    leastTail = std::min(leastTail, tails[i]);
    onLink += isAfter[i] ? graph.durations[i] : 0;
  }
  // U is all but what is sent.
  for (const Sent &each : sent)
    later += each.work;
  onLink += graph.durations[collective] + leastTail;
  int64_t path = graph.durations[collective] + tails[collective];
  int64_t left = std::max<int64_t>(0, path - onLink);
  std::stable_sort(sent.begin(), sent.end(), [](const Sent &a, const Sent &b) {
    return __int128(a.work) * b.duration > __int128(b.work) * a.duration;
  });
  later += std::max(path, onLink);
  for (const Sent &each : sent) {
    int64_t free = std::min(left, each.duration);
    left -= free;
    // Rounded up.
    int64_t freeWork =
        (__int128(each.work) * free + each.duration - 1) / each.duration;
    later -= freeWork;
    later -=
        std::max<int64_t>(0, (each.work - freeWork) - (each.duration - free));
  }
  return later;
}

/// How long the compute stream stands still before x begins.
int64_t LinkEnds::getIdleBefore(int collective) const {
  // What does not depend on x, by place in this list.
  std::vector<int> tasks, before;
  int place = -1;
  for (int i = 0; i < graph.size(); ++i)
    if (i == collective || !isAfter[i]) {
      place = i == collective ? static_cast<int>(tasks.size()) : place;
      tasks.push_back(i);
    }
  TaskGraph part = graph.induced(tasks);
  std::vector<int> path = findLongestPathTo(part, place);
  path.pop_back();
  return getIdleOnPath(part, path);
}

int64_t LinkEnds::getBoundOf(int collective) {
  setCollective(collective);
  int64_t idle = 0;
  for (int i = 0; i <= collective; ++i)
    if (isBefore[i])
      idle = std::max(idle, idleByHead[i]);
  int64_t later = getLater(collective, listSent(collective));
  return work + later + std::max(idle, getIdleBefore(collective));
}

/// For each task how long the compute stream stands still before it begins, if
/// it has done all by then that does not depend on it.
void LinkEnds::findIdleByHeads() {
  // A bit for each task that depends on another, or is it.
  size_t words = (graph.size() + 63) / 64;
  std::vector<uint64_t> bits(words * graph.size(), 0);
  idleByHead.assign(graph.size(), 0);
  for (int i = graph.size(); i-- > 0;) {
    uint64_t *own = &bits[i * words];
    own[i / 64] |= uint64_t(1) << (i % 64);
    for (int next : graph.after[i])
      for (size_t word = i / 64; word < words; ++word)
        own[word] |= bits[next * words + word];
    int64_t others = work;
    for (int k = i; k < graph.size(); ++k)
      if (graph.resources[k] == kComputeStream && (own[k / 64] >> (k % 64) & 1))
        others -= graph.durations[k];
    idleByHead[i] = std::max<int64_t>(0, heads[i] - others);
  }
}

int64_t LinkEnds::getBound() {
  // The bits grow with the square of the tasks.
  constexpr int kMaxTasks = 2000;
  if (graph.size() > kMaxTasks)
    return 0;
  findIdleByHeads();
  int64_t bound = 0;
  for (int collective : chooseCollectives())
    bound = std::max(bound, getBoundOf(collective));
  return bound;
}

} // namespace

int64_t mlir::weft::computeWorkAndEnds(const TaskGraph &graph,
                                       const std::vector<int64_t> &heads,
                                       const std::vector<int64_t> &tails) {
  return LinkEnds(graph, heads, tails).getBound();
}
