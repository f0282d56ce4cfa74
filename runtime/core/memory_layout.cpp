// SPDX-License-Identifier: Apache-2.0

// One after the other: arguments, results, arena; and in the host's memory,
// arguments and its arena.

#include "core/memory_layout.h"

#include "core/types.h"

namespace weft::rt {
namespace {

constexpr int64_t alignment = 64;

int64_t alignUp(int64_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

} // namespace

int64_t localBytes(const weft_rt_tensor &tensor) {
  return byteSize(tensor.type, *elementCount(tensor.local_shape, tensor.rank));
}

MemoryLayout layoutOf(const weft_rt_program &program) {
  MemoryLayout layout;
  int64_t bytes = 0;
  for (int32_t i = 0; i < program.num_args; ++i) {
    bool isOnHost = program.args[i].on_host != 0;
    int64_t &end = isOnHost ? layout.hostBytes : bytes;
    layout.args.push_back(end);
    layout.argsOnHost.push_back(isOnHost);
    end += alignUp(localBytes(program.args[i]));
  }
  layout.argumentBytes = bytes;
  for (int32_t i = 0; i < program.num_results; ++i) {
    const weft_rt_tensor &result = program.results[i];
    layout.results.push_back(result.alias < 0 ? bytes
                                              : layout.args[result.alias]);
    layout.resultsOnHost.push_back(result.alias >= 0 &&
                                   layout.argsOnHost[result.alias]);
    bytes += result.alias < 0 ? alignUp(localBytes(result)) : 0;
  }
  layout.resultBytes = bytes - layout.argumentBytes;
  layout.arena = bytes;
  layout.totalBytes = bytes + alignUp(program.arena_bytes);
  layout.hostArena = layout.hostBytes;
  layout.hostBytes += alignUp(program.host_bytes);
  return layout;
}

} // namespace weft::rt
