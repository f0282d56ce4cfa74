// SPDX-License-Identifier: Apache-2.0

// The collectives of a rank that its device has not finished, with the events
// that say how far they are. Room and events are made once; a place is free
// again when the program has waited for its collective, the device has finished
// it, and that is noted.

#ifndef WEFT_RT_CUDA_FLIGHT_H
#define WEFT_RT_CUDA_FLIGHT_H

#include "backends/cuda/group.h"
#include "backends/cuda/step_calls.h"
#include "core/rank_log.h"

#include <array>

namespace weft::rt::cuda {

/// A rank's place in the group of a channel.
struct Seat {
  Group *group;
  int64_t index;
};

/// A collective that is not finished.
struct InFlight {
  int64_t ticket = 0; // 0: this place is free
  const weft_rt_collective *collective = nullptr;
  const Seat *seat = nullptr;
  int64_t number = -1;    // in its group; -1: not started there yet
  int64_t record = 0;     // in the rank's flight record
  bool isAwaited = false; // the program has waited for it
  bool wasDone = false;   // when the first failure came
  bool isNoted = false;   // the flight record says that it is finished
  CUevent_st *input = nullptr, *done = nullptr;
  int64_t reachedAt = 0; // when the watchdog first saw its input ready
  Cost cost;             // of the start

  /// Of a collective in a graph: where its launch's number is written.
  const Notes *notes = nullptr;
  int64_t launch = 0;

  /// Says whether the device has come to it, and whether it has finished it
  /// (an error is an end, too). Only where it is enqueued.
  bool isReached(const DriverApi &api) const {
    return notes ? readNote(notes->reached) >= launch
                 : api.cuEventQuery(input) != driver::notReady;
  }
  bool isOver(const DriverApi &api) const {
    return notes ? readNote(notes->over) >= launch
                 : api.cuEventQuery(done) != driver::notReady;
  }
  /// The same without an error.
  bool isFinished(const DriverApi &api) const {
    return notes ? readNote(notes->over) >= launch
                 : api.cuEventQuery(done) == driver::success;
  }
};

/// Hands out places.
class Flight {
public:
  /// Some more than a program may have open, as the CPU runs ahead.
  static constexpr int64_t places = 2048, mostOpen = 1024;

  explicit Flight(const Device &device) : device(device) {}
  ~Flight();

  Status start();

  /// A free place with a new ticket, or null. Call it with the lock held, as
  /// all that follows.
  InFlight *take();

  /// The place of a ticket that the program has not waited for, or null.
  InFlight *find(int64_t ticket);

  void await(InFlight &entry);

  /// Tickets that the program has not waited for.
  int64_t open() const { return numOpen; }

  std::array<InFlight, places> &all() { return entries; }

  std::mutex lock; // the rank's thread writes, the watchdog reads

private:
  const Device &device;
  std::array<InFlight, places> entries;
  int64_t lastTicket = 0, numOpen = 0;
};

} // namespace weft::rt::cuda

#endif // WEFT_RT_CUDA_FLIGHT_H
