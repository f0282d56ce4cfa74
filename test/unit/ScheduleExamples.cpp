// SPDX-License-Identifier: Apache-2.0

// Steps in the order in which a framework would write them.

#include "ScheduleExamples.h"

#include <algorithm>
#include <random>

using namespace mlir::weft;
using namespace mlir::weft::test;

namespace {

constexpr int kGatherChannel = 0;
constexpr int kReduceChannel = 1;
constexpr int kActivationChannel = 2;

class StepBuilder {
public:
  explicit StepBuilder(const StepShape &shape) : shape(shape) {}

  ScheduleProblem build() {
    int x = compute(shape.matmul, {}, shape.activationBytes);
    std::vector<int> saved;
    for (int layer = 0; layer < shape.layers; ++layer)
      for (int w = 0; w < shape.weights; ++w) {
        saved.push_back(x);
        int weight = gather(layer, -1);
        firstGathers.push_back(lastTask);
        x = compute(shape.matmul, {x, weight}, shape.activationBytes);
        x = sum(x, w);
      }
    for (int layer = shape.layers - 1; layer >= 0; --layer)
      for (int w = shape.weights - 1; w >= 0; --w) {
        int number = layer * shape.weights + w;
        backward(layer, x, saved[number], firstGathers[number], w);
      }
    problem.fixedBytes = shape.layers * shape.weights * shape.weightBytes;
    problem.finalize();
    return std::move(problem);
  }

private:
  /// Gradients of a weight and of what it is multiplied with.
  void backward(int layer, int &x, int saved, int firstGather, int w) {
    int weight = gather(layer, firstGather);
    int gradient = compute(shape.matmul, {x, saved}, shape.weightBytes);
    int shard = collective(shape.reduce, kReduceChannel, TaskRole::Reduce,
                           layer, {gradient}, shape.weightBytes / 8);
    x = compute(shape.matmul, {x, weight}, shape.activationBytes);
    x = sum(x, w);
    compute(shape.update, {shard}, 0);
  }

  /// A task that reads buffers. Returns the buffer that it makes.
  int add(const ScheduleTask &task, const std::vector<int> &inputs,
          int64_t bytes) {
    lastTask = problem.addTask(task);
    for (int input : inputs)
      problem.addReader(input, lastTask);
    return problem.addBuffer(bytes, lastTask);
  }

  int compute(int64_t duration, const std::vector<int> &inputs, int64_t bytes) {
    ScheduleTask task;
    task.duration = duration;
    return add(task, inputs, bytes);
  }

  int collective(int64_t duration, int channel, TaskRole role, int layer,
                 const std::vector<int> &inputs, int64_t bytes) {
    ScheduleTask task;
    task.duration = duration;
    task.channel = channel;
    task.link = shape.sharesLink ? 0 : -1;
    task.role = role;
    task.layer = layer;
    return add(task, inputs, bytes);
  }

  int gather(int layer, int sameAs) {
    int buffer = collective(shape.gather, kGatherChannel, TaskRole::Gather,
                            layer, {}, shape.weightBytes);
    if (sameAs >= 0)
      repeats.emplace_back(lastTask, sameAs);
    return buffer;
  }

  /// The sum over ranks after every second matmul.
  int sum(int x, int w) {
    if (shape.activation == 0 || w % 2 == 0)
      return x;
    return collective(shape.activation, kActivationChannel,
                      TaskRole::Activation, -1, {x}, shape.activationBytes);
  }

  const StepShape &shape;
  ScheduleProblem problem;
  int lastTask = -1;
  std::vector<int> firstGathers;
  std::vector<std::pair<int, int>> repeats;
};

} // namespace

ScheduleProblem test::makeStep(const StepShape &shape) {
  return StepBuilder(shape).build();
}

namespace {

class ExpertStepBuilder {
public:
  explicit ExpertStepBuilder(const ExpertShape &shape) : shape(shape) {}

