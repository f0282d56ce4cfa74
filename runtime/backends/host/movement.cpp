// SPDX-License-Identifier: Apache-2.0

// Parts begin with their own member and go round, so that they do not all read
// from the same buffer at once; reductions take all members in the collective's
// order, which decides the bits, whatever the part.

#include "backends/host/movement.h"

#include "backends/host/reduce.h"
#include "backends/host/stream.h"
#include "core/collective.h"
#include "core/types.h"

#include <algorithm>
#include <cstring>

namespace weft::rt {
namespace {

const char *inputOf(const Exchange &exchange, int64_t member, int32_t operand) {
  return static_cast<const char *>(exchange.members[member].in[operand]);
}

char *outputOf(const Exchange &exchange, int64_t member, int32_t operand) {
  return static_cast<char *>(exchange.members[member].out[operand]);
}

/// The member to serve in turn `turn`.
int64_t roundRobin(const Exchange &exchange, int64_t turn) {
  int64_t member = exchange.index + turn;
  return member < exchange.size ? member : member - exchange.size;
}

void copyCached(void *to, const void *from, int64_t bytes) {
  std::memcpy(to, from, bytes);
}

void allGather(const Exchange &exchange, int32_t i) {
  const weft_rt_operand &operand = exchange.collective->operands[i];
  int64_t row = byteSize(operand.type, operand.extent * operand.inner);
  char *out = outputOf(exchange, exchange.index, i);
  if (row == 0)
    return;
  bool isMuch = streams(out, row, operand.outer * exchange.size * row);
  auto *copy = isMuch ? streamCopy : copyCached;
  // Row by row, so that the output is written from front to back.
  for (int64_t outer = 0; outer < operand.outer; ++outer) {
    for (int64_t turn = 0; turn < exchange.size; ++turn) {
      int64_t member = roundRobin(exchange, turn);
      copy(out + (outer * exchange.size + member) * row,
           inputOf(exchange, member, i) + outer * row, row);
    }
  }
}

/// Elements between what a reduction reads and what it fetches.
constexpr int64_t fetchAhead = 512;

void collectInputs(const Exchange &exchange, int32_t i) {
  for (int64_t member = 0; member < exchange.size; ++member)
    exchange.inputs[member] = inputOf(exchange, member, i);
}

ReduceOrder orderOf(const weft_rt_collective &collective) {
  return isTree(collective) ? ReduceOrder::Tree : ReduceOrder::Chain;
}

/// Elements that are reduced at once where the result is then copied; it stays
/// in a cache until then.
constexpr int64_t blockElements = 4096;

/// Combines `count` elements at element `at` of all inputs of an operand.
void reduceInputs(const Exchange &exchange, weft_rt_type type, int64_t at,
                  int64_t count, int64_t ahead, void *out) {
  reduce(type, exchange.collective->reduction, orderOf(*exchange.collective),
         exchange.inputs, exchange.size, at, count, ahead, out);
}

/// The same for an output that goes past the caches.
void reduceStreaming(const Exchange &exchange, weft_rt_type type, int64_t at,
                     int64_t count, int64_t ahead, char *out) {
  alignas(64) char block[blockElements * 8];
  for (int64_t done = 0; done < count; done += blockElements) {
    int64_t size = std::min(blockElements, count - done);
    reduceInputs(exchange, type, at + done, size, ahead, block);
    streamCopy(out + byteSize(type, done), block, byteSize(type, size));
  }
}

void reduceScatter(const Exchange &exchange, int32_t i) {
  const weft_rt_operand &operand = exchange.collective->operands[i];
  int64_t row = operand.extent * operand.inner;
  if (row == 0)
    return;
  collectInputs(exchange, i);
  char *out = outputOf(exchange, exchange.index, i);
  int64_t rowBytes = byteSize(operand.type, row);
  // Two rows ahead, where rows are short; more would be evicted again before
  // they are read, as rows far apart compete for the same places in a cache.
  int64_t ahead = row < fetchAhead ? 2 * exchange.size * row : fetchAhead;
  bool isMuch = streams(out, rowBytes, operand.outer * rowBytes);
  for (int64_t outer = 0; outer < operand.outer; ++outer) {
    int64_t at = (outer * exchange.size + exchange.index) * row;
    char *to = out + outer * rowBytes;
    if (isMuch)
      reduceStreaming(exchange, operand.type, at, row, ahead, to);
    else
      reduceInputs(exchange, operand.type, at, row, ahead, to);
  }
}

/// The elements [begin, end) of an all_reduce that belong to the part of
/// `member`.
/// Slices are multiples of 64 elements, so that no two share a cache line.
struct Slice {
  int64_t begin, end;
};

Slice sliceOf(const Exchange &exchange, int64_t extent, int64_t member) {
  int64_t share = (extent + exchange.size - 1) / exchange.size;
  int64_t step = (share + 63) / 64 * 64;
  return {std::min(member * step, extent),
          std::min((member + 1) * step, extent)};
}

/// Reduces a slice and copies it to all outputs, in blocks that are still in a
/// cache when they are copied. In place, outputs are inputs; but no other part
/// reads this slice of them.
void allReduce(const Exchange &exchange, int32_t i) {
  const weft_rt_operand &operand = exchange.collective->operands[i];
  Slice slice = sliceOf(exchange, operand.extent, exchange.index);
  collectInputs(exchange, i);
  for (int64_t at = slice.begin; at < slice.end; at += blockElements) {
    int64_t count = std::min(blockElements, slice.end - at);
    int64_t offset = byteSize(operand.type, at);
    char *reduced = outputOf(exchange, exchange.index, i) + offset;
    reduceInputs(exchange, operand.type, at, count, fetchAhead, reduced);
    for (int64_t turn = 1; turn < exchange.size; ++turn)
      std::memcpy(outputOf(exchange, roundRobin(exchange, turn), i) + offset,
                  reduced, byteSize(operand.type, count));
  }
}

/// Copies a piece of `total` bytes that lies in rows of `fromRow` bytes on one
/// side and of `toRow` bytes on the other.
void copyReshaped(char *to, int64_t toRow, int64_t toStride, const char *from,
                  int64_t fromRow, int64_t fromStride, int64_t total) {
  int64_t fromLeft = fromRow, toLeft = toRow;
  while (total > 0) {
    int64_t run = std::min(fromLeft, toLeft);
    std::memcpy(to, from, run);
    to += run;
    from += run;
    total -= run;
    fromLeft -= run;
    toLeft -= run;
    if (fromLeft == 0) {
      from += fromStride - fromRow;
      fromLeft = fromRow;
    }
    if (toLeft == 0) {
      to += toStride - toRow;
      toLeft = toRow;
    }
  }
}

void allToAll(const Exchange &exchange, int32_t i) {
  const weft_rt_operand &operand = exchange.collective->operands[i];
  int64_t fromRow = byteSize(operand.type, operand.extent * operand.inner);
  int64_t toRow = byteSize(operand.type, operand.extent2 * operand.inner2);
  char *out = outputOf(exchange, exchange.index, i);
  for (int64_t turn = 0; turn < exchange.size; ++turn) {
    int64_t member = roundRobin(exchange, turn);
    copyReshaped(out + member * toRow, toRow, exchange.size * toRow,
                 inputOf(exchange, member, i) + exchange.index * fromRow,
                 fromRow, exchange.size * fromRow, operand.outer * fromRow);
  }
}

void permute(const Exchange &exchange, int32_t i) {
  const weft_rt_operand &operand = exchange.collective->operands[i];
  int32_t source = exchange.collective->source_of[exchange.index];
  int64_t bytes = byteSize(operand.type, operand.extent);
  char *out = outputOf(exchange, exchange.index, i);
  if (bytes == 0)
    return;
  if (source < 0)
    std::memset(out, 0, bytes);
  else
    std::memcpy(out, inputOf(exchange, source, i), bytes);
}

using Move = void (*)(const Exchange &, int32_t operand);

Move moveFor(weft_rt_collective_kind kind) {
  switch (kind) {
  case WEFT_RT_ALL_GATHER:
    return allGather;
  case WEFT_RT_REDUCE_SCATTER:
    return reduceScatter;
  case WEFT_RT_ALL_REDUCE:
    return allReduce;
  case WEFT_RT_ALL_TO_ALL:
    return allToAll;
  case WEFT_RT_PERMUTE:
    return permute;
  }
  return nullptr;
}

} // namespace

void movePart(const Exchange &exchange) {
  Move move = moveFor(exchange.collective->kind);
  for (int32_t i = 0; i < exchange.collective->num_operands; ++i)
    move(exchange, i);
  finishStreams();
}

} // namespace weft::rt
