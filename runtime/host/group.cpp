// SPDX-License-Identifier: Apache-2.0

// The rendezvous is a counter and a generation word: the last to arrive resets
// the counters and moves the generation, on which the others sleep. Breaking
// sets the word's lowest bit, which moves it too, so that nobody sleeps on.
//
// A member that sleeps through the work finds it done: nothing new can begin
// before that member has come again, so the counters still say so.

#include "host/group.h"

#include "host/futex.h"

#include <utility>

namespace weft::rt {

Group::Group(std::vector<int64_t> members, int helpers)
    : ranks(std::move(members)), collectives(ranks.size(), nullptr),
      published(ranks.size()), meetings(ranks.size()), helpers(helpers) {}

void Group::enter(int64_t index, const weft_rt_collective &collective,
                  MemberBuffers buffers) {
  inside.fetch_add(1, std::memory_order_relaxed);
  collectives[index] = &collective;
  published[index] = buffers;
}

void Group::leave(bool isBroken) {
  inside.fetch_sub(1, std::memory_order_acq_rel);
  // Members that move data finish soon and then find the meeting broken.
  while (isBroken && inside.load(std::memory_order_acquire) > 0) {
    std::atomic<uint32_t> nap{0};
    sleepWhile(nap, 0, now() + 100'000);
  }
}

Meeting Group::meet(int64_t index, int spins, int64_t deadline) {
  uint32_t before = generation.load(std::memory_order_acquire);
  if (before & broken)
    return Meeting::Broken;
  meetings[index].fetch_add(1, std::memory_order_relaxed);
  if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == ranks.size()) {
    arrived.store(0, std::memory_order_relaxed);
    nextPart.store(0, std::memory_order_relaxed);
    unfinished.store(size(), std::memory_order_relaxed);
    generation.fetch_add(working, std::memory_order_acq_rel);
    wake(generation, helpers);
    return Meeting::Complete;
  }
  if (!waitWhile(generation, before, spins, deadline))
    return Meeting::TimedOut;
  // A meeting that all came to is complete, even if it was broken since.
  uint32_t after = generation.load(std::memory_order_acquire);
  return (after & ~broken) != before ? Meeting::Complete : Meeting::Broken;
}

int64_t Group::takePart() {
  int64_t part = nextPart.fetch_add(1, std::memory_order_relaxed);
  return part < size() ? part : -1;
}

void Group::finishPart() {
  if (unfinished.fetch_sub(1, std::memory_order_acq_rel) > 1)
    return;
  generation.fetch_add(working, std::memory_order_acq_rel);
  wakeAll(generation);
}

Meeting Group::awaitEnd(int spins, int64_t deadline) {
  uint32_t now = generation.load(std::memory_order_acquire);
  if (now & working && !(now & broken) &&
      !waitWhile(generation, now, spins, deadline))
    return Meeting::TimedOut;
  now = generation.load(std::memory_order_acquire);
  return now & working ? Meeting::Broken : Meeting::Complete;
}

void Group::breakUp() {
  generation.fetch_or(broken, std::memory_order_acq_rel);
  wakeAll(generation);
}

std::vector<int64_t> Group::missing(int64_t index) const {
  int64_t mine = meetings[index].load(std::memory_order_relaxed);
  std::vector<int64_t> late;
  for (size_t i = 0; i < ranks.size(); ++i)
    if (meetings[i].load(std::memory_order_relaxed) < mine)
      late.push_back(ranks[i]);
  return late;
}

} // namespace weft::rt
