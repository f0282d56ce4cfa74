// SPDX-License-Identifier: Apache-2.0

// Program order with collectives where they stand, or a layer ahead.

#include "SimplePolicies.h"
#include "MemoryProfile.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <memory>

using namespace mlir::weft;

std::vector<ScheduleEvent>
mlir::weft::scheduleSync(const ScheduleProblem &problem) {
  std::vector<ScheduleEvent> events;
  for (int i = 0; i < problem.size(); ++i) {
    if (!problem.task(i).isCollective()) {
      events.push_back({ScheduleEvent::Compute, i});
      continue;
    }
    events.push_back({ScheduleEvent::Start, i});
    events.push_back({ScheduleEvent::Wait, i});
  }
  return events;
}

namespace {

/// Program order with gathers of the next layer ahead.
class NextLayer {
public:
  NextLayer(const ScheduleProblem &problem, int64_t limit)
      : problem(problem), limit(limit), isStarted(problem.size(), false),
        isWaited(problem.size(), false), groupOf(problem.size(), -1),
        live(problem.fixedBytes), unread(problem.getBuffers().size()) {
    for (size_t i = 0; i < unread.size(); ++i)
      unread[i] = problem.getBuffers()[i].readers.size();
    if (limit > 0)
      profile = std::make_unique<MemoryProfile>(problem);
    groupGathers();
  }

  std::vector<ScheduleEvent> run() {
    startAhead(0);
    for (int i = 0; i < problem.size(); ++i) {
      if (isStarted[i])
        continue;
      for (int before : problem.predecessors(i))
        enterLayerOf(before);
      if (isStarted[i])
        continue; // ahead, for a gather of the next layer
      if (continuesReduction(i)) {
        continuations.push_back(i);
        continue;
      }
      waitFor(i);
      if (problem.task(i).role == TaskRole::Reduce)
        waitForOldReductions();
      if (problem.task(i).isCollective())
        start(i);
      else
        compute(i);
    }
    for (int i = 0; i < problem.size(); ++i)
      complete(i);
    return std::move(events);
  }

private:
  /// A reduction of what another brings, along other axes, does not stop what
  /// is computed in between: it starts a layer later, or when it is needed.
  /// With a limit it starts at once, as what both hold is free sooner.
  bool continuesReduction(int task) const {
    if (profile || problem.task(task).role != TaskRole::Reduce)
      return false;
    return llvm::any_of(problem.predecessors(task), [&](int before) {
      return problem.task(before).role == TaskRole::Reduce && !isWaited[before];
    });
  }

  /// Gathers that follow each other and belong to one layer are started
  /// together; what has no layer is one by itself.
  void groupGathers() {
    int layer = -1;
    for (int i = 0; i < problem.size(); ++i) {
      const ScheduleTask &task = problem.task(i);
      if (task.role != TaskRole::Gather)
        continue;
      if (groups.empty() || task.layer < 0 || task.layer != layer)
        groups.emplace_back();
      layer = task.layer;
      groups.back().push_back(i);
      groupOf[i] = static_cast<int>(groups.size()) - 1;
    }
  }

  /// `used` is a gather that is used now: starts the layer after its own.
  void enterLayerOf(int used) {
    if (groupOf[used] >= currentGroup) {
      currentGroup = groupOf[used] + 1;
      startAhead(currentGroup);
    }
  }

  void startAhead(int group) {
    if (group >= static_cast<int>(groups.size()))
      return;
    for (int gather : groups[group])
      tryStart(gather);
  }

  /// Starts `gather` with what it needs, if all of it fits.
  void tryStart(int gather) {
    if (isStarted[gather])
      return;
    for (int before : problem.predecessors(gather))
      if (!isStarted[before] && !tryCompute(before))
        return;
    if (!fits(gather))
      return;
    waitFor(gather);
    start(gather);
  }

  /// The cast in front of a gather.
  bool tryCompute(int task) {
    if (problem.task(task).isCollective())
      return false;
    for (int before : problem.predecessors(task))
      if (!isStarted[before] && !tryCompute(before))
        return false;
    if (!fits(task))
      return false;
    waitFor(task);
    compute(task);
    return true;
  }

  bool fits(int task) {
    if (!profile)
      return true;
    int64_t made = 0;
    for (int output : problem.outputs(task))
      made += problem.getBuffers()[output].bytes;
    return live + made <= limit && profile->staysWithin(limit, task);
  }

  void make(int task) {
    isStarted[task] = true;
    for (int output : problem.outputs(task))
      live += problem.getBuffers()[output].bytes;
    if (profile && live > limit)
      makeRoom();
    if (profile)
      profile->execute(task);
  }

  void release(int task) {
    for (int input : problem.inputs(task))
      if (--unread[input] == 0)
        live -= problem.getBuffers()[input].bytes;
    for (int output : problem.outputs(task))
      if (unread[output] == 0)
        live -= problem.getBuffers()[output].bytes;
  }

