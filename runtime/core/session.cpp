// SPDX-License-Identifier: Apache-2.0

// Whatever touches a rank's memory in bulk (first touch, cutting arguments,
// joining results) runs on the rank's own thread, all ranks at once.

#include "core/session.h"

#include "core/checksum.h"
#include "core/cores.h"
#include "core/manifest.h"
#include "core/processor.h"
#include "core/trace.h"
#include "core/types.h"
#include "gemm/gemm.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <unistd.h>

namespace weft::rt {
namespace {

constexpr int64_t alignment = 64;
constexpr double defaultDeadline = 60;

int64_t alignUp(int64_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

int64_t localBytes(const weft_rt_tensor &tensor) {
  return byteSize(tensor.type, *elementCount(tensor.local_shape, tensor.rank));
}

int64_t globalBytes(const weft_rt_tensor &tensor) {
  return byteSize(tensor.type, *elementCount(tensor.shape, tensor.rank));
}

int64_t nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Index of the axis, or -1.
int32_t findAxis(const weft_rt_program &program, const char *name) {
  for (int32_t i = 0; i < program.num_axes; ++i)
    if (std::strcmp(program.axes[i].name, name) == 0)
      return i;
  return -1;
}

Status checkLinks(const weft_rt_options &options,
                  const weft_rt_program &program) {
  if (options.num_links < 0 || (options.num_links > 0 && !options.links))
    return invalid(
        format("options have %d links at no address", options.num_links));
  for (int32_t i = 0; i < options.num_links; ++i) {
    const weft_rt_link &link = options.links[i];
    if (!link.axis || findAxis(program, link.axis) < 0)
      return invalid(format("a link is given for axis %s, which the mesh of %s "
                            "does not have",
                            link.axis ? quote(link.axis).c_str() : "NULL",
                            quote(program.name).c_str()));
    if (!(link.latency_us >= 0) || !(link.latency_us <= 1e9) ||
        !(link.gigabytes_per_second >= 1e-6) ||
        !(link.gigabytes_per_second <= 1e9))
      return invalid(format("the link of axis %s has a latency of %g us and "
                            "%g GB/s",
                            quote(link.axis).c_str(), link.latency_us,
                            link.gigabytes_per_second));
  }
  return Status();
}

/// More threads than that only get in each other's way, and a slip of a finger
/// must not bring the machine down.
Status checkThreads(const weft_rt_options &options,
                    const weft_rt_program &program) {
  int32_t most = std::max(4 * coreCount(), program.num_ranks);
  if (options.threads <= most || options.force_threads)
    return Status();
  return invalid(
      format("%d threads are more than the %d that make sense for %d "
             "ranks on %d cores; force_threads (--force-threads) "
             "allows them",
             options.threads, most, program.num_ranks, coreCount()));
}

Status checkOptions(const weft_rt_options &options,
                    const weft_rt_program &program) {
  if (options.struct_size != sizeof(weft_rt_options))
    return Status(WEFT_RT_INCOMPATIBLE,
                  format("options have %u bytes, expected %zu",
                         options.struct_size, sizeof(weft_rt_options)));
  if (options.ranks != 0 && options.ranks != program.num_ranks)
    return invalid(format("program %s is compiled for %d ranks, asked for %lld",
                          quote(program.name).c_str(), program.num_ranks,
                          (long long)options.ranks));
  if (options.threads < 0 || !(options.deadline_seconds >= 0) ||
      options.deadline_seconds > 1e9 || options.trace_events < 0)
    return invalid(format("options have %d threads, a deadline of %g s and "
                          "room for %lld trace events",
                          options.threads, options.deadline_seconds,
                          (long long)options.trace_events));
  if (options.num_faults < 0 || (options.num_faults > 0 && !options.faults))
    return invalid(
        format("options have %d faults at no address", options.num_faults));
  for (int32_t i = 0; i < options.num_faults; ++i)
    if (options.faults[i].rank < 0 ||
        options.faults[i].rank >= program.num_ranks)
      return invalid(format("a fault hits rank %lld, and there are %d ranks",
                            (long long)options.faults[i].rank,
                            program.num_ranks));
  WEFT_RT_RETURN_IF_ERROR(checkThreads(options, program));
  return checkLinks(options, program);
}

/// A channel is as slow as the slowest of its axes. Empty without links.
std::vector<ChannelLink> channelLinks(const weft_rt_options &options,
                                      const weft_rt_program &program) {
  std::vector<ChannelLink> result;
  if (options.num_links == 0)
    return result;
  result.resize(program.num_channels);
  for (int32_t c = 0; c < program.num_channels; ++c) {
    const weft_rt_channel &channel = program.channels[c];
    for (int32_t i = 0; i < options.num_links; ++i) {
      const weft_rt_link &link = options.links[i];
      int32_t axis = findAxis(program, link.axis);
      auto isOnAxis = [&](const weft_rt_axis_ref &ref) {
        return ref.axis == axis;
      };
      if (std::none_of(channel.axes, channel.axes + channel.num_axes, isOnAxis))
        continue;
      ChannelLink &slowest = result[c];
      double bandwidth = link.gigabytes_per_second; // bytes per nanosecond
      slowest.latency =
          std::max(slowest.latency, int64_t(link.latency_us * 1e3));
      slowest.bytesPerNanosecond =
          slowest.isGiven ? std::min(slowest.bytesPerNanosecond, bandwidth)
                          : bandwidth;
      slowest.isGiven = true;
    }
  }
  return result;
}

Status checkPrograms(const std::vector<const weft_rt_program *> &programs) {
  if (programs.empty())
    return invalid("a session needs a program");
  for (const weft_rt_program *program : programs) {
    if (!program)
      return invalid("a session needs a program, found a null pointer");
    WEFT_RT_RETURN_IF_ERROR(checkProgram(*program));
    WEFT_RT_RETURN_IF_ERROR(checkChecksum(*program));
    WEFT_RT_RETURN_IF_ERROR(checkProcessor(*program));
  }
  size_t ranks = programs[0]->num_ranks;
  if (programs.size() != 1 && programs.size() != ranks)
    return invalid(
        format("%zu programs for %zu ranks", programs.size(), ranks));
  return checkSamePlan(programs.data(), programs.size());
}

BackendOptions
backendOptions(const weft_rt_options &options,
               const std::vector<const weft_rt_program *> &programs) {
  BackendOptions result;
  result.programs = programs;
  result.threads = options.threads > 0 ? options.threads : coreCount();
  result.deadlineSeconds =
      options.deadline_seconds > 0 ? options.deadline_seconds : defaultDeadline;
  result.traceEvents = options.trace_events;
  result.profile = options.profile != 0;
  result.prepareThread = gemmReserveWorkspace;
  result.links = channelLinks(options, *programs[0]);
  result.sharesLink = options.shared_link != 0;
  result.perturbSeed = options.perturb_seed;
  result.poisonsFlight = options.poison != 0;
  result.poll = options.poll;
  result.pollContext = options.poll_context;
  result.faults.assign(options.faults, options.faults + options.num_faults);
  return result;
}

/// Fills what a program must not read with NaN bits.
void poisonPadding(const weft_rt_program &program, const weft_rt_tensor &tensor,
                   int64_t rank, void *local) {
  Region region = regionOf(program, tensor, rank);
  if (region.extent != region.localShape)
    std::memset(local, 0xff, localBytes(tensor));
}

} // namespace

Session::Session(std::vector<const weft_rt_program *> given,
                 const weft_rt_options &options,
                 std::unique_ptr<Executable> executable)
    : executable(std::move(executable)), programs(std::move(given)),
      poison(options.poison != 0), poll(options.poll),
      pollContext(options.poll_context), process(getpid()) {
  programs.resize(programs[0]->num_ranks, programs[0]);
  isSet.resize(programs[0]->num_args, false);
}

Result<std::unique_ptr<Session>>
Session::create(std::vector<const weft_rt_program *> programs,
                const weft_rt_options &options,
                std::unique_ptr<Executable> executable) {
  WEFT_RT_RETURN_IF_ERROR(checkPrograms(programs));
  WEFT_RT_RETURN_IF_ERROR(checkOptions(options, *programs[0]));
  std::unique_ptr<Session> session(
      new Session(std::move(programs), options, std::move(executable)));
  WEFT_RT_RETURN_IF_ERROR(
      session->start(backendOptions(options, session->programs)));
  return session;
}

void Session::close(std::unique_ptr<Session> session) {
  if (session->process != getpid() ||
      (session->backend && session->backend->hasStuckRank()))
    session.release();
}

Status Session::start(const BackendOptions &options) {
  memory.resize(programs.size());
  for (size_t rank = 0; rank < programs.size(); ++rank)
    WEFT_RT_RETURN_IF_ERROR(allocate(rank));
  Result<std::unique_ptr<Backend>> created = createHostBackend(options);
  if (!created.ok())
    return created.status();
  backend = std::move(*created);
  return runOnRanks(
      [](void *self, weft_rt_rank *rank) {
        static_cast<Session *>(self)->memory[rank->rank].mapping->touch();
      },
      this);
}

Status Session::allocate(int64_t rank) {
  const weft_rt_program &program = *programs[rank];
  RankMemory &own = memory[rank];
  std::vector<int64_t> argOffsets, resultOffsets;
  int64_t bytes = 0;
  for (int32_t i = 0; i < program.num_args; ++i) {
    argOffsets.push_back(bytes);
    bytes += alignUp(localBytes(program.args[i]));
  }
  own.argumentBytes = bytes;
  for (int32_t i = 0; i < program.num_results; ++i) {
    const weft_rt_tensor &result = program.results[i];
    resultOffsets.push_back(result.alias < 0 ? bytes
                                             : argOffsets[result.alias]);
    bytes += result.alias < 0 ? alignUp(localBytes(result)) : 0;
  }
  own.resultBytes = bytes - own.argumentBytes;
  own.totalBytes = bytes + alignUp(program.arena_bytes);
  own.mapping = std::make_unique<Mapping>();
  WEFT_RT_RETURN_IF_ERROR(
      own.mapping->map(own.totalBytes, format("rank %lld", (long long)rank)));
  for (int64_t offset : argOffsets)
    own.args.push_back(own.mapping->data() + offset);
  for (int64_t offset : resultOffsets)
    own.results.push_back(own.mapping->data() + offset);
  own.arena = own.mapping->data() + bytes;
  return Status();
}

Status Session::checkUsable() const {
  if (process != getpid())
    return Status(WEFT_RT_UNUSABLE,
                  format("the session belongs to process %lld, from which this "
                         "one (%lld) was forked: its ranks are not here",
                         (long long)process, (long long)getpid()));
  if (failed)
    return Status(WEFT_RT_UNUSABLE,
                  "the session cannot be used after a rank has failed, or was "
                  "interrupted in the middle of a step");
  return Status();
}

Status Session::runOnRanks(weft_rt_task task, void *context) {
  bool isWhole = false;
  Status status = backend->run(task, context, isWhole);
  failed = !isWhole;
  return status;
}

// ---- arguments and results -------------------------------------------------

Status Session::setArgument(int32_t index, const void *data, int64_t bytes) {
  WEFT_RT_RETURN_IF_ERROR(checkUsable());
  if (index < 0 || index >= program().num_args)
    return invalid(format("argument %d of %d", index, program().num_args));
  const weft_rt_tensor &tensor = program().args[index];
  if (bytes != globalBytes(tensor))
    return invalid(format("argument %s has %lld bytes, expected %lld",
                          quote(tensor.name).c_str(), (long long)bytes,
                          (long long)globalBytes(tensor)));
  struct Cut {
    Session *session;
    int32_t index;
    const void *data;
  } cut{this, index, data};
  isSet[index] = true;
  return runOnRanks(
      [](void *context, weft_rt_rank *rank) {
        auto &[session, index, data] = *static_cast<Cut *>(context);
        const weft_rt_program &program = *session->programs[rank->rank];
        const weft_rt_tensor &tensor = program.args[index];
        void *local = session->memory[rank->rank].args[index];
        if (session->poison)
          poisonPadding(program, tensor, rank->rank, local);
        cutRegion(tensor.type, regionOf(program, tensor, rank->rank), data,
                  local);
      },
      &cut);
}

Status Session::getResult(int32_t index, void *data, int64_t bytes) {
  WEFT_RT_RETURN_IF_ERROR(checkUsable());
  if (index < 0 || index >= program().num_results)
    return invalid(format("result %d of %d", index, program().num_results));
  const weft_rt_tensor &tensor = program().results[index];
  if (bytes != globalBytes(tensor))
    return invalid(format("buffer for result %s has %lld bytes, expected %lld",
                          quote(tensor.name).c_str(), (long long)bytes,
                          (long long)globalBytes(tensor)));
  if (stepsDone == 0)
    return invalid(format("result %s does not exist before the first step",
                          quote(tensor.name).c_str()));
  struct Join {
    Session *session;
    int32_t index;
    void *data;
    void join(int64_t rank) {
      const weft_rt_program &program = *session->programs[rank];
      const weft_rt_tensor &tensor = program.results[index];
      if (holdsFirstCopy(program, tensor, rank))
        joinRegion(tensor.type, regionOf(program, tensor, rank),
                   session->memory[rank].results[index], data);
    }
  } join{this, index, data};
  if (sharesBytes(tensor)) {
    for (size_t rank = 0; rank < programs.size(); ++rank)
      join.join(rank);
    return Status();
  }
  return runOnRanks(
      [](void *context, weft_rt_rank *rank) {
        static_cast<Join *>(context)->join(rank->rank);
      },
      &join);
}

// ---- steps -----------------------------------------------------------------

Status Session::checkArgumentsSet() const {
  for (int32_t i = 0; i < program().num_args; ++i)
    if (!isSet[i])
      return invalid(format("argument %s is not set",
                            quote(program().args[i].name).c_str()));
  return Status();
}

namespace {

void poisonBuffers(const weft_rt_program &program, RankMemory &memory) {
  std::memset(memory.arena, 0xff, program.arena_bytes);
  for (int32_t i = 0; i < program.num_results; ++i)
    if (program.results[i].alias < 0)
      std::memset(memory.results[i], 0xff, localBytes(program.results[i]));
}

} // namespace

/// Asks as seldom as during a step: steps may be short, and asking may not be.
bool Session::isInterrupted() {
  constexpr int64_t pollNanoseconds = 50'000'000;
  if (!poll || nanoseconds() - lastPoll < pollNanoseconds)
    return false;
  lastPoll = nanoseconds();
  return poll(pollContext) != 0;
}

Status Session::runStep() {
  auto step = [](void *context, weft_rt_rank *rank) {
    auto &self = *static_cast<Session *>(context);
    RankMemory &memory = self.memory[rank->rank];
    const weft_rt_program &program = *self.programs[rank->rank];
    if (self.poison)
      poisonBuffers(program, memory);
    RankLog &log = self.backend->log(rank->rank);
    if (self.stepsDone == 1)
      log.clearProfile();
    Moment begin = log.moment();
    program.entry(&self.backend->api(), rank, memory.args.data(),
                  memory.results.data(), memory.arena);
    log.record(SpanKind::Step, WEFT_RT_IN_STEP, -1, nullptr, begin);
  };
  return runOnRanks(step, this);
}

Status Session::run(int64_t steps, double *seconds) {
  WEFT_RT_RETURN_IF_ERROR(checkUsable());
  WEFT_RT_RETURN_IF_ERROR(checkArgumentsSet());
  for (int64_t i = 0; i < steps; ++i) {
    if (isInterrupted())
      return Status(WEFT_RT_INTERRUPTED,
                    format("interrupted after %lld of %lld steps", (long long)i,
                           (long long)steps));
    int64_t begin = nanoseconds();
    Status status = runStep();
    if (!failed) {
      if (seconds)
        seconds[i] = (nanoseconds() - begin) / 1e9;
      ++stepsDone;
    }
    WEFT_RT_RETURN_IF_ERROR(status);
  }
  return Status();
}

// ---- what happened ---------------------------------------------------------

weft_rt_stats Session::stats() const {
  weft_rt_stats stats = {};
  stats.steps = stepsDone;
  stats.threads_per_rank = backend->threadsPerRank();
  stats.argument_bytes = memory[0].argumentBytes;
  stats.result_bytes = memory[0].resultBytes;
  stats.arena_bytes = program().arena_bytes;
  for (const RankMemory &one : memory)
    stats.total_bytes += one.totalBytes;
  return stats;
}

TrafficCount Session::traffic(weft_rt_collective_kind kind,
                              int32_t channel) const {
  TrafficCount most;
  for (size_t rank = 0; rank < programs.size(); ++rank) {
    TrafficCount one = backend->log(rank).traffic(kind, channel);
    most.count = std::max(most.count, one.count);
    most.bytes = std::max(most.bytes, one.bytes);
  }
  return most;
}

Result<const std::vector<weft_rt_profile_row> *> Session::profile() {
  if (!backend->log(0).isProfiling())
    return invalid("the session keeps no profile");
  lastProfile.clear();
  for (size_t rank = 0; rank < programs.size(); ++rank)
    lastProfile.add(rank, backend->log(rank));
  return &lastProfile.rows();
}

const char *Session::flightRecord() {
  flightText.clear();
  for (size_t rank = 0; rank < programs.size(); ++rank)
    flightText +=
        format("rank %zu:\n", rank) + backend->log(rank).flightRecord();
  return flightText.c_str();
}

Status Session::writeTrace(const std::string &path) const {
  std::vector<const RankLog *> logs;
  for (size_t rank = 0; rank < programs.size(); ++rank)
    logs.push_back(&backend->log(rank));
  if (!logs[0]->isTracing())
    return invalid("the session keeps no trace");
  return rt::writeTrace(path, logs);
}

} // namespace weft::rt
