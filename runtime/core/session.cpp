// SPDX-License-Identifier: Apache-2.0

// A rank's bytes are the backend's: the session says where they are to come
// from and to go.

#include "core/session.h"

#include "core/backend_registry.h"
#include "core/checksum.h"
#include "core/manifest.h"
#include "core/processor.h"
#include "core/trace.h"
#include "core/types.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <unistd.h>

namespace weft::rt {
namespace {

constexpr double defaultDeadline = 60;
constexpr uint8_t poisonByte = 0xff; // NaNs of every float type

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
  if (options.threads < 0)
    return invalid(format("options have %d threads, expected 0 (as many as "
                          "there are cores) or more",
                          options.threads));
  if (!(options.deadline_seconds >= 0) || options.deadline_seconds > 1e9)
    return invalid(
        format("options have a deadline of %g s, expected 0 (which is "
               "60 s) to 1e9 s",
               options.deadline_seconds));
  if (options.trace_events < 0)
    return invalid(format("options have room for %lld trace events, expected 0 "
                          "or more",
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
  result.threads = options.threads;
  result.forcesThreads = options.force_threads != 0;
  result.catchesSignals = options.catch_signals != 0;
  result.deadlineSeconds =
      options.deadline_seconds > 0 ? options.deadline_seconds : defaultDeadline;
  result.traceEvents = options.trace_events;
  result.profile = options.profile != 0;
  result.links = channelLinks(options, *programs[0]);
  result.sharesLink = options.shared_link != 0;
  result.perturbSeed = options.perturb_seed;
  result.poisonsFlight = options.poison != 0;
  result.poll = options.poll;
  result.pollContext = options.poll_context;
  result.faults.assign(options.faults, options.faults + options.num_faults);
  result.graphs = options.no_graphs == 0;
  result.registersBuffers = options.register_buffers != 0;
  return result;
}

/// The backend that was insisted on, or the one that all programs are for.
Result<BackendEntry>
chooseBackend(const weft_rt_options &options,
              const std::vector<const weft_rt_program *> &programs) {
  if (options.backend)
    return findBackend(options.backend);
  for (size_t rank = 1; rank < programs.size(); ++rank)
    if (std::strcmp(programs[rank]->backend, programs[0]->backend) != 0)
      return invalid(format("rank 0 and rank %zu have programs for different "
                            "backends: %s and %s",
                            rank, quote(programs[0]->backend).c_str(),
                            quote(programs[rank]->backend).c_str()));
  return findBackend(programs[0]->backend);
}

} // namespace

Session::Session(std::vector<const weft_rt_program *> given,
                 const weft_rt_options &options,
                 std::unique_ptr<Executable> executable)
    : executable(std::move(executable)), programs(std::move(given)),
      poison(options.poison != 0), isProfiling(options.profile != 0),
      isTracing(options.trace_events > 0), poll(options.poll),
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
  Result<BackendEntry> entry = chooseBackend(options, session->programs);
  if (!entry.ok())
    return entry.status();
  Result<JobPlace> place = placeFor(*entry, options);
  if (!place.ok())
    return place.status();
  BackendOptions given = backendOptions(options, session->programs);
  given.place = *place;
  WEFT_RT_RETURN_IF_ERROR(session->start(*entry, given));
  return session;
}

Result<JobPlace> placeFor(const BackendEntry &entry,
                          const weft_rt_options &options) {
  if (entry.spansProcesses)
    return placeInJob({options.processes, options.process,
                       options.local_process,
                       options.rendezvous ? options.rendezvous : ""});
  if (options.processes > 1)
    return invalid(format("the backend %s has all ranks in one process, and "
                          "the job is to have %lld",
                          quote(entry.name).c_str(),
                          (long long)options.processes));
  return JobPlace();
}

JobPlace Session::place() const {
  return backend->job() ? backend->job()->place() : JobPlace();
}

void Session::close(std::unique_ptr<Session> session) {
  if (session->process != getpid() ||
      (session->backend && session->backend->hasStuckRank()))
    session.release();
}

/// Fails unless the backend, which may come from a library, has ranks of the
/// job, each once.
Status Session::checkBackend(const std::string &name) const {
  std::string who = "backend " + quote(name);
  if (!backend)
    return invalid(who + " was not created");
  int64_t last = -1;
  for (int64_t rank : backend->localRanks()) {
    if (rank < 0 || rank >= int64_t(programs.size()))
      return invalid(format("%s names rank %lld of %zu", who.c_str(),
                            (long long)rank, programs.size()));
    if (rank <= last)
      return invalid(format("%s names rank %lld after rank %lld", who.c_str(),
                            (long long)rank, (long long)last));
    last = rank;
  }
  return Status();
}

/// Fails unless each local rank has been given memory.
Status Session::checkPlaces(const std::string &name,
                            const std::vector<void *> &places) const {
  std::string who = "backend " + quote(name);
  if (places.size() != memory.size())
    return invalid(format("%s gives memory to %zu ranks of %zu", who.c_str(),
                          places.size(), memory.size()));
  for (size_t i = 0; i < places.size(); ++i)
    if (!places[i] || reinterpret_cast<uintptr_t>(places[i]) % 64 != 0)
      return invalid(format("%s gives rank %lld memory at %p", who.c_str(),
                            (long long)memory[i].rank, places[i]));
  return Status();
}

Status Session::start(const BackendEntry &entry,
                      const BackendOptions &options) {
  Result<std::unique_ptr<Backend>> created = entry.create(options);
  if (!created.ok())
    return created.status();
  backend = std::move(*created);
  if (Status bad = checkBackend(entry.name); !bad.ok()) {
    backend = nullptr;
    return bad;
  }
  std::vector<int64_t> bytes;
  for (int64_t rank : backend->localRanks()) {
    memory.push_back(
        {rank, layoutOf(*programs[rank]), {}, {}, nullptr, nullptr});
    bytes.push_back(memory.back().layout.totalBytes);
  }
  Result<std::vector<void *>> places = backend->allocate(bytes);
  if (!places.ok())
    return places.status();
  if (Status bad = checkPlaces(entry.name, *places); !bad.ok()) {
    memory.clear();
    backend = nullptr;
    return bad;
  }
  std::vector<void *> onHost(places->size(), nullptr);
  WEFT_RT_RETURN_IF_ERROR(allocateOnHost(onHost));
  memoryOfRank.resize(programs.size(), nullptr);
  for (size_t i = 0; i < memory.size(); ++i) {
    RankMemory &own = memory[i];
    auto *begin = static_cast<uint8_t *>((*places)[i]);
    auto *host = static_cast<uint8_t *>(onHost[i]);
    const MemoryLayout &layout = own.layout;
    for (size_t k = 0; k < layout.args.size(); ++k)
      own.args.push_back((layout.argsOnHost[k] ? host : begin) +
                         layout.args[k]);
    for (size_t k = 0; k < layout.results.size(); ++k)
      own.results.push_back((layout.resultsOnHost[k] ? host : begin) +
                            layout.results[k]);
    own.arena = begin + layout.arena;
    own.host = host ? host + layout.hostArena : nullptr;
    memoryOfRank[own.rank] = &own;
  }
  return Status();
}

/// What lies in the host's memory, where a program has anything there.
Status Session::allocateOnHost(std::vector<void *> &places) {
  std::vector<int64_t> bytes;
  for (const RankMemory &own : memory)
    bytes.push_back(own.layout.hostBytes);
  if (std::all_of(bytes.begin(), bytes.end(), [](int64_t b) { return b == 0; }))
    return Status();
  Result<std::vector<void *>> allocated = backend->allocateOnHost(bytes);
  if (!allocated.ok())
    return allocated.status();
  places = *allocated;
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

Status Session::note(Outcome outcome) {
  failed = !outcome.isWhole;
  return std::move(outcome.status);
}

// ---- arguments and results -------------------------------------------------

Status Session::setArgument(int32_t index, const void *data, int64_t bytes) {
  WEFT_RT_RETURN_IF_ERROR(checkUsable());
  WEFT_RT_RETURN_IF_ERROR(checkArgument(index, bytes));
  isSet[index] = true;
  std::vector<Shard> shards;
  WEFT_RT_RETURN_IF_ERROR(shardsToTake(index, shards));
  return note(backend->upload(program().args[index].type, shards, data));
}

Status Session::checkArgument(int32_t index, int64_t bytes) const {
  if (index < 0 || index >= program().num_args)
    return invalid(format("argument %d of %d", index, program().num_args));
  const weft_rt_tensor &tensor = program().args[index];
  if (bytes != globalBytes(tensor))
    return invalid(format("argument %s has %lld bytes, expected %lld",
                          quote(tensor.name).c_str(), (long long)bytes,
                          (long long)globalBytes(tensor)));
  return Status();
}

/// The parts of an argument, of which paddings are poisoned where that is asked
/// for.
Status Session::shardsToTake(int32_t index, std::vector<Shard> &shards) {
  std::vector<Block> padded;
  for (const RankMemory &own : memory) {
    const weft_rt_program &program = *programs[own.rank];
    Shard shard{own.rank, own.args[index],
                regionOf(program, program.args[index], own.rank)};
    if (shard.region.extent != shard.region.localShape)
      padded.push_back(
          {own.rank, shard.local, localBytes(program.args[index])});
    shards.push_back(std::move(shard));
  }
  if (poison && !padded.empty())
    return note(backend->fill(padded, poisonByte));
  return Status();
}

Status Session::getResult(int32_t index, void *data, int64_t bytes) {
  WEFT_RT_RETURN_IF_ERROR(checkUsable());
  if (index < 0 || index >= program().num_results)
    return invalid(format("result %d of %d", index, program().num_results));
  const weft_rt_tensor &tensor = program().results[index];
  if (data && bytes != globalBytes(tensor))
    return invalid(format("buffer for result %s has %lld bytes, expected %lld",
                          quote(tensor.name).c_str(), (long long)bytes,
                          (long long)globalBytes(tensor)));
  WEFT_RT_RETURN_IF_ERROR(checkResult(index));
  if (backend->job() && !isWholeEverywhere(tensor))
    return gatherResult(index, data, bytes);
  if (!data)
    return backend->job() ? Status()
                          : invalid(format("result %s is to be written to no "
                                           "address",
                                           quote(tensor.name).c_str()));
  std::vector<bool> isHere(programs.size()); // [the part's first holder]
  for (const RankMemory &own : memory)
    isHere[firstHolder(program(), tensor, own.rank)] = true;
  WEFT_RT_RETURN_IF_ERROR(checkWhole(tensor, isHere));
  return note(backend->download(tensor.type, shardsToGive(index), data));
}

Status Session::checkResult(int32_t index) const {
  if (index < 0 || index >= program().num_results)
    return invalid(format("result %d of %d", index, program().num_results));
  if (stepsDone == 0)
    return invalid(format("result %s does not exist before the first step",
                          quote(program().results[index].name).c_str()));
  return Status();
}

/// One local holder of each part that is here.
std::vector<Shard> Session::shardsToGive(int32_t index) {
  const weft_rt_tensor &tensor = program().results[index];
  std::vector<bool> isHere(programs.size());
  std::vector<Shard> shards;
  for (const RankMemory &own : memory) {
    int64_t part = firstHolder(program(), tensor, own.rank);
    if (!isHere[part])
      shards.push_back({own.rank, own.results[index],
                        regionOf(program(), tensor, own.rank)});
    isHere[part] = true;
  }
  return shards;
}

/// Fails unless each part of a result that has elements is here; parts go by
/// the first of all ranks that hold them.
Status Session::checkWhole(const weft_rt_tensor &result,
                           const std::vector<bool> &isHere) const {
  for (size_t rank = 0; rank < isHere.size(); ++rank) {
    bool isPart = firstHolder(program(), result, rank) == int64_t(rank);
    if (isPart && !isHere[rank] && !isEmpty(regionOf(program(), result, rank)))
      return invalid(format(
          "result %s is not whole in this process, which has %zu of %zu ranks: "
          "none of them holds what rank %zu does",
          quote(result.name).c_str(), memory.size(), programs.size(), rank));
  }
  return Status();
}

// ---- steps -----------------------------------------------------------------

Status Session::checkArgumentsSet() const {
  for (int32_t i = 0; i < program().num_args; ++i)
    if (!isSet[i])
      return invalid(format("argument %s is not set",
                            quote(program().args[i].name).c_str()));
  return Status();
}

/// Fills what the step must not read with NaN bits.
Status Session::poisonBuffers() {
  std::vector<Block> blocks;
  for (const RankMemory &own : memory) {
    const weft_rt_program &program = *programs[own.rank];
    blocks.push_back({own.rank, own.arena, program.arena_bytes});
    if (own.host)
      std::memset(own.host, poisonByte, program.host_bytes);
    for (int32_t i = 0; i < program.num_results; ++i)
      if (program.results[i].alias < 0)
        blocks.push_back(
            {own.rank, own.results[i], localBytes(program.results[i])});
  }
  return note(backend->fill(blocks, poisonByte));
}

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
    RankMemory &memory = *self.memoryOfRank[rank->rank];
    const weft_rt_program &program = *self.programs[rank->rank];
    RankLog &log = self.backend->log(rank->rank);
    if (self.stepsDone == 1)
      log.clearProfile();
    Moment begin = log.moment();
    program.entry(&self.backend->api(), rank, memory.args.data(),
                  memory.results.data(), memory.arena, memory.host);
    log.record(SpanKind::Step, WEFT_RT_IN_STEP, -1, nullptr, begin);
  };
  if (poison)
    WEFT_RT_RETURN_IF_ERROR(poisonBuffers());
  return note(backend->run(step, this));
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
  MemoryLayout layout = layoutOf(program());
  stats.argument_bytes = layout.argumentBytes;
  stats.result_bytes = layout.resultBytes;
  stats.arena_bytes = program().arena_bytes;
  stats.host_bytes = layout.hostBytes;
  for (const RankMemory &one : memory)
    stats.total_bytes += one.layout.totalBytes;
  return stats;
}

