// SPDX-License-Identifier: Apache-2.0

// The collectives that a rank has in flight. Tables of buffers are copied here,
// so that they outlive the frame that started the collective; all room is
// allocated up front.

#ifndef WEFT_RT_HOST_TICKETS_H
#define WEFT_RT_HOST_TICKETS_H

#include "backends/host/group.h"
#include "core/rank_log.h"

#include <array>
#include <memory>

namespace weft::rt {

/// A rank's seat in the group of a channel.
struct Seat {
  Group *group;
  int64_t index;
};

/// A collective in flight.
struct InFlight {
  int64_t ticket = 0; // 0: this place is free
  const weft_rt_collective *collective = nullptr;
  const Seat *seat = nullptr;
  int64_t number = 0; // in its group
  int64_t flight = 0; // in the rank's flight record
  Cost cost;          // so far
};

/// Hands out places for collectives in flight.
class Tickets {
public:
  static constexpr int64_t capacity = Group::maxInFlight;

  /// `operands`: the most that a collective has.
  explicit Tickets(int32_t operands);

  /// The first free place with a new ticket, or null. Taking the first makes
  /// every step use the same places.
  InFlight *take();
  /// The place with this ticket, or null.
  InFlight *find(int64_t ticket);
  void release(InFlight &entry);

  /// Copies the tables of buffers; valid until the place is released.
  MemberBuffers keep(const InFlight &entry, int32_t operands,
                     const void *const *in, void *const *out);

  int64_t open() const { return used; }

private:
  const int32_t operands;
  std::array<InFlight, capacity> entries;
  std::array<int64_t, capacity> uses{};        // tickets given, per place
  std::array<uint64_t, capacity / 64> taken{}; // a bit per place
  std::unique_ptr<const void *[]> ins;         // [place][operand]
  std::unique_ptr<void *[]> outs;
  int64_t used = 0;
};

} // namespace weft::rt

#endif // WEFT_RT_HOST_TICKETS_H
