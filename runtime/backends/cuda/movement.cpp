// SPDX-License-Identifier: Apache-2.0

// A unit divides all lengths, strides and addresses.

#include "backends/cuda/movement.h"

#include "core/types.h"

namespace weft::rt::cuda {

MoveArgs moveArgs(Runs from, Runs to, int64_t bytes) {
  uint64_t all = uint64_t(bytes) | uint64_t(from.length) |
                 uint64_t(from.stride) | uint64_t(to.length) |
                 uint64_t(to.stride) | reinterpret_cast<uintptr_t>(from.begin) |
                 reinterpret_cast<uintptr_t>(to.begin) | 16;
  auto unit = int64_t(all & -all);
  MoveArgs args = {};
  args.source = from.begin;
  args.target = const_cast<void *>(to.begin);
  args.count = bytes / unit;
  args.sourceRun = from.length / unit;
  args.sourceStride = from.stride / unit;
  args.targetRun = to.length / unit;
  args.targetStride = to.stride / unit;
  args.unit = int32_t(unit);
  return args;
}

int64_t pieceBytes(const weft_rt_operand &operand) {
  return byteSize(operand.type, operand.outer * operand.extent * operand.inner);
}

namespace {

/// Row `member` of each `size` rows.
Runs everyRow(const void *begin, int64_t row, int64_t size, int64_t member) {
  return {static_cast<const char *>(begin) + member * row, row, size * row};
}

} // namespace

Runs gatheredPart(const weft_rt_operand &operand, const void *whole,
                  int64_t size, int64_t member) {
  return everyRow(whole, byteSize(operand.type, operand.extent * operand.inner),
                  size, member);
}

Runs sentPart(const weft_rt_operand &operand, const void *in, int64_t size,
              int64_t member) {
  return gatheredPart(operand, in, size, member);
}

Runs receivedPart(const weft_rt_operand &operand, const void *out, int64_t size,
                  int64_t member) {
  return everyRow(out, byteSize(operand.type, operand.extent2 * operand.inner2),
                  size, member);
}

} // namespace weft::rt::cuda