  ScheduleProblem build() {
    int x = compute(100, {});
    std::vector<int> dense, expert;
    for (int layer = 0; layer < shape.layers; ++layer) {
      x = forward(x, shape.matmul, dense);
      x = exchange(compute(50, {x}));
      x = exchange(forward(x, shape.expert, expert));
    }
    int table = gather(), logits = compute(shape.head, {x, table});
    reduce(compute(shape.head, {logits, x}));
    x = compute(shape.head, {logits, table});
    for (int layer = 0; layer < shape.layers; ++layer) {
      reduce(compute(20, {exchange(compute(20, {x}))}));
      x = exchange(backward(exchange(x), shape.expert, expert));
      x = backward(compute(50, {x}), shape.matmul, dense);
    }
    problem.finalize();
    return std::move(problem);
  }

private:
  int forward(int x, int64_t duration, std::vector<int> &saved) {
    for (int w = 0; w < 2; ++w) {
      saved.push_back(x);
      x = compute(duration, {x, gather()});
    }
    return x;
  }

  int backward(int x, int64_t duration, std::vector<int> &saved) {
    for (int w = 0; w < 2; ++w) {
      int weight = gather();
      reduce(compute(shape.gradient, {x, saved.back()}));
      saved.pop_back();
      x = compute(duration, {x, weight});
    }
    return x;
  }

  int add(int64_t duration, int channel, TaskRole role,
          const std::vector<int> &inputs) {
    ScheduleTask task;
    task.duration = duration;
    task.channel = channel;
    task.link = channel < 0 ? -1 : 0;
    task.role = role;
    int number = problem.addTask(task);
    for (int input : inputs)
      problem.addReader(input, number);
    return problem.addBuffer(500, number);
  }

  int compute(int64_t duration, const std::vector<int> &inputs) {
    return add(duration, -1, TaskRole::Compute, inputs);
  }
  int gather() {
    int part = compute(shape.cast, {});
    return add(shape.gather, kGatherChannel, TaskRole::Gather, {part});
  }
  int exchange(int x) {
    return add(shape.exchange, kActivationChannel, TaskRole::Activation, {x});
  }
  void reduce(int gradient) {
    int sum = add(shape.reduce, kReduceChannel, TaskRole::Reduce, {gradient});
    compute(20, {sum});
  }

  const ExpertShape &shape;
  ScheduleProblem problem;
};

} // namespace

ScheduleProblem test::makeExpertStep(const ExpertShape &shape) {
  return ExpertStepBuilder(shape).build();
}

ScheduleTask test::compute(int64_t duration) {
  ScheduleTask task;
  task.duration = duration;
  return task;
}

ScheduleTask test::collective(int64_t duration, int channel, int link,
                              TaskRole role) {
  ScheduleTask task = compute(duration);
  task.channel = channel;
  task.link = link;
  task.role = role;
  return task;
}

ScheduleProblem test::makeRandomProblem(uint64_t seed, int size) {
  std::mt19937_64 random(seed);
  auto below = [&](int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
  };
  ScheduleProblem problem;
  int numLinks = below(3);
  std::vector<int> buffers;
  for (int i = 0; i < size; ++i) {
    ScheduleTask task;
    task.duration = below(4) == 0 ? 0 : below(1000);
    if (below(3) == 0) {
      task.channel = below(3);
      task.link = task.channel < numLinks ? task.channel / 2 : -1;
      task.role = static_cast<TaskRole>(1 + below(3));
      task.layer = i / 10;
    }
    problem.addTask(task);
    int near = std::max<int>(0, static_cast<int>(buffers.size()) - 12);
    for (int k = below(3); k > 0 && !buffers.empty(); --k)
      problem.addReader(buffers[near + below(buffers.size() - near)], i);
    if (i > 0 && below(8) == 0)
      problem.addDependence(below(i), i);
    for (int k = below(3); k > 0; --k)
      buffers.push_back(problem.addBuffer(below(5000), i));
  }
  problem.fixedBytes = below(1000);
  problem.finalize();
  return problem;
}

