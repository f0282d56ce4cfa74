// SPDX-License-Identifier: Apache-2.0

// The table becomes bytes, which are hashed.

#include "core/checksum.h"

#include "core/sha256.h"
#include "core/table_walk.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace weft::rt {
namespace {

/// Puts fields one after another.
class Encoder {
public:
  template <typename T> void number(const T &value) { raw(&value, sizeof(T)); }

  template <size_t n> void bytes(const uint8_t (&array)[n]) { raw(array, n); }

  void text(const char *value) {
    if (!begin(value, value ? int64_t(std::strlen(value)) + 1 : 0))
      return;
    raw(value, std::strlen(value) + 1);
  }

  template <typename T, typename Walk>
  void list(const T *values, int64_t count, Walk walk) {
    if (!begin(values, count))
      return;
    for (int64_t i = 0; i < count; ++i)
      walk(values[i]);
  }

  template <typename Function> void code(Function function) {
    result += char(function ? 2 : 0);
  }

  const std::string &encoded() const { return result; }

private:
  void raw(const void *data, size_t size) {
    result.append(static_cast<const char *>(data), size);
  }
  /// Says what a pointer points to; false if to nothing.
  bool begin(const void *pointer, int64_t count) {
    result += char(pointer ? 1 : 0);
    if (pointer)
      number(count);
    return pointer != nullptr;
  }

  std::string result;
};

} // namespace

std::string checksumOf(const weft_rt_program &program) {
  weft_rt_program plain = program;
  std::memset(plain.checksum, 0, sizeof(plain.checksum));
  Encoder encoder;
  walk(encoder, static_cast<const weft_rt_program &>(plain));
  Sha256 hash;
  hash.add(encoder.encoded().data(), encoder.encoded().size());
  return hash.finish();
}

Status checkChecksum(const weft_rt_program &program) {
  if (std::all_of(std::begin(program.checksum), std::end(program.checksum),
                  [](uint8_t byte) { return byte == 0; }))
    return Status();
  std::string declared = hexText(program.checksum, sizeof(program.checksum));
  std::string found = checksumOf(program);
  if (found != declared)
    return Status(WEFT_RT_INCOMPATIBLE,
                  format("the program's table is damaged: its checksum is %s, "
                         "and it says %s",
                         found.c_str(), declared.c_str()));
  return Status();
}

} // namespace weft::rt
