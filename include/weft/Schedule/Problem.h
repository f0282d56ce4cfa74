// SPDX-License-Identifier: Apache-2.0

// What is scheduled, without any IR: tasks that take time on the compute stream
// or on a channel, the order that they need, and the memory that they hold. And
// what comes out: one line of events, which is what a rank executes.
//
// Everything is integers and plain vectors, so that the same problem has the
// same schedule on every machine.

#ifndef WEFT_SCHEDULE_PROBLEM_H
#define WEFT_SCHEDULE_PROBLEM_H

#include <cstdint>
#include <utility>
#include <vector>

namespace mlir::weft {

/// What a task is to a policy.
enum class TaskRole {
  /// Work of the compute stream.
  Compute,
  /// A collective that brings a weight: it could start at once.
  Gather,
  /// A collective on a gradient, whose result is needed late.
  Reduce,
  /// A collective between two computations that wait for each other.
  Activation
};

struct ScheduleTask {
  /// Nanoseconds on its resource.
  int64_t duration = 0;
  /// The channel of a collective; -1 for the compute stream.
  int channel = -1;
  /// The link that the collective occupies alone; -1: its channel is its own.
  int link = -1;
  TaskRole role = TaskRole::Compute;
  /// Tasks of one layer of the model have the same number; -1: unknown.
  int layer = -1;
  /// An earlier gather that brings the same data; -1: none. See keepGathers.
  int sameAs = -1;
  /// Whether it may write where it reads, wherever the last of those is that
  /// read it. Counts for what is needed at least.
  bool mayOverwrite = false;
  /// Whether it is a gather only in that it can start ahead: what it brings
  /// from the host's memory is no weight.
  bool isFetch = false;

  bool isCollective() const { return channel >= 0; }
};

struct ScheduleBuffer {
  int64_t bytes = 0;
  /// The task that makes it.
  int producer = 0;
  /// The tasks that read it, ascending, each once.
  std::vector<int> readers;
  /// A buffer that this one takes over if its producer is the last to read it;
  /// -1: none.
  int inPlaceOf = -1;
};

/// Lists of task numbers for each of a range of things, in one piece.
class Adjacency {
public:
  struct Range {
    const int *first, *last;
    const int *begin() const { return first; }
    const int *end() const { return last; }
    int size() const { return static_cast<int>(last - first); }
    bool empty() const { return first == last; }
    int operator[](int i) const { return first[i]; }
  };

  Adjacency() = default;
  /// Takes (from, to) pairs for `count` sources; each list is ascending and has
  /// no number twice.
  Adjacency(int count, const std::vector<std::pair<int, int>> &pairs);

  Range operator[](int i) const {
    return {values.data() + starts[i], values.data() + starts[i + 1]};
  }

  /// The lists of the tasks in `chosen`, ascending, with those in them that are
  /// chosen as well, by `place`: where each is in `chosen`, or -1.
  Adjacency induced(const std::vector<int> &chosen,
                    const std::vector<int> &place) const;
  /// The lists where task i is called n - 1 - i.
  Adjacency reversed() const;

private:
  std::vector<int> starts{0};
  std::vector<int> values;
};

/// Tasks are numbered in program order: what a task depends on has a lower
/// number. A program that runs them in this order, each collective waited for
/// where it stands, is correct.
class ScheduleProblem {
public:
  int addTask(const ScheduleTask &task);
  /// `before` has to be done (a collective: waited for) before `after` begins.
  void addDependence(int before, int after);
  /// The producer's readers are added with addReader, which orders as well.
  int addBuffer(int64_t bytes, int producer);
  void addReader(int buffer, int task);
  void setInPlace(int buffer, int of) { buffers[buffer].inPlaceOf = of; }
  /// `buffer` lies in the memory of `root`, which is alive as long as it is.
  void shareBuffer(int buffer, int root);
  /// Makes the lists that the queries below read. To be called once after all
  /// was added.
  void finalize();