ScheduleProblem test::makeRandomChain(uint64_t seed, int size) {
  std::mt19937_64 random(seed);
  auto below = [&](int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
  };
  ScheduleProblem problem;
  int numLinks = 1 + below(3), numBeside = 1 + below(size / 2);
  std::vector<bool> isBeside(size, false);
  for (int i = 0; i < numBeside; ++i)
    isBeside[below(size)] = true;
  int previous = -1;
  for (int i = 0; i < size; ++i) {
    ScheduleTask task;
    task.duration = below(8) == 0 ? 0 : 1 + below(isBeside[i] ? 1500 : 500);
    if (below(isBeside[i] ? 4 : 2) == 0) {
      task.channel = below(4);
      task.link = below(2) == 0 ? below(numLinks) : -1;
      task.role = isBeside[i] ? TaskRole::Gather : TaskRole::Activation;
    }
    problem.addTask(task);
    int depends = isBeside[i] ? static_cast<int>(below(i + 1)) - 1 : previous;
    if (depends >= 0)
      problem.addDependence(depends, i);
    if (!isBeside[i])
      previous = i;
    else if (previous >= 0 && below(2) == 0)
      problem.addDependence(previous, i);
    // What was made beside is used at times.
    for (int other = 0; other < i; ++other)
      if (isBeside[other] && below(size) == 0)
        problem.addDependence(other, i);
  }
  problem.finalize();
  return problem;
}

ScheduleProblem test::makeRandomDelays(uint64_t seed, int size) {
  std::mt19937_64 random(seed);
  auto below = [&](int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
  };
  ScheduleProblem problem;
  std::vector<int> chain;
  for (int i = 0; i < size; ++i) {
    ScheduleTask task;
    bool isBeside = below(3) == 0;
    bool isCollective = isBeside ? below(3) != 0 : chain.size() % 2 == 1;
    task.duration = 1 + below(isBeside ? 800 : 300);
    if (isCollective) {
      task.channel = isBeside ? 1 : 0;
      task.link = below(8) == 0 ? 1 : 0;
      task.role = isBeside ? TaskRole::Gather : TaskRole::Activation;
    }
    problem.addTask(task);
    if (!chain.empty() && (!isBeside || below(3) == 0))
      problem.addDependence(
          isBeside ? chain[below(chain.size())] : chain.back(), i);
    // What is beside the chain is used by it at times, and by what is beside.
    for (int other = 0; other < i; ++other)
      if (below(2 * size) == 0)
        problem.addDependence(other, i);
    if (!isBeside)
      chain.push_back(i);
  }
  problem.finalize();
  return problem;
}

ScheduleProblem test::makeRandomEnd(uint64_t seed, int size) {
  std::mt19937_64 random(seed);
  auto below = [&](int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
  };
  std::vector<ScheduleTask> tasks;
  std::vector<std::pair<int, int>> edges;
  auto add = [&](int64_t most, bool isOnLink, int before) {
    ScheduleTask task;
    task.duration = 1 + below(most);
    if (isOnLink) {
      task.channel = task.link = 0;
      task.role = TaskRole::Reduce;
    }
    tasks.push_back(task);
    int number = static_cast<int>(tasks.size()) - 1;
    if (before >= 0)
      edges.emplace_back(before, number);
    return number;
  };
  int chain = -1;
  auto addGradient = [&](int64_t most) {
    int last = add(most, /*isOnLink=*/true, add(300, false, chain));
    if (below(3) == 0)
      last = add(most, /*isOnLink=*/true, last);
    add(150, /*isOnLink=*/false, last);
  };
  // The table's is last.
  for (constexpr int kTable = 4;
       static_cast<int>(tasks.size()) < size - kTable;) {
    chain = add(300, /*isOnLink=*/false, chain);
    addGradient(400);
  }
  addGradient(900);
  ScheduleProblem problem;
  bool isTurned = below(2) == 0;
  if (isTurned)
    std::reverse(tasks.begin(), tasks.end());
  for (const ScheduleTask &task : tasks)
    problem.addTask(task);
  int last = static_cast<int>(tasks.size()) - 1;
  for (auto [from, to] : edges)
    problem.addDependence(isTurned ? last - to : from,
                          isTurned ? last - from : to);
  problem.finalize();
  return problem;
}

