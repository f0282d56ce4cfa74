// SPDX-License-Identifier: Apache-2.0

// Nothing here waits for the device in a call that could block for good: waits
// are polls, so that a failure or a deadline ends them.

#include "backends/cuda/rank.h"

#include "backends/cuda/copy.h"
#include "backends/cuda/polling.h"
#include "contract/attention_reason.h"
#include "core/copy_reason.h"
#include "core/manifest.h"
#include "core/rank_api.h"
#include "core/types.h"
#include "core/unwind.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace weft::rt::cuda {
namespace {

constexpr int64_t stagingBytes = int64_t(4) << 20;

/// Has nothing to say: another failure came first.
Status follow() { return Status(WEFT_RT_RANK_FAILED, ""); }

} // namespace

CudaRank::CudaRank(CudaWorld &world, int64_t rank, Device &device,
                   Contractions &contractions, Attention &attentions)
    : log(*world.options.programs[rank], world.options.traceEvents,
          world.options.profile),
      device(device), world(world), contractions(contractions),
      attentions(attentions), self{rank, &calls},
      program(*world.options.programs[rank]), api(device.api), streams(program),
      sides(size_t(program.num_channels)),
      isInGraph(size_t(program.num_events)), flight(device), calls(*this),
      perturbState(world.options.perturbSeed
                       ? world.options.perturbSeed * 1000003 + uint64_t(rank)
                       : 0) {
  for (size_t channel = 0; channel < world.groups.size(); ++channel) {
    Membership place = world.layout[channel].ofRank[rank]; // it is here
    seats.push_back({world.groups[channel][place.group].get(), place.index});
  }
}

CudaRank::~CudaRank() {
  CurrentContext current(device);
  dnnAttention = nullptr;
  if (stream)
    api.cuStreamDestroy_v2(stream);
  for (Side &side : sides)
    if (side.stream)
      api.cuStreamDestroy_v2(side.stream);
  for (CUevent_st *event : events)
    api.cuEventDestroy_v2(event);
  if (edge)
    api.cuEventDestroy_v2(edge);
  // Freeing waits for what still uses it.
  for (auto &[source, constant] : constants)
    api.cuMemFree_v2(deviceAddress(constant.data));
  for (void *data : {workspace.data, base})
    if (data)
      api.cuMemFree_v2(deviceAddress(data));
  if (staging)
    api.cuMemFreeHost(staging);
  if (onHost)
    api.cuMemFreeHost(onHost);
}

// ---- before the first step -------------------------------------------------

Status CudaRank::prepare(const Rehearsal &rehearsal) {
  Result<std::vector<CUfunc_st *>> loaded = device.load(program);
  if (!loaded.ok())
    return loaded.status();
  kernels = std::move(*loaded);
  sharedBytes.assign(kernels.size(), 0);
  int32_t mostParams = 1;
  for (int32_t i = 0; i < program.num_kernels; ++i)
    mostParams = std::max(mostParams, program.kernels[i].num_buffers +
                                          program.kernels[i].num_scalars);
  params.resize(mostParams);
  CurrentContext current(device);
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (rehearsal.sharedBytes[i] > 0)
      WEFT_RT_RETURN_IF_ERROR(
          device.allowShared(kernels[i], rehearsal.sharedBytes[i]));
    sharedBytes[i] = rehearsal.sharedBytes[i];
  }
  WEFT_CUDA_CALL(api, cuStreamCreate, &stream, driver::streamNonBlocking);
  dnnAttention = std::make_unique<DnnAttention>(stream);
  for (int32_t channel : rehearsal.channels)
    WEFT_RT_RETURN_IF_ERROR(makeSide(channel));
  for (int32_t i = 0; i < program.num_events; ++i) {
    CUevent_st *event = nullptr;
    WEFT_CUDA_CALL(api, cuEventCreate, &event, driver::eventDisableTiming);
    events.push_back(event);
  }
  WEFT_CUDA_CALL(api, cuMemAllocHost_v2, &staging, size_t(stagingBytes));
  WEFT_RT_RETURN_IF_ERROR(flight.start());
  int64_t scratch = rehearsal.gemms.empty() ? 0 : workspaceBytes;
  for (const RehearsedAttention &one : rehearsal.attentions) {
    Result<AttentionPlan> plan =
        prepareAttention(*one.desc, one.buffers.data(), one.queryStart);
    if (!plan.ok())
      return plan.status();
    scratch = std::max(scratch, plan->scratchBytes);
  }
  WEFT_RT_RETURN_IF_ERROR(growWorkspace(scratch));

  for (const RehearsedGemm &one : rehearsal.gemms)
    WEFT_RT_RETURN_IF_ERROR(
        contractions.prepare(*one.gemm, one.operands, workspace.bytes));
  for (const RehearsedConstant &one : rehearsal.constants)
    WEFT_RT_RETURN_IF_ERROR(onDevice(one.data, one.bytes).status());
  return world.graphReason.empty() ? calls.prepare() : Status();
}

