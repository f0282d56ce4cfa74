// SPDX-License-Identifier: Apache-2.0

// The backend that a new one is copied from, and the test of what sessions ask
// of backends: it runs every program, writes down the calls that each rank
// makes, and does none of them. Ranks run one after the other on the caller's
// thread; results are zeros, and so is each scalar that is read.

#include "backends/null/null.h"

#include "core/collective.h"
#include "core/manifest.h"
#include "core/memory_layout.h"
#include "core/profile.h"
#include "core/rank_api.h"
#include "core/streams.h"
#include "core/types.h"
#include "core/unwind.h"

#include <cstdlib>
#include <set>

namespace weft::rt {
namespace {

/// One rank: its memory, and what it has asked for. Calls that fail return
/// false, after which the caller must unwind.
class NullRank {
public:
  NullRank(const BackendOptions &options, int64_t rank)
      : log(*options.programs[rank], options.traceEvents, options.profile),
        self{rank, this}, program(*options.programs[rank]),
        layout(layoutOf(program)), streams(program) {}
  ~NullRank() { std::free(memory); }
  NullRank(const NullRank &) = delete;
  NullRank &operator=(const NullRank &) = delete;

  Result<void *> allocate(int64_t bytes);
  Status run(RankTask task, void *context);
  const std::string &calls() const { return text; }

  bool gemm(int32_t op, const weft_rt_gemm &desc, const void *a, const void *b,
            const void *c);
  bool attention(int32_t op, const weft_rt_attention &desc,
                 void *const *buffers, int64_t queryStart);
  bool launch(int32_t op, const weft_rt_launch &launch, void *const *buffers,
              const int64_t *scalars);
  bool copy(int32_t op, const weft_rt_copy &copy, const void *source,
            const void *target);
  bool readScalar(int32_t op, weft_rt_type type, const void *source,
                  int64_t &value);
  int64_t startCollective(int32_t op, const weft_rt_collective &collective,
                          const void *const *in, void *const *out);
  bool wait(int32_t op, int64_t ticket);
  bool setStream(int32_t channel);
  bool record(int32_t event);
  bool await(int32_t event);
  void fail(const char *message);

  /// Leaves the task after a failure; called with no C++ frame in between.
  [[noreturn]] void leave() { weft_rt_leave(&home); }

  RankLog log;

private:
  void add(int32_t op, const std::string &call);
  bool check(const Status &status);
  std::string placeOf(const void *address) const;
  std::string placesOf(const void *const *addresses, int32_t count) const;

