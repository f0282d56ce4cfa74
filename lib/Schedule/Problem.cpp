// SPDX-License-Identifier: Apache-2.0

// Tasks, buffers and the lists between them.

#include "weft/Schedule/Problem.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <numeric>

using namespace mlir::weft;

Adjacency::Adjacency(int count, const std::vector<std::pair<int, int>> &pairs)
    : starts(count + 1, 0), values(pairs.size()) {
  // By source, each in the order of the pairs, which mostly ascends.
  for (const auto &[from, to] : pairs)
    ++starts[from + 1];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  std::vector<int> next(starts.begin(), starts.end() - 1);
  for (const auto &[from, to] : pairs)
    values[next[from]++] = to;
  auto kept = values.begin();
  for (int i = 0; i < count; ++i) {
    auto first = values.begin() + starts[i], last = values.begin() + next[i];
    if (!std::is_sorted(first, last))
      std::sort(first, last);
    starts[i] = static_cast<int>(kept - values.begin());
    for (last = std::unique(first, last); first != last; ++first)
      *kept++ = *first;
  }
  starts[count] = static_cast<int>(kept - values.begin());
  values.erase(kept, values.end());
}

Adjacency Adjacency::induced(const std::vector<int> &chosen,
                             const std::vector<int> &place) const {
  Adjacency result;
  for (int task : chosen) {
    for (int other : (*this)[task])
      if (place[other] >= 0)
        result.values.push_back(place[other]);
    result.starts.push_back(static_cast<int>(result.values.size()));
  }
  return result;
}

Adjacency Adjacency::reversed() const {
  Adjacency result;
  int last = static_cast<int>(starts.size()) - 2;
  for (auto it = values.rbegin(); it != values.rend(); ++it)
    result.values.push_back(last - *it);
  for (int i = last; i >= 0; --i)
    result.starts.push_back(static_cast<int>(values.size()) - starts[i]);
  return result;
}

int ScheduleProblem::addTask(const ScheduleTask &task) {
  tasks.push_back(task);
  return size() - 1;
}

void ScheduleProblem::addDependence(int before, int after) {
  assert(before < after && "tasks are numbered in program order");
  edges.emplace_back(before, after);
}

int ScheduleProblem::addBuffer(int64_t bytes, int producer) {
  ScheduleBuffer buffer;
  buffer.bytes = bytes;
  buffer.producer = producer;
  buffers.push_back(std::move(buffer));
  return static_cast<int>(buffers.size()) - 1;
}

void ScheduleProblem::addReader(int buffer, int task) {
  buffers[buffer].readers.push_back(task);
  addDependence(buffers[buffer].producer, task);
}

void ScheduleProblem::shareBuffer(int buffer, int root) {
  for (int reader : buffers[buffer].readers)
    addReader(root, reader);
  buffers[buffer].bytes = 0;
}

void ScheduleProblem::finalize() {
  std::vector<std::pair<int, int>> reversed, makes, reads;
  reversed.reserve(edges.size());
  for (auto [from, to] : edges)
    reversed.emplace_back(to, from);
  for (int i = 0, e = buffers.size(); i < e; ++i) {
    std::vector<int> &readers = buffers[i].readers;
    std::sort(readers.begin(), readers.end());
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    makes.emplace_back(buffers[i].producer, i);
    for (int reader : readers)
      reads.emplace_back(reader, i);
  }
  after = Adjacency(size(), edges);
  before = Adjacency(size(), reversed);
  made = Adjacency(size(), makes);
  read = Adjacency(size(), reads);
  numberResources();
}

/// Links first come, first numbered; a collective without a link has its
/// channel for itself.
void ScheduleProblem::numberResources() {
  std::map<std::pair<int, int>, int> numbers;
  resources.assign(size(), 0);
  numChannels = 0;
  for (int i = 0; i < size(); ++i) {
    const ScheduleTask &task = tasks[i];
    numChannels = std::max(numChannels, task.channel + 1);
    if (!task.isCollective())
      continue;
    std::pair<int, int> key(task.link, task.link < 0 ? task.channel : -1);
    auto [it, isNew] = numbers.emplace(key, numbers.size() + 1);
    resources[i] = it->second;
  }
  numResources = static_cast<int>(numbers.size()) + 1;
}

int64_t ScheduleProblem::getComputeTime() const {
  int64_t sum = 0;
  for (const ScheduleTask &task : tasks)
    sum += task.isCollective() ? 0 : task.duration;
  return sum;
}

int64_t ScheduleProblem::getCommunicationTime() const {
  int64_t sum = 0;
  for (const ScheduleTask &task : tasks)
    sum += task.isCollective() ? task.duration : 0;
  return sum;
}

int64_t ScheduleProblem::getLayerBytes() const {
  constexpr int64_t kWeightsPerLayer = 8;
  int64_t bytes = 0, count = 0;
  for (int i = 0; i < size(); ++i) {
    if (tasks[i].role != TaskRole::Gather || tasks[i].isFetch)
      continue;
    ++count;
    for (int output : outputs(i))
      bytes += buffers[output].bytes;
  }
  return count == 0 ? 0 : bytes / count * kWeightsPerLayer;
}

int64_t ScheduleProblem::getMostBytes() const {
  int64_t sum = fixedBytes;
  for (const ScheduleBuffer &buffer : buffers)
    sum += buffer.bytes;
  return sum;
}

ScheduleProblem
ScheduleProblem::keepGathers(const std::vector<bool> &kept) const {
  ScheduleProblem result;
  result.fixedBytes = fixedBytes;
  result.tasks = tasks;
  result.edges = edges;
  result.buffers = buffers;
  for (int i = 0; i < size(); ++i) {
    if (!kept[i])
      continue;
    int first = tasks[i].sameAs;
    assert(first >= 0 && outputs(i).size() == outputs(first).size() &&
           "only what repeats a gather can be left out");
    result.tasks[i] = ScheduleTask();
    result.tasks[i].layer = tasks[i].layer;
    for (int o = 0; o < outputs(i).size(); ++o) {
      ScheduleBuffer &repeated = result.buffers[outputs(i)[o]];
      ScheduleBuffer &original = result.buffers[outputs(first)[o]];
      for (int reader : repeated.readers) {
        original.readers.push_back(reader);
        result.addDependence(first, reader);
      }
      repeated.bytes = 0;
    }
    // What it read, it reads no longer.
    for (int input : inputs(i)) {
      std::vector<int> &readers = result.buffers[input].readers;
      readers.erase(std::find(readers.begin(), readers.end(), i));
    }
  }
  result.finalize();
  return result;
}

ScheduleProblem ScheduleProblem::reordered(
    const std::vector<int> &order,
    const std::vector<std::pair<int, int>> &pairs) const {
  std::vector<int> numbers(size());
  for (int i = 0; i < size(); ++i)
    numbers[order[i]] = i;
  ScheduleProblem result;
  result.fixedBytes = fixedBytes;
  for (int i = 0; i < size(); ++i) {
    ScheduleTask task = tasks[order[i]];
    int first = task.sameAs < 0 ? -1 : numbers[task.sameAs];
    task.sameAs = first < i ? first : -1;
    result.addTask(task);
  }
  for (const std::vector<std::pair<int, int>> *list : {&edges, &pairs})
    for (auto [from, to] : *list)
      result.addDependence(numbers[from], numbers[to]);
  result.buffers = buffers;
  for (ScheduleBuffer &buffer : result.buffers) {
    buffer.producer = numbers[buffer.producer];
    for (int &reader : buffer.readers)
      reader = numbers[reader];
  }
  result.finalize();
  return result;
}