/// What is enqueued still uses the old one, which stays until the end.
Status CudaRank::growWorkspace(int64_t bytes) {
  if (bytes <= workspace.bytes)
    return Status();
  DevicePointer place = 0;
  WEFT_CUDA_CALL(api, cuMemAlloc_v2, &place, size_t(bytes));
  if (workspace.data)
    constants[workspace.data] = {workspace.data, workspace.bytes};
  workspace = {reinterpret_cast<void *>(place), bytes};
  return Status();
}

Status CudaRank::allocateOnHost(int64_t bytes) {
  CurrentContext current(device);
  WEFT_CUDA_CALL(api, cuMemAllocHost_v2, &onHost, size_t(bytes));
  std::memset(onHost, 0, size_t(bytes));
  onHostBytes = bytes;
  return Status();
}

Status CudaRank::allocate(int64_t bytes) {
  CurrentContext current(device);
  DevicePointer place = 0;
  auto size = size_t(std::max<int64_t>(bytes, 64));
  WEFT_CUDA_CALL(api, cuMemAlloc_v2, &place, size);
  base = reinterpret_cast<void *>(place);
  baseBytes = bytes;
  WEFT_CUDA_CALL(api, cuMemsetD8Async, place, 0, size, stream);
  return awaitStream();
}

bool CudaRank::isOwn(const void *address) const {
  auto offset =
      reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(base);
  return base && offset < uintptr_t(baseBytes);
}

/// Where the device finds what a copy reads: constant data of the program is
/// brought there when it is first seen.
Result<const void *> CudaRank::onDevice(const void *source, int64_t bytes) {
  if (bytes == 0 || isOwn(source))
    return source;
  auto known = constants.find(source);
  if (known != constants.end() && known->second.bytes >= bytes)
    return static_cast<const void *>(known->second.data);
  DevicePointer place = 0;
  WEFT_CUDA_CALL(api, cuMemAlloc_v2, &place, size_t(bytes));
  auto *data = reinterpret_cast<void *>(place);
  if (known != constants.end()) // what is enqueued still reads the old one
    constants[known->second.data] = known->second;
  constants[source] = {data, bytes};
  WEFT_RT_RETURN_IF_ERROR(
      stage(data, const_cast<void *>(source), bytes, /*isUpload=*/true));
  return static_cast<const void *>(data);
}

// ---- between tasks ---------------------------------------------------------

/// Returns when the stream has done all that is enqueued, or some rank failed.
/// `sleeps`: that may be a while.
Status CudaRank::awaitStream(bool sleeps) {
  for (Pause pause; true;) {
    int result = api.cuStreamQuery(stream);
    if (result == driver::success)
      return Status();
    if (result != driver::notReady)
      return driverError(api, "cuStreamQuery", result);
    if (world.hasFailed())
      return follow();
    if (sleeps)
      pause.sleep();
    else
      sched_yield();
  }
}

/// With a profile, the stream does one call at a time, whose time it is then.
Status CudaRank::awaitProfiled() {
  bool isTimed = log.isProfiling() && streams.current() == Streams::compute;
  return isTimed ? awaitStream(/*sleeps=*/false) : Status();
}

/// Moves bytes between the device and the host's memory through pinned memory.
Status CudaRank::stage(void *local, void *host, int64_t bytes, bool isUpload) {
  if (isOnHost(local)) {
    WEFT_RT_RETURN_IF_ERROR(awaitStream());
    std::memcpy(isUpload ? local : host, isUpload ? host : local,
                size_t(bytes));
    return Status();
  }
  for (int64_t at = 0; at < bytes; at += stagingBytes) {
    auto size = size_t(std::min(stagingBytes, bytes - at));
    char *there = static_cast<char *>(local) + at;
    char *here = static_cast<char *>(host) + at;
    if (isUpload) {
      std::memcpy(staging, here, size);
      WEFT_CUDA_CALL(api, cuMemcpyHtoDAsync_v2, deviceAddress(there), staging,
                     size, stream);
    } else {
      WEFT_CUDA_CALL(api, cuMemcpyDtoHAsync_v2, staging, deviceAddress(there),
                     size, stream);
    }
    WEFT_RT_RETURN_IF_ERROR(awaitStream());
    if (!isUpload)
      std::memcpy(here, staging, size);
  }
  return Status();
}

