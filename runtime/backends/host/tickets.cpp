// SPDX-License-Identifier: Apache-2.0

// Ticket t lies at place (t - 1) % capacity.

#include "backends/host/tickets.h"

#include <algorithm>

namespace weft::rt {

Tickets::Tickets(int32_t operands)
    : operands(operands),
      // Left as they are: most of it is never touched.
      ins(new const void *[capacity * operands]),
      outs(new void *[capacity * operands]) {}

InFlight *Tickets::take() {
  for (size_t word = 0; word < taken.size(); ++word) {
    if (taken[word] == UINT64_MAX)
      continue;
    int64_t place = int64_t(word) * 64 + __builtin_ctzll(~taken[word]);
    taken[word] |= uint64_t(1) << place % 64;
    ++used;
    entries[place].ticket = uses[place]++ * capacity + place + 1;
    return &entries[place];
  }
  return nullptr;
}

InFlight *Tickets::find(int64_t ticket) {
  if (ticket < 1)
    return nullptr;
  InFlight &entry = entries[(ticket - 1) % capacity];
  return entry.ticket == ticket ? &entry : nullptr;
}

void Tickets::release(InFlight &entry) {
  int64_t place = &entry - entries.data();
  taken[place / 64] &= ~(uint64_t(1) << place % 64);
  entry.ticket = 0;
  --used;
}

MemberBuffers Tickets::keep(const InFlight &entry, int32_t count,
                            const void *const *in, void *const *out) {
  int64_t place = &entry - entries.data();
  const void **keptIn = &ins[place * operands];
  void **keptOut = &outs[place * operands];
  std::copy_n(in, count, keptIn);
  std::copy_n(out, count, keptOut);
  return {keptIn, keptOut};
}

} // namespace weft::rt
