// SPDX-License-Identifier: Apache-2.0

// With a link model or under perturbation the worker does everything, one
// collective after the other, and ends each at its moment.

#include "backends/host/worker.h"

#include "backends/host/futex.h"
#include "backends/host/team.h"

namespace weft::rt {
namespace {

thread_local Worker *workerOfThread = nullptr;

} // namespace

Worker::Worker(Group &group, uint64_t perturbSeed, uint64_t number)
    : group(group), perturbation(perturbSeed, number) {
  mover.inputs.resize(group.size());
}

Worker::~Worker() {
  if (!isStarted)
    return;
  stopping.store(true, std::memory_order_relaxed);
  group.ringBell();
  pthread_join(thread, nullptr);
}

Status Worker::start() {
  WEFT_RT_RETURN_IF_ERROR(startThread(&thread, threadMain, this));
  isStarted = true;
  return Status();
}

Worker *Worker::current() { return workerOfThread; }

void *Worker::threadMain(void *worker) {
  static_cast<Worker *>(worker)->serve();
  return nullptr;
}

void Worker::serve() {
  pthread_setname_np(
      pthread_self(),
      ("weft " + group.settings().channel).substr(0, 15).c_str());
  if (group.settings().link)
    wakeExactly();
  workerOfThread = this;
  uint32_t seen = 0;
  while (true) {
    waitWhile(group.bell(), seen, 0, never);
    seen = group.bell().load(std::memory_order_seq_cst);
    if (stopping.load(std::memory_order_relaxed))
      return;
    weft_rt_enter(
        &home,
        [](void *worker, weft_rt_rank *) {
          static_cast<Worker *>(worker)->work();
        },
        this, nullptr);
  }
}

void Worker::work() {
  if (!group.settings().workerOnly)
    return group.help(mover, INT64_MAX);
  while (group.hasWork()) {
    perturbation.delay();
    group.performOpen(mover);
  }
}

void Worker::onKilled(const char *signalName) {
  if (mover.inside)
    mover.inside->abandon();
  mover.inside = nullptr;
  group.settings().fail(
      Status(WEFT_RT_RANK_FAILED,
             format("channel %s: killed by %s while moving data",
                    quote(group.settings().channel).c_str(), signalName)));
  weft_rt_leave(&home);
}

} // namespace weft::rt