namespace {

/// A rank's buffer as the host sees it for a moment.
class HostBuffer {
public:
  HostBuffer(weft_rt_type type, const Region &region)
      : bytes(byteSize(type, *elementCount(region.localShape.data(),
                                           region.localShape.size()))),
        data(std::malloc(size_t(bytes) + 1)) {}
  ~HostBuffer() { std::free(data); }
  HostBuffer(const HostBuffer &) = delete;
  HostBuffer &operator=(const HostBuffer &) = delete;

  Status check() const {
    return data ? Status()
                : Status(WEFT_RT_NO_MEMORY,
                         format("cannot allocate %lld bytes to move a tensor",
                                (long long)bytes));
  }

  const int64_t bytes;
  void *const data;
};

} // namespace

Status CudaRank::upload(weft_rt_type type, const Region &region,
                        const void *global, void *local) {
  CurrentContext current(device);
  HostBuffer buffer(type, region);
  WEFT_RT_RETURN_IF_ERROR(buffer.check());
  // Padding keeps what it holds.
  if (region.extent != region.localShape)
    WEFT_RT_RETURN_IF_ERROR(stage(local, buffer.data, buffer.bytes, false));
  cutRegion(type, region, global, buffer.data);
  return stage(local, buffer.data, buffer.bytes, true);
}

/// How a region's part of a dense global tensor goes to its rank; `first` gets
/// the number of the part's first element in the tensor.
static weft_rt_copy cutOf(weft_rt_type type, const Region &region,
                          int64_t &first) {
  weft_rt_copy copy = {};
  copy.element_bytes = byteSize(type, 1);
  copy.num_dims = int32_t(region.globalShape.size());
  int64_t global = 1, local = 1;
  first = 0;
  for (int32_t dim = copy.num_dims - 1; dim >= 0; --dim) {
    copy.dims[dim] = {region.extent[dim], global, local};
    first += region.offset[dim] * global;
    global *= region.globalShape[dim];
    local *= region.localShape[dim];
  }
  return copy;
}

Status CudaRank::uploadOnDevice(weft_rt_type type,
                                const std::vector<Shard> &shards,
                                const void *global) {
  CurrentContext current(device);
  for (const Shard &shard : shards) {
    if (isEmpty(shard.region))
      continue;
    if (shard.region.globalShape.size() > WEFT_RT_COPY_MAX_DIMS)
      return invalid(format("a tensor of %zu dims cannot be cut on a device",
                            shard.region.globalShape.size()));
    int64_t first = 0;
    weft_rt_copy copy = cutOf(type, shard.region, first);
    WEFT_RT_RETURN_IF_ERROR(moveOnDevice(
        copy, static_cast<const char *>(global) + first * copy.element_bytes,
        shard.local));
  }
  return awaitStream();
}

Status CudaRank::download(weft_rt_type type, const Region &region,
                          const void *local, void *global) {
  CurrentContext current(device);
  HostBuffer buffer(type, region);
  WEFT_RT_RETURN_IF_ERROR(buffer.check());
  WEFT_RT_RETURN_IF_ERROR(
      stage(const_cast<void *>(local), buffer.data, buffer.bytes, false));
  joinRegion(type, region, buffer.data, global);
  return Status();
}

Status CudaRank::fill(const Block &block, uint8_t value) {
  CurrentContext current(device);
  if (block.bytes == 0)
    return Status();
  if (isOnHost(block.data)) {
    WEFT_RT_RETURN_IF_ERROR(awaitStream());
    std::memset(block.data, value, size_t(block.bytes));
    return Status();
  }
  WEFT_CUDA_CALL(api, cuMemsetD8Async, deviceAddress(block.data), value,
                 size_t(block.bytes), stream);
  return awaitStream();
}

bool CudaRank::isQuiet() {
  CurrentContext current(device);
  if (api.cuStreamQuery(stream) == driver::notReady)
    return false;
  std::lock_guard<std::mutex> guard(flight.lock);
  for (InFlight &entry : flight.all())
    if (entry.ticket && entry.number >= 0 &&
        entry.seat->group->isRecorded(entry.number) && !entry.isOver(api))
      return false;
  return true;
}

// ---- tasks -----------------------------------------------------------------

Status CudaRank::startThread() {
  if (pthread_create(&thread, nullptr, threadMain, this) != 0)
    return Status(WEFT_RT_NO_MEMORY, format("cannot start a thread for rank "
                                            "%lld",
                                            (long long)self.rank));
  isStarted = true;
  return Status();
}

void CudaRank::join() {
  if (isStarted)
    pthread_join(thread, nullptr);
}

