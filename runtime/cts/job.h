// SPDX-License-Identifier: Apache-2.0

// A job for a test: a mesh with channels, its ranks on some backend, and a way
// to run one function on all of them.
//
//   Job job(backend, {{"a", 2}, {"b", 4}}, {{"ch", {{1, 1, 4}}}});
//   job.run([&](Rank rank) { rank.collective(...); });

#ifndef WEFT_RT_CTS_JOB_H
#define WEFT_RT_CTS_JOB_H

#include "core/backend_registry.h"
#include "core/topology.h"

#include <functional>
#include <initializer_list>

namespace weft::rt::cts {

/// A backend under test.
using BackendUnderTest = BackendEntry;

/// All backends of this build.
extern const std::vector<BackendUnderTest> backendsUnderTest;

struct ChannelSpec {
  const char *name;
  std::vector<weft_rt_axis_ref> axes;
};

/// One rank, as a task sees it.
struct Rank {
  const weft_rt_api *api;
  weft_rt_rank *self;

  int64_t id() const { return self->rank; }

  int64_t start(const weft_rt_collective &what, const void *const *in,
                void *const *out) const {
    return api->start(self, -1, &what, in, out);
  }
  void wait(int64_t ticket) const { api->wait(self, -1, ticket); }

  void launch(int32_t kernel, std::initializer_list<int64_t> config,
              void *const *buffers, const int64_t *scalars) const {
    weft_rt_launch launch = {kernel, int32_t(config.size()), config.begin()};
    api->launch(self, -1, &launch, buffers, scalars);
  }

  /// Starts a collective and waits for it.
  void collective(const weft_rt_collective &what, const void *const *in,
                  void *const *out) const {
    wait(start(what, in, out));
  }
};

/// A mesh, its channels and its ranks.
class Job {
public:
  Job(const BackendUnderTest &backend, std::vector<weft_rt_axis> axes,
      std::vector<ChannelSpec> channels, BackendOptions options = {},
      std::vector<weft_rt_kernel_entry> kernels = {});

  /// Runs the task on all ranks at once. A task that may fail must hold no
  /// object with a destructor across a call of the API.
  Status run(const std::function<void(Rank)> &task);

  const weft_rt_program &program() const { return table; }
  Backend &backend() { return *ranks; }
  ChannelGroups groups(int32_t channel) const {
    return groupsOf(table, table.channels[channel]);
  }

private:
  std::vector<weft_rt_axis> axes;
  std::vector<ChannelSpec> specs;
  std::vector<weft_rt_channel> channels;
  std::vector<weft_rt_kernel_entry> kernels;
  weft_rt_program table = {};
  std::unique_ptr<Backend> ranks;
};

} // namespace weft::rt::cts

#endif // WEFT_RT_CTS_JOB_H
