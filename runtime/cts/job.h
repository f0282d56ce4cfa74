// SPDX-License-Identifier: Apache-2.0

// A job for a test: a mesh with channels, its ranks on some backend, their
// memory, and a way to run one function on all of them.
//
//   Job job(backend, {{"a", 2}, {"b", 4}}, {{"ch", {{1, 1, 4}}}});
//   int64_t x = job.place(64);
//   job.write(rank, x, bytes);
//   job.run([&](Rank rank) { rank.collective(...); });
//   job.read(rank, y, 64);
//
// A rank's memory may be a device's: a task only passes its addresses on, and
// what is there is written before and read after it.

#ifndef WEFT_RT_CTS_JOB_H
#define WEFT_RT_CTS_JOB_H

#include "core/backend_registry.h"
#include "core/topology.h"
#include "element.h"

#include <functional>

namespace weft::rt::cts {

/// A backend under test, and what it does not have yet.
struct BackendUnderTest {
  const char *name;
  Result<std::unique_ptr<Backend>> (*create)(const BackendOptions &options);
  bool hasImages = false; // kernels are code in an image
  bool hasLinks = true;   // slows channels down
};

/// The one that WEFT_CTS_BACKEND names; the host if it names none.
extern const std::vector<BackendUnderTest> backendsUnderTest;

struct ChannelSpec {
  const char *name;
  std::vector<weft_rt_axis_ref> axes;
};

/// One rank, as a task sees it.
struct Rank {
  const weft_rt_api *api;
  weft_rt_rank *self;
  char *memory;
  bool hasImages;

  int64_t id() const { return self->rank; }

  void *at(int64_t place) const { return memory + place; }

  int64_t start(const weft_rt_collective &what, const void *const *in,
                void *const *out) const {
    return api->start(self, -1, &what, in, out);
  }
  void wait(int64_t ticket) const { api->wait(self, -1, ticket); }

  /// Runs a kernel over [0, extent).
  void launch(int32_t kernel, int64_t extent, void *const *buffers,
              const int64_t *scalars) const {
    const int64_t onHost[] = {extent, 10}, onDevice[] = {extent, 1, 0};
    weft_rt_launch launch = {kernel, hasImages ? 3 : 2,
                             hasImages ? onDevice : onHost};
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
  /// Each rank has `memoryBytes`.
  Job(const BackendUnderTest &backend, std::vector<weft_rt_axis> axes,
      std::vector<ChannelSpec> channels, BackendOptions options = {},
      std::vector<weft_rt_kernel_entry> kernels = {},
      int64_t memoryBytes = 1 << 16);
  /// Its backend holds the address of its program.
  Job(const Job &) = delete;

  /// The next bytes in every rank's memory, at a multiple of 64.
  int64_t place(int64_t bytes);
  /// Gives all places back.
  void clear() { placed = 0; }

  void write(int64_t rank, int64_t place, const void *data, int64_t bytes);
  void write(int64_t rank, int64_t place, const Bytes &data) {
    write(rank, place, data.data(), int64_t(data.size()));
  }
  Bytes read(int64_t rank, int64_t place, int64_t bytes);
  /// The same for values of a type.
  template <typename T>
  std::vector<T> values(int64_t rank, int64_t place, size_t count) {
    Bytes bytes = read(rank, place, int64_t(count * sizeof(T)));
    auto *begin = reinterpret_cast<const T *>(bytes.data());
    return std::vector<T>(begin, begin + count);
  }

  /// Runs the task on all ranks at once. A task that may fail must hold no
  /// object with a destructor across a call of the API.
  Status run(const std::function<void(Rank)> &task);

  const weft_rt_program &program() const { return table; }
  Backend &backend() { return *ranks; }
  ChannelGroups groups(int32_t channel) const {
    return groupsOf(table, table.channels[channel]);
  }

private:
  void describe();
  void takeKernels();
  Shard shardAt(int64_t rank, int64_t place, int64_t bytes) const;

  BackendUnderTest kind;
  std::vector<weft_rt_axis> axes;
  std::vector<ChannelSpec> specs;
  std::vector<weft_rt_channel> channels;
  std::vector<weft_rt_kernel_entry> kernels;
  weft_rt_image image = {};
  weft_rt_program table = {};
  std::unique_ptr<Backend> ranks;
  std::vector<void *> memory; // [rank]
  int64_t memoryBytes, placed = 0;
};

} // namespace weft::rt::cts

#endif // WEFT_RT_CTS_JOB_H
