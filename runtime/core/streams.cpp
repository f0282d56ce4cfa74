// SPDX-License-Identifier: Apache-2.0

#include "core/streams.h"

#include "core/manifest.h"

namespace weft::rt {

void Streams::begin() {
  chosen = compute;
  recorded.assign(recorded.size(), false);
}

Status Streams::set(int32_t channel) {
  if (channel < compute || channel >= program->num_channels)
    return invalid(format("chooses the stream of channel %d of %d", channel,
                          program->num_channels));
  chosen = channel;
  return Status();
}

Status Streams::checkEvent(const char *what, int32_t event) const {
  if (event >= 0 && event < program->num_events)
    return Status();
  return invalid(format("%s event %d of %d", what, event, program->num_events));
}

Status Streams::record(int32_t event) {
  WEFT_RT_RETURN_IF_ERROR(checkEvent("records", event));
  recorded[size_t(event)] = true;
  return Status();
}

Status Streams::await(int32_t event) const {
  WEFT_RT_RETURN_IF_ERROR(checkEvent("awaits", event));
  if (recorded[size_t(event)])
    return Status();
  return invalid(format("awaits event %d, which it has not recorded", event));
}

Status Streams::checkComputes(const char *what) const {
  if (chosen == compute)
    return Status();
  return invalid(format("%s is on the stream of channel %s, which has only "
                        "collectives, kernels and copies",
                        what, quote(program->channels[chosen].name).c_str()));
}

Status Streams::checkChannel(const char *what, int32_t channel) const {
  if (chosen == compute || chosen == channel)
    return Status();
  return invalid(format("%s of a collective on another channel is on the "
                        "stream of channel %s",
                        what, quote(program->channels[chosen].name).c_str()));
}

} // namespace weft::rt