  weft_rt_rank self;
  const weft_rt_program &program;
  const MemoryLayout layout;
  Streams streams;
  char *memory = nullptr;
  int64_t memoryBytes = 0;
  std::set<int64_t> inFlight;
  int64_t tickets = 0;
  std::string text, failure;
  jmp_buf home;
};

Result<void *> NullRank::allocate(int64_t bytes) {
  constexpr int64_t alignment = 64;
  memory = static_cast<char *>(std::calloc(1, size_t(bytes + alignment)));
  if (!memory)
    return Status(WEFT_RT_NO_MEMORY,
                  format("cannot allocate %lld bytes for rank %lld",
                         (long long)bytes, (long long)self.rank));
  auto address = reinterpret_cast<uintptr_t>(memory);
  char *begin = memory + (-address & uintptr_t(alignment - 1));
  memoryBytes = bytes;
  return static_cast<void *>(begin);
}

Status NullRank::run(RankTask task, void *context) {
  text.clear();
  failure.clear();
  inFlight.clear();
  streams.begin();
  tickets = 0;
  if (weft_rt_enter(&home, task, context, &self) && !inFlight.empty())
    failure = format("rank %lld ended the step with %zu collectives not waited "
                     "for",
                     (long long)self.rank, inFlight.size());
  return failure.empty() ? Status() : Status(WEFT_RT_RANK_FAILED, failure);
}

// ---- what is written down --------------------------------------------------

void NullRank::add(int32_t op, const std::string &call) {
  text += "  " + call;
  if (const char *name = opName(program, op))
    text += format(" ; %s", name);
  text += "\n";
}

/// What lies at an address: "argument 'x'", "arena+64". What is not the rank's
/// memory is data of the program.
std::string NullRank::placeOf(const void *address) const {
  auto base = (reinterpret_cast<uintptr_t>(memory) + 63) & ~uintptr_t(63);
  auto offset = int64_t(reinterpret_cast<uintptr_t>(address) - base);
  if (offset < 0 || offset >= memoryBytes)
    return "constant";
  auto within = [&](const std::string &what, int64_t begin) {
    return offset == begin
               ? what
               : what + format("+%lld", (long long)(offset - begin));
  };
  auto holds = [&](int64_t begin, const weft_rt_tensor &tensor) {
    return offset >= begin && offset < begin + localBytes(tensor);
  };
  for (int32_t i = 0; i < program.num_args; ++i)
    if (holds(layout.args[i], program.args[i]))
      return within("argument " + quote(program.args[i].name), layout.args[i]);
  for (int32_t i = 0; i < program.num_results; ++i)
    if (holds(layout.results[i], program.results[i]))
      return within("result " + quote(program.results[i].name),
                    layout.results[i]);
  return format("arena+%lld", (long long)(offset - layout.arena));
}

std::string NullRank::placesOf(const void *const *addresses,
                               int32_t count) const {
  std::string list;
  for (int32_t i = 0; i < count; ++i)
    list += (i ? ", " : "") + placeOf(addresses[i]);
  return list;
}

// ---- calls -----------------------------------------------------------------

bool NullRank::gemm(int32_t op, const weft_rt_gemm &desc, const void *a,
                    const void *b, const void *c) {
  add(op, activityName(WEFT_RT_IN_GEMM, &desc) + ": " + placeOf(a) + ", " +
              placeOf(b) + (desc.accumulate ? " +> " : " -> ") + placeOf(c));
  return true;
}

bool NullRank::attention(int32_t op, const weft_rt_attention &desc,
                         void *const *buffers, int64_t queryStart) {
  std::string call = activityName(WEFT_RT_IN_ATTENTION, &desc) + ": ";
  for (int i = 0; i < WEFT_RT_ATTENTION_NUM_BUFFERS; ++i)
    call += (i ? ", " : "") + (buffers[i] ? placeOf(buffers[i]) : "none");
  add(op, call + format(" query start %lld", (long long)queryStart));
  return true;
}

bool NullRank::launch(int32_t op, const weft_rt_launch &launch,
                      void *const *buffers, const int64_t *scalars) {
  if (Status bad = checkLaunch(program, launch); !bad.ok()) {
    failure =
        format("rank %lld %s", (long long)self.rank, bad.message().c_str());
    return false;
  }
  const weft_rt_kernel_entry &entry = program.kernels[launch.kernel];
  std::string call = "launch " + quote(entry.name) + ": " +
                     placesOf(buffers, entry.num_buffers);
  for (int32_t i = 0; i < entry.num_scalars; ++i)
    call += format("%s%lld", i ? ", " : " scalars ", (long long)scalars[i]);
  for (int32_t i = 0; i < launch.num_config; ++i)
    call +=
        format("%s%lld", i ? ", " : " config ", (long long)launch.config[i]);
  add(op, call);
  return true;
}

bool NullRank::copy(int32_t op, const weft_rt_copy &copy, const void *source,
                    const void *target) {
  add(op, activityName(WEFT_RT_IN_COPY, &copy) + ": " + placeOf(source) +
              " -> " + placeOf(target));
  return true;
}

bool NullRank::readScalar(int32_t op, weft_rt_type type, const void *source,
                          int64_t &value) {
  add(op, format("read_scalar %s: ",
                 isKnownType(type) ? typeName(type) : "unknown") +
              placeOf(source));
  value = 0;
  return true;
}

int64_t NullRank::startCollective(int32_t op,
                                  const weft_rt_collective &collective,
                                  const void *const *in, void *const *out) {
  bool hasChannel =
      collective.channel >= 0 && collective.channel < program.num_channels;
  if (!hasChannel) {
    failure =
        format("rank %lld: collective names channel %d of %d",
               (long long)self.rank, collective.channel, program.num_channels);
    return -1;
  }
  int64_t ticket = tickets++;
  inFlight.insert(ticket);
  log.finish(log.start(collective), collective, 0);
  add(op, format("start %lld: ", (long long)ticket) +
              collectiveName(collective) + " on " +
              quote(program.channels[collective.channel].name) + ": " +
              placesOf(in, collective.num_operands) + " -> " +
              placesOf(out, collective.num_operands));
  return ticket;
}

bool NullRank::wait(int32_t op, int64_t ticket) {
  if (inFlight.erase(ticket) == 0) {
    failure = format("rank %lld waits for ticket %lld, which is not in flight",
                     (long long)self.rank, (long long)ticket);
    return false;
  }
  add(op, format("wait %lld", (long long)ticket));
  return true;
}

bool NullRank::check(const Status &status) {
  if (!status.ok())
    failure = format("rank %lld: ", (long long)self.rank) + status.message();
  return status.ok();
}

bool NullRank::setStream(int32_t channel) {
  if (!check(streams.set(channel)))
    return false;
  add(-1, channel == Streams::compute
              ? std::string("stream that computes")
              : "stream of " + quote(program.channels[channel].name));
  return true;
}

bool NullRank::record(int32_t event) {
  add(-1, format("record %d", event));
  return check(streams.record(event));
}

bool NullRank::await(int32_t event) {
  add(-1, format("await %d", event));
  return check(streams.await(event));
}

void NullRank::fail(const char *message) {
  failure = format("rank %lld: %s", (long long)self.rank,
                   message ? message : "failed");
}

// ---- all ranks -------------------------------------------------------------

class NullBackend : public Backend {
public:
  explicit NullBackend(const BackendOptions &options) {
    for (size_t rank = 0; rank < options.programs.size(); ++rank) {
      rankIds.push_back(int64_t(rank));
      ranks.push_back(std::make_unique<NullRank>(options, int64_t(rank)));
    }
  }

