// SPDX-License-Identifier: Apache-2.0

// A tree over program order with addition to a range and the maximum of all.

#include "MemoryProfile.h"

#include <algorithm>

using namespace mlir::weft;

/// The least power of two that is no less than `count`.
static int getNumLeaves(int count) {
  int leaves = 1;
  while (leaves < count)
    leaves *= 2;
  return leaves;
}

MemoryProfile::MemoryProfile(const ScheduleProblem &problem)
    : problem(problem), firstLeaf(getNumLeaves(problem.size() + 2)),
      tree(2 * firstLeaf), isDone(problem.size(), false),
      lastReader(problem.getBuffers().size()),
      takenBy(problem.getBuffers().size(), -1) {
  const std::vector<ScheduleBuffer> &buffers = problem.getBuffers();
  for (int i = 0, e = buffers.size(); i < e; ++i) {
    lastReader[i] = static_cast<int>(buffers[i].readers.size()) - 1;
    if (buffers[i].inPlaceOf >= 0)
      takenBy[buffers[i].inPlaceOf] = i;
  }
  add(0, problem.size() - 1, problem.fixedBytes);
  for (int i = 0, e = buffers.size(); i < e; ++i) {
    int last = buffers[i].readers.empty() ? buffers[i].producer
                                          : buffers[i].readers.back();
    add(buffers[i].producer, getEnd(i, last), buffers[i].bytes);
  }
}

int MemoryProfile::getEnd(int buffer, int reader) const {
  int taker = takenBy[buffer];
  bool isTaken = taker >= 0 && problem.getBuffers()[taker].producer == reader;
  return isTaken ? reader - 1 : reader;
}

void MemoryProfile::addToNode(int node, int64_t bytes) {
  tree[node].max += bytes;
  tree[node].add += bytes;
}

void MemoryProfile::update(int node) {
  tree[node].max =
      tree[node].add + std::max(tree[2 * node].max, tree[2 * node + 1].max);
}

/// From the leaves on both sides of the range up to the root: what is between
/// both gets the bytes, and what is above either has another maximum then.
void MemoryProfile::add(int first, int last, int64_t bytes) {
  if (first > last || bytes == 0)
    return;
  int left = firstLeaf + first, right = firstLeaf + last + 2;
  for (; (left ^ right) != 1; left /= 2, right /= 2) {
    if (left % 2 == 0)
      addToNode(left + 1, bytes);
    if (right % 2 == 1)
      addToNode(right - 1, bytes);
    update(left / 2);
    update(right / 2);
  }
  for (left /= 2; left > 0; left /= 2)
    update(left);
}

int MemoryProfile::findReader(const std::vector<int> &readers, int &i,
                              int task) const {
  while (i >= 0 && (isDone[readers[i]] || readers[i] == task))
    --i;
  return i < 0 ? -1 : readers[i];
}

void MemoryProfile::apply(int task, int sign) {
  const std::vector<ScheduleBuffer> &buffers = problem.getBuffers();
  // What it makes is alive from now on instead of from its place.
  for (int output : problem.outputs(task)) {
    int64_t bytes = sign * buffers[output].bytes;
    add(0, task - 1, bytes);
    if (buffers[output].readers.empty())
      add(0, task, -bytes);
  }
  // What it reads is alive until its next reader from the end.
  for (int input : problem.inputs(task)) {
    const std::vector<int> &readers = buffers[input].readers;
    int i = lastReader[input];
    int last = findReader(readers, i, -1);
    if (last != task)
      continue;
    int next = findReader(readers, i, task);
    int end = next < 0 ? -1 : getEnd(input, next);
    add(end + 1, getEnd(input, task), -sign * buffers[input].bytes);
  }
}

bool MemoryProfile::staysWithin(int64_t limit, int task) {
  // Nothing adds to the peak but what the task makes.
  int64_t made = 0;
  for (int output : problem.outputs(task))
    made += problem.getBuffers()[output].bytes;
  if (getPeak() + made <= limit)
    return true;
  apply(task, 1);
  int64_t peak = getPeak();
  apply(task, -1);
  return peak <= limit;
}

void MemoryProfile::execute(int task) {
  apply(task, 1);
  isDone[task] = true;
  for (int input : problem.inputs(task))
    findReader(problem.getBuffers()[input].readers, lastReader[input], -1);
}

bool MemoryProfile::keep(int first, int second, int64_t limit) {
  const std::vector<ScheduleBuffer> &buffers = problem.getBuffers();
  auto apply = [&](int64_t sign) {
    for (int output : problem.outputs(first)) {
      // Between the last reader of the first and the second.
      const std::vector<int> &readers = buffers[output].readers;
      int end = readers.empty() ? first : readers.back();
      add(end + 1, second - 1, sign * buffers[output].bytes);
    }
  };
  apply(1);
  if (getPeak() <= limit)
    return true;
  apply(-1);
  return false;
}
