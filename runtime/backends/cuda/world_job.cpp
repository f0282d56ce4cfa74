// SPDX-License-Identifier: Apache-2.0

// Which GPUs the ranks of this process have, and what processes of a job tell
// each other: who they are, before the first step; how far they are, while
// steps run.

#include "backends/cuda/polling.h"
#include "backends/cuda/rank.h"
#include "backends/cuda/world.h"
#include "core/certificate.h"
#include "core/manifest.h"
#include "core/sha256.h"

#include <cstring>
#include <map>
#include <unistd.h>

namespace weft::rt::cuda {
namespace {

constexpr int oldestDriver = 12000; // of CUDA 12.0
constexpr int64_t progressMessage = 0, lateMessage = 1;

std::string hostName() {
  char name[256] = "";
  gethostname(name, sizeof(name) - 1);
  return name;
}

std::string digestOf(const std::string &text) {
  Sha256 hash;
  hash.add(text.data(), text.size());
  return hash.finish();
}

std::string listRanks(const std::vector<int64_t> &ranks) {
  if (ranks.empty())
    return "the devices, which all ranks have reached";
  std::string text = ranks.size() == 1 ? "rank" : "ranks";
  for (size_t i = 0; i < ranks.size(); ++i)
    text += (i ? ", " : " ") + std::to_string(ranks[i]);
  return text;
}

/// What a process says of itself before anything is made.
struct Introduction {
  int64_t code = WEFT_RT_OK; // how its start went so far
  std::string message, plan, invariance, interface, host;
  std::vector<std::string> gpus;

  std::string encode() const {
    WireWriter writer;
    writer.number(code);
    for (const std::string *text :
         {&message, &plan, &invariance, &interface, &host})
      writer.text(*text);
    writer.number(int64_t(gpus.size()));
    for (const std::string &gpu : gpus)
      writer.text(gpu);
    return writer.bytes();
  }