ScheduleProblem test::makeRandomTwins(uint64_t seed, int size) {
  std::mt19937_64 random(seed);
  auto below = [&](int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
  };
  ScheduleProblem problem;
  int last[] = {-1, -1};
  bool isSum[] = {false, below(2) == 0};
  for (int i = 0; i < size; ++i) {
    ScheduleTask task;
    int twin = below(2);
    bool isBeside = below(4) == 0;
    if (isBeside ? below(2) == 0 : isSum[twin]) {
      task.channel = isBeside ? 1 : 0;
      task.link = below(8) == 0 ? 1 : 0;
      task.role = isBeside ? TaskRole::Gather : TaskRole::Activation;
    }
    task.duration = 1 + below(task.isCollective() ? 400 : 600);
    problem.addTask(task);
    // What is beside comes before or after one of the chains, or both.
    for (int chain = 0; chain < 2; ++chain)
      if (last[chain] >= 0 && (isBeside ? below(4) == 0 : chain == twin))
        problem.addDependence(last[chain], i);
    for (int other = 0; other < i && !isBeside; ++other)
      if (problem.task(other).role == TaskRole::Gather && below(2) == 0)
        problem.addDependence(other, i);
    if (isBeside)
      continue;
    last[twin] = i;
    isSum[twin] = !isSum[twin];
  }
  problem.finalize();
  return problem;
}

namespace {

class RandomLayers {
public:
  explicit RandomLayers(uint64_t seed) : random(seed) {}

  ScheduleProblem build() {
    int numForward = 1 + below(2), numBackward = below(3);
    for (int i = 0; i < numForward; ++i) {
      compute(-1);
      made.push_back(last);
      if (below(3) == 0)
        last = collective(TaskRole::Activation, below(2), last);
    }
    for (int i = 0; i < numBackward && i < numForward; ++i) {
      compute(made[numForward - 1 - i]);
      if (below(2) == 0)
        collective(TaskRole::Reduce, 0, last);
    }
    problem.fixedBytes = below(100);
    problem.finalize();
    return std::move(problem);
  }

private:
  int64_t below(int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
  }

  /// A part of a weight, which is cast or was there before, or nothing.
  int part() {
    ScheduleTask task;
    task.duration = 1 + below(300);
    return below(2) == 0 ? problem.addBuffer(below(300), problem.addTask(task))
                         : -1;
  }

  /// Reads what was made last, `saved` and often a weight; -1: nothing.
  void compute(int saved) {
    int weight = below(3) > 0 ? collective(TaskRole::Gather, 0, part()) : -1;
    ScheduleTask task;
    task.duration = 1 + below(300);
    task.mayOverwrite = saved >= 0 && below(3) == 0;
    int number = problem.addTask(task);
    for (int input : {weight, last, saved == last ? -1 : saved})
      if (input >= 0)
        problem.addReader(input, number);
    int buffer = problem.addBuffer(below(300), number);
    if (task.mayOverwrite)
      problem.setInPlace(buffer, last);
    last = buffer;
  }

  int collective(TaskRole role, int link, int input) {
    ScheduleTask task;
    task.duration = 1 + below(300);
    task.channel = static_cast<int>(role);
    task.link = link;
    task.role = role;
    int number = problem.addTask(task);
    if (input >= 0)
      problem.addReader(input, number);
    return problem.addBuffer(below(300), number);
  }

  std::mt19937_64 random;
  ScheduleProblem problem;
  int last = -1;
  std::vector<int> made;
};

} // namespace

ScheduleProblem test::makeRandomLayers(uint64_t seed) {
  return RandomLayers(seed).build();
}
