// SPDX-License-Identifier: Apache-2.0

// Feeds arbitrary bytes to the safetensors parser, as libFuzzer wants it. What
// the parser accepts must tile the data section and survive being laid out
// anew; everything else must be refused with a message.

#include "core/safetensors.h"
#include "core/types.h"

#include <cstdlib>

using namespace weft::rt;

namespace {

void require(bool condition) {
  if (!condition)
    std::abort();
}

void checkAccepted(const std::vector<TensorEntry> &entries, int64_t dataBytes) {
  int64_t covered = 0;
  for (const TensorEntry &entry : entries) {
    auto count = elementCount(entry.shape.data(), entry.shape.size());
    require(count && entry.begin == covered);
    require(entry.end - entry.begin == byteSize(entry.type, *count));
    covered = entry.end;
  }
  require(covered == dataBytes);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  int64_t dataStart = 0;
  Result<std::vector<TensorEntry>> entries =
      parseSafetensors(data, int64_t(size), "fuzz", &dataStart);
  if (entries.ok())
    checkAccepted(*entries, int64_t(size) - dataStart);
  else
    require(entries.status().message().rfind("fuzz: ", 0) == 0);
  return 0;
}
