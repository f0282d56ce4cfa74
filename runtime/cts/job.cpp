// SPDX-License-Identifier: Apache-2.0

// Builds the program table that a backend needs; it has no tensors, since the
// tasks bring their own buffers.

#include "job.h"

#include "backends/host/host.h"
#include "core/manifest.h"

#include <gtest/gtest.h>

namespace weft::rt::cts {

const std::vector<BackendUnderTest> backendsUnderTest = {
    {"host", createHostBackend}};

Job::Job(const BackendUnderTest &backend, std::vector<weft_rt_axis> givenAxes,
         std::vector<ChannelSpec> givenChannels, BackendOptions options,
         std::vector<weft_rt_kernel_entry> givenKernels)
    : axes(std::move(givenAxes)), specs(std::move(givenChannels)),
      kernels(std::move(givenKernels)) {
  for (const ChannelSpec &spec : specs)
    channels.push_back(
        {spec.name, int32_t(spec.axes.size()), spec.axes.data()});
  table.abi_version = WEFT_RT_ABI_VERSION;
  table.struct_size = sizeof(table);
  table.name = "job";
  table.backend = backend.name;
  table.num_axes = int32_t(axes.size());
  table.axes = axes.data();
  table.num_ranks = int32_t(meshSize(table));
  table.num_channels = int32_t(channels.size());
  table.channels = channels.data();
  table.num_kernels = int32_t(kernels.size());
  table.kernels = kernels.data();
  table.max_operands = 8;
  table.entry = [](const weft_rt_api *, weft_rt_rank *, void *const *,
                   void *const *, void *) {};
  Status valid = checkProgram(table);
  EXPECT_TRUE(valid.ok()) << valid.message();
  options.programs.assign(table.num_ranks, &table);
  Result<std::unique_ptr<Backend>> created = backend.create(options);
  EXPECT_TRUE(created.ok()) << created.status().message();
  ranks = std::move(*created);
}

Status Job::run(const std::function<void(Rank)> &task) {
  struct Context {
    const std::function<void(Rank)> &task;
    const weft_rt_api &api;
  } context{task, ranks->api()};
  return ranks
      ->run(
          [](void *opaque, weft_rt_rank *self) {
            auto &[task, api] = *static_cast<Context *>(opaque);
            task(Rank{&api, self});
          },
          &context)
      .status;
}

} // namespace weft::rt::cts