void *CudaRank::threadMain(void *rank) {
  static_cast<CudaRank *>(rank)->serve();
  return nullptr;
}

void CudaRank::serve() {
  std::string name = format("weft rank %lld", (long long)self.rank);
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
  CurrentContext current(device);
  int64_t seen = 0;
  while (true) {
    {
      std::unique_lock<std::mutex> guard(world.lock);
      world.changed.wait(guard, [&] { return world.epoch != seen; });
      seen = world.epoch;
      if (world.isEnding)
        return;
    }
    runTask();
    std::lock_guard<std::mutex> guard(world.lock);
    --world.running;
    world.changed.notify_all();
  }
}

void CudaRank::runTask() {
  streams.begin();
  calls.begin();
  if (weft_rt_enter(&home, world.task, world.context, &self) &&
      calls.finish()) {
    if (flight.open() > 0)
      world.fail(
          Status(WEFT_RT_RANK_FAILED,
                 format("rank %lld ended the step with %lld collectives "
                        "not waited for",
                        (long long)self.rank, (long long)flight.open())));
    if (check(joinSides()))
      check(awaitStream());
  }
  std::lock_guard<std::mutex> guard(flight.lock);
  noteFinished();
}

void CudaRank::leave() { weft_rt_leave(&home); }

/// Tells the world of a failure, with this rank's name.
bool CudaRank::check(const Status &status) {
  if (status.ok())
    return true;
  bool isNamed =
      status.code() == WEFT_RT_RANK_FAILED || status.message().empty();
  world.fail(Status(WEFT_RT_RANK_FAILED,
                    isNamed ? status.message()
                            : format("rank %lld: ", (long long)self.rank) +
                                  status.message()));
  return false;
}

void CudaRank::fail(const char *message) {
  check(
      Status(WEFT_RT_RANK_FAILED, format("rank %lld: %s", (long long)self.rank,
                                         message ? message : "failed")));
}

/// Sleeps now and then, where delays were asked for.
void CudaRank::perturb() {
  if (perturbState == 0)
    return;
  perturbState = perturbState * 6364136223846793005u + 1442695040888963407u;
  uint64_t random = perturbState >> 33;
  if (random % 2 == 0)
    sleepFor(int64_t(random / 2 % 200) * 1000);
}

// ---- calls that compute ----------------------------------------------------

bool CudaRank::gemm(int32_t op, const weft_rt_gemm &desc, const void *a,
                    const void *b, void *c) {
  if (const char *reason = gemmReason(desc))
    return check(invalid(std::string("gemm: ") + reason));
  if (!check(streams.checkComputes("a contraction")))
    return false;
  Moment begin = log.moment();
  perturb();
  bool isRun = check(contractions.run(desc, {a, b, c}, workspace, stream)) &&
               check(awaitProfiled());
  log.record(SpanKind::Gemm, WEFT_RT_IN_GEMM, op, &desc, begin);
  return isRun;
}

Result<CudaRank::AttentionPlan>
CudaRank::prepareAttention(const weft_rt_attention &desc, void *const *buffers,
                           int64_t queryStart) {
  if (const DnnPlan *plan = dnnAttention->planFor(desc, buffers, queryStart))
    return AttentionPlan{plan, plan->workspaceBytes};
  WEFT_RT_RETURN_IF_ERROR(attentions.prepare(desc, buffers));
  return AttentionPlan{nullptr, attentionScratchBytes(desc)};
}

/// Also prepares it, where a step has no such call before a scalar that it
/// reads.
Status CudaRank::tryAttention(const weft_rt_attention &desc,
                              void *const *buffers, int64_t queryStart) {
  Result<AttentionPlan> plan = prepareAttention(desc, buffers, queryStart);
  if (!plan.ok())
    return plan.status();
  WEFT_RT_RETURN_IF_ERROR(growWorkspace(plan->scratchBytes));
  if (plan->ofLibrary)
    return dnnAttention->run(*plan->ofLibrary, desc, buffers, workspace.data);
  return attentions.run(desc, buffers, queryStart, workspace.data, stream);
}

bool CudaRank::attention(int32_t op, const weft_rt_attention &desc,
                         void *const *buffers, int64_t queryStart) {
  const char *reason = cudaAttentionReason(desc);
  if (!reason)
    reason = attentionBuffersReason(desc, buffers);
  if (reason)
    return check(invalid(std::string("attention: ") + reason));
  if (!check(streams.checkComputes("attention")))
    return false;
  Moment begin = log.moment();
  perturb();
  bool isRun =
      check(tryAttention(desc, buffers, queryStart)) && check(awaitProfiled());
  log.record(SpanKind::Attention, WEFT_RT_IN_ATTENTION, op, &desc, begin);
  return isRun;
}

