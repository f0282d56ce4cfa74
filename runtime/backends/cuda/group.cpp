// SPDX-License-Identifier: Apache-2.0

// Members arrive in any order, but each in the order of the numbers, so that
// collectives are whole in that order, too.

#include "backends/cuda/group.h"

#include "core/collective.h"

namespace weft::rt::cuda {

Group::Group(std::vector<int64_t> given, std::string channel, int64_t locals)
    : ranks(std::move(given)), channel(std::move(channel)), locals(locals),
      started(ranks.size(), 0), slots(maxInFlight) {}

Status Group::checkSame(int64_t index, int64_t number,
                        const weft_rt_collective &collective) {
  Slot &slot = slots[number % maxInFlight];
  if (slot.arrived == 0) {
    slot.collective = &collective;
    slot.starter = index;
    return Status();
  }
  std::string difference = differenceOf(*slot.collective, collective, size());
  if (difference.empty())
    return Status();
  return Status(
      WEFT_RT_RANK_FAILED,
      format("ranks disagree on channel %s: rank %lld started %s, rank %lld "
             "started %s: %s",
             quote(channel).c_str(), (long long)ranks[slot.starter],
             collectiveName(*slot.collective).c_str(), (long long)ranks[index],
             collectiveName(collective).c_str(), difference.c_str()));
}

/// With the lock held.
void Group::arrive(int64_t index, int64_t number) {
  Slot &slot = slots[number % maxInFlight];
  bool isLast = slot.arrived + 1 == locals;
  ++started[index];
  slot.arrived = isLast ? 0 : slot.arrived + 1;
  if (!isLast)
    return;
  ++whole;
  changed.notify_all();
}

Result<int64_t> Group::count(int64_t index,
                             const weft_rt_collective &collective) {
  std::lock_guard<std::mutex> guard(lock);
  int64_t number = started[index];
  WEFT_RT_RETURN_IF_ERROR(checkSame(index, number, collective));
  arrive(index, number);
  return number;
}

Result<int64_t> Group::start(int64_t index, const Contribution &what) {
  std::unique_lock<std::mutex> guard(lock);
  int64_t number = started[index];
  WEFT_RT_RETURN_IF_ERROR(checkSame(index, number, *what.collective));
  Slot &slot = slots[number % maxInFlight];
  bool isLast = slot.arrived + 1 == locals;
  if (!recordsAtOnce())
    WEFT_RT_RETURN_IF_ERROR(enqueue(index, number, what, isLast));
  arrive(index, number);
  guard.unlock();
  if (recordsAtOnce())
    WEFT_RT_RETURN_IF_ERROR(enqueue(index, number, what, isLast));
  return number;
}

bool Group::awaitRecorded(int64_t number) {
  std::unique_lock<std::mutex> guard(lock);
  auto isThere = [&] { return recordsAtOnce() || number < whole; };
  changed.wait(guard, [&] { return isThere() || isBroken; });
  return isThere();
}

bool Group::isRecorded(int64_t number) {
  std::lock_guard<std::mutex> guard(lock);
  return recordsAtOnce() || number < whole;
}

void Group::breakUp() {
  std::lock_guard<std::mutex> guard(lock);
  isBroken = true;
  changed.notify_all();
}

int64_t Group::startedBy(int64_t index) {
  std::lock_guard<std::mutex> guard(lock);
  return started[index];
}

} // namespace weft::rt::cuda
