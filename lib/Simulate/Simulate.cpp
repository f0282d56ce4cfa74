// SPDX-License-Identifier: Apache-2.0

// Replays the program and turns the times of one rank into a timeline.

#include "weft/Simulate/Simulate.h"

#include "Program.h"

using namespace mlir;
using namespace mlir::weft;

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

/// Slices of the program's own stream, and when collectives were started.
static void addProgramSlices(const SimulatedProgram &program,
                             const RankTimes &times, Timeline &timeline) {
  for (size_t i = 0; i < program.replay.steps.size(); ++i) {
    const ReplayStep &step = program.replay.steps[i];
    if (step.kind == ReplayStep::Start)
      continue;
    Slice slice;
    slice.name = program.stepNames[i];
    slice.beginNs = times.stepNs[i];
    slice.endNs = times.stepNs[i + 1];
    bool isWait = step.kind == ReplayStep::Wait;
    slice.kind = isWait ? Slice::Wait : Slice::Compute;
    slice.flow = isWait ? step.collective : -1;
    (isWait ? timeline.exposedNs : timeline.computeNs) +=
        slice.endNs - slice.beginNs;
    timeline.slices.push_back(std::move(slice));
  }
  timeline.busyNs[0] = timeline.computeNs;
}

static void addChannelSlices(const SimulatedProgram &program,
                             const RankTimes &times, Timeline &timeline) {
  std::vector<std::vector<Slice>> ofStream(timeline.streams.size());
  for (size_t i = 0; i < program.replay.steps.size(); ++i) {
    const ReplayStep &step = program.replay.steps[i];
    if (step.kind != ReplayStep::Start)
      continue;
    int32_t index = step.collective;
    Slice slice;
    slice.name = program.stepNames[i];
    slice.stream = program.replay.collectives[index].channel + 1;
    slice.beginNs = times.beginNs[index];
    slice.endNs = times.endNs[index];
    slice.kind = Slice::Collective;
    slice.bytes = program.bytes[index];
    slice.flow = index;
    slice.startedNs = times.startedNs[index];
    timeline.busyNs[slice.stream] += slice.endNs - slice.beginNs;
    ofStream[slice.stream].push_back(std::move(slice));
  }
  for (std::vector<Slice> &slices : ofStream)
    llvm::append_range(timeline.slices, slices);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Bytes of arguments, and of results that do not take an argument's place.
static int64_t getFixedBytes(func::FuncOp function) {
  int64_t bytes = 0;
  for (rt::TensorAttr argument : rt::getArgs(function))
    if (!argument.getHost())
      bytes += rt::getBufferBytes(argument.getLocal());
  for (rt::TensorAttr result : rt::getResults(function))
    if (!result.getAlias())
      bytes += rt::getBufferBytes(result.getLocal());
  return bytes;
}

static void addOwners(const SimulatedProgram &program, const RankTimes &times,
                      Timeline &timeline) {
  for (const BufferLife &life : program.lives) {
    rt::BufferOp buffer = life.buffer;
    Owner owner;
    auto name = buffer->getAttrOfType<StringAttr>("name");
    owner.offset = buffer.getPosition();
    owner.name = name ? name.str() : "arena " + std::to_string(owner.offset);
    owner.bytes = rt::getBufferBytes(buffer.getType());
    owner.beginNs = times.stepNs[life.first];
    owner.endNs = times.stepNs[life.end];
    owner.firstStep = life.first;
    owner.endStep = std::max(life.end, life.first + 1);
    timeline.owners.push_back(std::move(owner));
  }
  llvm::stable_sort(timeline.owners, [](const Owner &a, const Owner &b) {
    return std::tie(a.offset, a.beginNs) < std::tie(b.offset, b.beginNs);
  });
}

/// Adds up blocks over the steps, not over time: a block that ends at a step
/// makes room for one that begins there, however short steps are.
static void addMemory(const SimulatedProgram &program, const RankTimes &times,
                      Timeline &timeline) {
  std::vector<int64_t> change(times.stepNs.size() + 1, 0);
  for (const BufferLife &life : program.lives) {
    rt::BufferOp buffer = life.buffer;
    change[life.first] += rt::getBufferBytes(buffer.getType());
    change[std::max(life.end, life.first + 1)] -=
        rt::getBufferBytes(buffer.getType());
  }
  int64_t live = timeline.fixedBytes;
  for (size_t i = 0; i < times.stepNs.size(); ++i) {
    live += change[i];
    timeline.peakBytes = std::max(timeline.peakBytes, live);
    if (timeline.memory.empty() || timeline.memory.back().bytes != live)
      timeline.memory.push_back({times.stepNs[i], live, int64_t(i)});
  }
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

/// Most work of a link or channel, without kernels on the stream: nothing says
/// that they have to be there.
static int64_t getBusiestLink(const SimulatedProgram &program) {
  std::map<std::pair<bool, int32_t>, int64_t> busy;
  int64_t most = 0;
  for (auto [collective, kernelNs] :
       llvm::zip(program.replay.collectives, program.kernelNs)) {
    bool isShared = collective.link >= 0;
    int64_t &ns =
        busy[{isShared, isShared ? collective.link : collective.channel}];
    ns += collective.ns - kernelNs;
    most = std::max(most, ns);
  }
  return most;
}

/// The bound of the step's schedule if it was made for this machine: it follows
/// dependences further than what is computed here. 0: none. It is one of what
/// was scheduled: kernels that share a launch since take less, and no step is
/// shorter by more than that.
static int64_t getScheduleBound(func::FuncOp function, const CostModel &cost,
                                int64_t computeNs) {
  auto figures =
      function->getAttrOfType<DictionaryAttr>(WeftDialect::kScheduleAttr);
  if (!figures)
    return 0;
  auto machine = figures.getAs<StringAttr>("machine");
  auto bound = figures.getAs<IntegerAttr>("bound_ns");
  auto compute = figures.getAs<IntegerAttr>("compute_ns");
  bool isSame = machine && machine.getValue() == cost.getMachine().name;
  if (!isSame || !bound || !compute)
    return 0;
  return bound.getInt() - std::max<int64_t>(0, compute.getInt() - computeNs);
}

int64_t mlir::weft::dropRounding(int64_t boundNs, int64_t stepNs) {
  constexpr int64_t kParts = 100'000;
  bool isRounding = boundNs > stepNs && boundNs - stepNs <= 1 + stepNs / kParts;
  return isRounding ? stepNs : boundNs;
}

static Timeline makeTimeline(func::FuncOp function, const CostModel &cost,
                             const SimulatedProgram &program,
                             const Replay &replay,
                             const SimulateOptions &options, int64_t rank) {
  RankTimes times = replay.getTimes(rank);
  Timeline timeline;
  timeline.title =
      (function.getSymName() + " on " + cost.getMachine().name).str();
  timeline.rank = rank;
  timeline.streams.push_back("compute");
  llvm::append_range(timeline.streams, program.channelNames);
  timeline.busyNs.resize(timeline.streams.size(), 0);
  timeline.stepNs = times.stepNs.back();
  addProgramSlices(program, times, timeline);
  addChannelSlices(program, times, timeline);
  timeline.fixedBytes = getFixedBytes(function);
  if (auto arena = function->getAttrOfType<IntegerAttr>("weft_rt.arena_bytes"))
    timeline.arenaBytes = arena.getInt();
  if (auto host = function->getAttrOfType<IntegerAttr>("weft_rt.host_bytes"))
    timeline.hostBytes = host.getInt();
  for (rt::TensorAttr argument : rt::getArgs(function))
    if (argument.getHost())
      timeline.hostBytes += rt::getBufferBytes(argument.getLocal());
  addOwners(program, times, timeline);
  addMemory(program, times, timeline);
  timeline.linkNs = getBusiestLink(program);
  timeline.chainNs = getLongestChain(function, cost);
  int64_t scheduled = dropRounding(
      getScheduleBound(function, cost, timeline.computeNs), timeline.stepNs);
  int64_t modelled = std::max({timeline.linkNs, timeline.chainNs, scheduled});
  // Of what the model says no bound is above the step. What was measured, or
  // drawn, may take less than what the bounds are made of.
  bool isModelled = !options.measured && options.jitter == 0;
  timeline.boundNs =
      std::max(timeline.computeNs,
               isModelled ? modelled : std::min(modelled, timeline.stepNs));
  return timeline;
}

static void addStatistics(const Replay &replay, Simulation &result) {
  std::vector<int64_t> finish;
  for (int64_t rank = 0; rank < result.numRanks; ++rank)
    finish.push_back(replay.getFinishNs(rank));
  result.slowestRank =
      std::max_element(finish.begin(), finish.end()) - finish.begin();
  llvm::sort(finish);
  result.stepNs = finish.back();
  result.fastestNs = finish.front();
  result.medianNs = finish[finish.size() / 2];
  result.numClasses = replay.getNumClasses();
}

static ReplayOptions makeReplayOptions(const SimulatedProgram &program,
                                       const SimulateOptions &options) {
  ReplayOptions result;
  result.jitter = options.jitter;
  result.seed = options.seed;
  if (!options.slowRanks.empty())
    result.slowness.resize(program.replay.numRanks, 1);
  for (auto [rank, factor] : options.slowRanks)
    result.slowness[rank] = factor;
  return result;
}

/// How long each step of the program took on each rank in one step of a run.
static std::vector<std::vector<int64_t>>
getDurations(const SimulatedProgram &program,
             const std::vector<MeasuredDurations::ByName> &ranks) {
  std::vector<std::vector<int64_t>> durations;
  for (const MeasuredDurations::ByName &measured : ranks) {
    durations.emplace_back();
    for (size_t i = 0; i < program.replay.steps.size(); ++i) {
      auto found = measured.find(program.stepNames[i]);
      durations.back().push_back(
          found == measured.end() ? program.replay.steps[i].ns : found->second);
    }
  }
  return durations;
}

static Simulation simulateOnce(func::FuncOp function, const CostModel &cost,
                               const SimulatedProgram &program,
                               const SimulateOptions &options,
                               const ReplayOptions &replayOptions) {
  Replay replay(program.replay, replayOptions);
  Simulation result;
  result.numRanks = program.replay.numRanks;
  addStatistics(replay, result);
  result.timeline =
      makeTimeline(function, cost, program, replay, options,
                   options.rank < 0 ? result.slowestRank : options.rank);
  return result;
}

/// Simulates each step of a run with its own durations.
static Simulation simulateSteps(func::FuncOp function, const CostModel &cost,
                                const SimulatedProgram &program,
                                const SimulateOptions &options) {
  std::vector<Simulation> steps;
  int64_t sum = 0;
  for (const auto &ranks : options.measured->steps) {
    ReplayOptions replayOptions = makeReplayOptions(program, options);
    replayOptions.durations = getDurations(program, ranks);
    steps.push_back(
        simulateOnce(function, cost, program, options, replayOptions));
    sum += steps.back().stepNs;
  }
  int64_t mean = sum / int64_t(steps.size());
  Simulation result =
      *llvm::min_element(steps, [&](const Simulation &a, const Simulation &b) {
        return std::abs(a.stepNs - mean) < std::abs(b.stepNs - mean);
      });
  result.stepNs = mean;
  result.numMeasuredSteps = int64_t(steps.size());
  return result;
}

Simulation weft::simulate(func::FuncOp function, const CostModel &cost,
                          const SimulateOptions &options) {
  SimulatedProgram program = makeProgram(function, cost);
  const MeasuredDurations *measured = options.measured;
  if (measured && !measured->steps.empty() &&
      llvm::all_of(measured->steps, [&](const auto &ranks) {
        return int64_t(ranks.size()) == program.replay.numRanks;
      }))
    return simulateSteps(function, cost, program, options);
  if (measured)
    for (auto [step, name] : llvm::zip(program.replay.steps, program.stepNames))
      if (auto found = measured->means.find(name);
          found != measured->means.end() && step.kind == ReplayStep::Compute)
        step.ns = found->second;
  return simulateOnce(function, cost, program, options,
                      makeReplayOptions(program, options));
}