  int size() const { return static_cast<int>(tasks.size()); }
  const ScheduleTask &task(int i) const { return tasks[i]; }
  const std::vector<ScheduleTask> &getTasks() const { return tasks; }
  const std::vector<ScheduleBuffer> &getBuffers() const { return buffers; }
  const Adjacency &getPredecessors() const { return before; }
  const Adjacency &getSuccessors() const { return after; }
  Adjacency::Range predecessors(int task) const { return before[task]; }
  Adjacency::Range successors(int task) const { return after[task]; }
  /// The buffers that a task makes, and those that it reads.
  Adjacency::Range outputs(int task) const { return made[task]; }
  Adjacency::Range inputs(int task) const { return read[task]; }

  /// What a collective occupies: tasks with the same number exclude each
  /// other. 0 is the compute stream.
  int resource(int task) const { return resources[task]; }
  int getNumResources() const { return numResources; }
  int getNumChannels() const { return numChannels; }

  /// Nanoseconds of all tasks of the compute stream, and of all collectives.
  int64_t getComputeTime() const;
  int64_t getCommunicationTime() const;

  /// About the bytes of the gathered weights of a layer.
  int64_t getLayerBytes() const;

  /// Bytes of all that is ever held: no order needs more.
  int64_t getMostBytes() const;

  /// The same problem where each gather with `kept[i]` is no longer done: what
  /// it brought stays in memory since the gather that it repeats.
  ScheduleProblem keepGathers(const std::vector<bool> &kept) const;

  /// The same problem with `order` as program order: task i of it is task
  /// order[i] of this one. A gather that no longer comes after the one that it
  /// repeats counts as one of its own. Of each of `pairs`, tasks of this
  /// problem, the first has to be done before the second as well.
  ScheduleProblem
  reordered(const std::vector<int> &order,
            const std::vector<std::pair<int, int>> &pairs = {}) const;

  /// Bytes that are held all the time: arguments and results.
  int64_t fixedBytes = 0;

private:
  void numberResources();

  std::vector<ScheduleTask> tasks;
  std::vector<ScheduleBuffer> buffers;
  std::vector<std::pair<int, int>> edges;
  Adjacency before, after, made, read;
  std::vector<int> resources;
  int numResources = 1;
  int numChannels = 0;
};

struct ScheduleEvent {
  enum Kind { Compute, Start, Wait };
  Kind kind;
  int task;

  bool operator==(const ScheduleEvent &other) const {
    return kind == other.kind && task == other.task;
  }
};

/// A line of events and what happens when it is executed.
struct ScheduleResult {
  std::vector<ScheduleEvent> events;
  /// When each task begins and ends on its resource.
  std::vector<int64_t> begin, end;
  /// How long the compute stream stands still at each collective's wait.
  std::vector<int64_t> exposed;
  /// Nanoseconds until all is done.
  int64_t time = 0;
  /// The largest sum of live bytes, fixed ones included, and the event where it
  /// is reached first.
  int64_t peakBytes = 0;
  int peakEvent = 0;

  int64_t getExposedTime() const;
};

/// Executes `events`: the compute stream runs them in order. A start costs
/// nothing; its collective begins when those started before it on its channel
/// and link are done. A wait stands still until its collective is done.
ScheduleResult replay(const ScheduleProblem &problem,
                      std::vector<ScheduleEvent> events);

/// Says what is wrong with a line of events, or returns an empty text: a task
/// missing or run twice, before what it depends on, or not waited for.
const char *findFault(const ScheduleProblem &problem,
                      const std::vector<ScheduleEvent> &events);

/// The buffers that are alive at an event, largest first, those of one size in
/// program order.
std::vector<int> getLiveBuffers(const ScheduleProblem &problem,
                                const std::vector<ScheduleEvent> &events,
                                int event);

} // namespace mlir::weft

#endif // WEFT_SCHEDULE_PROBLEM_H