Status CudaRank::tryLaunch(const weft_rt_launch &launch, void *const *buffers,
                           const int64_t *scalars) {
  const weft_rt_kernel_entry &entry = program.kernels[launch.kernel];
  CUfunc_st *kernel = kernels[launch.kernel];
  int64_t blocks = launch.config[0], shared = launch.config[2];
  if (blocks == 0)
    return Status();
  CUstream_st *on = nullptr;
  WEFT_RT_RETURN_IF_ERROR(chosenStream(on));
  if (shared > sharedBytes[launch.kernel]) {
    WEFT_RT_RETURN_IF_ERROR(device.allowShared(kernel, shared));
    sharedBytes[launch.kernel] = shared;
  }
  for (int32_t i = 0; i < entry.num_buffers; ++i)
    params[i] = const_cast<void **>(&buffers[i]);
  for (int32_t i = 0; i < entry.num_scalars; ++i)
    params[entry.num_buffers + i] = const_cast<int64_t *>(&scalars[i]);
  if (int result = api.cuLaunchKernel(
          kernel, unsigned(blocks), 1, 1, unsigned(launch.config[1]), 1, 1,
          unsigned(shared), on, params.data(), nullptr))
    return within("kernel " + quote(entry.name),
                  driverError(api, "cuLaunchKernel", result));
  return Status();
}

bool CudaRank::launch(int32_t op, const weft_rt_launch &launch,
                      void *const *buffers, const int64_t *scalars) {
  if (Status bad = checkCudaLaunch(program, launch); !bad.ok())
    return check(
        Status(WEFT_RT_RANK_FAILED, format("rank %lld %s", (long long)self.rank,
                                           bad.message().c_str())));
  Moment begin = log.moment();
  perturb();
  bool isLaunched =
      check(tryLaunch(launch, buffers, scalars)) && check(awaitProfiled());
  log.record(SpanKind::Kernel, WEFT_RT_IN_KERNEL, op,
             &program.kernels[launch.kernel], begin);
  return isLaunched;
}

Status CudaRank::tryCopy(const weft_rt_copy &copy, const void *source,
                         void *target) {
  Result<const void *> from = onDevice(source, sourceExtent(copy));
  if (!from.ok())
    return from.status();
  return moveOnDevice(copy, *from, target);
}

Status CudaRank::moveOnDevice(const weft_rt_copy &copy, const void *source,
                              void *target) {
  CopyArgs args = copyArgs(copy, source, target);
  CUstream_st *on = nullptr;
  WEFT_RT_RETURN_IF_ERROR(chosenStream(on));
  if (args.count == 0 || !isPlain(args))
    return device.copy(args, on);
  WEFT_CUDA_CALL(api, cuMemcpyDtoDAsync_v2, deviceAddress(target),
                 deviceAddress(source), size_t(args.count * args.unit), on);
  return Status();
}

bool CudaRank::copy(int32_t op, const weft_rt_copy &copy, const void *source,
                    void *target) {
  if (const char *reason = copyReason(copy))
    return check(invalid(std::string("copy: ") + reason));
  Moment begin = log.moment();
  perturb();
  bool isCopied =
      check(tryCopy(copy, source, target)) && check(awaitProfiled());
  log.record(SpanKind::Copy, WEFT_RT_IN_COPY, op, &copy, begin);
  return isCopied;
}

Status CudaRank::tryRead(weft_rt_type type, const void *source,
                         int64_t &value) {
  WEFT_RT_RETURN_IF_ERROR(awaitStream());
  if (!isOwn(source)) {
    value = loadScalar(type, source);
    return Status();
  }
  WEFT_CUDA_CALL(api, cuMemcpyDtoHAsync_v2, staging, deviceAddress(source),
                 size_t(byteSize(type, 1)), stream);
  WEFT_RT_RETURN_IF_ERROR(awaitStream());
  value = loadScalar(type, staging);
  return Status();
}

bool CudaRank::readScalar(int32_t, weft_rt_type type, const void *source,
                          int64_t &value) {
  if (!isKnownType(type) || !hasWholeBytes(type))
    return check(Status(WEFT_RT_RANK_FAILED,
                        format("rank %lld reads a scalar of type %d",
                               (long long)self.rank, int(type))));
  if (!check(streams.checkComputes("a read of a scalar")))
    return false;
  return check(tryRead(type, source, value));
}

const weft_rt_api &CudaWorld::api() const { return rankApi<StepCalls>; }

} // namespace weft::rt::cuda