  const std::vector<int64_t> &localRanks() const override { return rankIds; }
  int threadsPerRank() const override { return 1; }
  const weft_rt_api &api() const override { return rankApi<NullRank>; }
  RankLog &log(int64_t rank) override { return ranks[rank]->log; }
  bool hasStuckRank() const override { return false; }

  Result<std::vector<void *>>
  allocate(const std::vector<int64_t> &bytes) override {
    std::vector<void *> places;
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      Result<void *> place = ranks[rank]->allocate(bytes[rank]);
      if (!place.ok())
        return place.status();
      places.push_back(*place);
    }
    return places;
  }

  /// What is uploaded is not kept.
  Outcome upload(weft_rt_type, const std::vector<Shard> &,
                 const void *) override {
    return Outcome();
  }
  Outcome download(weft_rt_type type, const std::vector<Shard> &shards,
                   void *global) override {
    for (const Shard &shard : shards)
      joinRegion(type, shard.region, shard.local, global);
    return Outcome();
  }
  Outcome fill(const std::vector<Block> &, uint8_t) override {
    return Outcome();
  }

  Outcome run(RankTask task, void *context) override {
    for (auto &rank : ranks) {
      Status status = rank->run(task, context);
      if (!status.ok())
        return {std::move(status), false};
    }
    return Outcome();
  }

  std::string calls() const override {
    std::string text;
    for (size_t rank = 0; rank < ranks.size(); ++rank)
      text += format("rank %zu:\n", rank) + ranks[rank]->calls();
    return text;
  }

private:
  std::vector<int64_t> rankIds;
  std::vector<std::unique_ptr<NullRank>> ranks;
};

} // namespace

Result<std::unique_ptr<Backend>>
createNullBackend(const BackendOptions &options) {
  return std::unique_ptr<Backend>(std::make_unique<NullBackend>(options));
}

} // namespace weft::rt
