// SPDX-License-Identifier: Apache-2.0

// Builds the program table that a backend needs; it has no tensors, since the
// tasks bring their own buffers.

#include "job.h"

#include "backends/cuda/cuda.h"
#include "backends/host/host.h"
#include "core/manifest.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace weft::rt::cts {
namespace {

const char kernelsPtx[] =
#include "kernels_ptx.inc"
    ;

std::vector<BackendUnderTest> chosenBackends() {
  const char *name = std::getenv("WEFT_CTS_BACKEND");
  if (name && std::strcmp(name, "cuda") == 0)
    return {{"cuda", createCudaBackend, true, false}};
  return {{"host", createHostBackend}};
}

} // namespace

const std::vector<BackendUnderTest> backendsUnderTest = chosenBackends();

Job::Job(const BackendUnderTest &backend, std::vector<weft_rt_axis> givenAxes,
         std::vector<ChannelSpec> givenChannels, BackendOptions options,
         std::vector<weft_rt_kernel_entry> givenKernels, int64_t memoryBytes)
    : kind(backend), axes(std::move(givenAxes)),
      specs(std::move(givenChannels)), kernels(std::move(givenKernels)),
      memoryBytes(memoryBytes) {
  describe();
  options.programs.assign(table.num_ranks, &table);
  Result<std::unique_ptr<Backend>> created = backend.create(options);
  if (!created.ok()) {
    std::fprintf(stderr, "%s\n", created.status().message().c_str());
    std::abort(); // without ranks no test can say anything
  }
  ranks = std::move(*created);
  Result<std::vector<void *>> places = ranks->allocate(
      std::vector<int64_t>(size_t(table.num_ranks), memoryBytes));
  EXPECT_TRUE(places.ok()) << places.status().message();
  memory = std::move(*places);
}

void Job::describe() {
  for (const ChannelSpec &spec : specs)
    channels.push_back(
        {spec.name, int32_t(spec.axes.size()), spec.axes.data()});
  if (kind.hasImages)
    takeKernels();
  table.abi_version = WEFT_RT_ABI_VERSION;
  table.struct_size = sizeof(table);
  table.name = "job";
  table.backend = kind.name;
  table.num_axes = int32_t(axes.size());
  table.axes = axes.data();
  table.num_ranks = int32_t(meshSize(table));
  table.num_channels = int32_t(channels.size());
  table.channels = channels.data();
  table.num_kernels = int32_t(kernels.size());
  table.kernels = kernels.data();
  table.max_operands = 8;
  table.entry = [](const weft_rt_api *, weft_rt_rank *, void *const *,
                   void *const *, void *, void *) {};
  Status valid = checkProgram(table);
  EXPECT_TRUE(valid.ok()) << valid.message();
}

/// Kernels are in the image, by their names.
void Job::takeKernels() {
  image = {"cts", reinterpret_cast<const uint8_t *>(kernelsPtx),
           sizeof(kernelsPtx) - 1};
  table.images = &image;
  table.num_images = 1;
  for (weft_rt_kernel_entry &kernel : kernels) {
    kernel.image = 0;
    kernel.function = nullptr;
  }
}

int64_t Job::place(int64_t bytes) {
  int64_t begin = placed;
  placed += (bytes + 63) / 64 * 64;
  EXPECT_LE(placed, memoryBytes) << "the job's ranks have too little memory";
  return begin;
}

Shard Job::shardAt(int64_t rank, int64_t place, int64_t bytes) const {
  return {rank,
          static_cast<char *>(memory[rank]) + place,
          {{bytes}, {bytes}, {0}, {bytes}}};
}

void Job::write(int64_t rank, int64_t place, const void *data, int64_t bytes) {
  Outcome outcome =
      ranks->upload(WEFT_RT_U8, {shardAt(rank, place, bytes)}, data);
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.message();
}

Bytes Job::read(int64_t rank, int64_t place, int64_t bytes) {
  Bytes data(static_cast<size_t>(bytes));
  Outcome outcome =
      ranks->download(WEFT_RT_U8, {shardAt(rank, place, bytes)}, data.data());
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.message();
  return data;
}

Status Job::run(const std::function<void(Rank)> &task) {
  struct Context {
    const std::function<void(Rank)> &task;
    Job &job;
  } context{task, *this};
  return ranks
      ->run(
          [](void *opaque, weft_rt_rank *self) {
            auto &[task, job] = *static_cast<Context *>(opaque);
            task(Rank{&job.ranks->api(), self,
                      static_cast<char *>(job.memory[self->rank]),
                      job.kind.hasImages});
          },
          &context)
      .status;
}

} // namespace weft::rt::cts
