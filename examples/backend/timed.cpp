// SPDX-License-Identifier: Apache-2.0

// A backend: the host's, which says on the standard error how long each thing
// took that a session asked of it.

#include "backends/host/host.h"
#include "core/backend_registry.h"

#include <chrono>
#include <cstdio>

using namespace weft::rt;

namespace {

/// Says how long it lived.
class Timer {
public:
  explicit Timer(const char *what) : what(what) {}
  ~Timer() {
    std::chrono::duration<double, std::milli> time = Clock::now() - begin;
    std::fprintf(stderr, "timed: %s: %.3f ms\n", what, time.count());
  }

private:
  using Clock = std::chrono::steady_clock;
  const char *what;
  Clock::time_point begin = Clock::now();
};

class TimedBackend : public Backend {
public:
  explicit TimedBackend(std::unique_ptr<Backend> host)
      : host(std::move(host)) {}

  const std::vector<int64_t> &localRanks() const override {
    return host->localRanks();
  }
  int threadsPerRank() const override { return host->threadsPerRank(); }
  const weft_rt_api &api() const override { return host->api(); }
  RankLog &log(int64_t rank) override { return host->log(rank); }
  bool hasStuckRank() const override { return host->hasStuckRank(); }

  Result<std::vector<void *>>
  allocate(const std::vector<int64_t> &bytes) override {
    Timer timer("allocate");
    return host->allocate(bytes);
  }
  Outcome upload(weft_rt_type type, const std::vector<Shard> &shards,
                 const void *global) override {
    Timer timer("upload");
    return host->upload(type, shards, global);
  }
  Outcome download(weft_rt_type type, const std::vector<Shard> &shards,
                   void *global) override {
    Timer timer("download");
    return host->download(type, shards, global);
  }
  Outcome fill(const std::vector<Block> &blocks, uint8_t value) override {
    Timer timer("fill");
    return host->fill(blocks, value);
  }
  Outcome run(RankTask task, void *context) override {
    Timer timer("run");
    return host->run(task, context);
  }

private:
  std::unique_ptr<Backend> host;
};

Result<std::unique_ptr<Backend>>
createTimedBackend(const BackendOptions &options) {
  Result<std::unique_ptr<Backend>> host = createHostBackend(options);
  if (!host.ok())
    return host.status();
  return std::unique_ptr<Backend>(
      std::make_unique<TimedBackend>(std::move(*host)));
}

} // namespace

extern "C" const BackendLibrary weft_rt_backend;
const BackendLibrary weft_rt_backend = {backendVersion,
                                        WEFT_RT_ABI_VERSION,
                                        __VERSION__,
                                        {"timed", createTimedBackend}};
