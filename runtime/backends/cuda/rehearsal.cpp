// SPDX-License-Identifier: Apache-2.0

// The rank's memory is at an address that no process has.

#include "backends/cuda/rehearsal.h"

#include "backends/cuda/copy.h"
#include "contract/attention_reason.h"
#include "core/collective.h"
#include "core/copy_reason.h"
#include "core/manifest.h"
#include "core/memory_layout.h"
#include "core/rank_api.h"
#include "core/topology.h"
#include "core/unwind.h"

#include <algorithm>

namespace weft::rt::cuda {
namespace {

constexpr uintptr_t memoryBase = uintptr_t(1) << 62;
constexpr int64_t mostThreads = 1024, mostShared = 256 * 1024;

/// A rank that writes down what it is asked for.
class Rehearsing {
public:
  Rehearsing(const weft_rt_program &program, int64_t rank)
      : program(program), self{rank, this} {
    found.sharedBytes.resize(program.num_kernels, 0);
  }

  void run() { weft_rt_enter(&home, enter, this, &self); }

  bool gemm(int32_t, const weft_rt_gemm &desc, const void *a, const void *b,
            void *c) {
    if (const char *reason = gemmReason(desc))
      return refuse(std::string("gemm: ") + reason);
    found.gemms.push_back({&desc, {a, b, c}});
    return true;
  }
  bool attention(int32_t, const weft_rt_attention &desc, void *const *buffers,
                 int64_t queryStart) {
    if (const char *reason = cudaAttentionReason(desc))
      return refuse(std::string("attention: ") + reason);
    // What is wrong with its buffers is the step's to refuse.
    if (attentionBuffersReason(desc, buffers))
      return true;
    RehearsedAttention &one = found.attentions.emplace_back();
    one.desc = &desc;
    one.queryStart = queryStart;
    std::copy_n(buffers, one.buffers.size(), one.buffers.begin());
    return true;
  }
  bool launch(int32_t, const weft_rt_launch &launch, void *const *,
              const int64_t *) {
    if (Status bad = checkCudaLaunch(program, launch); !bad.ok())
      return refuse(bad.message());
    int64_t &most = found.sharedBytes[launch.kernel];
    most = std::max(most, launch.config[2]);
    return true;
  }
  bool copy(int32_t, const weft_rt_copy &copy, const void *source, void *) {
    if (const char *reason = copyReason(copy))
      return refuse(std::string("copy: ") + reason);
    if (reinterpret_cast<uintptr_t>(source) < memoryBase)
      found.constants.push_back({source, sourceExtent(copy)});
    return true;
  }
  bool readScalar(int32_t, weft_rt_type, const void *, int64_t &) {
    found.isWhole = false;
    return false;
  }
  /// What makes no sense is the step's to refuse.
  int64_t startCollective(int32_t, const weft_rt_collective &collective,
                          const void *const *in, void *const *out) {
    int32_t index = collective.channel;
    if (index < 0 || index >= program.num_channels)
      return tickets++;
    const weft_rt_channel &channel = program.channels[index];
    int64_t size = shardCount(channel.axes, channel.num_axes);
    if (checkCollective(collective, size, in, out).ok())
      found.collectives.push_back(&collective);
    return tickets++;
  }
  bool wait(int32_t, int64_t) { return true; }
  bool setStream(int32_t channel) {
    bool isNew = std::find(found.channels.begin(), found.channels.end(),
                           channel) == found.channels.end();
    if (isNew && channel >= 0 && channel < program.num_channels)
      found.channels.push_back(channel);
    return true;
  }
  bool record(int32_t) { return true; }
  bool await(int32_t) { return true; }
  void fail(const char *) { found.isWhole = false; } // the step says it

  [[noreturn]] void leave() { weft_rt_leave(&home); }

  Rehearsal found;
  Status refusal;

private:
  static void enter(void *context, weft_rt_rank *self);

  bool refuse(const std::string &what) {
    refusal =
        Status(WEFT_RT_INCOMPATIBLE,
               format("program %s cannot run on a GPU: rank %lld asks for "
                      "%s",
                      quote(program.name).c_str(), (long long)self.rank,
                      what.c_str()));
    return false;
  }

  const weft_rt_program &program;
  weft_rt_rank self;
  int64_t tickets = 0;
  jmp_buf home;
};

void *placeAt(int64_t offset) {
  return reinterpret_cast<void *>(memoryBase + uintptr_t(offset));
}

void Rehearsing::enter(void *context, weft_rt_rank *self) {
  auto &rehearsing = *static_cast<Rehearsing *>(context);
  const weft_rt_program &program = rehearsing.program;
  // A call may leave this frame: what it holds lives longer.
  static thread_local std::vector<void *> args, results;
  static thread_local MemoryLayout layout;
  layout = layoutOf(program);
  args.clear();
  results.clear();
  // What is on the host is after what is not.
  for (size_t i = 0; i < layout.args.size(); ++i)
    args.push_back(placeAt(layout.args[i] +
                           (layout.argsOnHost[i] ? layout.totalBytes : 0)));
  for (size_t i = 0; i < layout.results.size(); ++i)
    results.push_back(placeAt(
        layout.results[i] + (layout.resultsOnHost[i] ? layout.totalBytes : 0)));
  program.entry(&rankApi<Rehearsing>, self, args.data(), results.data(),
                placeAt(layout.arena),
                placeAt(layout.totalBytes + layout.hostArena));
}

} // namespace

Result<Rehearsal> rehearse(const weft_rt_program &program, int64_t rank) {
  auto rehearsing = std::make_unique<Rehearsing>(program, rank);
  rehearsing->run();
  WEFT_RT_RETURN_IF_ERROR(rehearsing->refusal);
  return std::move(rehearsing->found);
}

Status checkCudaLaunch(const weft_rt_program &program,
                       const weft_rt_launch &launch) {
  WEFT_RT_RETURN_IF_ERROR(checkLaunch(program, launch, /*numConfig=*/3));
  int64_t blocks = launch.config[0], threads = launch.config[1],
          shared = launch.config[2];
  if (blocks >= 0 && blocks <= INT32_MAX && threads > 0 &&
      threads <= mostThreads && shared >= 0 && shared <= mostShared)
    return Status();
  return invalid(format("launches %s with %lld blocks of %lld threads and %lld "
                        "bytes of shared memory, which no GPU has",
                        quote(program.kernels[launch.kernel].name).c_str(),
                        (long long)blocks, (long long)threads,
                        (long long)shared));
}

} // namespace weft::rt::cuda