  bool decode(const std::string &bytes) {
    WireReader reader(bytes);
    code = reader.number();
    for (std::string *text : {&message, &plan, &invariance, &interface, &host})
      *text = reader.text();
    int64_t count = reader.number();
    for (int64_t i = 0; i < count && reader.isValid(); ++i)
      gpus.push_back(reader.text());
    return reader.isWhole() && code >= WEFT_RT_OK && code <= WEFT_RT_UNUSABLE;
  }
};

Status checkSame(const Introduction &first, const Introduction &other,
                 const std::string &who) {
  if (first.plan != other.plan)
    return invalid(format("rank 0 and %s have different plans: %s and %s: "
                          "start all processes with the same program",
                          who.c_str(), first.plan.c_str(),
                          printable(other.plan).c_str()));
  if (first.invariance != other.invariance)
    return invalid(format("rank 0 and %s differ in invariance: %s and %s",
                          who.c_str(), printable(first.invariance).c_str(),
                          printable(other.invariance).c_str()));
  if (first.interface != other.interface)
    return invalid(format("rank 0 and %s have equal plan hashes but differ in "
                          "mesh, arguments, results or channels",
                          who.c_str()));
  return Status();
}

} // namespace

// ---- devices ---------------------------------------------------------------

Status CudaWorld::openDriver(int &count) {
  Result<const DriverApi *> driver = loadDriver();
  if (!driver.ok())
    return driver.status();
  driverApi = *driver;
  int result = driverApi->cuInit(0), version = 0;
  if (result == driver::stubLibrary)
    return Status(
        WEFT_RT_INCOMPATIBLE,
        "backend 'cuda': libcuda.so.1 is the stub to link with, not a "
        "driver: take its folder out of LD_LIBRARY_PATH");
  if (result != driver::success && result != driver::noDevice)
    return within("backend 'cuda'", driverError(*driverApi, "cuInit", result));
  WEFT_CUDA_CALL(*driverApi, cuDriverGetVersion, &version);
  if (version < oldestDriver)
    return Status(WEFT_RT_INCOMPATIBLE,
                  format("backend 'cuda': the NVIDIA driver is for CUDA %d.%d, "
                         "expected 12.0 or newer: update it",
                         version / 1000, version % 1000 / 10));
  if (result == driver::success)
    WEFT_CUDA_CALL(*driverApi, cuDeviceGetCount, &count);
  if (count == 0)
    return Status(WEFT_RT_INCOMPATIBLE,
                  "backend 'cuda' finds no GPU: look at nvidia-smi and "
                  "CUDA_VISIBLE_DEVICES");
  return Status();
}

/// One GPU for each rank, or all ranks on the only one. In a job a process that
/// sees as many GPUs as it has ranks has these; else those of its turn.
Status CudaWorld::chooseDevices(int count, int &first, int &needed) const {
  auto here = int(rankIds.size());
  first = 0;
  needed = others || count > 1 ? here : 1;
  if (!others) {
    if (count >= needed)
      return Status();
    return Status(WEFT_RT_INCOMPATIBLE,
                  format("program %s is for %d ranks, and there are %d GPUs: "
                         "compile it for as many ranks, or let all share one "
                         "GPU with CUDA_VISIBLE_DEVICES=0",
                         quote(program.name).c_str(), program.num_ranks,
                         count));
  }
  if (count == needed)
    return Status();
  int64_t local = options.place.local;
  if (local < 0)
    return invalid(format("process %lld has %d ranks and sees %d GPUs, and "
                          "nothing says which are its: set LOCAL_RANK, or say "
                          "--local-process",
                          (long long)options.place.process, here, count));
  if ((local + 1) * here > count)
    return Status(
        WEFT_RT_INCOMPATIBLE,
        format("process %lld of this machine (%s) needs GPU %lld for %s, and "
               "there are %d: start fewer processes here",
               (long long)local, printable(hostName()).c_str(),
               (long long)((local + 1) * here - 1),
               others->nameOf(options.place.process).c_str(), count));
  first = int(local) * here;
  return Status();
}

Status CudaWorld::openDevices() {
  int count = 0, first = 0, needed = 0;
  WEFT_RT_RETURN_IF_ERROR(openDriver(count));
  WEFT_RT_RETURN_IF_ERROR(chooseDevices(count, first, needed));
  for (int ordinal = first; ordinal < first + needed; ++ordinal) {
    Result<std::unique_ptr<Device>> device = Device::open(*driverApi, ordinal);
    if (!device.ok())
      return device.status();
    devices.push_back(std::move(*device));
    contractions.push_back(std::make_unique<Contractions>(*devices.back()));
    attentions.push_back(std::make_unique<Attention>(*devices.back()));
  }
  return Status();
}

// ---- before the first step -------------------------------------------------

Status CudaWorld::join() {
  if (options.place.count == 1)
    return Status();
  Result<std::unique_ptr<JobMember>> joined = JobMember::join(
      options.place, int64_t(rankIds.size()), options.deadlineSeconds);
  if (!joined.ok())
    return joined.status();
  others = std::move(*joined);
  return Status();
}

std::string CudaWorld::introduction(const Status &own) const {
  Introduction intro;
  intro.code = own.code();
  intro.message = own.message().substr(0, 4096);
  const weft_rt_program &first = *options.programs[size_t(rankIds[0])];
  intro.plan = hexText(first.plan_hash, sizeof(first.plan_hash));
  intro.invariance = invarianceName(first);
  intro.interface = digestOf(describeInterface(first));
  intro.host = hostName();
  for (const auto &device : devices)
    intro.gpus.emplace_back(device->uuid.bytes, sizeof(device->uuid.bytes));
  return intro.encode();
}

/// All processes find the same fault, if there is one.
Status CudaWorld::meet(const Status &own) {
  if (!others)
    return own;
  Result<std::vector<std::string>> all = others->exchange(introduction(own));
  if (!all.ok())
    return own.ok() ? all.status() : own;
  WEFT_RT_RETURN_IF_ERROR(own);
  std::vector<Introduction> known(all->size());
  std::map<std::string, int64_t> owners; // of GPUs
  for (int64_t process = 0; process < int64_t(known.size()); ++process) {
    Introduction &one = known[size_t(process)];
    std::string who = others->nameOf(process);
    if (!one.decode((*all)[size_t(process)]))
      return Status(WEFT_RT_RANK_FAILED, who + " sends what makes no sense");
    if (one.code != WEFT_RT_OK)
      return Status(weft_rt_status(one.code), who + ": " + one.message);
    WEFT_RT_RETURN_IF_ERROR(checkSame(known[0], one, who));
    for (const std::string &gpu : one.gpus)
      if (auto [owner, isNew] = owners.emplace(gpu, process); !isNew)
        return Status(WEFT_RT_INCOMPATIBLE,
                      format("%s and %s have the same GPU on %s: there must be "
                             "one for each rank",
                             others->nameOf(owner->second).c_str(), who.c_str(),
                             quote(one.host).c_str()));
  }
  return Status();
}

/// Says whether NCCL connects the members.
bool CudaWorld::needsId(const std::vector<int64_t> &members) const {
  return members.size() > 1 && (others || devices.size() > 1);
}

/// An id for each group of each channel, made by the process of its first
/// member; zeros where nobody needs it.
Result<std::vector<UniqueId>> CudaWorld::shareIds() {
  std::vector<UniqueId> ids;
  std::vector<int64_t> makers; // processes; -1: none
  std::string mine;
  for (const ChannelGroups &channel : layout)
    for (const std::vector<int64_t> &members : channel.groups) {
      ids.push_back({});
      makers.push_back(needsId(members) ? members[0] / int64_t(rankIds.size())
                                        : -1);
      if (makers.back() < 0 || !isHere(members[0]))
        continue;
      Result<const NcclApi *> api = loadNccl();
      if (!api.ok())
        return api.status();
      if (int result = (*api)->ncclGetUniqueId(&ids.back()))
        return ncclError(**api, "ncclGetUniqueId", result, nullptr);
      mine.append(ids.back().internal, sizeof(ids.back().internal));
    }
  if (!others)
    return ids;
  Result<std::vector<std::string>> all = others->exchange(mine);
  if (!all.ok())
    return all.status();
  std::vector<size_t> taken(all->size(), 0);
  for (size_t i = 0; i < ids.size(); ++i) {
    if (makers[i] < 0)
      continue;
    const std::string &bytes = (*all)[size_t(makers[i])];
    size_t &at = taken[size_t(makers[i])];
    if (at + sizeof(UniqueId) > bytes.size())
      return Status(WEFT_RT_RANK_FAILED,
                    others->nameOf(makers[i]) + " sends what makes no sense");
    std::memcpy(ids[i].internal, bytes.data() + at, sizeof(UniqueId));
    at += sizeof(UniqueId);
  }
  return ids;
}

// ---- while steps run -------------------------------------------------------

void CudaWorld::jobFailed(const Status &failure) {
  fail(Status(WEFT_RT_RANK_FAILED, failure.message()));
}

/// Tells process 0 how far this process' ranks are, if that has changed.
void CudaWorld::tellProgress() {
  if (others->isFirst())
    return;
  WireWriter writer;
  writer.number(progressMessage);
  for (auto &rank : ranks) {
    CurrentContext current(rank->device);
    for (int32_t channel = 0; channel < program.num_channels; ++channel)
      writer.number(rank->reachedOn(channel));
  }
  if (writer.bytes() == lastProgress)
    return;
  lastProgress = writer.bytes();
  others->tell(lastProgress);
}

/// Process 0 knows who is missing; if it does not answer, that is said instead.
void CudaWorld::tellLate(const LateCollective &late) {
  constexpr int64_t patience = 2'000'000'000;
  if (lateSince == 0) {
    lateSince = nanosecondsNow();
    tellProgress();
    WireWriter writer;
    for (int64_t number : {lateMessage, late.rank, late.channel, late.number})
      writer.number(number);
    writer.text(late.name);
    others->tell(writer.bytes());
  } else if (nanosecondsNow() - lateSince > patience) {
    fail(lateFailure(late));
  }
}

void CudaWorld::jobMessage(int64_t process, const std::string &bytes) {
  WireReader reader(bytes);
  int64_t kind = reader.number();
  auto each = int64_t(rankIds.size());
  if (kind == progressMessage) {
    std::lock_guard<std::mutex> guard(progressLock);
    progress.resize(size_t(program.num_ranks));
    for (int64_t i = 0; i < each; ++i) {
      auto &counts = progress[size_t(process * each + i)];
      counts.resize(size_t(program.num_channels));
      for (int64_t &count : counts)
        count = reader.number();
    }
    if (reader.isWhole())
      return;
  } else if (kind == lateMessage) {
    LateCollective late;
    late.rank = reader.number();
    late.channel = reader.number();
    late.number = reader.number();
    late.name = reader.text();
    if (reader.isWhole() && late.rank / each == process && late.rank >= 0 &&
        late.channel >= 0 && late.channel < program.num_channels)
      return fail(lateFailure(late));
  }
  fail(Status(WEFT_RT_RANK_FAILED,
              others->nameOf(process) + " sends what makes no sense"));
}

bool CudaWorld::hasReached(int64_t rank, const LateCollective &late) {
  if (isHere(rank)) {
    CurrentContext current(localRank(rank).device);
    return localRank(rank).reachedOn(int32_t(late.channel)) > late.number;
  }
  std::lock_guard<std::mutex> guard(progressLock);
  return size_t(rank) < progress.size() &&
         size_t(late.channel) < progress[size_t(rank)].size() &&
         progress[size_t(rank)][size_t(late.channel)] > late.number;
}

Status CudaWorld::lateFailure(const LateCollective &late) {
  const ChannelGroups &channel = layout[size_t(late.channel)];
  const std::vector<int64_t> &members =
      channel.groups[size_t(channel.ofRank[size_t(late.rank)].group)];
  std::vector<int64_t> missing;
  for (int64_t rank : members)
    if (rank != late.rank && !hasReached(rank, late))
      missing.push_back(rank);
  return Status(
      WEFT_RT_RANK_FAILED,
      format("%s on channel %s: rank %lld waited %g s for %s, in the group of "
             "%s",
             printable(late.name).c_str(),
             quote(program.channels[late.channel].name).c_str(),
             (long long)late.rank, options.deadlineSeconds,
             listRanks(missing).c_str(), listRanks(members).c_str()));
}

} // namespace weft::rt::cuda
