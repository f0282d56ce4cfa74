// SPDX-License-Identifier: Apache-2.0

// mmap with room to align by hand.

#include "backends/host/memory.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>

namespace weft::rt {

constexpr int64_t hugePage = int64_t(1) << 21;

Mapping::~Mapping() {
  if (mapping)
    munmap(mapping, mappedBytes);
}

Status Mapping::map(int64_t bytes, const std::string &what) {
  usedBytes = bytes;
  mappedBytes = size_t(bytes) + hugePage;
  void *place = mmap(nullptr, mappedBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED)
    return Status(WEFT_RT_NO_MEMORY,
                  format("cannot allocate %lld bytes for %s: %s",
                         (long long)bytes, what.c_str(), std::strerror(errno)));
  mapping = place;
  auto address = reinterpret_cast<uintptr_t>(place);
  begin = reinterpret_cast<uint8_t *>((address + hugePage - 1) &
                                      ~uintptr_t(hugePage - 1));
  // Only advice: without large pages everything works, slower.
  madvise(begin, bytes, MADV_HUGEPAGE);
  return Status();
}

void Mapping::touch() { std::memset(begin, 0, usedBytes); }

} // namespace weft::rt
