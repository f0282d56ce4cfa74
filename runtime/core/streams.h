// SPDX-License-Identifier: Apache-2.0

// Which stream a rank enqueues on, and which events it has recorded: what all
// backends have to keep of set_stream, record and await, and what they refuse.

#ifndef WEFT_RT_CORE_STREAMS_H
#define WEFT_RT_CORE_STREAMS_H

#include "core/status.h"
#include "weft-rt/abi.h"

#include <vector>

namespace weft::rt {

/// Of one rank, in one step.
class Streams {
public:
  static constexpr int32_t compute = -1;

  explicit Streams(const weft_rt_program &program)
      : program(&program), recorded(size_t(program.num_events)) {}

  /// A step begins: on the stream that computes, with no event.
  void begin();

  /// The channel on whose stream ops are enqueued, or `compute`.
  int32_t current() const { return chosen; }

  Status set(int32_t channel);
  Status record(int32_t event);
  /// Fails if the event has not been recorded in this step.
  Status await(int32_t event) const;

  /// Fails for an op (`what`) that only the stream that computes may have.
  Status checkComputes(const char *what) const;
  /// Fails for a start or a wait of a collective on another channel than the
  /// one whose stream is chosen.
  Status checkChannel(const char *what, int32_t channel) const;

private:
  Status checkEvent(const char *what, int32_t event) const;

  const weft_rt_program *program;
  int32_t chosen = compute;
  std::vector<bool> recorded;
};

} // namespace weft::rt

#endif // WEFT_RT_CORE_STREAMS_H
