// SPDX-License-Identifier: Apache-2.0

// A collective opens through a gate that size + 1 events pass: each member's
// start, and the end of the collective before. Whoever passes last opens it, so
// collectives open once each and in order, without a lock.
//
// Whoever opens one must know whether somebody will do the work. A member that
// waits says so before it looks for work, and the opener offers the work before
// it looks for members that wait; both in sequentially consistent order, so one
// of the two sees the other. A member that waits for this collective or a later
// one cannot leave before it is done.

#include "backends/host/group.h"

#include "backends/host/futex.h"
#include "core/collective.h"

#include <algorithm>
#include <utility>

namespace weft::rt {

Group::Group(std::vector<int64_t> members, GroupOptions givenOptions)
    : ranks(std::move(members)), options(std::move(givenOptions)),
      slots(maxInFlight), entries(maxInFlight * ranks.size()),
      published(maxInFlight * ranks.size()), started(ranks.size()),
      awaited(ranks.size()), parts(ranks.size()) {
  slots[0].gate = 1; // nothing comes before the first
}

// ---- starting --------------------------------------------------------------

int64_t Group::start(int64_t index, const weft_rt_collective &collective,
                     MemberBuffers buffers) {
  int64_t number = started[index].load(std::memory_order_relaxed);
  entriesOf(number)[index] = {&collective, options.keepsTimes ? now() : 0};
  buffersOf(number)[index] = buffers;
  started[index].store(number + 1, std::memory_order_relaxed);
  if (options.link && options.link->isShared())
    queueOnLink(number);
  passGate(number);
  return number;
}

/// A shared link takes collectives in the order in which their last members
/// started them.
void Group::queueOnLink(int64_t number) {
  Slot &slot = slots[number % maxInFlight];
  if (slot.numStarted.fetch_add(1, std::memory_order_acq_rel) + 1 < size())
    return;
  slot.numStarted.store(0, std::memory_order_relaxed); // for its next use
  slot.times = occupyLink(number);
}

void Group::passGate(int64_t number) {
  std::atomic<int64_t> &gate = slots[number % maxInFlight].gate;
  if (gate.fetch_add(1, std::memory_order_acq_rel) == size())
    open(number);
}

/// All members must mean the same collective, before anybody's buffer is read
/// with anybody else's sizes.
bool Group::isSame(int64_t number) {
  const Entry *all = entriesOf(number);
  for (int64_t i = 1; i < size(); ++i) {
    const weft_rt_collective &first = *all[0].collective,
                             &other = *all[i].collective;
    if (&first == &other)
      continue;
    std::string difference = differenceOf(first, other, size());
    if (difference.empty())
      continue;
    options.fail(Status(
        WEFT_RT_RANK_FAILED,
        format("ranks disagree on channel %s: rank %lld started %s, rank %lld "
               "started %s: %s",
               quote(options.channel).c_str(), (long long)ranks[0],
               collectiveName(first).c_str(), (long long)ranks[i],
               collectiveName(other).c_str(), difference.c_str())));
    return false;
  }
  return true;
}

Interval Group::occupyLink(int64_t number) {
  const Entry *all = entriesOf(number);
  // A shared link is not free before the channel is.
  int64_t ready = options.link->isShared() ? 0 : lastEnd, bytes = 0;
  for (int64_t i = 0; i < size(); ++i) {
    ready = std::max(ready, all[i].startedAt);
    bytes = std::max(bytes, receivedBytes(*all[i].collective, size(), i));
  }
  return options.link->occupy(options.channelIndex, ranks, ready, bytes);
}

void Group::open(int64_t number) {
  Slot &slot = slots[number % maxInFlight];
  slot.gate.store(0, std::memory_order_relaxed); // for the slot's next use
  if (!isSame(number))
    return;
  if (options.link && !options.link->isShared())
    slot.times = occupyLink(number);
  else if (options.keepsTimes && !options.link)
    slot.times.begin = now();
  unfinished.store(size(), std::memory_order_relaxed);
  parts.store(uint64_t(number) << 32, std::memory_order_seq_cst);
  generation.fetch_add(moved, std::memory_order_seq_cst);
  if (!options.workerOnly && isAwaited(number))
    wake(generation, options.helpers);
  else if (!options.isLazy || isAwaited(number))
    ringBell();
}

void Group::ringBell() {
  if (size() == 1)
    return; // no worker: there is nothing to overlap with
  bellWord.fetch_add(1, std::memory_order_release);
  wakeAll(bellWord);
}

// ---- working ---------------------------------------------------------------

/// A part of the open collective that nobody has taken, or -1. The collective
/// cannot end before who has taken it has finished it.
int64_t Group::takePart() {
  uint64_t word = parts.load(std::memory_order_seq_cst);
  while (int64_t(uint32_t(word)) < size())
    if (parts.compare_exchange_weak(word, word + 1, std::memory_order_seq_cst))
      return uint32_t(word);
  return -1;
}

/// Does parts of the open collective; true for who has finished the last.
bool Group::movePartsOfOpen(Mover &mover) {
  for (int64_t part = takePart(); part >= 0; part = takePart()) {
    int64_t number = done.load(std::memory_order_relaxed);
    movePart({entriesOf(number)->collective, buffersOf(number),
              mover.inputs.data(), size(), part});
    if (unfinished.fetch_sub(1, std::memory_order_acq_rel) == 1)
      return true;
    if (isBroken())
      return false;
  }
  return false;
}

void Group::help(Mover &mover, int64_t last) {
  int64_t begin = mover.keepsTime ? now() : 0;
  inside.fetch_add(1, std::memory_order_seq_cst);
  mover.inside = this;
  while (!isBroken() && movePartsOfOpen(mover)) {
    bool isLast = done.load(std::memory_order_relaxed) >= last;
    complete();
    if (isLast)
      break;
  }
  mover.inside = nullptr;
  inside.fetch_sub(1, std::memory_order_release);
  if (mover.keepsTime)
    mover.nanoseconds += now() - begin;
}

/// Ends the open collective, and may open the next.
void Group::complete() {
  int64_t number = done.load(std::memory_order_relaxed);
  Interval &times = slots[number % maxInFlight].times;
  if (options.keepsTimes && !options.workerOnly)
    times.end = now();
  lastEnd = times.end;
  done.store(number + 1, std::memory_order_seq_cst);
  generation.fetch_add(moved, std::memory_order_seq_cst);
  if (isAwaited(0))
    wakeAll(generation);
  passGate(number + 1);
}

bool Group::hasWork() const {
  uint64_t word = parts.load(std::memory_order_seq_cst);
  return !isBroken() && int64_t(uint32_t(word)) < size() &&
         (!options.isLazy || isAwaited(done.load(std::memory_order_seq_cst)));
}

void Group::performOpen(Mover &mover) {
  inside.fetch_add(1, std::memory_order_seq_cst);
  mover.inside = this;
  bool isMoved = !isBroken() && movePartsOfOpen(mover);
  mover.inside = nullptr;
  inside.fetch_sub(1, std::memory_order_release);
  if (!isMoved)
    return;
  int64_t number = done.load(std::memory_order_relaxed);
  // The next collective on the link follows this moment, not that at which
  // threads have woken up.
  int64_t &end = slots[number % maxInFlight].times.end;
  end = std::max(end, now());
  endsAt.store(end, std::memory_order_release);
  generation.fetch_add(moved, std::memory_order_seq_cst);
  if (isAwaited(0))
    wakeAll(generation);
  while (now() < end) {
    uint32_t seen = generation.load(std::memory_order_acquire);
    if (seen & broken)
      return;
    sleepWhile(generation, seen, end);
  }
  endsAt.store(never, std::memory_order_relaxed);
  complete();
}

// ---- waiting ---------------------------------------------------------------

/// Says whether a member waits for this collective or a later one.
bool Group::isAwaited(int64_t number) const {
  for (const std::atomic<int64_t> &one : awaited)
    if (one.load(std::memory_order_seq_cst) > number)
      return true;
  return false;
}

Meeting Group::wait(int64_t index, int64_t number, Mover &mover, int spins,
                    int64_t deadline) {
  if (done.load(std::memory_order_acquire) > number)
    return Meeting::Complete;
  awaited[index].store(number + 1, std::memory_order_seq_cst);
  if (options.isLazy)
    ringBell();
  Meeting outcome = Meeting::Complete;
  while (true) {
    uint32_t seen = generation.load(std::memory_order_seq_cst);
    int64_t current = done.load(std::memory_order_seq_cst);
    // What is read here is of the current collective, or of a later one.
    int64_t end =
        current < number ? never : endsAt.load(std::memory_order_acquire);
    if (current > number || (end != never && now() >= end))
      break;
    if (seen & broken) {
      outcome = Meeting::Broken;
      break;
    }
    if (!options.workerOnly && hasWork()) {
      help(mover, number);
      continue;
    }
    // Waking up by itself at the end is more exact than being woken.
    if (end < deadline && spins > 0)
      sleepExactly(generation, seen, end);
    else
      waitWhile(generation, seen, spins, std::min(end, deadline));
    if (generation.load(std::memory_order_seq_cst) == seen &&
        now() >= deadline) {
      outcome = Meeting::TimedOut;
      break;
    }
  }
  awaited[index].store(0, std::memory_order_seq_cst);
  return outcome;
}

void Group::breakUp() {
  generation.fetch_or(broken, std::memory_order_seq_cst);
  wakeAll(generation);
}

void Group::awaitQuiet() const {
  // Whoever moves data finishes a part soon and then finds the group broken.
  while (inside.load(std::memory_order_seq_cst) > 0)
    sleepUntil(now() + 100'000);
}

std::vector<int64_t> Group::missing(int64_t number) const {
  std::vector<int64_t> late;
  for (size_t i = 0; i < ranks.size(); ++i)
    if (started[i].load(std::memory_order_relaxed) <= number)
      late.push_back(ranks[i]);
  return late;
}

} // namespace weft::rt