TrafficCount Session::traffic(weft_rt_collective_kind kind,
                              int32_t channel) const {
  TrafficCount most;
  for (int64_t rank : backend->localRanks()) {
    TrafficCount one = backend->log(rank).traffic(kind, channel);
    most.count = std::max(most.count, one.count);
    most.bytes = std::max(most.bytes, one.bytes);
  }
  return most;
}

Result<const std::vector<weft_rt_profile_row> *> Session::profile() {
  if (!isProfiling)
    return invalid("the session keeps no profile");
  lastProfile.clear();
  for (int64_t rank : backend->localRanks())
    lastProfile.add(rank, backend->log(rank));
  return &lastProfile.rows();
}

const char *Session::flightRecord() {
  flightText.clear();
  for (int64_t rank : backend->localRanks())
    flightText += format("rank %lld:\n", (long long)rank) +
                  backend->log(rank).flightRecord();
  return flightText.c_str();
}

const char *Session::calls() {
  callText = backend->calls();
  return callText.c_str();
}

Status Session::writeTrace(const std::string &path) const {
  if (!isTracing)
    return invalid("the session keeps no trace");
  std::vector<TracedRank> logs;
  for (int64_t rank : backend->localRanks())
    logs.push_back({rank, &backend->log(rank)});
  return rt::writeTrace(path, logs);
}

} // namespace weft::rt
