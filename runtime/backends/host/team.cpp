// SPDX-License-Identifier: Apache-2.0

// A job is published by its number of pieces, which those who take them count
// down; moving `epoch` wakes the helpers.

#include "backends/host/team.h"

#include "backends/host/futex.h"
#include "core/unwind.h"

#include <algorithm>
#include <cstring>

namespace weft::rt {
namespace {

/// Where a helper goes on after it was killed within a piece.
thread_local jmp_buf *homeOfHelper = nullptr;

} // namespace

Status startThread(pthread_t *thread, void *(*body)(void *), void *context) {
  int error = pthread_create(thread, nullptr, body, context);
  if (error != 0)
    return Status(WEFT_RT_NO_MEMORY,
                  format("cannot start a thread: %s", std::strerror(error)));
  return Status();
}

Status Team::start(int helpers, int spinCount, Prepare prepareHelper,
                   void *givenContext) {
  prepare = prepareHelper;
  prepareContext = givenContext;
  spins = spinCount;
  for (int i = 0; i < helpers; ++i) {
    pthread_t thread;
    WEFT_RT_RETURN_IF_ERROR(startThread(&thread, helperMain, this));
    threads.push_back(thread);
  }
  return Status();
}

Team::~Team() {
  stopping.store(true, std::memory_order_relaxed);
  epoch.fetch_add(1, std::memory_order_release);
  wakeAll(epoch);
  for (pthread_t thread : threads)
    pthread_join(thread, nullptr);
}

void *Team::helperMain(void *team) {
  static_cast<Team *>(team)->help();
  return nullptr;
}

void Team::help() {
  int member = prepared.fetch_add(1, std::memory_order_relaxed) + 1;
  if (prepare && !prepare(prepareContext, member))
    return;
  jmp_buf home;
  homeOfHelper = &home;
  uint32_t seen = 0;
  while (true) {
    waitWhile(epoch, seen, spins, never);
    seen = epoch.load(std::memory_order_acquire);
    if (stopping.load(std::memory_order_relaxed))
      return;
    auto task = [](void *team, weft_rt_rank *) {
      static_cast<Team *>(team)->work();
    };
    if (!weft_rt_enter(&home, task, this, nullptr))
      finishPiece();
  }
}

void Team::onHelperKilled() { weft_rt_leave(homeOfHelper); }

void Team::finishPiece() {
  if (unfinished.fetch_sub(1, std::memory_order_acq_rel) == 1)
    wakeAll(unfinished);
}

/// Takes pieces until none is left. A helper that comes late may find those of
/// a later job, which are as good.
void Team::work() {
  uint32_t count = waiting.load(std::memory_order_relaxed);
  while (count > 0) {
    if (!waiting.compare_exchange_weak(count, count - 1,
                                       std::memory_order_acquire,
                                       std::memory_order_relaxed))
      continue;
    body(context, count - 1);
    finishPiece();
    count = waiting.load(std::memory_order_relaxed);
  }
}

void Team::run(int64_t count, Body jobBody, void *jobContext) {
  if (threads.empty() || count <= 1 || count > UINT32_MAX) {
    for (int64_t i = 0; i < count; ++i)
      jobBody(jobContext, i);
    return;
  }
  body = jobBody;
  context = jobContext;
  unfinished.store(uint32_t(count), std::memory_order_relaxed);
  waiting.store(uint32_t(count), std::memory_order_release);
  epoch.fetch_add(1, std::memory_order_release);
  wake(epoch, int(std::min<int64_t>(count - 1, threads.size())));
  work();
  while (uint32_t left = unfinished.load(std::memory_order_acquire))
    waitWhile(unfinished, left, spins, never);
}

namespace {

/// A kernel's loop, cut into chunks.
struct Launch {
  weft_rt_kernel kernel;
  void *const *buffers;
  const int64_t *scalars;
  int64_t extent, chunks;

  static void runChunk(void *launch, int64_t chunk) {
    auto &self = *static_cast<Launch *>(launch);
    // Chunk i gets [i * extent / chunks, (i + 1) * extent / chunks), without
    // the product that could overflow.
    int64_t base = self.extent / self.chunks, rest = self.extent % self.chunks;
    int64_t begin = chunk * base + std::min(chunk, rest);
    int64_t end = begin + base + (chunk < rest ? 1 : 0);
    self.kernel(self.buffers, self.scalars, begin, end);
  }
};

} // namespace

void Team::launch(weft_rt_kernel kernel, void *const *buffers,
                  const int64_t *scalars, int64_t extent, int64_t grain) {
  // A few chunks a thread even out threads that were held up.
  int64_t wanted = int64_t(size()) * 4;
  int64_t chunks = std::min(wanted, extent / std::max<int64_t>(grain, 1));
  if (size() == 1 || chunks <= 1) {
    if (extent > 0)
      kernel(buffers, scalars, 0, extent);
    return;
  }
  Launch launch{kernel, buffers, scalars, extent, chunks};
  run(chunks, Launch::runChunk, &launch);
}

} // namespace weft::rt