  void compute(int task) {
    make(task);
    release(task);
    isWaited[task] = true;
    events.push_back({ScheduleEvent::Compute, task});
  }

  void start(int task) {
    make(task);
    events.push_back({ScheduleEvent::Start, task});
    pending.push_back(task);
    if (problem.task(task).role == TaskRole::Reduce)
      reductions.push_back(task);
    else if (problem.task(task).role != TaskRole::Gather)
      wait(task);
  }

  void wait(int task) {
    if (isWaited[task])
      return;
    isWaited[task] = true;
    release(task);
    events.push_back({ScheduleEvent::Wait, task});
  }

  /// Waits for a task, and starts it before if it was left for later.
  void complete(int task) {
    if (!isStarted[task])
      startContinuations();
    wait(task);
  }

  void waitFor(int task) {
    for (int before : problem.predecessors(task))
      complete(before);
  }

  void waitForAll(std::vector<int> &tasks) {
    for (int task : tasks)
      wait(task);
    tasks.clear();
  }

  /// Waits for all that is under way: what it reads is free then.
  void makeRoom() { waitForAll(pending); }

  /// Waits for what was started before the gathers of the layer before.
  void waitForOldReductions() {
    if (currentGroup == groupOfReductions)
      return;
    waitForAll(oldReductions);
    oldReductions.swap(reductions);
    groupOfReductions = currentGroup;
    startContinuations();
  }

  void startContinuations() {
    std::vector<int> all;
    all.swap(continuations);
    for (int task : all) {
      waitFor(task);
      start(task);
    }
  }

  const ScheduleProblem &problem;
  int64_t limit;
  std::vector<bool> isStarted, isWaited;
  std::vector<std::vector<int>> groups;
  std::vector<int> groupOf;
  int currentGroup = 0;
  /// What was started and may not have been waited for.
  std::vector<int> pending, reductions, oldReductions;
  /// Reductions that continue others, and are not started.
  std::vector<int> continuations;
  int groupOfReductions = 0;
  int64_t live;
  std::vector<int> unread;
  std::unique_ptr<MemoryProfile> profile;
  std::vector<ScheduleEvent> events;
};

} // namespace

std::vector<ScheduleEvent>
mlir::weft::scheduleNextLayer(const ScheduleProblem &problem, int64_t limit) {
  return NextLayer(problem, limit).run();
}

namespace {

/// Moves waits down a line of events.
class WaitSinking {
public:
  WaitSinking(const ScheduleProblem &problem, bool mayHold)
      : problem(problem), mayHold(mayHold), unread(problem.getBuffers().size()),
        sinkingReaders(unread.size(), 0), isSinking(problem.size(), false) {
    for (size_t i = 0; i < unread.size(); ++i)
      unread[i] = problem.getBuffers()[i].readers.size();
  }

  std::vector<ScheduleEvent> run(const std::vector<ScheduleEvent> &events) {
    for (const ScheduleEvent &event : events) {
      if (event.kind == ScheduleEvent::Wait) {
        sink(event.task);
        continue;
      }
      for (int before : problem.predecessors(event.task))
        if (isSinking[before])
          place(before);
      result.push_back(event);
      if (event.kind == ScheduleEvent::Compute)
        release(event.task);
    }
    return std::move(result);
  }

private:
  /// Says whether `buffer` is only held by waits that were moved down.
  bool isHeldByWaits(int buffer) const {
    return !mayHold && problem.getBuffers()[buffer].bytes > 0 &&
           unread[buffer] == sinkingReaders[buffer];
  }

  void sink(int task) {
    isSinking[task] = true;
    bool frees = problem.successors(task).empty();
    for (int output : problem.outputs(task))
      frees |= !mayHold && problem.getBuffers()[output].readers.empty();
    for (int input : problem.inputs(task)) {
      ++sinkingReaders[input];
      frees |= isHeldByWaits(input);
    }
    if (frees)
      place(task);
  }

  void place(int task) {
    isSinking[task] = false;
    result.push_back({ScheduleEvent::Wait, task});
    for (int input : problem.inputs(task))
      --sinkingReaders[input];
    release(task);
  }

  /// `task` has read its inputs: waits that alone hold one are placed now.
  void release(int task) {
    for (int input : problem.inputs(task)) {
      --unread[input];
      if (!isHeldByWaits(input))
        continue;
      for (int reader : problem.getBuffers()[input].readers)
        if (isSinking[reader])
          place(reader);
    }
  }

  const ScheduleProblem &problem;
  bool mayHold;
  std::vector<int> unread, sinkingReaders;
  std::vector<bool> isSinking;
  std::vector<ScheduleEvent> result;
};

} // namespace

std::vector<ScheduleEvent>
mlir::weft::sinkWaits(const ScheduleProblem &problem,
                      const std::vector<ScheduleEvent> &events, bool mayHold) {
  return WaitSinking(problem, mayHold).run(events);
}
