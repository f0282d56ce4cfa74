// SPDX-License-Identifier: Apache-2.0

// A ticket modulo the number of places is its place; tickets whose place is
// taken are left out.

#include "backends/cuda/flight.h"

namespace weft::rt::cuda {

Flight::~Flight() {
  CurrentContext current(device);
  for (InFlight &entry : entries)
    for (CUevent_st *event : {entry.input, entry.done})
      if (event)
        device.api.cuEventDestroy_v2(event);
}

Status Flight::start() {
  for (InFlight &entry : entries) {
    WEFT_CUDA_CALL(device.api, cuEventCreate, &entry.input,
                   driver::eventDisableTiming);
    WEFT_CUDA_CALL(device.api, cuEventCreate, &entry.done,
                   driver::eventDisableTiming);
  }
  return Status();
}

InFlight *Flight::take() {
  for (int64_t tried = 0; tried < places; ++tried) {
    int64_t ticket = ++lastTicket;
    InFlight &entry = entries[ticket % places];
    if (entry.ticket != 0 && !entry.isNoted)
      continue;
    entry.ticket = ticket;
    entry.number = -1;
    entry.isAwaited = entry.wasDone = entry.isNoted = false;
    entry.reachedAt = 0;
    entry.notes = nullptr;
    ++numOpen;
    return &entry;
  }
  return nullptr;
}

InFlight *Flight::find(int64_t ticket) {
  if (ticket <= 0)
    return nullptr;
  InFlight &entry = entries[ticket % places];
  return entry.ticket == ticket && !entry.isAwaited ? &entry : nullptr;
}

void Flight::await(InFlight &entry) {
  entry.isAwaited = true;
  --numOpen;
}

} // namespace weft::rt::cuda
