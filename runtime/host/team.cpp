// SPDX-License-Identifier: Apache-2.0

// A job is published by moving `epoch` and over when `working` is 0. Pieces
// are handed out by one atomic counter.

#include "host/team.h"

#include "host/futex.h"

#include <algorithm>
#include <cstring>

namespace weft::rt {

Status startThread(pthread_t *thread, void *(*body)(void *), void *context) {
  int error = pthread_create(thread, nullptr, body, context);
  if (error != 0)
    return Status(WEFT_RT_NO_MEMORY,
                  format("cannot start a thread: %s", std::strerror(error)));
  return Status();
}

Status Team::start(int helpers, int spinCount, void (*prepareHelper)()) {
  prepare = prepareHelper;
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
  if (prepare)
    prepare();
  uint32_t seen = 0;
  while (true) {
    waitWhile(epoch, seen, spins, never);
    ++seen;
    if (stopping.load(std::memory_order_relaxed))
      return;
    work();
    if (working.fetch_sub(1, std::memory_order_acq_rel) == 1)
      wakeAll(working);
  }
}

void Team::work() {
  while (true) {
    int64_t piece = next.fetch_add(1, std::memory_order_relaxed);
    if (piece >= pieces)
      return;
    body(context, piece);
  }
}

void Team::run(int64_t count, Body jobBody, void *jobContext) {
  if (threads.empty() || count <= 1) {
    for (int64_t i = 0; i < count; ++i)
      jobBody(jobContext, i);
    return;
  }
  body = jobBody;
  context = jobContext;
  pieces = count;
  next.store(0, std::memory_order_relaxed);
  working.store(threads.size(), std::memory_order_relaxed);
  epoch.fetch_add(1, std::memory_order_release);
  wakeAll(epoch);
  work();
  while (uint32_t left = working.load(std::memory_order_acquire))
    waitWhile(working, left, spins, never);
}

namespace {

/// A kernel's loop, cut in chunks.
struct Launch {
  weft_rt_kernel kernel;
  void *const *buffers;
  int64_t extent, chunks;

  static void runChunk(void *launch, int64_t chunk) {
    auto &self = *static_cast<Launch *>(launch);
    // Chunk i gets [i * extent / chunks, (i + 1) * extent / chunks), without
    // the product that could overflow.
    int64_t base = self.extent / self.chunks, rest = self.extent % self.chunks;
    int64_t begin = chunk * base + std::min(chunk, rest);
    int64_t end = begin + base + (chunk < rest ? 1 : 0);
    self.kernel(self.buffers, begin, end);
  }
};

} // namespace

void Team::launch(weft_rt_kernel kernel, void *const *buffers, int64_t extent,
                  int64_t grain) {
  // A few chunks a thread even out threads that were held up.
  int64_t wanted = int64_t(size()) * 4;
  int64_t chunks = std::min(wanted, extent / std::max<int64_t>(grain, 1));
  if (size() == 1 || chunks <= 1) {
    if (extent > 0)
      kernel(buffers, 0, extent);
    return;
  }
  Launch launch{kernel, buffers, extent, chunks};
  run(chunks, Launch::runChunk, &launch);
}

} // namespace weft::rt
